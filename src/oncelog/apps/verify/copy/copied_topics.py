"""Reads two topics, sorts their records on disk, and compares them; continues an interrupted comparison.

Called by the command line. The ends of reading are fixed at the start: the last stable offsets of the source at that
moment, and those of the destination when every transaction that is open then has ended. Memory is that of one run of
rows (:mod:`oncelog.apps.verify.copy.sorting`), whatever the topics' size; the folder takes 48 bytes for each record of
either side, and 40 for each pair that has a key.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from oncelog.apps.mirror.reading import committed_batches
from oncelog.apps.verify.copy.by_mirror import by_mirror
from oncelog.apps.verify.copy.comparing import ComparedTopics, OnProgress, judge_missing, judge_order, match
from oncelog.apps.verify.copy.rows import (
    PAIR_BYTES,
    SEEN_BYTES,
    CannotIdentify,
    RecordIdentity,
    SourceRecord,
    Transform,
    made_rows,
    parse_by,
    rows_of,
)
from oncelog.apps.verify.copy.sorting import RUN_ROWS, Runs
from oncelog.apps.verify.findings import Report
from oncelog.apps.verify.stable_ranges import stable_ranges
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.offset_lookups import EARLIEST
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType
from oncelog.errors import ConfigError, OncelogError
from oncelog.records.batch import BatchHeader, decode_records, record_columns
from oncelog.runtime import real_json as json
from oncelog.types import TopicPartition

MANIFEST = "verify-copy.json"
_STATE_VERSION = 4


@dataclass(frozen=True)
class Copy:
    """The settings of a comparison.

    :param transform_name: the name of the transform as the user gave it; a comparison is not continued with another
        name.
    """

    source: str
    dest: str
    by: str = "content"
    transform: Transform | None = None
    transform_name: str = ""
    allows_extra: bool = False
    allows_lag: bool = False
    ignores_content: bool = False
    run_rows: int = RUN_ROWS


class Range(NamedTuple):
    """The range of a partition that is read."""

    start: int
    end: int


class _ReadPlan(NamedTuple):
    """The ranges to read, determined before the first record is read.

    ``undecided`` has those partitions of the destination in which transactions stay open, each with the offsets from
    the end of the range to the former high watermark.
    """

    identity: Sequence[str]
    ranges: Mapping[str, Mapping[int, Range]]
    undecided: Mapping[int, Range]


class _Work:
    """The folder of one comparison: sorted runs, and how far both topics have been read."""

    def __init__(self, folder: Path, copy: Copy, begun: _ReadPlan) -> None:
        self.folder = folder
        self._settings = [_STATE_VERSION, copy.source, copy.dest, copy.by, copy.transform_name, *begun.identity]
        self.ranges = {side: dict(found) for side, found in begun.ranges.items()}
        self.positions = {side: {number: one.start for number, one in of.items()} for side, of in begun.ranges.items()}
        self.undecided = dict(begun.undecided)
        files = self._continued()
        self.runs = {
            side: Runs(folder, side, SEEN_BYTES, run_rows=copy.run_rows, files=files.get(side)) for side in begun.ranges
        }

    def _continued(self) -> dict[str, dict[str, int]]:
        """The runs of an interrupted comparison. Its ranges and positions are taken over, too.

        :raises ConfigError: the folder belongs to another comparison, or is damaged.
        """
        path = self.folder / MANIFEST
        if not path.exists():
            return {}
        try:
            found: dict[str, Any] = json.loads(path.read_text())
            settings = found["settings"]
            files = self._take_over(found) if settings == self._settings else None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(
                f"--work-dir {self.folder}: {MANIFEST} in it is damaged ({type(error).__name__}: {error}): remove the "
                "folder, and begin again"
            ) from None
        if files is None:
            raise ConfigError(
                f"--work-dir {self.folder} was begun for another comparison ({settings[1:]}): name another folder, or "
                "remove this one"
            )
        gone = [name for of in files.values() for name in of if not (self.folder / name).exists()]
        if gone:
            raise ConfigError(f"--work-dir {self.folder} lacks {', '.join(gone)}: remove the folder, and begin again")
        return files

    def _take_over(self, found: dict[str, Any]) -> dict[str, dict[str, int]]:
        for side in self.ranges:
            self.ranges[side] = {int(number): Range(*one) for number, one in found["ranges"][side].items()}
            self.positions[side] = {int(number): int(offset) for number, offset in found["positions"][side].items()}
        self.undecided = {int(number): Range(*one) for number, one in found["undecided"].items()}
        return {side: {str(name): int(crc) for name, crc in of.items()} for side, of in found["files"].items()}

    def save(self) -> None:
        """Write the rows in memory as a sorted run, then the manifest, which records how far both topics have been
        read."""
        for runs in self.runs.values():
            runs.flush()
        state = {
            "settings": self._settings,
            "ranges": self.ranges,
            "positions": self.positions,
            "undecided": self.undecided,
            "files": {side: runs.files for side, runs in self.runs.items()},
        }
        partial = self.folder / f"{MANIFEST}.partial"
        with partial.open("w") as file:
            file.write(json.dumps(state))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.folder / MANIFEST)

    def remove(self) -> None:
        """Remove everything that was written."""
        for runs in self.runs.values():
            runs.remove()
        (self.folder / MANIFEST).unlink(missing_ok=True)


@contextmanager
def work_folder(named: Path | None) -> Iterator[Path]:
    """The named folder, created if it does not exist, or a temporary one that is removed."""
    if named is not None:
        named.mkdir(parents=True, exist_ok=True)
        yield named
        return
    with TemporaryDirectory(prefix="oncelog-verify-") as folder:
        yield Path(folder)


async def verify_copy(
    source: Admin,
    dest: Admin,
    copy: Copy,
    folder: Path,
    report: Report,
    advance: OnProgress,
) -> None:
    """Compare two topics, which may be on two clusters.

    :param folder: where runs are kept; an interrupted comparison there is continued.
    :param advance: called with the number of records that were read or compared, and what is done.
    :raises ConfigError: a record cannot be recognised as ``copy`` says, or the folder is another comparison's.
    """
    way, _, name = copy.by.partition(":")
    by = None if way == "mirror" and name else parse_by(copy.by)
    admins = {"source": (source, copy.source), "dest": (dest, copy.dest)}
    work = _Work(folder, copy, await _begin(source, dest, copy))
    for number, (end, first_seen_end) in work.undecided.items():
        message = f"the last stable offset stays at {end}, and the partition ended at {first_seen_end}"
        report.add("undecided-end", TopicPartition(copy.dest, number), message, first=end)
    if by is None:
        by = await by_mirror(dest, copy.dest, name)
    for side, (admin, topic) in admins.items():
        for number in sorted(work.ranges[side]):
            await _read(admin, TopicPartition(topic, number), side, copy, by, work, report, advance)
    work.save()
    sides = ComparedTopics(
        copy.source,
        copy.dest,
        {number: one.start for number, one in work.ranges["source"].items()},
        await _is_compacted(source, copy.source),
        await _is_compacted(dest, copy.dest),
        copy.allows_extra,
        copy.allows_lag,
        copy.ignores_content,
        sum(first_seen_end - end for end, first_seen_end in work.undecided.values()),
    )
    pairs = Runs(folder, "pairs", PAIR_BYTES, run_rows=copy.run_rows)
    missing = Runs(folder, "missing", PAIR_BYTES, run_rows=copy.run_rows)
    unsure = Runs(folder, "unsure", PAIR_BYTES, run_rows=copy.run_rows)
    try:
        seen = (work.runs["source"].merged(), work.runs["dest"].merged())
        counts = match(*seen, pairs, missing, unsure, sides, report, advance)
        report.totals.matched = counts.matched
        judge_missing(missing, pairs, counts, sides, report)
        judge_order(pairs, unsure, sides, report)
    finally:
        pairs.remove()
        missing.remove()
        unsure.remove()
    work.remove()


async def _begin(source: Admin, dest: Admin, copy: Copy) -> _ReadPlan:
    """Determine the ranges to read. The destination's end is read first: every record below it then has its source
    record below the source's end."""
    identity = [await _identity(source, copy.source), await _identity(dest, copy.dest)]
    stable = await stable_ranges(dest, await _led(dest, copy.dest))
    ranges = {
        "source": await _ranges(source, copy.source),
        "dest": {name.partition: Range(one.start, one.end) for name, one in stable.items()},
    }
    undecided = {
        name.partition: Range(one.end, one.first_seen_end) for name, one in stable.items() if not one.is_decided
    }
    return _ReadPlan(identity, ranges, undecided)


async def _identity(admin: Admin, topic: str) -> str:
    """A text that identifies the topic: its name, its id, and the id of its cluster."""
    (described,) = await admin.describe_topics([topic])
    return f"{topic} {described.topic_id.hex()} of cluster {(await admin.describe_cluster()).cluster_id}"


async def count_steps(source: Admin, dest: Admin, copy: Copy) -> int:
    """The approximate number of steps that ``advance`` reports in total: each record is read once and compared once."""
    found = [*(await _ranges(source, copy.source)).values(), *(await _ranges(dest, copy.dest)).values()]
    return 2 * sum(one.end - one.start for one in found)


async def _ranges(admin: Admin, topic: str) -> dict[int, Range]:
    """The range of each partition from its start to its last stable offset; transactions that are being ended are
    awaited first."""
    names = await _led(admin, topic)
    first = await admin.list_offsets(dict.fromkeys(names, EARLIEST))
    end = await admin.settled_ends(names)
    return {name.partition: Range(first[name].offset, end[name].offset) for name in names}


async def _led(admin: Admin, topic: str) -> list[TopicPartition]:
    """The topic's partitions.

    :raises OncelogError: one has no leader.
    """
    (described,) = await admin.describe_topics([topic])
    names = [TopicPartition(topic, item.partition) for item in described.partitions]
    leaderless = [str(name) for name, item in zip(names, described.partitions, strict=True) if item.leader < 0]
    if leaderless:
        raise OncelogError(f"these partitions have no leader, so they cannot be read: {', '.join(leaderless)}")
    return names


async def _is_compacted(admin: Admin, topic: str) -> bool:
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    entries = (await admin.describe_configs([resource], names=["cleanup.policy"]))[resource]
    return "compact" in (entries["cleanup.policy"].value or "")


async def _read(
    admin: Admin,
    where: TopicPartition,
    side: str,
    copy: Copy,
    by: RecordIdentity,
    work: _Work,
    report: Report,
    advance: OnProgress,
) -> None:
    position, end = work.positions[side][where.partition], work.ranges[side][where.partition].end
    report.totals.partitions += 1
    async for header, data in committed_batches(admin, where, position, end):
        rows = _rows(where, header, data, Range(position, end), side, copy, by)
        report.totals.records += len(rows)
        work.runs[side].extend(rows)
        advance(header.next_offset - position, str(where))
        position = work.positions[side][where.partition] = header.next_offset
        if work.runs[side].is_full:
            work.save()
    advance(max(0, end - position), str(where))
    work.positions[side][where.partition] = max(position, end)


def _rows(
    where: TopicPartition,
    header: BatchHeader,
    data: memoryview,
    wanted: Range,
    side: str,
    copy: Copy,
    by: RecordIdentity,
) -> list[bytes]:
    try:
        if side == "source" and copy.transform is not None:
            records = (
                SourceRecord(*where, one.offset, one.timestamp, one.key, one.value, one.headers)
                for one in decode_records(data)
                if wanted.start <= one.offset < wanted.end
            )
            return made_rows(records, by, copy.transform)
        offsets, _, keys, values, headers = record_columns(data, 0, header, first_offset=wanted.start)
        if header.last_offset >= wanted.end:
            many = bisect_left(offsets, wanted.end)
            offsets, keys, values, headers = offsets[:many], keys[:many], values[:many], headers[:many]
        identify = by.source if side == "source" else by.dest
        return rows_of(where.partition, (offsets, keys, values, headers), identify, by.content)
    except CannotIdentify as error:
        raise ConfigError(
            f"--by {copy.by} does not fit {where}: of the batch at offset {header.base_offset} one record cannot "
            f"be recognised: {error}"
        ) from None
