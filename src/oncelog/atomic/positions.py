"""The progress of a relay: what the database and the log have each noted, and a pure function that compares the two
notes.

A relay numbers its batches of rows consecutively. The database notes the number and a random token of the last batch;
the log notes both in the transaction that sends the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class OnMismatch(Enum):
    """The reaction if the log's note contradicts the database's note: what happens to the last batch that the database
    noted.

    ``SEND`` never loses a batch, but may send it twice; ``SKIP`` never sends a batch twice, but may lose it.
    """

    FAIL = "fail"
    SEND = "send"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class DatabasePosition:
    """The database's note of a relay's progress.

    :ivar batch: the number of the last batch; 0 before the first one.

    :ivar topic: the topic for whose partition 0 the log's note is committed; '' before the first batch.
    """

    batch: int
    token: str
    previous_token: str
    topic: str


class LogPosition(NamedTuple):
    """The log's note of a relay's progress: a committed offset, which is the batch's number, and its metadata, the
    token."""

    batch: int
    token: str


class Contradiction(NamedTuple):
    """The reason why database and log contradict each other, as a result of :func:`is_sent`."""

    reason: str


def is_sent(note: DatabasePosition, position: LogPosition | None) -> bool | Contradiction:
    """Whether the log has the batch that the database noted last; a :class:`Contradiction` if the two notes do not fit
    together."""
    if note.batch == 0:
        if position is None or position == (0, note.token):
            return True
        return Contradiction(
            f"the log has batch {position.batch} of an outbox, and the database has relayed none: it is another "
            "database, or one restored to an earlier state"
        )
    if position is None:
        return Contradiction(
            f"the database has relayed up to batch {note.batch}, and the log has no position: its group's offsets have "
            f"expired (offsets.retention.minutes), topic {note.topic} was deleted, or it is another cluster"
        )
    if position == (note.batch, note.token):
        return True
    if position == (note.batch - 1, note.previous_token):
        return False
    if position.batch > note.batch:
        return Contradiction(
            f"the log has batch {position.batch}, and the database has relayed up to {note.batch}: the database was "
            "restored to an earlier state"
        )
    if position.batch < note.batch - 1:
        return Contradiction(
            f"the log has batch {position.batch}, and the database has relayed up to {note.batch}: the cluster was "
            "restored to an earlier state, or it is another one"
        )
    return Contradiction(
        f"batch {position.batch} of the log is not batch {position.batch} of this database: is this a copy of another "
        "database?"
    )
