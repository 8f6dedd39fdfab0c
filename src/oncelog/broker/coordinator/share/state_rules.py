"""Pure rules that decide how a request changes the stored state of one share partition (KIP-932).

``decide`` looks up one rule and changes nothing; ``share_coordinator`` writes the record that the rule returns, and
applies it with ``apply``, which a start also uses to replay the log. A state is a snapshot with all later updates.
Source: Kafka's ``ShareCoordinatorShard``, ``ShareGroupOffset`` and ``PersisterStateBatchCombiner`` (4.4).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

from oncelog.errors import Error

UNINITIALIZED: Final = -1
"""Start offset of a share partition that was never fetched from: ``share.auto.offset.reset`` decides where it
begins."""
NO_SNAPSHOT: Final = 2**63
"""A value for ``max_updates`` of :func:`decide` with which the next record is an update and never a snapshot."""


class RecordState(IntEnum):
    """State of a record for a share group (Kafka's ``RecordState``); ``ACQUIRED`` is never stored. ``ARCHIVING``: the
    record will not be delivered again, and its dead letter may still have to be written (KIP-1191)."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4


FINAL: Final = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


class StateBatch(NamedTuple):
    """Consecutive offsets with the same state and the same number of deliveries; ``last`` is included."""

    first: int
    last: int
    state: RecordState
    deliveries: int


class ShareKey(NamedTuple):
    """Identifies a share partition: a partition as read by a share group."""

    group_id: str
    topic_id: bytes
    partition: int


class ShareState(NamedTuple):
    """The stored state of a share partition. ``final_count``: the number of offsets from ``start_offset`` on in a final
    state (Kafka's ``DeliveryCompleteCount``), -1 if unknown. ``updates``: the number of updates since the snapshot."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    final_count: int
    created_ms: int
    written_ms: int
    batches: tuple[StateBatch, ...] = ()
    updates: int = 0


# --- events


class Initialize(NamedTuple):
    """A group begins to read the partition, or its offsets were altered: no record is in flight."""

    state_epoch: int
    start_offset: int = UNINITIALIZED


class WriteState(NamedTuple):
    """The partition's leader reports changes. A ``start_offset`` of -1 leaves the start offset unchanged."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    final_count: int
    batches: Sequence[StateBatch]


class Load(NamedTuple):
    """The partition's leader begins to use the state: earlier leaders may no longer change it."""

    leader_epoch: int


class Compact(NamedTuple):
    """Write the whole state again, so that older records are no longer needed."""


class Delete(NamedTuple):
    """The group, or the topic, is deleted."""


Event = Initialize | WriteState | Load | Compact | Delete


class StateSnapshot(NamedTuple):
    """A record with the whole state."""

    state: ShareState


class Update(NamedTuple):
    """A record with the changes since the last record."""

    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    final_count: int
    batches: tuple[StateBatch, ...]


class Tombstone(NamedTuple):
    """A record that removes the state."""


class StateRefusal(NamedTuple):
    error: Error
    message: str


Record = StateSnapshot | Update | Tombstone
Decision = Record | StateRefusal | None
"""The record to write, or a refusal; None if nothing changes."""


def decide(state: ShareState | None, event: Event, now_ms: int, max_updates: int) -> Decision:
    """Decide how ``event`` changes a state (None if no state is stored), without changing it.

    :param max_updates: after this many updates the next record is a snapshot.
    """
    rules = KNOWN if state is not None else UNKNOWN
    return rules[type(event)](state, event, now_ms, max_updates)


def _create(state: None, event: Initialize, now_ms: int, max_updates: int) -> Decision:
    return StateSnapshot(_fresh(event, 0, now_ms))


def _fresh(event: Initialize, snapshot_epoch: int, now_ms: int) -> ShareState:
    final_count = UNINITIALIZED if event.start_offset == UNINITIALIZED else 0
    return ShareState(snapshot_epoch, event.state_epoch, UNINITIALIZED, event.start_offset, final_count, now_ms, now_ms)


def _create_again(state: ShareState, event: Initialize, now_ms: int, max_updates: int) -> Decision:
    if event.state_epoch < state.state_epoch:
        return FENCED_STATE
    if event.start_offset == UNINITIALIZED:
        return None  # the group repeats the request after a crash: keep the deliveries since the first request
    return StateSnapshot(_fresh(event, state.snapshot_epoch + 1, now_ms))


def _write(state: ShareState, event: WriteState, now_ms: int, max_updates: int) -> Decision:
    if event.leader_epoch < state.leader_epoch:
        return FENCED_LEADER
    if event.state_epoch < state.state_epoch:
        return FENCED_STATE
    update = Update(
        state.snapshot_epoch, event.leader_epoch, event.start_offset, event.final_count, tuple(event.batches)
    )
    # a snapshot is due after max_updates updates, and after as many again if it was too large to be written
    is_due = state.updates % (max_updates + 1) == max_updates
    return _as_snapshot(_updated(state, update, now_ms), now_ms) if is_due else update


def _load(state: ShareState, event: Load, now_ms: int, max_updates: int) -> Decision:
    if event.leader_epoch < state.leader_epoch:
        return FENCED_LEADER
    if event.leader_epoch == state.leader_epoch:
        return None
    return Update(state.snapshot_epoch, event.leader_epoch, UNINITIALIZED, state.final_count, ())


def _compact(state: ShareState, event: Compact, now_ms: int, max_updates: int) -> Decision:
    return _as_snapshot(state, now_ms)


def _as_snapshot(state: ShareState, now_ms: int) -> StateSnapshot:
    return StateSnapshot(state._replace(snapshot_epoch=state.snapshot_epoch + 1, written_ms=now_ms, updates=0))


def _delete(state: ShareState, event: Delete, now_ms: int, max_updates: int) -> Decision:
    return Tombstone()


def _nothing(state: ShareState | None, event: Event, now_ms: int, max_updates: int) -> Decision:
    return None


def _not_there(state: ShareState | None, event: Event, now_ms: int, max_updates: int) -> Decision:
    return UNKNOWN_STATE


FENCED_LEADER: Final = StateRefusal(Error.FENCED_LEADER_EPOCH, "The leader epoch in the request is fenced.")
FENCED_STATE: Final = StateRefusal(
    Error.FENCED_STATE_EPOCH,
    "The share coordinator rejected the request because the share-group state epoch did not match.",
)
UNKNOWN_STATE: Final = StateRefusal(
    Error.INVALID_REQUEST, "Write operation on uninitialized share partition not allowed."
)

Rule = Callable[[Any, Any, int, int], Decision]
UNKNOWN: Final[Mapping[type[Event], Rule]] = {
    Initialize: _create,
    WriteState: _not_there,
    Load: _not_there,
    Compact: _nothing,
    Delete: _nothing,
}
KNOWN: Final[Mapping[type[Event], Rule]] = {
    Initialize: _create_again,
    WriteState: _write,
    Load: _load,
    Compact: _compact,
    Delete: _delete,
}
"""The rule for each event if a state is stored (KNOWN), and if none is stored (UNKNOWN)."""


# --- applying


def apply(state: ShareState | None, record: Record, written_ms: int) -> ShareState | None:
    """The state after a record; called for new records and at a start. An update without a state changes nothing."""
    match record:
        case StateSnapshot(new):
            return new
        case Tombstone():
            return None
        case Update():
            return None if state is None else _updated(state, record, written_ms)


def _updated(state: ShareState, update: Update, written_ms: int) -> ShareState:
    start = state.start_offset if update.start_offset == UNINITIALIZED else update.start_offset
    return state._replace(
        leader_epoch=max(state.leader_epoch, update.leader_epoch),
        start_offset=start,
        final_count=update.final_count,
        written_ms=written_ms,
        batches=merged(state.batches, update.batches, start),
        updates=state.updates + 1,
    )


def merged(batches: Iterable[StateBatch], newer: Sequence[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    """Merge both lists and drop offsets before ``start_offset``; where batches overlap, ``newer`` wins."""
    result = sorted(batches)
    for new in newer:
        low = bisect_left(result, new.first, key=lambda old: old.last)
        high = bisect_right(result, new.last, low, key=lambda old: old.first)
        kept = [new]
        if low < high and result[low].first < new.first:
            kept.insert(0, result[low]._replace(last=new.first - 1))
        if low < high and result[high - 1].last > new.last:
            kept.append(result[high - 1]._replace(first=new.last + 1))
        result[low:high] = kept
    joined: list[StateBatch] = []
    for batch in result:
        if batch.last < start_offset:
            continue
        batch = batch._replace(first=max(batch.first, start_offset))
        last = joined[-1] if joined else None
        if last is not None and last.last + 1 == batch.first and last[2:] == batch[2:]:
            joined[-1] = last._replace(last=batch.last)
        else:
            joined.append(batch)
    return tuple(joined)
