"""A history indexed for the checks: records by place, transactions by number, what complete readers got."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from oncelog.testing.history.events import (
    AbortAsked,
    Aborted,
    Acknowledged,
    Began,
    CommitAsked,
    Committed,
    Event,
    Opened,
    Read,
    ReadAll,
    Sent,
)
from oncelog.types import TopicPartition

READ_UNCOMMITTED = "read_uncommitted"
Place = tuple[TopicPartition, int]


class Look:
    """What one complete reader found in one partition: every record by its offset."""

    def __init__(self, opened: list[Event], read_all: ReadAll, reads: list[Read]) -> None:
        self.read_all = read_all
        self.reads = reads
        self.at = {read.offset: read for read in reads}
        self.shown: list[Event] = [*opened, read_all]
        """The events that make it a complete reader of its isolation level."""


class Looks:
    """The events of a history by subject; each keeps its place in the order."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events = list(events)
        self.order = {id(event): number for number, event in enumerate(self.events)}
        self.sent: list[Sent] = []
        self.acknowledged: list[Acknowledged] = []
        self.reads: list[Read] = []
        self.transactions: dict[int, list[Event]] = defaultdict(list)
        self._sent_in: dict[tuple[bytes, str], Sent] = {}
        self._opened: dict[str, Opened] = {}
        self._complete: list[ReadAll] = []
        for event in self.events:
            self._take(event)
        self._chosen = {(one.record, one.where.topic): one.where for one in self.acknowledged}
        self.committed: dict[TopicPartition, Look] = {}
        self.uncommitted: dict[TopicPartition, Look] = {}
        self._look()

    def _take(self, event: Event) -> None:
        match event:
            case Sent():
                self.sent.append(event)
                self._sent_in[event.record, event.where.topic] = event
            case Acknowledged():
                self.acknowledged.append(event)
            case Read():
                self.reads.append(event)
            case Opened():
                self._opened[event.reader] = event
            case ReadAll():
                self._complete.append(event)
            case Began() | CommitAsked() | Committed() | AbortAsked() | Aborted():
                self.transactions[event.transaction].append(event)

    def _look(self) -> None:
        by_place: dict[tuple[str, TopicPartition], list[Read]] = defaultdict(list)
        for read in self.reads if self._complete else ():
            by_place[read.reader, read.where].append(read)
        for read_all in self._complete:
            look = Look(self.opened(read_all.reader), read_all, by_place[read_all.reader, read_all.where])
            (self.committed if self.is_committed(read_all.reader) else self.uncommitted)[read_all.where] = look

    def opened(self, reader: str) -> list[Event]:
        """The event that says a reader's isolation level, if there is one."""
        found = self._opened.get(reader)
        return [] if found is None else [found]

    def is_committed(self, reader: str) -> bool:
        """Whether a reader asks for committed records only."""
        found = self._opened.get(reader)
        return found is None or found.isolation != READ_UNCOMMITTED

    def stored(self, where: TopicPartition) -> Look | None:
        """What a partition holds: all records if a reader read uncommitted ones too, else the committed ones."""
        return self.uncommitted.get(where) or self.committed.get(where)

    def sent_as(self, record: bytes, where: TopicPartition) -> Sent | None:
        return self._sent_in.get((record, where.topic))

    def where(self, sent: Sent) -> TopicPartition:
        """Where a record was sent: the partitioner's choice is known once it is acknowledged."""
        return (
            sent.where if sent.where.partition >= 0 else self._chosen.get((sent.record, sent.where.topic), sent.where)
        )

    def first(self, number: int, kind: type[Event]) -> Event | None:
        """The first event of a kind of a transaction."""
        return next((event for event in self.transactions.get(number, ()) if isinstance(event, kind)), None)

    def is_before(self, one: Event, other: Event) -> bool:
        return self.order[id(one)] < self.order[id(other)]
