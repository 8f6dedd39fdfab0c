"""What ``make kafka-new`` says of a release whose messages and names differ from ours."""

from __future__ import annotations

from tools.codec.schema import load_messages
from tools.kafka_new.__main__ import compare_messages, compare_named
from tools.kafka_new.definitions import read_definition

HEARTBEAT = """{
  "apiKey": 12, "type": "request", "listeners": ["broker"], "name": "HeartbeatRequest",
  "validVersions": "0-5", "flexibleVersions": "4+",
  "fields": [
    { "name": "GroupId", "type": "string", "versions": "0+", "entityType": "groupId" },
    { "name": "Mood", "type": "int8", "versions": "5+" }
  ]
}"""


def test_versions_fields_and_messages_that_differ_are_named() -> None:
    newer = read_definition(HEARTBEAT)
    assert newer is not None
    lines = compare_messages({"HeartbeatRequest": newer, "NewRequest": newer}, load_messages())
    assert lines[0] == "NewRequest: no table"
    assert any(line.startswith("HeartbeatRequest: versions ") for line in lines)
    assert "HeartbeatRequest: theirs has the field Mood int8 5+" in lines
    assert any(line.startswith("HeartbeatRequest: only ours has the field MemberId") for line in lines)


def test_names_of_one_side_and_values_that_differ_are_named() -> None:
    theirs, ours = {"a": "0-2", "b": "1", "same": "3"}, {"a": "0-1", "c": "", "same": "3"}
    assert compare_named(theirs, ours) == ["b 1: missing", "c: only ours", "a: 0-2, ours 0-1"]
