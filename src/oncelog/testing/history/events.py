"""The events of a history, in the order in which they happened, and the file that stores them.

A record is identified by its value, unless the program says otherwise. Values should therefore differ, except for a
record that is sent again after its transaction was aborted or after its outcome was unknown. A transaction is
identified by a number. What is not recorded is not judged: without an acknowledgement the outcome is unknown.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from oncelog.runtime import real_json as json
from oncelog.types import TopicPartition


class Sent(NamedTuple):
    """A producer was given a record to send. ``producer`` names one run of the producer, whose records are in order.

    ``where`` has partition -1 until the partitioner has chosen; ``transaction`` is None outside of a transaction.
    """

    record: bytes
    where: TopicPartition
    producer: str
    transaction: int | None = None


class Acknowledged(NamedTuple):
    """The broker acknowledged a record and its offset. ``transaction`` is the transaction in which the record was sent,
    if known."""

    record: bytes
    where: TopicPartition
    offset: int
    transaction: int | None = None


class Began(NamedTuple):
    """A producer began a transaction."""

    transaction: int
    producer: str


class CommitAsked(NamedTuple):
    """The producer asked to commit the transaction, so that it may be committed from now on."""

    transaction: int


class Committed(NamedTuple):
    """The commit succeeded."""

    transaction: int


class AbortAsked(NamedTuple):
    """The producer asked to abort the transaction."""

    transaction: int


class Aborted(NamedTuple):
    """The abort succeeded."""

    transaction: int


class Opened(NamedTuple):
    """A reader was opened with this isolation level. A reader without such an event counts as ``read_committed``."""

    reader: str
    isolation: str


class Started(NamedTuple):
    """A reader was set to an offset, to begin or to continue there."""

    reader: str
    where: TopicPartition
    offset: int


class Read(NamedTuple):
    """A reader got a record."""

    reader: str
    where: TopicPartition
    offset: int
    record: bytes


class ReadAll(NamedTuple):
    """A reader has read a partition from beginning to end, after the last record was sent and the last transaction had
    ended; so its records are the content of the partition."""

    reader: str
    where: TopicPartition


class Rebalanced(NamedTuple):
    """The partitions of a group's member changed; the member continues at committed positions."""

    reader: str
    partitions: tuple[TopicPartition, ...]


class GroupOffset(NamedTuple):
    """A group's committed offset, as a client committed or read it."""

    group: str
    where: TopicPartition
    offset: int


Event: TypeAlias = (
    Sent
    | Acknowledged
    | Began
    | CommitAsked
    | Committed
    | AbortAsked
    | Aborted
    | Opened
    | Started
    | Read
    | ReadAll
    | Rebalanced
    | GroupOffset
)
_KINDS = {
    kind.__name__: kind
    for kind in (
        Sent, Acknowledged, Began, CommitAsked, Committed, AbortAsked, Aborted, Opened, Started, Read, ReadAll,
        Rebalanced, GroupOffset,
    )
}  # fmt: skip


class History:
    """The events of a history, in order; several threads may add events."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events: list[Event] = list(events)
        self._transactions = itertools.count(
            1 + max((event.transaction for event in self.events if isinstance(event, Began)), default=-1)
        )

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def add(self, event: Event) -> None:
        """The next event."""
        self.events.append(event)

    def begin(self, producer: str) -> int:
        """Add the beginning of a producer's transaction; returns its number."""
        number = next(self._transactions)
        self.add(Began(number, producer))
        return number

    def save(self, path: Path) -> None:
        """Write the events as lines of JSON."""
        lines = (json.dumps({"event": type(event).__name__, **_plain(event)}) for event in self.events)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> History:
        """Read the events from a file that :meth:`save` wrote."""
        return cls(_event(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines())


def _plain(event: Event) -> dict[str, Any]:
    found: dict[str, Any] = event._asdict()
    if "record" in found:
        found["record"] = found["record"].hex()
    return found


def _event(found: dict[str, Any]) -> Event:
    kind = _KINDS[found.pop("event")]
    if "record" in found:
        found["record"] = bytes.fromhex(found["record"])
    if "where" in found:
        found["where"] = TopicPartition(*found["where"])
    if "partitions" in found:
        found["partitions"] = tuple(TopicPartition(*one) for one in found["partitions"])
    made: Event = kind(**found)
    return made
