"""Compares the records that a read_committed reader gets with the partition's own markers.

Called by :mod:`oncelog.apps.verify.log_topics` after the log was read. The reader is a real consumer, so that both are
checked: the list of aborted transactions that the broker sends, and the client that skips them. Offsets that retention
or compaction may have removed meanwhile are read again before anything is reported.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from oncelog.apps.verify.aborted import AbortedOffsets
from oncelog.apps.verify.findings import Report
from oncelog.apps.verify.second_look import still_there
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import fetch_stored
from oncelog.client.aio.consumer.consumer import Consumer
from oncelog.records.batch import decode_records, iter_headers
from oncelog.types import IsolationLevel, TopicPartition

_ROUND_MS = 1000
_QUIET_ROUNDS = 20
"""The number of fetches without progress below the last stable offset after which the reader counts as stuck."""


class _Outcome(Enum):
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNDECIDED = "undecided"
    CONTROL = "control"


class _Batch(NamedTuple):
    """The outcome of a batch, and the offsets of its records."""

    outcome: _Outcome
    first_offset: int
    last_offset: int
    offsets: Sequence[int]
    producer_id: int
    producer_epoch: int


class ReaderStuck(Exception):
    """The reader makes no more progress, and has not reached the last stable offset."""


class _Reader:
    """Reads a partition with a consumer; returns the offsets of the records that the consumer delivers, in order."""

    def __init__(self, consumer: Consumer, where: TopicPartition, start: int) -> None:
        self._consumer = consumer
        self._where = where
        self._offsets: deque[int] = deque()
        self._position = start
        consumer.assign([where])
        consumer.seek(where, start)

    async def up_to(self, offset: int) -> list[int]:
        """The next delivered offsets up to and including ``offset``.

        :raises ReaderStuck: the consumer makes no more progress.
        """
        quiet = 0
        while self._position <= offset:
            before = self._position
            for records in (await self._consumer.getmany(timeout_ms=_ROUND_MS, max_records=50_000)).values():
                self._offsets.extend(record.offset for record in records)
            self._position = await self._consumer.position(self._where)
            quiet = 0 if self._position > before else quiet + 1
            if quiet == _QUIET_ROUNDS:
                raise ReaderStuck(
                    f"the read_committed reader of {self._where} does not advance beyond offset {self._position}"
                )
        found = []
        while self._offsets and self._offsets[0] <= offset:
            found.append(self._offsets.popleft())
        return found


async def compare_reader(
    admin: Admin,
    consumer: Consumer,
    where: TopicPartition,
    start: int,
    end: int,
    aborted: AbortedOffsets,
    undecided: Mapping[int, int],
    report: Report,
) -> None:
    """Read the offsets from ``start`` up to but not including ``end`` with a read_committed consumer, and compare.

    :param end: a last stable offset that the broker reported, so every transaction below it had ended.
    :param undecided: the first offsets of transactions without a marker, by producer id.
    :raises ReaderStuck: the consumer does not reach ``end``.
    """
    reader = _Reader(consumer, where, start)
    async for batch in _batches(admin, where, start, end, aborted, undecided):
        shown = await reader.up_to(batch.last_offset)
        report.totals.shown += len(shown)
        expected = batch.offsets if batch.outcome is _Outcome.COMMITTED else ()
        if len(shown) == len(expected) and all(map(int.__eq__, shown, expected)):
            continue
        await _add(admin, where, batch, set(expected), set(shown), report)


async def _batches(
    admin: Admin,
    where: TopicPartition,
    start: int,
    end: int,
    aborted: AbortedOffsets,
    undecided: Mapping[int, int],
) -> AsyncIterator[_Batch]:
    position = start
    while position < end:
        stored = await fetch_stored(admin, where, position, IsolationLevel.READ_UNCOMMITTED)
        before = position
        for at, header in iter_headers(stored.records):
            if header.next_offset <= position:
                continue
            if header.base_offset >= end:
                return
            first, position = position, header.next_offset
            if header.is_control:
                outcome = _Outcome.CONTROL
            elif not header.is_transactional:
                outcome = _Outcome.COMMITTED
            elif 0 <= undecided.get(header.producer_id, -1) <= header.base_offset:
                outcome = _Outcome.UNDECIDED
            else:
                is_aborted = aborted.is_aborted(header.producer_id, header.base_offset)
                outcome = _Outcome.ABORTED if is_aborted else _Outcome.COMMITTED
            offsets: Sequence[int] = range(max(header.base_offset, first), header.next_offset)
            if header.records_count <= header.last_offset_delta and not header.is_control:
                offsets = [one.offset for one in decode_records(stored.records, at) if one.offset >= first]
            yield _Batch(
                outcome, header.base_offset, header.last_offset, offsets, header.producer_id, header.producer_epoch
            )
        if position == before:
            return  # compaction has removed everything up to the end


async def _add(
    admin: Admin, where: TopicPartition, batch: _Batch, expected: set[int], shown: set[int], report: Report
) -> None:
    wrong = {"aborted-shown": [], "undecided-shown": [], "committed-hidden": []}  # type: dict[str, list[int]]
    kind = "undecided-shown" if batch.outcome is _Outcome.UNDECIDED else "aborted-shown"
    wrong[kind] = sorted(shown - expected)
    wrong["committed-hidden"] = sorted(expected - shown)
    hidden = wrong["committed-hidden"]
    if hidden and not await still_there(admin, where, hidden[-1:]):
        wrong["committed-hidden"] = []
    for name, offsets in wrong.items():
        if offsets:
            report.add(
                name,
                where,
                f"{len(offsets)} records of the batch at offset {batch.first_offset}, which is {batch.outcome.value}",
                first=offsets[0],
                last=offsets[-1],
                producer_id=batch.producer_id,
                producer_epoch=batch.producer_epoch,
            )
