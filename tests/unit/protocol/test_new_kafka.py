"""What ``make kafka-new`` says of a release whose messages and names differ from ours."""

from __future__ import annotations

import pytest

from oncelog.spark.maven import DownloadFailed
from tools.codec.schema import load_messages
from tools.kafka_new import left_out
from tools.kafka_new.__main__ import compare_messages, compare_named, main, without_left_out
from tools.kafka_new.definitions import read_definition

HEARTBEAT = """{
  "apiKey": 12, "type": "request", "listeners": ["broker"], "name": "HeartbeatRequest",
  "validVersions": "0-5", "flexibleVersions": "4+",
  "fields": [
    { "name": "GroupId", "type": "string", "versions": "0+", "entityType": "groupId" },
    { "name": "Mood", "type": "int8", "versions": "5+" }
  ]
}"""


def test_differing_versions_fields_and_messages_are_reported() -> None:
    newer = read_definition(HEARTBEAT)
    assert newer is not None
    lines = compare_messages({"HeartbeatRequest": newer, "NewRequest": newer}, load_messages())
    assert lines[0] == "NewRequest: no table"
    assert any(line.startswith("HeartbeatRequest: versions ") for line in lines)
    assert "HeartbeatRequest: theirs has the field Mood int8 5+" in lines
    assert any(line.startswith("HeartbeatRequest: only ours has the field MemberId") for line in lines)


def test_names_missing_on_one_side_and_differing_values_are_reported() -> None:
    theirs, ours = {"a": "0-2", "b": "1", "same": "3"}, {"a": "0-1", "c": "", "same": "3"}
    assert compare_named(theirs, ours) == ["b 1: missing", "c: only ours", "a: 0-2, ours 0-1"]


def test_omitted_messages_are_counted_and_supported_ones_compared() -> None:
    theirs = {"VoteRequest": 1, "VoteResponse": 2, "PushTelemetryRequest": 3, "FetchRequest": 4}
    kept, left = without_left_out(theirs, left_out.MESSAGES, {"PushTelemetryRequest"})
    assert kept == {"PushTelemetryRequest": 3, "FetchRequest": 4}
    assert left == {"the broker is one node": 2}


def test_no_supported_message_is_omitted() -> None:
    names = [message.name for message in load_messages()]
    assert [name for name in names if left_out.reason_for(name, left_out.MESSAGES)] == []


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("4.5", "'4.5' is not a release of Apache Kafka: name all three numbers, such as VERSION=4.5.0"),
        ("latest", "'latest' is not a release of Apache Kafka: name all three numbers, such as VERSION=4.5.0"),
        ("3.9.1", "Apache Kafka 3.9.1 is too old to be compared: name 4.3.0 or a later release"),
        ("9.9.9", "Apache Kafka 9.9.9 could not be downloaded: is it released, and is there a network?"),
    ],
)
def test_a_version_that_cannot_be_compared_is_refused_in_a_sentence(
    version: str, why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_network(version: str) -> None:
        raise DownloadFailed(f"cannot download {version}\nmany lines of Ivy")

    monkeypatch.setattr("tools.kafka_new.__main__.kafka_jars", no_network)
    assert main([version]) == 2
    assert capsys.readouterr().err == f"{why}\n"
