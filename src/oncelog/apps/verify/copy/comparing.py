"""Compares the sorted rows of source and destination: finds missing, duplicated, unexpected and misplaced records. Pure
except for the runs on disk.

Called by :mod:`oncelog.apps.verify.copy.copied_topics`. If several records have the same identity, the first of the
source is matched with the first of the destination, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from oncelog.apps.verify.copy.rows import (
    IDENTITY_BYTES,
    NO_KEY,
    NO_VALUE,
    PAIR_BYTES,
    PLACE_BYTES,
    SEEN_BYTES,
    pack_place,
    unpack_pair,
    unpack_place,
)
from oncelog.apps.verify.copy.sorting import Runs
from oncelog.apps.verify.findings import Report
from oncelog.types import TopicPartition

_REPORTED_EVERY = 50_000
_KEY = IDENTITY_BYTES + PLACE_BYTES
_CONTENT = _KEY + len(NO_KEY)
_NO_PLACES = bytes(PAIR_BYTES - len(NO_KEY))
_NO_ROW = b"\xff" * (SEEN_BYTES + 1)
"""After all rows."""
OnProgress = Callable[[int, str], None]


class ComparedTopics(NamedTuple):
    """The rules of a comparison.

    :param source_starts: the first offset of each partition of the source; earlier records were deleted.
    :param source_compacted: whether compaction removes records of the source.
    :param allows_extra: the destination may have other records, too.
    :param allows_lag: the destination may end before the source does.
    :param ignores_content: records with one identity may differ in key and value.
    """

    source: str
    dest: str
    source_starts: dict[int, int]
    source_compacted: bool = False
    dest_compacted: bool = False
    allows_extra: bool = False
    allows_lag: bool = False
    ignores_content: bool = False
    undecided_offsets: int = 0
    """The number of offsets at the ends of the destination's partitions that open transactions leave undecided."""


class Counts(NamedTuple):
    """The result of matching: the number of records that both sides have, the number that the destination lacks, and
    the last source offset that was copied of each partition."""

    matched: int
    missing: int
    reached: dict[int, int]


def match(
    sources: Iterator[bytes],
    dests: Iterator[bytes],
    pairs: Runs,
    missing: Runs,
    unsure: Runs,
    sides: ComparedTopics,
    report: Report,
    advance: OnProgress,
) -> Counts:
    """Match the records of both sides: write matches to ``pairs``, records that the destination lacks to ``missing``,
    and keys whose equal records cannot be told apart to ``unsure``.

    :param sources: the rows of the source, in order.
    :param dests: the rows of the destination, in order.
    """
    matched = lacking = done = 0
    reached: dict[bytes, bytes] = {}
    surplus = _SurplusRecords(sides, report)
    equal = _IndistinctKeys(unsure)
    source, dest = next(sources, _NO_ROW), next(dests, _NO_ROW)
    while source is not _NO_ROW or dest is not _NO_ROW:
        identity, other = source[:IDENTITY_BYTES], dest[:IDENTITY_BYTES]
        done += 1
        equal.take(source if identity <= other else None, dest if other <= identity else None)
        if identity == other:
            matched += 1
            done += 1
            partition, place = source[IDENTITY_BYTES : IDENTITY_BYTES + 4], source[IDENTITY_BYTES:_KEY]
            if place > reached.get(partition, b""):
                reached[partition] = place
            if source[_KEY:] != dest[_KEY:] and not sides.ignores_content:
                _report_altered(source, dest, sides, report)
            if source[_KEY:_CONTENT] != NO_KEY:
                pairs.add(source[_KEY:_CONTENT] + source[IDENTITY_BYTES:_KEY] + dest[IDENTITY_BYTES:_KEY])
            surplus.matched(source, dest)
            source, dest = next(sources, _NO_ROW), next(dests, _NO_ROW)
        elif identity < other:
            lacking += 1
            is_tombstone = source[_CONTENT:] == NO_VALUE
            missing.add(source[_KEY:_CONTENT] + source[IDENTITY_BYTES:_KEY] + pack_place(is_tombstone, 0, 0))
            source = next(sources, _NO_ROW)
        else:
            surplus.report(dest)
            dest = next(dests, _NO_ROW)
        if done >= _REPORTED_EVERY:
            advance(done, "comparing")
            done = 0
    equal.end()
    advance(done, "comparing")
    return Counts(matched, lacking, dict(unpack_place(place)[:2] for place in reached.values()))


class _IndistinctKeys:
    """Finds the keys whose order cannot be checked, because several source records have the same identity and cannot be
    told apart in the destination: they are in several partitions, or the destination has another number of them."""

    def __init__(self, unsure: Runs) -> None:
        self._unsure = unsure
        self._identity = b""
        self._key = NO_KEY
        self._sources = self._dests = 0
        self._from = self._to = b""
        self._spans = False

    def take(self, source: bytes | None, dest: bytes | None) -> None:
        """Take the next row of the source, of the destination, or of both if they have the same identity."""
        identity = (source or dest or b"")[:IDENTITY_BYTES]
        if identity != self._identity:
            self.end()
            self._identity, self._sources, self._dests, self._spans = identity, 0, 0, False
        if source is not None:
            partition = source[IDENTITY_BYTES : IDENTITY_BYTES + 4]
            self._spans |= self._sources > 0 and partition != self._from
            self._from, self._key = partition, source[_KEY:_CONTENT]
            self._sources += 1
        if dest is not None:
            partition = dest[IDENTITY_BYTES : IDENTITY_BYTES + 4]
            self._spans |= self._dests > 0 and partition != self._to
            self._to = partition
            self._dests += 1

    def end(self) -> None:
        """Decide about the current identity, after all its rows."""
        if self._sources > 1 and (self._spans or self._sources != self._dests) and self._key != NO_KEY:
            self._unsure.add(self._key + _NO_PLACES)


def _place(row: bytes) -> tuple[int, int]:
    """Partition and offset."""
    partition, offset, _ = unpack_place(row[IDENTITY_BYTES:_KEY])
    return partition, offset


def _report_altered(source: bytes, dest: bytes, sides: ComparedTopics, report: Report) -> None:
    (partition, offset), (dest_partition, dest_offset) = _place(source), _place(dest)
    what = "value" if source[_KEY:_CONTENT] == dest[_KEY:_CONTENT] else "key"
    report.add(
        "copy-altered",
        TopicPartition(sides.dest, dest_partition),
        f"offset {offset} of {sides.source}-{partition} has another {what}",
        first=dest_offset,
    )


class _SurplusRecords:
    """Reports the records of the destination that match no source record, or only one that is already matched."""

    def __init__(self, sides: ComparedTopics, report: Report) -> None:
        self._sides = sides
        self._report = report
        self._source = self._dest = _NO_ROW
        """The last matched record of the source, and the first record of the destination with the same identity."""

    def matched(self, source: bytes, dest: bytes) -> None:
        """Note a source record and the destination record that matches it."""
        if self._dest[:IDENTITY_BYTES] != dest[:IDENTITY_BYTES]:
            self._dest = dest
        self._source = source

    def report(self, dest: bytes) -> None:
        """Report a record of the destination that remains: it is a duplicate, or the source has no record like it."""
        sides = self._sides
        partition, offset = _place(dest)
        where = TopicPartition(sides.dest, partition)
        if self._dest[:IDENTITY_BYTES] == dest[:IDENTITY_BYTES]:
            (source, at), (first, first_at) = _place(self._source), _place(self._dest)
            self._report.add(
                "copy-doubled",
                where,
                f"offset {at} of {sides.source}-{source} was copied a second time, first to offset {first_at} of "
                f"{sides.dest}-{first}",
                first=offset,
            )
        elif sides.allows_extra or sides.source_compacted or any(sides.source_starts.values()):
            why = "other records are allowed" if sides.allows_extra else "the source does not have all its records"
            self._report.add("copy-extra-allowed", where, why, first=offset)
        else:
            self._report.add("copy-extra", where, f"it is a copy of no record in {sides.source}", first=offset)


def judge_missing(missing: Runs, pairs: Runs, counts: Counts, sides: ComparedTopics, report: Report) -> None:
    """Report the source records that the destination lacks.

    A missing record is allowed if compaction of the destination may have removed it: compaction keeps only the last
    record of each key, and removes a tombstone later.
    """
    replaced = _LaterRecords(pairs.merged()) if sides.dest_compacted else None
    deleted = _LaterRecords(row for row in missing.merged() if unpack_pair(row)[4])
    may_be_undecided = counts.missing <= sides.undecided_offsets
    for row in missing.merged():
        key, partition, offset, _, is_tombstone, *_ = unpack_pair(row)
        where = TopicPartition(sides.source, partition)
        reached = counts.reached.get(partition, -1)
        behind = offset > reached
        if behind and sides.allows_lag:
            report.add("copy-behind", where, f"the copy has reached offset {reached}", first=offset)
        elif replaced is not None and (
            is_tombstone
            or replaced.has_later(key, partition, offset)
            or (key != NO_KEY and deleted.has_later(key, partition, offset))
        ):
            report.add("copy-missing-compacted", where, f"{sides.dest} is compacted", first=offset)
        elif may_be_undecided:
            report.add("copy-undecided", where, f"it may be in an open transaction of {sides.dest}", first=offset)
        else:
            detail = f"it is not in {sides.dest}"
            more = f"{detail}, which has nothing after offset {reached}" if behind else detail
            report.add("copy-missing", where, more, first=offset)


class _LaterRecords:
    """Finds out whether a key has later records in its partition; queries must come in the order of keys, partitions
    and offsets."""

    def __init__(self, rows: Iterator[bytes]) -> None:
        self._rows = rows
        self._row = next(self._rows, None)

    def has_later(self, key: bytes, partition: int, offset: int) -> bool:
        while self._row is not None and unpack_pair(self._row)[:3] < (key, partition, offset):
            self._row = next(self._rows, None)
        return self._row is not None and unpack_pair(self._row)[:2] == (key, partition)


def judge_order(pairs: Runs, unsure: Runs, sides: ComparedTopics, report: Report) -> None:
    """Report keys whose records are in another order than in the source partition, or in several partitions of the
    destination."""
    left_out = unsure.merged()
    unsure_key = next(left_out, _NO_ROW)[: len(NO_KEY)]
    of: tuple[bytes, int] | None = None
    latest: dict[int, tuple[tuple[int, int], int]] = {}
    for row in pairs.merged():
        key, source, offset, number, dest, dest_offset, _ = unpack_pair(row)
        while unsure_key < key:
            unsure_key = next(left_out, _NO_ROW)[: len(NO_KEY)]
        if unsure_key == key:
            continue
        if of != (key, source):
            of, latest = (key, source), {}
        before = latest.get(dest)
        where = TopicPartition(sides.dest, dest)
        if before is None and latest:
            other = next(iter(latest))
            report.add(
                "copy-key-scattered",
                where,
                f"earlier records of the key are in {sides.dest}-{other}",
                first=dest_offset,
            )
        if before is not None and before[0] < (offset, number) and before[1] > dest_offset:
            report.add(
                "copy-out-of-order",
                where,
                f"the copy of offset {offset} of {sides.source}-{source} is behind that of offset {before[0][0]}",
                first=dest_offset,
            )
        elif before is None or before[1] < dest_offset:
            latest[dest] = (offset, number), dest_offset
