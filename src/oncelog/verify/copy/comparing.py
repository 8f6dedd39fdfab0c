"""Compares the sorted rows of both sides: what is missing, there twice, there without a source, or out of order. Pure
but for the runs on disk.

Called by :mod:`oncelog.verify.copy.copied_topics`. Of several records with one identity the first of the source is the
first of the destination, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from oncelog.types import TopicPartition
from oncelog.verify.copy.rows import (
    IDENTITY_BYTES,
    NO_KEY,
    NO_VALUE,
    SOURCE,
    pack_pair,
    unpack_pair,
    unpack_seen,
)
from oncelog.verify.copy.sorting import Runs
from oncelog.verify.findings import Report

_identity = itemgetter(slice(0, IDENTITY_BYTES))
_TOLD_EVERY = 50_000
Place = tuple[int, int, bytes, bytes]
"""Partition, offset and the hashes of key and content."""
Tell = Callable[[int, str], None]


class Sides(NamedTuple):
    """What is compared.

    :param source_starts: the first offset of each partition of the source: what was before is gone.
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


class Counts(NamedTuple):
    """How many records were found on both sides, and how far the copy of each partition of the source has got."""

    matched: int
    reached: dict[int, int]


def match(seen: Iterator[bytes], pairs: Runs, missing: Runs, sides: Sides, report: Report, tell: Tell) -> Counts:
    """Find the records of both sides that belong together, into ``pairs``; what the destination lacks, into
    ``missing``."""
    matched = done = 0
    reached: dict[int, int] = {}
    for _, rows in groupby(seen, _identity):
        sources: list[Place] = []
        dests: list[Place] = []
        for row in rows:
            _, side, partition, offset, key, content = unpack_seen(row)
            (sources if side == SOURCE else dests).append((partition, offset, key, content))
        done += len(sources) + len(dests)
        if done >= _TOLD_EVERY:
            tell(done, "comparing")
            done = 0
        for one, other in zip(sources, dests, strict=False):
            matched += 1
            source, offset, key, _ = one
            reached[source] = max(offset, reached.get(source, -1))
            if key != NO_KEY:
                pairs.extend([pack_pair(key, source, offset, other[0], other[1])])
            if one[2:] != other[2:] and not sides.ignores_content:
                _tell_altered(one, other, sides, report)
        missing.extend(
            [pack_pair(key, at, offset, content == NO_VALUE, 0) for at, offset, key, content in sources[len(dests) :]]
        )
        _tell_surplus(sources, dests, sides, report)
        for runs in (pairs, missing):
            if runs.is_full:
                runs.flush()
    tell(done, "comparing")
    return Counts(matched, reached)


def _tell_altered(one: Place, other: Place, sides: Sides, report: Report) -> None:
    source, offset, key, _ = one
    what = "value" if key == other[2] else "key"
    report.add(
        "copy-altered",
        TopicPartition(sides.dest, other[0]),
        f"offset {offset} of {sides.source}-{source} has another {what}",
        first=other[1],
    )


def _tell_surplus(sources: list[Place], dests: list[Place], sides: Sides, report: Report) -> None:
    for partition, offset, *_ in dests[len(sources) :]:
        where = TopicPartition(sides.dest, partition)
        if sources:
            source, at, *_ = sources[-1]
            first, first_at, *_ = dests[0]
            report.add(
                "copy-doubled",
                where,
                f"offset {at} of {sides.source}-{source} is here again, first at offset {first_at} of "
                f"{sides.dest}-{first}",
                first=offset,
            )
        elif sides.allows_extra or sides.source_compacted or any(sides.source_starts.values()):
            why = "other records are allowed" if sides.allows_extra else "the source does not have all its records"
            report.add("copy-extra-allowed", where, why, first=offset)
        else:
            report.add("copy-extra", where, f"no record of {sides.source} is its source", first=offset)


def judge_missing(missing: Runs, pairs: Runs, counts: Counts, sides: Sides, report: Report) -> None:
    """Report what the destination lacks.

    Compaction of the destination keeps the last record of each key, unless that is a tombstone.
    """
    replaced = _Replaced(pairs) if sides.dest_compacted else None
    for row in missing.merged():
        key, partition, offset, is_tombstone, _ = unpack_pair(row)
        where = TopicPartition(sides.source, partition)
        reached = counts.reached.get(partition, -1)
        behind = offset > reached
        if behind and sides.allows_lag:
            report.add("copy-behind", where, f"the copy has got to offset {reached}", first=offset)
        elif replaced is not None and (is_tombstone or replaced.has_later(key, partition, offset)):
            report.add("copy-missing-compacted", where, f"{sides.dest} is compacted", first=offset)
        else:
            detail = f"it is not in {sides.dest}"
            more = f"{detail}, which has nothing after offset {reached}" if behind else detail
            report.add("copy-missing", where, more, first=offset)


class _Replaced:
    """Whether later records of keys are in the destination; asked in the order of keys, partitions and offsets."""

    def __init__(self, pairs: Runs) -> None:
        self._rows = pairs.merged()
        self._row = next(self._rows, None)

    def has_later(self, key: bytes, partition: int, offset: int) -> bool:
        while self._row is not None and unpack_pair(self._row)[:3] < (key, partition, offset):
            self._row = next(self._rows, None)
        return self._row is not None and unpack_pair(self._row)[:2] == (key, partition)


def judge_order(pairs: Runs, sides: Sides, report: Report) -> None:
    """Report records of a key that are in another order than in their partition of the source."""
    of: tuple[bytes, int] | None = None
    latest: dict[int, tuple[int, int]] = {}
    for row in pairs.merged():
        key, source, offset, dest, dest_offset = unpack_pair(row)
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
        if before is not None and before[0] < offset and before[1] > dest_offset:
            report.add(
                "copy-out-of-order",
                where,
                f"offset {offset} of {sides.source}-{source} is before offset {before[0]}, which is at {before[1]}",
                first=dest_offset,
            )
        elif before is None or before[1] < dest_offset:
            latest[dest] = offset, dest_offset
