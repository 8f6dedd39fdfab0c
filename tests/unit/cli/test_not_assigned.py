"""A member of a group that has no partition."""

from __future__ import annotations

import pytest

from oncelog.cli import consume
from oncelog.types import TopicPartition


def test_a_member_without_a_partition_is_told_once_why_that_may_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It looked like a topic without records."""
    waiting = consume._NotAssigned("billing")
    waiting.look(())
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(consume, "PATIENCE_S", 0)
    waiting.look(())
    waiting.look(())
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith("still waiting for a partition") and "oncelog groups describe billing" in told


def test_a_member_that_had_a_partition_is_not_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(consume, "PATIENCE_S", 0)
    waiting = consume._NotAssigned("billing")
    waiting.look({TopicPartition("orders", 0)})
    waiting.look(())
    assert capsys.readouterr().err == ""
