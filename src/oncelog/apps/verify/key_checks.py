"""Finds keys that occur twice below the cleaner's position, although compaction should have left one record of each.

Called by :mod:`oncelog.apps.verify.partition_check` for compacted partitions, with every data batch. The cleaner's
position is read from the checkpoint of a data folder. For any other log it is derived from the gaps: the cleaner works
from the beginning, so everything below a gap has been compacted. Keys are kept on disk, by a hash of 16 bytes. Aborted
records do not count; the keys of a transaction count when it commits. A cleaner that runs while the partition is read
removes records that were read before, so the caller checks :attr:`KeyChecks.came_back` again before reporting them.
"""

from __future__ import annotations

import sqlite3
from hashlib import blake2b
from typing import NamedTuple

from oncelog.apps.verify.findings import Report
from oncelog.records.batch import Record
from oncelog.runtime.shown import show_bytes
from oncelog.types import TopicPartition

_BATCH = 10_000
_CACHE_KIB = 32 * 1024
_WAITING = 100
"""The maximum number of repeated keys that are kept above the cleaner's known position."""
_KEPT = 10_000
"""The maximum number of repeated keys that are kept below the cleaner's position; when it is reached, the search
ends."""


class RepeatedKey(NamedTuple):
    """A key that occurs at two offsets, ``earlier`` and ``later``."""

    key: bytes
    earlier: int
    later: int


class KeyChecks:
    """The keys of one partition, in the order of the log."""

    def __init__(self, where: TopicPartition, report: Report, clean_to: int = 0) -> None:
        self._where = where
        self._report = report
        self._clean_to = clean_to
        self._store = sqlite3.connect("", isolation_level=None)
        self._store.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        self._store.execute("PRAGMA journal_mode=OFF")
        self._store.execute("CREATE TABLE keys (key BLOB PRIMARY KEY, offset INT) WITHOUT ROWID")
        self._new: dict[bytes, int] = {}
        self._open: dict[int, list[tuple[bytes, int]]] = {}
        self._twice: list[RepeatedKey] = []
        self.came_back: list[RepeatedKey] = []
        """Keys that occur twice below the cleaner's position."""

    def close(self) -> None:
        """Report the keys that occur twice below the cleaner's position, and delete the database."""
        for twice in self.came_back:
            self._add(twice)
        self._store.close()

    def cleaned_to(self, offset: int) -> None:
        """Note that the cleaner has compacted everything below ``offset``."""
        self._clean_to = max(self._clean_to, offset)
        below = [twice for twice in self._twice if twice.later < self._clean_to]
        if below:
            self._twice = [twice for twice in self._twice if twice.later >= self._clean_to]
            self._keep(below)

    def _keep(self, found: list[RepeatedKey]) -> None:
        self.came_back += found[: _KEPT - len(self.came_back)]

    def _add(self, twice: RepeatedKey) -> None:
        self._report.add(
            "key-came-back",
            self._where,
            f"key {show_bytes(twice.key)} is at offset {twice.earlier} and at {twice.later}; the log is "
            f"compacted up to {self._clean_to}",
            first=twice.earlier,
            last=twice.later,
        )

    def take(self, records: list[Record], producer_id: int | None) -> None:
        """Add the keys of a batch.

        :param producer_id: the producer of a transactional batch, whose keys count when the transaction commits; None
            for other batches.
        """
        pairs = [(record.key, record.offset) for record in records if record.key is not None]
        if producer_id is None:
            self._count(pairs)
        else:
            self._open.setdefault(producer_id, []).extend(pairs)

    def end(self, producer_id: int, *, committed: bool) -> None:
        """Count the keys of a producer's transaction if it committed, and drop them if it was aborted."""
        pairs = self._open.pop(producer_id, [])
        if committed:
            self._count(pairs)

    def _count(self, pairs: list[tuple[bytes, int]]) -> None:
        for key, offset in pairs:
            short = key if len(key) < 16 else blake2b(key, digest_size=16).digest()
            earlier = self._new.get(short)
            if earlier is None:
                row = self._store.execute("SELECT offset FROM keys WHERE key = ?", (short,)).fetchone()
                earlier = None if row is None else int(row[0])
            if earlier is not None:
                self._found(RepeatedKey(key, min(earlier, offset), max(earlier, offset)))
            self._new[short] = max(offset, offset if earlier is None else earlier)
        if len(self._new) >= _BATCH:
            self._store.execute("BEGIN")
            self._store.executemany("INSERT OR REPLACE INTO keys VALUES (?, ?)", self._new.items())
            self._store.execute("COMMIT")
            self._new.clear()

    def _found(self, twice: RepeatedKey) -> None:
        if twice.later < self._clean_to:
            self._keep([twice])
        elif len(self._twice) < _WAITING:
            self._twice.append(twice)
