"""Commands against brokers that cannot do what is asked, or that are none: they say what they wait for."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import oncelog
from oncelog.cli.shared import wait_messages
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from tests.integration.cli.conftest import call

REPORT = re.compile(r"still waiting for (\S+) \((.+)\), for \d+ s more at most: (.+)")


@pytest.fixture(autouse=True)
def reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait_messages, "REPORT_AFTER_S", 0)


@pytest.fixture
def silent() -> Iterator[str]:
    """A listener that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    "words", [("topics", "list"), ("groups", "describe", "g"), ("produce", "-t", "t"), ("consume", "-t", "t")]
)
def test_a_waiting_command_names_the_listener_that_never_answers(silent: str, words: tuple[str, ...]) -> None:
    ended = call(*words, "-b", silent, "-X", "request.timeout.ms=2500", "-X", "default.api.timeout.ms=2500")
    first, last = ended.err.splitlines()
    assert ended.code == 1
    assert first.startswith(f"still waiting for {silent} (") and first.endswith("it has not answered")
    assert f"{silent} accepts connections but does not answer as a Kafka broker" in last
    assert "is it one, and is it the right listener?" in last


@pytest.mark.parametrize(
    ("words", "request_name"),
    [
        (("topics", "create", "new"), "CreateTopics"),
        (("topics", "delete", "t"), "DeleteTopics"),
        (("delete-records", "-t", "t", "--before", "end"), "DeleteRecords"),
        (("produce", "-t", "t", "-X", "delivery.timeout.ms=2600", "-X", "linger.ms=0"), "Produce"),
        (("produce", "-t", "t", "--transactional-id", "x", "-X", "max.block.ms=2500"), "InitProducerId"),
    ],
)
def test_a_retried_error_is_reported(words: tuple[str, ...], request_name: str) -> None:
    """As a broker with a full disk answers."""
    with oncelog.Broker(faults=True) as broker:
        address = broker.bootstrap_servers
        with Admin(bootstrap_servers=address) as admin:
            admin.create_topics([NewTopic("t", 1)])
        broker.faults.answer_error(request_name, "KAFKA_STORAGE_ERROR", times=None)
        limits = ("-X", "request.timeout.ms=2500", "-X", "default.api.timeout.ms=2500")
        ended = call(*words, "-b", address, *limits, stdin="1\n")
    assert ended.code == 1
    reported = [match.groups() for line in ended.err.splitlines() if (match := REPORT.fullmatch(line))]
    named, _, why = reported[-1]
    assert named == address
    assert "KAFKA_STORAGE_ERROR" in why and "the broker's disk is full or failing" in why


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize(
    ("request_names", "error"),
    [
        (("FindCoordinator",), "COORDINATOR_NOT_AVAILABLE"),
        (("JoinGroup", "ConsumerGroupHeartbeat"), "NOT_COORDINATOR"),
        (("JoinGroup", "ConsumerGroupHeartbeat"), "COORDINATOR_LOAD_IN_PROGRESS"),
    ],
)
def test_a_consumer_that_cannot_join_its_group_says_why(
    protocol: str, request_names: tuple[str, ...], error: str
) -> None:
    """It said nothing of the cause. A broker with a full disk answers one of the first two."""
    with oncelog.Broker(faults=True) as broker:
        address = broker.bootstrap_servers
        with Admin(bootstrap_servers=address) as admin:
            admin.create_topics([NewTopic("t", 1)])
        for name in request_names:
            broker.faults.answer_error(name, error, times=None)
        reported = call(
            "consume", "-t", "t", "-g", "g", "-b", address, "--timeout", 2, "-X", f"group.protocol={protocol}"
        )
    assert reported.code == 0
    first, last = reported.err.splitlines()
    assert first.startswith(f"still waiting for {address} (a partition of group 'g'): the last error was: ")
    assert f"[{error}]" in first
    assert ("oncelog doctor" in first) is (error != "COORDINATOR_LOAD_IN_PROGRESS")
    assert last == "0 records"


@pytest.mark.parametrize("side", ["--from", "--to"])
def test_a_mirror_names_the_cluster_that_does_not_answer(silent: str, side: str, tmp_path: Path) -> None:
    limits = tmp_path / "limits.properties"
    limits.write_text("request.timeout.ms=2500\ndefault.api.timeout.ms=2500\n")
    with oncelog.Broker() as broker:
        answers = broker.bootstrap_servers
        clusters = {"--from": answers, "--to": answers, side: silent}
        addresses = [word for pair in clusters.items() for word in pair]
        ended = call("mirror", *addresses, "--from-config", limits, "--to-config", limits)
    assert ended.code == 1
    assert f"still waiting for {silent} (the opening of the connection), for " in ended.err
    assert f"still waiting for {answers}" not in ended.err


def test_a_command_that_does_not_wait_prints_no_wait_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait_messages, "REPORT_AFTER_S", 60)
    with oncelog.Broker() as broker:
        assert call("topics", "create", "t", "-b", broker.bootstrap_servers).done().err == ""
