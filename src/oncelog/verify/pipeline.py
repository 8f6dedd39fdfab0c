"""``oncelog verify pipeline``: plan, marker and records of every batch of a Spark query that can still be known.

Called by the command line. A batch's plan is in the checkpoint, its marker in ``__consumer_offsets`` as long as
compaction leaves it, and its records are those of the marker's transaction: the sink fences before each batch, so
producer id and epoch are the batch's own. :func:`judge` is pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.offset_lookups import EARLIEST, LATEST
from oncelog.mirror.groups import offset_commits
from oncelog.mirror.reading import committed_batches
from oncelog.records.batch import decode_records
from oncelog.spark.sink.marker import Marker, PlannedBatch
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TopicPartition, java_hash_partition
from oncelog.verify.findings import Report

Stamp = tuple[int, int]
"""Producer id and epoch."""


class MarkerSeen(NamedTuple):
    """A marker in the log, and the transaction that wrote it."""

    marker: Marker
    where: TopicPartition
    offset: int
    stamp: Stamp


class Written(NamedTuple):
    """Committed records in the destination by their transaction; ``is_whole`` if none has been removed since."""

    records: Mapping[Stamp, int]
    is_whole: bool


async def markers_of(admin: Admin, group: str) -> list[MarkerSeen]:
    """Every marker of the group that is still in the log, in its order."""
    names = await admin.partitions(CONSUMER_OFFSETS_TOPIC)
    where = TopicPartition(CONSUMER_OFFSETS_TOPIC, java_hash_partition(group, len(names)))
    start, end = await _range(admin, where)
    found = []
    async for header, data in committed_batches(admin, where, start, end):
        for record in decode_records(data):
            for commit in offset_commits([record]):
                marker = Marker.decode(commit.metadata) if commit.group == group else None
                if marker is not None:
                    stamp = header.producer_id, header.producer_epoch
                    found.append(MarkerSeen(marker, commit.partition, record.offset, stamp))
    return found


async def written_by(admin: Admin, topics: Collection[str], stamps: Collection[Stamp]) -> Written:
    """How many committed records of each transaction are in the topics."""
    records: Counter[Stamp] = Counter()
    is_whole = True
    for topic in sorted(topics):
        for where in await admin.partitions(topic):
            start, end = await _range(admin, where)
            is_whole &= start == 0
            async for header, _ in committed_batches(admin, where, start, end):
                stamp = header.producer_id, header.producer_epoch
                if stamp in stamps:
                    records[stamp] += header.records_count
                is_whole &= header.records_count > header.last_offset_delta
    return Written(records, is_whole)


async def _range(admin: Admin, where: TopicPartition) -> tuple[int, int]:
    start = (await admin.list_offsets({where: EARLIEST}))[where].offset
    end = (await admin.list_offsets({where: LATEST}, read_committed=True))[where].offset
    return start, end


def judge(
    planned: Mapping[int, PlannedBatch],
    ended: Collection[int],
    markers: Sequence[MarkerSeen],
    written: Written,
    report: Report,
) -> None:
    """Compare plans, markers and records.

    :param planned: the batches whose plan the checkpoint still has.
    :param ended: the batches that Spark's commit log still has.
    """
    _judge_markers(planned, markers, written, report)
    newest = max((seen.marker.batch_id for seen in markers), default=-1)
    seen = {one.marker.batch_id for one in markers}
    for batch in sorted(ended):
        if batch > newest:
            report.add(
                "batch-missing", None, f"batch {batch} has ended by the checkpoint, the log's newest is {newest}"
            )
        elif batch not in seen:
            report.add("batch-unknown", None, f"batch {batch}: its marker is no longer in the log")
    if planned and newest > max(planned):
        report.add("checkpoint-behind", None, f"the log has batch {newest}, the checkpoint's last is {max(planned)}")
    report.totals.batches = len(seen & planned.keys())
    report.totals.records = sum(written.records.values())


def _tell(report: Report, kind: str, seen: MarkerSeen, detail: str) -> None:
    """The offset of the finding is the marker's in ``__consumer_offsets``."""
    producer_id, producer_epoch = seen.stamp
    report.add(kind, seen.where, detail, first=seen.offset, producer_id=producer_id, producer_epoch=producer_epoch)


def _judge_markers(
    planned: Mapping[int, PlannedBatch], markers: Sequence[MarkerSeen], written: Written, report: Report
) -> None:
    with_rows: dict[int, MarkerSeen] = {}
    before = -1
    for seen in markers:
        marker, batch = seen.marker, seen.marker.batch_id
        plan = planned.get(batch)
        if plan is not None and marker.fingerprint not in ("", "unknown", plan.fingerprint):
            said = f"batch {batch} was written by another plan than the checkpoint has"
            _tell(report, "batch-other-plan", seen, said)
        if batch < before:
            _tell(report, "batch-back", seen, f"the marker of batch {batch} came after that of {before}")
        before = max(before, batch)
        rows = written.records.get(seen.stamp, 0)
        if rows and batch in with_rows and with_rows[batch].stamp != seen.stamp:
            said = f"batch {batch} has records here and in the transaction at offset {with_rows[batch].offset}"
            _tell(report, "batch-twice", seen, said)
        if rows:
            with_rows[batch] = seen
        if written.is_whole and seen.stamp[0] >= 0 and rows != marker.rows:
            said = f"the marker of batch {batch} says {marker.rows} rows, its transaction has {rows} records"
            _tell(report, "batch-rows", seen, said)
