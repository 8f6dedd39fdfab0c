"""Commands that have waited for some seconds say what they wait for; they used to do so in silence."""

from __future__ import annotations

import asyncio

import pytest

from oncelog.cli.shared import wait_messages
from oncelog.cli.shared.wait_messages import waits_reported
from oncelog.client.core.waiting import asked_for, retried, still_waiting
from oncelog.errors import Error

HOST = ("host:9092",)
LONG_S = wait_messages.REPORT_AFTER_S + 60


def test_the_last_error_is_reported_once_with_the_address_and_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with waits_reported():
        retried(Error.KAFKA_STORAGE_ERROR, "cannot write: No space left on device")
        still_waiting(HOST, "create_topics", 1, 60)
        assert capsys.readouterr().err == ""
        still_waiting(HOST, "create_topics", LONG_S, LONG_S + 55)
        still_waiting(HOST, "create_topics", LONG_S + 1, LONG_S + 55)
    assert capsys.readouterr().err == (
        "still waiting for host:9092 (create_topics), for 55 s more at most: the last error was: cannot write: No "
        "space left on device [KAFKA_STORAGE_ERROR]; the broker's disk is full or failing: see the broker's log, and "
        "oncelog doctor\n"
    )


def test_a_different_error_during_a_wait_is_reported_too(capsys: pytest.CaptureFixture[str]) -> None:
    with waits_reported():
        for error in (Error.KAFKA_STORAGE_ERROR, Error.REQUEST_TIMED_OUT):
            retried(error, "no")
            still_waiting(HOST, "create_topics", LONG_S, LONG_S)
    first, second = capsys.readouterr().err.splitlines()
    assert "KAFKA_STORAGE_ERROR" in first and "REQUEST_TIMED_OUT" in second


def test_waits_for_two_clusters_name_each_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    with waits_reported():
        for servers in (HOST, ("one:1", "two:2")):
            still_waiting(servers, "describe_cluster", LONG_S, LONG_S)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("still waiting for host:9092 (describe_cluster)")
    assert second.startswith("still waiting for one:1,two:2 (describe_cluster)")


def test_an_endless_wait_is_reported_with_its_error_or_after_a_delay(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with waits_reported():
        still_waiting(HOST, "a partition", LONG_S, None, otherwise="")
        assert capsys.readouterr().err == ""
        still_waiting(HOST, "a partition", LONG_S, None, otherwise="others have them")
        assert capsys.readouterr().err == "still waiting for host:9092 (a partition): others have them\n"
        retried(Error.COORDINATOR_LOAD_IN_PROGRESS, "the group is being read")
        still_waiting(HOST, "a partition", LONG_S, None, otherwise="")
    assert capsys.readouterr().err == (
        "still waiting for host:9092 (a partition): the last error was: the group is being "
        "read [COORDINATOR_LOAD_IN_PROGRESS]\n"
    )


def test_an_error_from_before_the_wait_is_not_reported_as_its_cause(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(wait_messages, "REPORT_AFTER_S", -1)
    with waits_reported():
        retried(Error.LEADER_NOT_AVAILABLE, "no leader yet")
        still_waiting(HOST, "delete_topics", -1, 30)
    assert capsys.readouterr().err == (
        "still waiting for host:9092 (delete_topics), for 31 s more at most: it has not answered\n"
    )


def test_waits_outside_a_command_are_not_reported() -> None:
    assert not asked_for()
    with waits_reported():
        assert asked_for()
    assert not asked_for()


def test_a_wait_is_reported_while_it_lasts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from oncelog.client.aio.connection import wait_reports

    monkeypatch.setattr(wait_messages, "REPORT_AFTER_S", 0)
    monkeypatch.setattr(wait_reports, "TICK_MS", 1)
    reported = asyncio.Event()
    monkeypatch.setattr(wait_messages, "remark", lambda text: (print(text), reported.set()))

    async def wait() -> None:
        with waits_reported(), wait_reports.waiting(HOST, "start()", 60):
            await reported.wait()

    asyncio.run(wait())
    assert capsys.readouterr().out.startswith("still waiting for host:9092 (start)")
