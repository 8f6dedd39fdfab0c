"""What the programs of a simulated world did and saw; the checkers judge it when the world has ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, Protocol

from oncelog.testing.history import (
    AbortAsked,
    Acknowledged,
    CommitAsked,
    Committed,
    Event,
    Opened,
    Read,
    ReadAll,
    Started,
)
from oncelog.testing.history import GroupOffset as GroupPosition
from oncelog.testing.history import History as ClientHistory
from oncelog.testing.history import Sent as ClientSent
from oncelog.types import TopicPartition

_AT_THE_END = 2**63
COPY = b"copy of "
"""Prefix of a copied record's value."""


class Outcome(Enum):
    """What the program that runs a transaction knows about its end."""

    OPEN = "open"
    COMMITTING = "committing"
    COMMITTED = "committed"
    ABORTING = "aborting"
    ABORTED = "aborted"


class Sent(NamedTuple):
    """A record that was handed to a producer. ``producer`` names one life of it, whose records are in order."""

    value: bytes
    where: TopicPartition
    producer: str
    transaction: int | None
    at_ns: int
    key: bytes | None = None
    is_tombstone: bool = False


class Seen(NamedTuple):
    """A record that a reader received."""

    reader: str
    where: TopicPartition
    offset: int
    value: bytes
    at_ns: int


class Sample(NamedTuple):
    """What a partition's leader said about its offsets at some time."""

    where: TopicPartition
    high_watermark: int
    last_stable_offset: int
    at_ns: int


class Position(NamedTuple):
    """A group's committed offset, at some time."""

    group: str
    where: TopicPartition
    offset: int
    at_ns: int


class Spoken(Protocol):
    """What records of readers and of logs have in common."""

    @property
    def value(self) -> Any: ...

    @property
    def headers(self) -> Any: ...


@dataclass
class Transaction:
    number: int
    producer: str
    outcome: Outcome = Outcome.OPEN
    commit_asked_ns: int | None = None


NAME = "name"
"""The header of a tombstone that holds what would be its value."""


def printed(record: Spoken) -> bytes:
    """A record's value, which is unique; a tombstone's is in its header."""
    if record.value is not None:
        return bytes(record.value)
    return next((value or b"" for name, value in record.headers if name == NAME), b"")


class Registered(NamedTuple):
    """What a schema registry has answered: this schema has this id."""

    subject: str
    schema: str
    id: int


class Stored(NamedTuple):
    """A record of a registry's topic."""

    key: bytes
    value: bytes | None


GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
"""What a member of a share group says of a record."""


@dataclass(frozen=True)
class SharedGroup:
    """A share group: its topic, whether it sees committed records only, how often it is given a record at most, for
    how long a member has it, and its dead-letter topic ("": none)."""

    name: str
    topic: str
    is_committed: bool
    limit: int
    lock_ms: int
    dead_letter_topic: str = ""


@dataclass
class Delivery:
    """A record that a member of a share group was given, between its request and the answer. ``held_until_ns``: until
    then it was the member's for sure, and nobody else's. ``value`` is None if it was not among the records."""

    group: str
    member: str
    where: TopicPartition
    offset: int
    value: bytes | None
    count: int
    asked_ns: int
    at_ns: int
    held_until_ns: int = 0
    locked_ns: int = 0
    """When the request was sent that locked it, or locked it again."""

    def __post_init__(self) -> None:
        self.locked_ns = self.asked_ns

    def __str__(self) -> str:
        return f"offset {self.offset} of {self.where} to {self.member} of {self.group}, delivery {self.count}"


@dataclass
class Verdict:
    """What a member has said of a delivery. ``is_done``: what the broker answered, None if it did not."""

    delivery: Delivery
    kind: int
    asked_ns: int
    is_done: bool | None = None
    known_ns: int = _AT_THE_END


Log = dict[TopicPartition, list[tuple[int, bytes]]]
"""Offsets and values of every partition's records."""


def reads_of(reader: str, log: Mapping[TopicPartition, Sequence[tuple[int, bytes]]]) -> list[Event]:
    """Every record of a log, as a reader is given it."""
    return [Read(reader, where, offset, value) for where, records in log.items() for offset, value in records]


@dataclass
class History:
    sent: list[Sent] = field(default_factory=list)
    acknowledged: dict[bytes, tuple[TopicPartition, int]] = field(default_factory=dict)
    transactions: dict[int, Transaction] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    starts: dict[tuple[str, TopicPartition], int] = field(default_factory=dict)
    """Where a reader was told to begin."""
    samples: list[Sample] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    forbidden: dict[bytes, str] = field(default_factory=dict)
    """Values that must never be stored, and why."""
    repeats: set[str] = field(default_factory=set)
    """Names of producers that may store a record twice, because they are not idempotent."""
    copied: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of topics; the second one receives each record of the first exactly once."""
    rows: dict[str, list[bytes]] = field(default_factory=dict)
    """For each topic that the Spark sink or an outbox writes, every row that was planned, or committed."""
    ordered: dict[str, list[bytes]] = field(default_factory=dict)
    """For each writer of an outbox its rows, in the order of their commits."""
    registered: list[Registered] = field(default_factory=list)
    """What schema registries have answered, in that order."""
    deleted: dict[str, bool] = field(default_factory=dict)
    """Subjects that somebody wanted deleted for good, after everything that was registered there; and whether it is
    known that they are."""
    looked_up: list[tuple[str, int]] = field(default_factory=list)
    """Schemas and the ids by which a registry gave them."""
    stored_schemas: list[Stored] = field(default_factory=list)
    """The registries' topic at the end, aborted records too, and what of it is committed."""
    committed_schemas: list[Stored] = field(default_factory=list)
    shared: dict[str, SharedGroup] = field(default_factory=dict)
    dead_letters: dict[str, set[tuple[TopicPartition, int]]] = field(default_factory=dict)
    """By share group, the records that have dead letters."""
    deliveries: list[Delivery] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    unanswered: Counter[str] = field(default_factory=Counter)
    """By share group, fetches whose answers never came: each may have acquired records that nobody saw."""
    committed: Log = field(default_factory=dict)
    """What a reader of committed records receives at the end."""
    uncommitted: Log = field(default_factory=dict)
    after_restart: Log = field(default_factory=dict)
    """The same as ``committed``, after the broker was killed once more."""
    before_restart: dict[str, str] = field(default_factory=dict)
    after_recovery: dict[str, str] = field(default_factory=dict)
    """What the broker knew about partitions, producers and transactions before its last death, and what it knows
    after it.
    """
    producers: list[tuple[bytes, int]] = field(default_factory=list)
    """Every stored record's value, and its producer id."""
    compacted: dict[str, int] = field(default_factory=dict)
    """Topics that compaction reduces to the newest record of each key, and how long tombstones stay, in ms."""
    clean_to: dict[TopicPartition, int] = field(default_factory=dict)
    """The cleaner's checkpoint, before the last looks."""
    looked_ns: int = 0
    """When the last looks began."""
    forgotten: list[tuple[TopicPartition, int, int]] = field(default_factory=list)
    """Partitions, the producer ids that they forgot because their time was over, and the log's end at that moment."""
    cut_markers: set[tuple[TopicPartition, int]] = field(default_factory=set)
    """Partitions and producer ids of the markers that unclean elections took."""
    log_findings: list[str] = field(default_factory=list)
    """What ``oncelog verify log`` finds in the logs at the end."""
    taken_bytes: int = 0
    """What requests take in the broker's memory at the end."""
    errors: list[str] = field(default_factory=list)
    """What the broker or a client logged as an error or raised without anybody catching it."""
    unfinished: list[str] = field(default_factory=list)
    """What was not done when the time was up."""

    def of_clients(self) -> ClientHistory:
        """What the clients did and saw, for ``oncelog.testing.history``, in the order of its time."""
        events = [*self._events_of_producers(), *self._events_of_readers()]
        events.sort(key=lambda timed: timed[0])  # a commit that is asked for is before what is read in the same moment
        found = ClientHistory(event for _, event in events)
        for reader, isolation, log in (
            ("the last reader", "read_committed", self.committed),
            ("a reader of everything", "read_uncommitted", self.uncommitted),
        ):
            found.add(Opened(reader, isolation))
            found.events += reads_of(reader, log)
            found.events += [ReadAll(reader, where) for where in log]
        return found

    def _events_of_producers(self) -> Iterator[tuple[int, Event]]:
        for number, one in self.transactions.items():
            if one.commit_asked_ns is not None:
                yield one.commit_asked_ns, CommitAsked(number)
            if one.outcome in (Outcome.ABORTING, Outcome.ABORTED):
                yield _AT_THE_END, AbortAsked(number)
            if one.outcome is Outcome.COMMITTED:
                yield _AT_THE_END, Committed(number)
        for sent in self.sent:
            yield sent.at_ns, ClientSent(sent.value, sent.where, sent.producer, sent.transaction)
        for value, (where, offset) in self.acknowledged.items():
            yield _AT_THE_END, Acknowledged(value, where, offset)

    def _events_of_readers(self) -> Iterator[tuple[int, Event]]:
        for (reader, where), offset in self.starts.items():
            yield -1, Started(reader, where, offset)
        for seen in self.seen:
            yield seen.at_ns, Read(seen.reader, seen.where, seen.offset, seen.value)
        for one in self.positions:
            yield one.at_ns, GroupPosition(one.group, one.where, one.offset)

    def begin(self, producer: str) -> Transaction:
        made = Transaction(len(self.transactions), producer)
        self.transactions[made.number] = made
        return made
