"""``oncelog verify pipeline``: compares the plan, the marker and the records of each batch of a Spark query, as far as
they still exist.

Called by the command line. A batch's plan is in the checkpoint, its marker is in ``__consumer_offsets`` until
compaction removes it, and its records are those of the transaction that committed the marker: the sink gets a new
producer epoch before each batch, so producer id and epoch identify the batch. :func:`judge` is pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from oncelog.apps.mirror.groups import offset_commits
from oncelog.apps.mirror.reading import committed_batches
from oncelog.apps.verify.findings import Report
from oncelog.apps.verify.stable_ranges import WAIT_S, stable_ranges
from oncelog.client.aio.admin.admin import Admin
from oncelog.records.batch import decode_records
from oncelog.spark.sink.marker import Marker, OffsetLogEntry
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TopicPartition, java_hash_partition

Producer = tuple[int, int]
"""A producer id and epoch, which identify the transaction of one batch."""


class MarkerSeen(NamedTuple):
    """A marker that was read from the log, and the producer id and epoch of the transaction that committed it."""

    marker: Marker
    where: TopicPartition
    offset: int
    producer: Producer


class Markers(NamedTuple):
    """The markers of a group, in the order of the log; ``is_whole`` is false if an open transaction may contain later
    ones."""

    seen: Sequence[MarkerSeen]
    is_whole: bool


class WrittenRecords(NamedTuple):
    """The number of committed records of each transaction in the destination.

    ``is_whole``: no record was removed and none is in an open transaction. ``topics`` are the topics that were read.
    """

    records: Mapping[Producer, int]
    is_whole: bool
    topics: Sequence[str] = ()


async def markers_of(admin: Admin, group: str, report: Report, *, wait_s: float = WAIT_S) -> Markers:
    """Every marker of the group that is still in the log. Records in open transactions, which cannot be read yet, are
    reported."""
    names = await admin.partitions(CONSUMER_OFFSETS_TOPIC)
    where = TopicPartition(CONSUMER_OFFSETS_TOPIC, java_hash_partition(group, len(names)))
    stable = (await stable_ranges(admin, [where], wait_s=wait_s))[where]
    found = []
    async for header, data in committed_batches(admin, where, stable.start, stable.end):
        for record in decode_records(data):
            for commit in offset_commits([record]):
                marker = Marker.decode(commit.metadata) if commit.group == group else None
                if marker is not None:
                    producer = header.producer_id, header.producer_epoch
                    found.append(MarkerSeen(marker, commit.partition, record.offset, producer))
    if not stable.is_decided:
        report.add("undecided-end", where, str(stable), first=stable.end)
    return Markers(found, stable.is_decided)


async def written_by(
    admin: Admin, topics: Collection[str], producers: Collection[Producer], report: Report, *, wait_s: float = WAIT_S
) -> WrittenRecords:
    """The number of committed records of each transaction in the topics. Records in open transactions, which cannot be
    read yet, are reported."""
    names = [where for topic in sorted(topics) for where in await admin.partitions(topic)]
    records: Counter[Producer] = Counter()
    is_whole = True
    for where, stable in (await stable_ranges(admin, names, wait_s=wait_s)).items():
        is_whole &= stable.start == 0 and stable.is_decided
        async for header, _ in committed_batches(admin, where, stable.start, stable.end):
            producer = header.producer_id, header.producer_epoch
            if producer in producers:
                records[producer] += header.records_count
            is_whole &= header.records_count > header.last_offset_delta
        if not stable.is_decided:
            report.add("undecided-end", where, str(stable), first=stable.end)
    return WrittenRecords(records, is_whole, sorted(topics))


def judge(
    planned: Mapping[int, OffsetLogEntry],
    ended: Collection[int],
    markers: Markers,
    written: WrittenRecords,
    report: Report,
) -> None:
    """Compare plans, markers and records.

    The query may be running: the caller must therefore read ``ended`` before ``markers``, and ``planned`` after them.

    :param planned: the batches whose plans the checkpoint still has.
    :param ended: the batches that Spark's commit log still has.
    """
    _judge_markers(planned, markers.seen, written, report)
    newest = max((seen.marker.batch_id for seen in markers.seen), default=-1)
    seen = {one.marker.batch_id for one in markers.seen}
    for batch in sorted(ended):
        if batch > newest and not markers.is_whole:
            continue  # the marker of this batch may be in the transaction that is still open
        if batch > newest:
            has = f"the newest batch in the log is {newest}" if seen else "the log has no batch of this query"
            report.add("batch-missing", None, f"batch {batch} has ended according to the checkpoint, but {has}")
        elif batch not in seen:
            report.add("batch-unknown", None, f"batch {batch}: its marker is no longer in the log")
    last = max(planned, default=-1)
    if newest > last:
        has = f"the checkpoint's last is {last}" if planned else "the checkpoint has no plan"
        report.add("checkpoint-behind", None, f"the log has batch {newest}, {has}")
    report.totals.batches = len(seen & planned.keys())
    report.totals.records = sum(written.records.values())


def _add(report: Report, kind: str, seen: MarkerSeen, detail: str) -> None:
    """Add a finding about a marker, at the marker's offset in ``__consumer_offsets``."""
    producer_id, producer_epoch = seen.producer
    report.add(kind, seen.where, detail, first=seen.offset, producer_id=producer_id, producer_epoch=producer_epoch)


def _judge_markers(
    planned: Mapping[int, OffsetLogEntry], markers: Sequence[MarkerSeen], written: WrittenRecords, report: Report
) -> None:
    with_rows: dict[int, MarkerSeen] = {}
    before = -1
    for seen in markers:
        marker, batch = seen.marker, seen.marker.batch_id
        plan = planned.get(batch)
        if plan is not None and marker.fingerprint not in ("", "unknown", plan.fingerprint):
            message = f"batch {batch} was written by another plan than the checkpoint has"
            _add(report, "batch-other-plan", seen, message)
        if batch < before:
            _add(report, "batch-back", seen, f"the marker of batch {batch} came after that of {before}")
        before = max(before, batch)
        rows = written.records.get(seen.producer, 0)
        if rows and batch in with_rows and with_rows[batch].producer != seen.producer:
            message = f"batch {batch} has records here and in the transaction at offset {with_rows[batch].offset}"
            _add(report, "batch-twice", seen, message)
        if rows:
            with_rows[batch] = seen
        if written.is_whole and seen.producer[0] >= 0 and rows != marker.rows:
            message = f"the marker of batch {batch} says {marker.rows} rows, its transaction has {rows} records"
            if rows < marker.rows and written.topics:
                message += f" in {', '.join(written.topics)}: if the query writes others, name them all with --topic"
            _add(report, "batch-rows", seen, message)
