"""A member of a group that has no partition."""

from __future__ import annotations

import pytest

from oncelog.cli.records import consume
from oncelog.cli.shared import wait_messages
from oncelog.cli.shared.wait_messages import waits_reported
from oncelog.types import TopicPartition

HOST = ("host:9092",)


@pytest.fixture(autouse=True)
def reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait_messages, "REPORT_AFTER_S", 0)


def test_a_group_member_without_a_partition_is_reported_once_with_possible_reasons(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It looked like a topic without records."""
    with waits_reported():
        waiting = consume._NotAssigned(HOST, "billing")
        waiting.look(())
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(consume, "REPORT_AFTER_S", 0)
        waiting.look(())
        waiting.look(())
    (reported,) = capsys.readouterr().err.splitlines()
    assert reported.startswith(
        "still waiting for host:9092 (a partition of group 'billing'): the members before this one"
    )
    assert "oncelog groups describe billing" in reported


def test_a_member_that_had_a_partition_is_not_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(consume, "REPORT_AFTER_S", 0)
    with waits_reported():
        waiting = consume._NotAssigned(HOST, "billing")
        waiting.look({TopicPartition("orders", 0)})
        waiting.look(())
    assert capsys.readouterr().err == ""
