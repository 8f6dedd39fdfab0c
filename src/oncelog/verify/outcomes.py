"""How each transaction ended in each partition, kept on disk, and which of them ended in two ways.

Called by :mod:`oncelog.verify.producer_checks` with each end, and at last by what runs the checks. Since KIP-890 part 2
(transaction.version 2) every transaction has an epoch of its own, and producer id and epoch say which records belong
together: a commit whose marker has the next epoch shows that. In the older protocol the transactions of a producer
share an epoch; there only those that were surely open at the same time are one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from oncelog.types import TopicPartition
from oncelog.verify.findings import Report

SAME_MOMENT_MS = 1
"""Markers of two consecutive transactions are further apart: in between are several requests and writes."""
BELIEVED_MS = 300_000
"""Timestamps of producers this close to their marker's are taken for times of sending."""
_CACHE_KIB = 16 * 1024


class Ended(NamedTuple):
    """A transaction's end in one partition; times are the smallest and largest timestamps of its records."""

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
    """Ends of transactions in any number of partitions, in a temporary file of which a few MB are in memory."""

    def __init__(self) -> None:
        self._store = sqlite3.connect("", isolation_level=None)
        self._store.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        self._store.execute("PRAGMA journal_mode=OFF")
        self._store.execute(
            "CREATE TABLE ended (topic TEXT, partition INT, producer_id INT, producer_epoch INT, marker_epoch INT, "
            "committed INT, first_offset INT, marker_offset INT, first_ms INT, last_ms INT, marker_ms INT)"
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
        """How the same transaction ended in another partition, if its epoch is its own."""
        self._write()
        row = self._store.execute(
            "SELECT * FROM ended WHERE producer_id = ? AND producer_epoch = ? AND (topic, partition) <> (?, ?) "
            "AND committed AND marker_epoch > producer_epoch LIMIT 1",
            (producer_id, producer_epoch, *where),
        ).fetchone()
        return None if row is None else _ended(row)

    def has_later(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether a later transaction of the producer has ended."""
        self._write()
        query = "SELECT 1 FROM ended WHERE producer_id = ? AND producer_epoch > ? LIMIT 1"
        return self._store.execute(query, (producer_id, producer_epoch)).fetchone() is not None

    def judge(self, report: Report) -> None:
        """Report the transactions that ended in two ways."""
        self._write()
        groups = self._store.execute(
            "SELECT producer_id, producer_epoch, MAX(committed AND marker_epoch > producer_epoch) FROM ended "
            "GROUP BY producer_id, producer_epoch HAVING MIN(committed) <> MAX(committed)"
        ).fetchall()
        for producer_id, producer_epoch, own_epoch in groups:
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
        """All of them are one transaction."""
        kept: dict[bool, Ended] = {}
        for ended in ends:
            other = kept.get(not ended.committed)
            if other is not None:
                _torn(report, ended, other)
            kept.setdefault(ended.committed, ended)

    @staticmethod
    def _judge_many(report: Report, ends: Iterator[Ended]) -> None:
        """Which of these are one transaction is to be seen from their times; neighbours in time are enough."""
        for one, other in pairwise(ends):
            if one.committed is other.committed or one.where == other.where:
                continue
            if _are_one(one, other):
                _torn(report, one, other)
            elif other.first_ms < one.marker_ms and one.first_ms < other.marker_ms:
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


def _ended(row: tuple[object, ...]) -> Ended:
    topic, partition, *rest = row
    found = Ended(TopicPartition(str(topic), int(str(partition))), *rest)  # type: ignore[arg-type]
    return found._replace(committed=bool(found.committed))


def _are_one(one: Ended, other: Ended) -> bool:
    """Whether two ends under one epoch surely belong to one transaction: both were open at some moment."""
    if max(one.first_ms, other.first_ms) > min(one.marker_ms, other.marker_ms):
        return False
    if abs(one.marker_ms - other.marker_ms) <= SAME_MOMENT_MS:
        return True
    believed = all(0 <= end.marker_ms - end.last_ms <= BELIEVED_MS for end in (one, other))
    return believed and one.first_ms < other.last_ms and other.first_ms < one.last_ms


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
