"""Whether a batch of an outbox is in the log: the table of what database and log can say."""

from __future__ import annotations

import pytest

from oncelog.atomic.positions import Contradiction, DatabasePosition, LogPosition, is_sent

FRESH = DatabasePosition(0, "t0", "", "")
BEGUN = DatabasePosition(0, "t0", "", "orders")
NUMBERED = DatabasePosition(7, "t7", "t6", "orders")


@pytest.mark.parametrize(
    ("note", "position", "sent"),
    [
        (FRESH, None, True),
        (BEGUN, None, True),
        (BEGUN, LogPosition(0, "t0"), True),
        (NUMBERED, LogPosition(7, "t7"), True),
        (NUMBERED, LogPosition(6, "t6"), False),
    ],
)
def test_the_relay_finds_in_the_log_whether_its_last_batch_was_sent(
    note: DatabasePosition, position: LogPosition | None, sent: bool
) -> None:
    assert is_sent(note, position) is sent


@pytest.mark.parametrize(
    ("note", "position", "words"),
    [
        (FRESH, LogPosition(7, "t7"), "the database has relayed none"),
        (BEGUN, LogPosition(0, "another"), "is another database"),
        (NUMBERED, None, "the log has no position"),
        (NUMBERED, LogPosition(8, "t8"), "the database was restored to an earlier state"),
        (NUMBERED, LogPosition(5, "t5"), "the cluster was restored to an earlier state"),
        (NUMBERED, LogPosition(7, "another"), "a copy"),
        (NUMBERED, LogPosition(6, "another"), "a copy"),
    ],
)
def test_contradicting_positions_of_relay_and_log_are_refused(
    note: DatabasePosition, position: LogPosition | None, words: str
) -> None:
    found = is_sent(note, position)
    assert isinstance(found, Contradiction)
    assert words in found.reason
