"""An index of a history for the checks: records by position, transactions by number, and the records of complete
readers."""

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


class PartitionRead:
    """The records that one complete reader got from one partition."""

    def __init__(self, opened: list[Event], read_all: ReadAll, reads: list[Read]) -> None:
        self.read_all = read_all
        # without duplicates, because a client may read some records again
        self.reads = list({(read.offset, read.record): read for read in reads}.values())
        self.at = {read.offset: read for read in reads}
        self.of: dict[bytes, list[Read]] = defaultdict(list)
        for read in self.reads:
            self.of[read.record].append(read)
        self.shown: list[Event] = [*opened, read_all]
        """The events that prove which isolation level the reader has, and that it read the whole partition."""


class HistoryIndex:
    """The events of a history, grouped by what they are about; ``order`` has the number of each event."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events = list(events)
        self.order = {id(event): number for number, event in enumerate(self.events)}
        self.sent: list[Sent] = []
        self.acknowledged: list[Acknowledged] = []
        self.reads: list[Read] = []
        self.transactions: dict[int, list[Event]] = defaultdict(list)
        self._sends: dict[tuple[bytes, str], list[Sent]] = defaultdict(list)
        self._ended: set[int] = set()
        self._answers: dict[int, Acknowledged] = {}
        self._answered: dict[int, Sent] = {}
        self._at: dict[tuple[TopicPartition, int, bytes], Sent] = {}
        self._doubtful: set[int] = set()
        self._opened: dict[str, Opened] = {}
        self._complete: list[ReadAll] = []
        for event in self.events:
            self._take(event)
        self.committed: dict[TopicPartition, PartitionRead] = {}
        self.uncommitted: dict[TopicPartition, PartitionRead] = {}
        self._look()

    def _take(self, event: Event) -> None:
        match event:
            case Sent():
                self.sent.append(event)
                self._sends[event.record, event.where.topic].append(event)
            case Acknowledged():
                self.acknowledged.append(event)
                self._answer(event)
            case Read():
                self.reads.append(event)
            case Opened():
                self._opened[event.reader] = event
            case ReadAll():
                self._complete.append(event)
            case Began() | CommitAsked() | Committed() | AbortAsked() | Aborted():
                self.transactions[event.transaction].append(event)
                if isinstance(event, Committed | Aborted):
                    self._ended.add(event.transaction)

    def _answer(self, event: Acknowledged) -> None:
        """Match an acknowledgement with the sending that it belongs to: the oldest one without an acknowledgement whose
        transaction has not ended."""
        sends = self._sends[event.record, event.where.topic]
        waiting = [
            one
            for one in sends
            if id(one) not in self._answers
            and one.where.partition in (-1, event.where.partition)
            and event.transaction in (None, one.transaction)
        ]
        live = [one for one in waiting if one.transaction not in self._ended]
        if not waiting:
            if sends:
                self._answered[id(event)] = sends[-1]
            return
        sent = live[0] if live else waiting[-1]
        if len(live or waiting) > 1:
            self._doubtful.update(map(id, live or waiting))
        self._answers[id(sent)] = event
        self._answered[id(event)] = sent
        self._at[event.where, event.offset, event.record] = sent

    def _look(self) -> None:
        by_place: dict[tuple[str, TopicPartition], list[Read]] = defaultdict(list)
        for read in self.reads if self._complete else ():
            by_place[read.reader, read.where].append(read)
        for read_all in self._complete:
            look = PartitionRead(self.opened(read_all.reader), read_all, by_place[read_all.reader, read_all.where])
            (self.committed if self.is_committed(read_all.reader) else self.uncommitted)[read_all.where] = look

    def opened(self, reader: str) -> list[Event]:
        """The event with a reader's isolation level in a list; an empty list if there is no such event."""
        found = self._opened.get(reader)
        return [] if found is None else [found]

    def is_committed(self, reader: str) -> bool:
        """Whether a reader asks for committed records only."""
        found = self._opened.get(reader)
        return found is None or found.isolation != READ_UNCOMMITTED

    def stored(self, where: TopicPartition) -> PartitionRead | None:
        """The contents of a partition: all records if there is a complete read_uncommitted reader, otherwise the
        committed records; None if there is no complete reader."""
        return self.uncommitted.get(where) or self.committed.get(where)

    def sends(self, record: bytes, topic: str) -> list[Sent]:
        """Every event that sent this record to this topic."""
        return self._sends.get((record, topic), [])

    def answer_to(self, sent: Sent) -> Acknowledged | None:
        """The acknowledgement of a sent record; None if there is none."""
        return self._answers.get(id(sent))

    def answered(self, event: Acknowledged) -> Sent | None:
        """What was acknowledged."""
        return self._answered.get(id(event))

    def senders(self, read: Read) -> list[Sent]:
        """The sent records that a read may have returned: the record that was acknowledged at this position, otherwise
        every equal record without an acknowledgement."""
        known = self._at.get((read.where, read.offset, read.record))
        if known is not None:
            return [known]
        sends = self.sends(read.record, read.where.topic)
        return [one for one in sends if id(one) not in self._answers] or sends

    def is_certain(self, sent: Sent) -> bool:
        """Whether it is known which position in the log belongs to this sent record, although the partition may have
        equal records."""
        if id(sent) in self._doubtful:
            return False
        others = self.sends(sent.record, sent.where.topic)
        return id(sent) in self._answers or sum(id(one) not in self._answers for one in others) == 1

    def read_of(self, sent: Sent, look: PartitionRead) -> Read | None:
        """The read that returned a sent record from a partition; None if the partition does not have the record. Only
        for records that :meth:`is_certain`."""
        answer = self.answer_to(sent)
        if answer is not None:
            found = look.at.get(answer.offset)
            return found if found is not None and found.record == sent.record else None
        for read in look.of.get(sent.record, ()):
            if self._at.get((read.where, read.offset, read.record), sent) is sent:
                return read
        return None

    def where(self, sent: Sent) -> TopicPartition:
        """The partition that a record was sent to; if the partitioner chose it, it is known only from the
        acknowledgement."""
        answer = self.answer_to(sent)
        return sent.where if answer is None or sent.where.partition >= 0 else answer.where

    def first(self, number: int, kind: type[Event]) -> Event | None:
        """The first event of a kind that belongs to a transaction; None if there is none."""
        return next((event for event in self.transactions.get(number, ()) if isinstance(event, kind)), None)

    def is_before(self, one: Event, other: Event) -> bool:
        return self.order[id(one)] < self.order[id(other)]
