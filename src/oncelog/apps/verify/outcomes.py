"""Stores the outcome of each transaction in each partition on disk, and finds transactions with two outcomes.

Called by :mod:`oncelog.apps.verify.producer_checks` with each end of a transaction, and finally by the modules that run
the checks. Since KIP-890 part 2 (transaction.version 2) every transaction has an epoch of its own, so producer id and
epoch identify it on all partitions; a commit marker with the next epoch shows that. In the older protocol the
transactions of a producer share an epoch. There, ends are compared by their times: transactions that were certainly
open at the same time are one. If that is uncertain, the coordinator's record decides
(:mod:`oncelog.apps.verify.decisions`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from oncelog.apps.verify.decisions import TransactionOutcome
from oncelog.apps.verify.findings import Report
from oncelog.types import TopicPartition

SAME_MOMENT_MS = 1
"""The distance of two markers, in milliseconds, up to which they belong to one transaction; between two transactions
there are several requests and writes."""
BELIEVED_MS = 300_000
"""The distance from the marker's timestamp, in milliseconds, up to which record timestamps are taken for the time of
sending."""
_SEVERAL_REQUESTS_MS = 5
_SKEW_MS = 1000
"""How far the clocks of a coordinator and of the leaders that write its markers may differ, in milliseconds."""
_CACHE_KIB = 16 * 1024


class Ended(NamedTuple):
    """The end of a transaction in one partition; ``first_ms`` and ``last_ms`` are the smallest and largest timestamps
    of its records."""

    where: TopicPartition
    producer_id: int
    producer_epoch: int
    marker_epoch: int
    committed: bool
    first_offset: int
    marker_offset: int
    first_ms: int
    last_ms: int
    marker_ms: int

    @property
    def outcome(self) -> str:
        return "committed" if self.committed else "aborted"


class Outcomes:
    """The ends of transactions in all partitions, in a temporary file, of which only a few MB are in memory."""

    def __init__(self) -> None:
        self._store = sqlite3.connect("", isolation_level=None)
        self._store.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        self._store.execute("PRAGMA journal_mode=OFF")
        self._store.execute(
            "CREATE TABLE ended (topic TEXT, partition INT, producer_id INT, producer_epoch INT, marker_epoch INT, "
            "committed INT, first_offset INT, marker_offset INT, first_ms INT, last_ms INT, marker_ms INT)"
        )
        self._store.execute(
            "CREATE TABLE decided (producer_id INT, topic TEXT, partition INT, decided_ms INT, committed INT)"
        )
        self._waiting: list[tuple[object, ...]] = []

    def close(self) -> None:
        self._store.close()

    def add(self, ended: Ended) -> None:
        self._waiting.append((*ended.where, *ended[1:]))
        if len(self._waiting) >= 10_000:
            self._write()

    def _write(self) -> None:
        self._store.execute("BEGIN")
        self._store.executemany(f"INSERT INTO ended VALUES ({', '.join('?' * 11)})", self._waiting)
        self._store.execute("COMMIT")
        self._waiting.clear()

    def elsewhere(self, producer_id: int, producer_epoch: int, where: TopicPartition) -> Ended | None:
        """The committed end of the same transaction in another partition; None unless its marker shows that no other
        transaction has its epoch."""
        self._write()
        row = self._store.execute(
            "SELECT * FROM ended WHERE producer_id = ? AND producer_epoch = ? AND (topic, partition) <> (?, ?) "
            "AND committed AND marker_epoch > producer_epoch LIMIT 1",
            (producer_id, producer_epoch, *where),
        ).fetchone()
        return None if row is None else _ended(row)

    def has_later(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether a transaction of the producer with a later epoch has ended."""
        self._write()
        query = "SELECT 1 FROM ended WHERE producer_id = ? AND producer_epoch > ? LIMIT 1"
        return self._store.execute(query, (producer_id, producer_epoch)).fetchone() is not None

    def committed_within(self, where: TopicPartition, producer_id: int, first: int, last: int) -> Ended | None:
        """A transaction that the producer committed in this partition and whose offsets overlap the given ones; None if
        there is none."""
        self._write()
        row = self._store.execute(
            "SELECT * FROM ended WHERE (topic, partition, producer_id) = (?, ?, ?) AND committed "
            "AND marker_offset > ? AND first_offset <= ? LIMIT 1",
            (*where, producer_id, first, last),
        ).fetchone()
        return None if row is None else _ended(row)

    def in_doubt(self) -> frozenset[int]:
        """The ids of producers whose transactions can only be judged with the coordinator's decisions."""
        return frozenset(producer_id for producer_id, _, own_epoch in self._mixed() if not own_epoch)

    def decide(self, decisions: Iterable[TransactionOutcome]) -> None:
        """Apply the coordinators' decisions."""
        self._store.executemany(
            "INSERT INTO decided VALUES (?, ?, ?, ?, ?)",
            ((one.producer_id, *where, one.decided_ms, one.committed) for one in decisions for where in one.partitions),
        )

    def _mixed(self) -> list[tuple[int, int, int]]:
        """The producer ids and epochs that have both commits and aborts, each with whether its epoch belongs to a
        single transaction."""
        self._write()
        return self._store.execute(
            "SELECT producer_id, producer_epoch, MAX(committed AND marker_epoch > producer_epoch) FROM ended "
            "GROUP BY producer_id, producer_epoch HAVING MIN(committed) <> MAX(committed)"
        ).fetchall()

    def judge(self, report: Report) -> None:
        """Report the transactions that have both commit and abort markers."""
        self._store.execute("CREATE INDEX decisions ON decided (producer_id, topic, partition, decided_ms)")
        for producer_id, producer_epoch, own_epoch in self._mixed():
            if own_epoch:
                self._judge_one(report, self._of(producer_id, producer_epoch))
            else:
                self._judge_many(report, self._of(producer_id, producer_epoch))

    def _of(self, producer_id: int, producer_epoch: int) -> Iterator[Ended]:
        rows = self._store.execute(
            "SELECT * FROM ended WHERE producer_id = ? AND producer_epoch = ? ORDER BY first_ms, marker_ms",
            (producer_id, producer_epoch),
        )
        return map(_ended, rows)

    @staticmethod
    def _judge_one(report: Report, ends: Iterator[Ended]) -> None:
        """Report two outcomes among ends that all belong to one transaction."""
        kept: dict[bool, Ended] = {}
        for ended in ends:
            other = kept.get(not ended.committed)
            if other is not None:
                _torn(report, ended, other)
            kept.setdefault(ended.committed, ended)

    def _judge_many(self, report: Report, ends: Iterator[Ended]) -> None:
        """Report two outcomes among ends under one epoch, which belong to several transactions. Neighbours in time are
        compared, because only they can belong to one transaction."""
        for one, other in pairwise(ends):
            if one.committed is other.committed or one.where == other.where:
                continue
            if other.first_ms > one.marker_ms or one.first_ms > other.marker_ms:
                continue
            as_decided = {self._is_as_decided(end) for end in (one, other)}
            if False in as_decided or (None in as_decided and _are_one(one, other)):
                _torn(report, one, other)
            elif None in as_decided:
                report.add(
                    "outcomes-differ",
                    other.where,
                    f"{other.outcome} here, {one.outcome} in {one.where} at offsets {one.first_offset} to "
                    f"{one.marker_offset}",
                    first=other.first_offset,
                    last=other.marker_offset,
                    producer_id=other.producer_id,
                    producer_epoch=other.producer_epoch,
                )

    def _is_as_decided(self, end: Ended) -> bool | None:
        """Whether the marker agrees with the coordinator's decision; None if the decision is no longer known."""
        query = (
            "SELECT committed FROM decided WHERE (producer_id, topic, partition) = (?, ?, ?) "
            "AND decided_ms BETWEEN ? AND ? ORDER BY decided_ms"
        )
        place = (end.producer_id, *end.where)
        near = self._store.execute(query, (*place, end.marker_ms - _SKEW_MS, end.marker_ms + _SKEW_MS)).fetchall()
        before = self._store.execute(f"{query} DESC LIMIT 1", (*place, end.first_ms, end.marker_ms)).fetchall()
        found = {bool(committed) for (committed,) in [*near, *before]}
        return end.committed in found if found else None


def _ended(row: tuple[object, ...]) -> Ended:
    topic, partition, *rest = row
    found = Ended(TopicPartition(str(topic), int(str(partition))), *rest)  # type: ignore[arg-type]
    return found._replace(committed=bool(found.committed))


def _are_one(one: Ended, other: Ended) -> bool:
    """Whether two ends under one epoch belong to one transaction, judged by their times.

    A producer sends records of the next transaction only after several requests: later than a millisecond after the
    last record of the previous one, unless the markers follow at once, too.
    """
    if abs(one.marker_ms - other.marker_ms) <= SAME_MOMENT_MS:
        return True
    believed = all(0 <= end.marker_ms - end.last_ms <= BELIEVED_MS for end in (one, other))
    apart = 1 if min(one.marker_ms - one.last_ms, other.marker_ms - other.last_ms) < _SEVERAL_REQUESTS_MS else 0
    return believed and one.first_ms + apart <= other.last_ms and other.first_ms + apart <= one.last_ms


def _torn(report: Report, ended: Ended, other: Ended) -> None:
    report.add(
        "torn-transaction",
        ended.where,
        f"{ended.outcome} here, {other.outcome} in {other.where} at offsets {other.first_offset} to "
        f"{other.marker_offset}",
        first=ended.first_offset,
        last=ended.marker_offset,
        producer_id=ended.producer_id,
        producer_epoch=ended.producer_epoch,
    )
