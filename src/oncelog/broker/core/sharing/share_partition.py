"""The deliveries of one partition to one share group: which records are acquired, by whom, and how often (KIP-932).

Pure: time is an argument, and nothing is written here. Changes that must survive a restart (acknowledgements, releases)
are returned as :class:`StateBatch`, which the caller (``share_partitions``) writes and then passes to
:meth:`SharePartition.settle`; acquisitions are only in memory, as in Apache Kafka.

Invariants: the ranges cover ``[start_offset, end_offset]`` without gaps; the first range is never in a final state; a
range is acquired by one member; the delivery count of an acquired range never exceeds the limit. Source: Kafka's
``SharePartition`` (4.4), which stores batches and offsets instead of ranges.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, NamedTuple

from oncelog.broker.coordinator.share.state_rules import FINAL, RecordState, StateBatch
from oncelog.errors import Error

NO_MEMBER: Final = ""
SPARSE: Final = 100
"""If a share partition has at least this many ranges for each range to be replaced, the ranges are replaced one after
the other.
"""


class AcknowledgeType(IntEnum):
    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


STATE_AFTER: Final[Mapping[int, RecordState]] = {
    AcknowledgeType.GAP: RecordState.ARCHIVED,
    AcknowledgeType.ACCEPT: RecordState.ACKNOWLEDGED,
    AcknowledgeType.RELEASE: RecordState.AVAILABLE,
}


@dataclass(frozen=True, slots=True)
class RecordRange:
    """Consecutive offsets with the same state; ``last`` is included. ``changing``: a change of the state is being
    written."""

    first: int
    last: int
    state: RecordState
    deliveries: int = 0
    member_id: str = NO_MEMBER
    locked_until_ms: int = 0
    changing: bool = False

    @property
    def available(self) -> bool:
        return self.state is RecordState.AVAILABLE and not self.changing

    def __len__(self) -> int:
        return self.last - self.first + 1

    def like(self, other: RecordRange) -> bool:
        return (self.state, self.deliveries, self.member_id, self.locked_until_ms, self.changing) == (
            other.state,
            other.deliveries,
            other.member_id,
            other.locked_until_ms,
            other.changing,
        )


class Acquired(NamedTuple):
    first: int
    last: int
    deliveries: int


class LogBatch(NamedTuple):
    """The offsets of a batch in the log. ``skipped``: the batch is a marker, or belongs to an aborted transaction, so
    that the group must not get it."""

    base: int
    last: int
    skipped: bool = False


class AckBatch(NamedTuple):
    """A member's acknowledgement of consecutive offsets: ``types`` has one type for all of them, or one for each."""

    first: int
    last: int
    types: Sequence[int]

    def is_rejected(self, offset: int) -> bool:
        if not self.first <= offset <= self.last:
            return False
        return self.types[offset - self.first if len(self.types) > 1 else 0] == AcknowledgeType.REJECT


class AckRefusal(NamedTuple):
    error: Error
    message: str


NOT_ACQUIRED: Final = AckRefusal(
    Error.INVALID_RECORD_STATE, "The batch cannot be acknowledged. The batch is not in the acquired state."
)


class ShareLimits(NamedTuple):
    """The settings of a group that affect its deliveries."""

    delivery_count: int = 5
    record_locks: int = 2000
    lock_ms: int = 30_000
    renew: bool = True
    dead_letters: bool = False

    @property
    def given_up(self) -> RecordState:
        """The state of a record that was rejected, or was delivered as often as allowed."""
        return RecordState.ARCHIVING if self.dead_letters else RecordState.ARCHIVED

    @property
    def throttled_from(self) -> int:
        """From this number of deliveries on, a record is delivered together with fewer other records, so that a record
        that cannot be processed does not make all of them fail."""
        return max(2, -(-self.delivery_count // 2))


class SharePartition:
    """The deliveries of one share partition. It starts at ``start_offset``, with the stored states of its offsets."""

    def __init__(self, start_offset: int, batches: Iterable[StateBatch] = ()) -> None:
        self.start_offset = start_offset
        self._ranges: list[RecordRange] = []
        self._final_count = 0
        position = start_offset
        for batch in sorted(batches):
            if batch.last < position:
                continue
            first = max(batch.first, position)
            # records that were acquired when the state was last written, and not acknowledged since
            if first > position:
                self._ranges.append(RecordRange(position, first - 1, RecordState.AVAILABLE))
            self._ranges.append(RecordRange(first, batch.last, batch.state, batch.deliveries))
            position = batch.last + 1
        self._final_count = sum(len(each) for each in self._ranges if each.state in FINAL)
        self._trim()

    # --- what is known

    @property
    def end_offset(self) -> int:
        """The last offset in flight, which was read but need not have been acquired; ``start_offset - 1`` if none is in
        flight."""
        return self._ranges[-1].last if self._ranges else self.start_offset - 1

    @property
    def in_flight(self) -> int:
        return self.end_offset - self.start_offset + 1

    @property
    def final_count(self) -> int:
        """The number of offsets from ``start_offset`` on in a final state (KIP-1226)."""
        return self._final_count

    def __iter__(self) -> Iterator[RecordRange]:
        return iter(self._ranges)

    def next_offset(self) -> int:
        """The first offset that may be delivered."""
        for each in self._ranges:
            if each.available:
                return each.first
        return self.end_offset + 1

    def can_acquire(self, limits: ShareLimits) -> bool:
        return self.in_flight < limits.record_locks or self.next_offset() <= self.end_offset

    def next_lock_ms(self) -> int | None:
        """The time in ms at which the next lock ends, or None; a lock whose records are being written ends with that
        write."""
        ends = [
            each.locked_until_ms for each in self._ranges if each.state is RecordState.ACQUIRED and not each.changing
        ]
        return min(ends) if ends else None

    # --- acquiring

    def acquire(
        self,
        member_id: str,
        batches: Sequence[LogBatch],
        max_records: int,
        limits: ShareLimits,
        now_ms: int,
        *,
        is_strict: bool = False,
    ) -> list[Acquired]:
        """Lock records of the log's ``batches``, which were read from :meth:`next_offset` on, for a member.

        Offsets between the batches no longer have a record, and are skipped. At most ``max_records`` are acquired, but
        the batch that reaches this number is acquired completely, unless ``is_strict`` (KIP-1206).
        """
        acquired: list[RecordRange] = []
        wanted, begin = max_records, self.next_offset()
        locked_until_ms = now_ms + limits.lock_ms
        for batch in batches:
            if batch.last < begin:
                continue
            if batch.base > begin:
                self._skip(begin, batch.base - 1)
                begin = batch.base
            if batch.skipped:
                self._skip(begin, batch.last)
            else:
                if wanted <= 0:
                    break
                taken, ends = self._take(member_id, begin, batch, wanted, limits, locked_until_ms, is_strict)
                acquired += taken
                wanted -= sum(map(len, taken))
                if ends:
                    break
            begin = batch.last + 1
        self._trim()
        return _as_acquired(acquired)

    def _take(
        self,
        member_id: str,
        first: int,
        batch: LogBatch,
        wanted: int,
        limits: ShareLimits,
        locked_until_ms: int,
        is_strict: bool,
    ) -> tuple[list[RecordRange], bool]:
        """Acquire what is possible of one batch from ``first`` on; also returns whether to stop there."""
        taken: list[RecordRange] = []
        last, left, ends = batch.last, wanted, False
        for each in self._between(first, last):
            if ends:
                break
            if not each.available:
                continue
            if is_strict and left <= 0:
                ends = True
                break
            most, ends = self._acquirable(each, batch, limits, bool(taken))
            if most <= 0:
                break
            if is_strict and most > left:
                most, ends = left, True
            begin = max(each.first, first)
            new_last = min(each.last, last, begin + most - 1)
            taken.append(
                RecordRange(begin, new_last, RecordState.ACQUIRED, each.deliveries + 1, member_id, locked_until_ms)
            )
            left -= len(taken[-1])
        self._put(taken)
        if ends:
            return taken, True
        most = min(left, limits.record_locks - self.in_flight) if is_strict else last - first + 1
        new, ends = self._take_new(member_id, first, last, most, limits.record_locks, locked_until_ms)
        return taken + new, ends

    def _take_new(
        self, member_id: str, first: int, last: int, most: int, record_locks: int, locked_until_ms: int
    ) -> tuple[list[RecordRange], bool]:
        """Acquire at most ``most`` records of a batch that are not yet in flight; also returns whether to stop
        there."""
        if last <= self.end_offset or self.in_flight >= record_locks:
            return [], last > self.end_offset
        start = max(first, self.end_offset + 1)
        count = min(last - start + 1, most)
        if count <= 0:
            return [], True
        new = RecordRange(start, start + count - 1, RecordState.ACQUIRED, 1, member_id, locked_until_ms)
        self._append_batch(new, last)
        return [new], new.last < last

    def _append_batch(self, new: RecordRange, last: int) -> None:
        """Add the acquired part of a batch that was not in flight. The rest of the batch, up to ``last``, was read too:
        it becomes available even if that exceeds the limit of records in flight."""
        self._append(new)
        if new.last < last:
            self._append(RecordRange(new.last + 1, last, RecordState.AVAILABLE))

    @staticmethod
    def _acquirable(each: RecordRange, batch: LogBatch, limits: ShareLimits, has_others: bool) -> tuple[int, bool]:
        """The number of records of a range that are delivered together, and whether to stop after them. Records that
        were delivered several times come as half of a batch, then a quarter, and so on; the last delivery has one
        record."""
        if limits.delivery_count > 2 and each.deliveries == limits.delivery_count - 1:
            return (0 if has_others else 1), True
        if each.deliveries >= limits.throttled_from:
            return max(1, (batch.last - batch.base + 1) >> (each.deliveries - limits.throttled_from + 1)), True
        return len(each), False

    def _skip(self, first: int, last: int) -> None:
        """Mark offsets as archived that have no record for this group."""
        self._put(
            [
                RecordRange(max(first, each.first), min(last, each.last), RecordState.ARCHIVED, each.deliveries)
                for each in self._between(first, last)
                if each.available
            ]
        )
        if last > self.end_offset:
            self._append(RecordRange(max(first, self.end_offset + 1), last, RecordState.ARCHIVED))

    # --- acknowledging

    def acknowledge(
        self, member_id: str, batches: Sequence[AckBatch], limits: ShareLimits, now_ms: int
    ) -> list[StateBatch] | AckRefusal:
        """Acknowledge all batches or none; returns the changes to write. A renewal takes effect at once."""
        changes: list[StateBatch] = []
        renewed: list[RecordRange] = []
        acknowledged = -1
        for batch in batches:
            if batch.last < self.start_offset:
                continue
            refusal = NOT_ACQUIRED if batch.first <= acknowledged else self._find(member_id, batch)
            acknowledged = batch.last
            if refusal is not None:
                return refusal
            for first, last, kind in _runs(batch, self.start_offset):
                if kind == AcknowledgeType.RENEW and not limits.renew:
                    message = "Renewing acquisition locks is not enabled for the group."
                    return AckRefusal(Error.INVALID_RECORD_STATE, message)
                for each in self._between(first, last):
                    begin, end = max(first, each.first), min(last, each.last)
                    if kind == AcknowledgeType.RENEW:
                        locked_until_ms = now_ms + limits.lock_ms
                        renewed.append(replace(each, first=begin, last=end, locked_until_ms=locked_until_ms))
                    else:
                        state = limits.given_up if kind == AcknowledgeType.REJECT else STATE_AFTER[kind]
                        changes.append(_change(begin, end, each.deliveries, state, limits))
        self._put(renewed)
        self._mark(changes, changing=True)
        return changes

    def _find(self, member_id: str, batch: AckBatch) -> AckRefusal | None:
        """The error if a member may not acknowledge these offsets, else None."""
        first = max(batch.first, self.start_offset)
        if not self._ranges or batch.last > self.end_offset:
            if not self._ranges or batch.first > self.end_offset:
                where = "The first offset in request is past acquired records."
            else:
                where = "The last offset in request is past acquired records."
            if not self._ranges:
                message = "Batch record not found. The request batch offsets are not found in the cache."
                return AckRefusal(Error.INVALID_RECORD_STATE, message)
            return AckRefusal(Error.INVALID_REQUEST, f"Batch record not found. {where}")
        for each in self._between(first, batch.last):
            if each.state is not RecordState.ACQUIRED:
                return NOT_ACQUIRED
            if each.member_id != member_id:
                return AckRefusal(Error.INVALID_RECORD_STATE, "Member is not the owner of batch record")
            if each.changing:
                message = "The record state is invalid. The acknowledgement of delivery could not be completed."
                return AckRefusal(Error.INVALID_RECORD_STATE, message)
        return None

    def release(self, member_id: str, limits: ShareLimits) -> list[StateBatch]:
        """Make the records that a member has acquired available to others, because it has left; returns the changes to
        write."""
        changes = [
            _change(each.first, each.last, each.deliveries, RecordState.AVAILABLE, limits)
            for each in self._ranges
            if each.state is RecordState.ACQUIRED and each.member_id == member_id and not each.changing
        ]
        self._mark(changes, changing=True)
        return changes

    def expire(self, limits: ShareLimits, now_ms: int) -> list[StateBatch]:
        """End the locks that have expired by ``now_ms``. The changes returned apply at once, even if they cannot be
        written."""
        changes = [
            _change(each.first, each.last, each.deliveries, RecordState.AVAILABLE, limits)
            for each in self._ranges
            if each.state is RecordState.ACQUIRED and each.locked_until_ms <= now_ms and not each.changing
        ]
        self._apply(changes)
        return changes

    def archiving(self) -> list[StateBatch]:
        """The records that were given up and whose dead letters may not have been written."""
        return [
            StateBatch(each.first, each.last, each.state, each.deliveries)
            for each in self._ranges
            if each.state is RecordState.ARCHIVING
        ]

    def archive(self, batches: Iterable[StateBatch]) -> list[StateBatch]:
        """Archive records whose dead letters were written, or cannot be written; returns the changes, which apply at
        once."""
        changes = [batch._replace(state=RecordState.ARCHIVED) for batch in batches]
        self._apply(changes)
        return changes

    def _mark(self, changes: Iterable[StateBatch], *, changing: bool) -> None:
        """Mark the records of ``changes`` as waiting for the write, or as no longer waiting."""
        self._put(
            [
                replace(each, first=max(change.first, each.first), last=min(change.last, each.last), changing=changing)
                for change in changes
                for each in self._between(change.first, change.last)
            ]
        )

    def settle(self, changes: Iterable[StateBatch], *, written: bool) -> None:
        """Apply the changes if they were written; otherwise their records remain acquired."""
        if written:
            self._apply(changes)
        else:
            self._mark(changes, changing=False)

    def _apply(self, changes: Iterable[StateBatch]) -> None:
        start = self.start_offset
        self._put(
            [
                RecordRange(max(change.first, start), change.last, change.state, change.deliveries)
                for change in changes
                if change.last >= start
            ]
        )
        self._trim()

    def move_start(self, offset: int) -> None:
        """Drop the records before ``offset``, because the log now begins there."""
        if offset <= self.start_offset:
            return
        if offset > self.end_offset:
            self._ranges.clear()
            self._final_count = 0
        else:
            self._put(
                [
                    RecordRange(each.first, min(each.last, offset - 1), RecordState.ARCHIVED, each.deliveries)
                    for each in self._between(self.start_offset, offset - 1)
                ]
            )
        self._trim()
        self.start_offset = max(self.start_offset, offset)

    # --- ranges

    def _index(self, offset: int) -> int:
        """The index of the range that contains ``offset``, which must be in flight."""
        return bisect_right(self._ranges, offset, key=lambda each: each.first) - 1

    def _between(self, first: int, last: int) -> Sequence[RecordRange]:
        """All ranges that overlap ``[first, last]``."""
        if not self._ranges or first > self.end_offset or last < self.start_offset:
            return ()
        low = max(0, self._index(first))
        return self._ranges[low : self._index(min(last, self.end_offset)) + 1]

    def _append(self, new: RecordRange) -> None:
        if not self._ranges:
            self.start_offset = new.first
        elif new.first > self.end_offset + 1:
            self._skip(self.end_offset + 1, new.first - 1)
        self._final_count += len(new) if new.state in FINAL else 0
        self._ranges.append(new)

    def _put(self, news: Sequence[RecordRange]) -> None:
        """Replace the state of offsets that are in flight, in ascending order; neighbouring ranges that become equal
        are joined. All are replaced at once, unless they are few among many ranges: each single replacement moves all
        ranges that follow."""
        if not news:
            return
        low, high = self._index(news[0].first), self._index(news[-1].last)
        if len(news) > 1 and high - low > SPARSE * len(news):
            for new in news:
                self._put([new])
            return
        low, high = max(0, low - 1), min(high + 1, len(self._ranges) - 1)
        before = self._ranges[low : high + 1]
        after = _joined(_replaced(before, news))
        self._final_count += _final(after) - _final(before)
        self._ranges[low : high + 1] = after

    def _trim(self) -> None:
        """Move the start past offsets in a final state."""
        gone = 0
        while gone < len(self._ranges) and self._ranges[gone].state in FINAL:
            self._final_count -= len(self._ranges[gone])
            self.start_offset = self._ranges[gone].last + 1
            gone += 1
        del self._ranges[:gone]


def _replaced(ranges: Sequence[RecordRange], news: Sequence[RecordRange]) -> Iterator[RecordRange]:
    """The ranges, which have no gaps, with ``news`` in place of the states of the same offsets."""
    rest = iter(ranges)
    each = next(rest)
    start = each.first
    for new in news:
        while start < new.first:
            last = min(each.last, new.first - 1)
            yield each if (start, last) == (each.first, each.last) else replace(each, first=start, last=last)
            start = last + 1
            if start > each.last:
                each = next(rest, each)
        yield new
        start = new.last + 1
        while start > each.last and (following := next(rest, None)) is not None:
            each = following
    if start <= each.last:
        yield each if start == each.first else replace(each, first=start)
    yield from rest


def _joined(ranges: Iterable[RecordRange]) -> list[RecordRange]:
    joined: list[RecordRange] = []
    for each in ranges:
        if joined and joined[-1].like(each):
            joined[-1] = replace(joined[-1], last=each.last)
        else:
            joined.append(each)
    return joined


def _final(ranges: Iterable[RecordRange]) -> int:
    return sum(len(each) for each in ranges if each.state in FINAL)


def _change(first: int, last: int, deliveries: int, state: RecordState, limits: ShareLimits) -> StateBatch:
    """The change to ``state``; a record that was delivered as often as allowed is given up instead of becoming
    available."""
    if state is RecordState.AVAILABLE and deliveries >= limits.delivery_count:
        state = limits.given_up
    return StateBatch(first, last, state, deliveries)


def _runs(batch: AckBatch, start_offset: int) -> Iterator[tuple[int, int, int]]:
    """First offset, last offset and type of each run of equal types in an acknowledgement; offsets before the start are
    left out."""
    if len(batch.types) == 1:
        yield max(batch.first, start_offset), batch.last, batch.types[0]
        return
    begin = first = max(batch.first, start_offset)
    kinds = batch.types[begin - batch.first :]
    for offset, kind in enumerate(kinds, begin):
        if kind != kinds[first - begin]:
            yield first, offset - 1, kinds[first - begin]
            first = offset
    yield first, batch.last, kinds[first - begin]


def _as_acquired(ranges: Iterable[RecordRange]) -> list[Acquired]:
    """The ranges as the answer lists them: neighbours with the same number of deliveries are merged."""
    joined: list[Acquired] = []
    for each in ranges:
        if joined and joined[-1].last + 1 == each.first and joined[-1].deliveries == each.deliveries:
            joined[-1] = joined[-1]._replace(last=each.last)
        else:
            joined.append(Acquired(each.first, each.last, each.deliveries))
    return joined
