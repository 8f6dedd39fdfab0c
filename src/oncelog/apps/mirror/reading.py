"""Reads partitions of both clusters: batch headers, from which the cut is chosen, and committed batches to copy.

Called by :mod:`oncelog.apps.mirror.run` and :mod:`oncelog.apps.mirror.target`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import NamedTuple

from oncelog.apps.mirror.cut import PartitionView
from oncelog.apps.mirror.groups import GroupPositions, offset_commits
from oncelog.apps.mirror.mirror_errors import MirrorRefused, RangeGone
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import FetchedRecords, fetch_stored
from oncelog.client.aio.offset_lookups import EARLIEST
from oncelog.client.aio.transactions.batch_transaction import ReadyBatch
from oncelog.client.core.consumer.read_committed import AbortedFilter, control_type_of
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.errors import Error, KafkaError
from oncelog.records.batch import (
    DELETE_HORIZON_BIT,
    BatchBuilder,
    BatchHeader,
    Record,
    TimestampType,
    decode_records,
    iter_headers,
    set_base_offset_and_epoch,
)
from oncelog.records.control import ControlType
from oncelog.types import CONSUMER_OFFSETS_TOPIC, NO_PARTITION_LEADER_EPOCH, IsolationLevel, TopicPartition

PACK_BYTES = 256 * 1024
"""The size up to which small batches are combined, because a request for each would take too long."""
_ENDINGS = (ControlType.COMMIT, ControlType.ABORT)


async def scan(admin: Admin, view: PartitionView, end: int) -> None:
    """Read everything before ``end`` into ``view``.

    :raises RangeGone: the source has deleted records after the view's position.
    """
    name = view.name
    while view.scanned < end:
        stored = await _fetch(admin, name, view.scanned, end, IsolationLevel.READ_UNCOMMITTED)
        if stored.log_start_offset > view.position:
            raise RangeGone(name, view.position, stored.log_start_offset)
        before = view.scanned
        for at, header in iter_headers(stored.records):
            if header.next_offset > view.scanned:
                _take(view, stored.records, at, header)
        if view.scanned == before:  # compaction has removed all records up to the high watermark
            view.take_data(before, stored.high_watermark, 0)
        if view.scanned >= stored.high_watermark:
            view.settle(stored.last_stable_offset)


def _take(view: PartitionView, records: bytes | memoryview, at: int, header: BatchHeader) -> None:
    view.take_data(header.base_offset, header.next_offset, header.size_bytes)
    if header.is_control:
        if control_type_of(records, at) in _ENDINGS:
            view.take_marker(header.producer_id, header.producer_epoch, header.base_offset)
        return
    if not header.records_count:  # an empty batch, which compaction keeps for the producer's last sequence
        return
    if header.is_transactional:
        view.take_transactional(header.producer_id, header.producer_epoch, header.base_offset, header.last_offset)
    if view.name.topic == CONSUMER_OFFSETS_TOPIC:
        for commit in offset_commits(decode_records(records, at)):
            view.take_need(header.base_offset, commit.partition, commit.offset)


async def _fetch(
    admin: Admin, name: TopicPartition, offset: int, end: int, isolation: IsolationLevel
) -> FetchedRecords:
    """Fetch records from ``offset`` on. A new leader may not know yet that ``end``, which the former leader reported,
    is below its high watermark; then the fetch is repeated.

    :raises MirrorRefused: nothing can be read there, see :func:`_out_of_range`.
    """

    async def attempt() -> FetchedRecords:
        stored = await fetch_stored(admin, name, offset, isolation)
        committed = isolation is IsolationLevel.READ_COMMITTED
        known = stored.last_stable_offset if committed else stored.high_watermark
        if not stored.records and known < end:
            what = "is decided" if committed else "can be read"
            raise KafkaError(Error.OFFSET_NOT_AVAILABLE, f"{name} {what} only up to {known}, but was up to {end}")
        return stored

    try:
        return await admin.cluster.repeat(f"reading {name}", attempt)
    except KafkaError as error:
        if error.error is not Error.OFFSET_OUT_OF_RANGE:
            raise
        raise await _out_of_range(admin, name, offset) from None


async def _out_of_range(admin: Admin, name: TopicPartition, position: int) -> MirrorRefused:
    first = (await admin.list_offsets({name: EARLIEST}))[name].offset
    if first > position:
        return RangeGone(name, position, first)
    return MirrorRefused(
        f"{name} ends before offset {position} on the source, which has already been mirrored: its log was truncated; "
        "mirror into new topics, under another --name"
    )


async def committed_batches(
    admin: Admin, name: TopicPartition, begin: int, end: int
) -> AsyncIterator[tuple[BatchHeader, memoryview]]:
    """The batches from ``begin`` up to but not including ``end`` that a read_committed consumer would deliver,
    compressed as stored."""
    position = begin
    while position < end:
        stored = await _fetch(admin, name, position, end, IsolationLevel.READ_COMMITTED)
        transactions = AbortedFilter(stored.aborted)
        view = memoryview(stored.records)
        before = position
        for at, header in iter_headers(view):
            if header.base_offset >= end:
                return
            kind = control_type_of(view, at) if header.is_control else None
            kept = transactions.keeps(header, kind)
            if header.next_offset <= position:
                continue
            position = header.next_offset
            if kept and header.records_count:
                yield header, view[at : at + header.size_bytes]
        if position == before:
            return  # compaction has removed all records up to the end of the range


async def offsets_in(admin: Admin, name: TopicPartition, begin: int, end: int) -> GroupPositions:
    """The last committed position of each group and partition in a range of ``__consumer_offsets``."""
    found: GroupPositions = {}
    async for _, data in committed_batches(admin, name, begin, end):
        for commit in offset_commits(decode_records(data)):
            found[commit.group, commit.partition] = OffsetAndMetadata(commit.offset, commit.metadata)
    return found


class CombinedBatch(NamedTuple):
    """A batch to write to the target, and the offsets of its records in the source as ranges: pairs of first offset and
    count, in order."""

    batch: ReadyBatch
    ranges: list[tuple[int, int]]


async def packed(
    batches: AsyncIterator[tuple[BatchHeader, memoryview]], begin: int, largest_bytes: int
) -> AsyncIterator[CombinedBatch]:
    """Combine batches into batches of about ``largest_bytes``; a batch that is large enough by itself stays unchanged
    if the target accepts it.

    :param begin: records before this offset are left out.
    :param largest_bytes: small batches are combined up to this size.
    """
    small: list[tuple[BatchHeader, memoryview]] = []
    size_bytes = 0
    async for header, data in batches:
        fits = size_bytes + header.size_bytes <= largest_bytes and (
            not small or small[0][0].compression is header.compression
        )
        if small and not fits:
            for ready in _together(small, begin):
                yield ready
            small, size_bytes = [], 0
        small.append((header, data))
        size_bytes += header.size_bytes
    for ready in _together(small, begin):
        yield ready


def _together(batches: Sequence[tuple[BatchHeader, memoryview]], begin: int) -> Iterator[CombinedBatch]:
    """Combine batches into one; yields nothing if all their records are left out."""
    if not batches:
        return
    header, data = batches[0]
    if len(batches) == 1 and _goes_as_it_is(header, begin):
        copied = bytearray(data)
        set_base_offset_and_epoch(copied, 0, 0, NO_PARTITION_LEADER_EPOCH)
        yield CombinedBatch(ReadyBatch(header.records_count, copied), [(header.base_offset, header.records_count)])
        return
    builder = BatchBuilder()
    ranges: list[tuple[int, int]] = []
    for record in _records(batches, begin):
        builder.append(record.timestamp, record.key, record.value, record.headers)
        first, count = ranges[-1] if ranges else (-1, 0)
        if first + count == record.offset:
            ranges[-1] = (first, count + 1)
        else:
            ranges.append((record.offset, 1))
    if ranges:
        yield CombinedBatch(ReadyBatch(builder.count, builder.build(compression=header.compression)), ranges)


def _records(batches: Sequence[tuple[BatchHeader, memoryview]], begin: int) -> Iterator[Record]:
    for _, data in batches:
        for record in decode_records(data):
            if record.offset >= begin:
                yield record


def _goes_as_it_is(header: BatchHeader, begin: int) -> bool:
    """Whether a batch can be copied unchanged: its offsets have no gaps, the producer set its timestamps, and no record
    is left out.
    """
    return (
        header.records_count == header.last_offset_delta + 1
        and header.timestamp_type is TimestampType.CREATE_TIME
        and not header.attributes & DELETE_HORIZON_BIT
        and header.base_offset >= begin
    )


__all__ = ["PACK_BYTES", "CombinedBatch", "committed_batches", "offsets_in", "packed", "scan"]
