"""The records of ``__share_group_state``, in Apache Kafka's format: snapshots of share partitions, and updates of the
latest snapshot.

Source: Kafka's ``ShareCoordinatorRecordHelpers``; layouts are those of ``protocol.internal_records``.
"""

from __future__ import annotations

from typing import Any

from oncelog.broker.coordinator.runtime import CoordinatorRecord
from oncelog.broker.coordinator.share.state_rules import (
    Record,
    RecordState,
    ShareKey,
    ShareState,
    StateBatch,
    StateSnapshot,
    Tombstone,
    Update,
)
from oncelog.protocol.generated import share_snapshot_value, share_update_value
from oncelog.protocol.generated.share_snapshot_key import ShareSnapshotKey
from oncelog.protocol.generated.share_snapshot_value import ShareSnapshotValue
from oncelog.protocol.generated.share_update_key import ShareUpdateKey
from oncelog.protocol.generated.share_update_value import ShareUpdateValue
from oncelog.protocol.internal_records import Unknown, decode_share_state_record, encode_record_key, encode_record_value


def encoded(key: ShareKey, change: Record) -> CoordinatorRecord:
    match change:
        case Tombstone():
            return CoordinatorRecord(encode_record_key(ShareSnapshotKey(*key)), None)
        case StateSnapshot(state):
            snapshot = ShareSnapshotValue(
                snapshot_epoch=state.snapshot_epoch,
                state_epoch=state.state_epoch,
                leader_epoch=state.leader_epoch,
                start_offset=state.start_offset,
                delivery_complete_count=state.final_count,
                create_timestamp=state.created_ms,
                write_timestamp=state.written_ms,
                state_batches=[share_snapshot_value.StateBatch(*batch) for batch in state.batches],
            )
            return CoordinatorRecord(encode_record_key(ShareSnapshotKey(*key)), encode_record_value(snapshot, 0))
        case Update():
            update = ShareUpdateValue(
                snapshot_epoch=change.snapshot_epoch,
                leader_epoch=change.leader_epoch,
                start_offset=change.start_offset,
                delivery_complete_count=change.final_count,
                state_batches=[share_update_value.StateBatch(*batch) for batch in change.batches],
            )
            return CoordinatorRecord(encode_record_key(ShareUpdateKey(*key)), encode_record_value(update, 0))


def decoded(key: bytes, value: bytes | None) -> tuple[ShareKey, Record] | None:
    """A share partition and the change to it; None for records of types that this version does not know."""
    found = decode_share_state_record(key, value)
    if isinstance(found, Unknown):
        return None
    place: Any = found.key
    share_key = ShareKey(place.group_id, place.topic_id, place.partition)
    if found.value is None:
        return share_key, Tombstone()
    stored: Any = found.value
    batches = tuple(
        StateBatch(each.first_offset, each.last_offset, RecordState(each.delivery_state), each.delivery_count)
        for each in stored.state_batches
    )
    if isinstance(stored, ShareSnapshotValue):
        state = ShareState(
            stored.snapshot_epoch,
            stored.state_epoch,
            stored.leader_epoch,
            stored.start_offset,
            stored.delivery_complete_count,
            stored.create_timestamp,
            stored.write_timestamp,
            batches,
        )
        return share_key, StateSnapshot(state)
    return share_key, Update(
        stored.snapshot_epoch, stored.leader_epoch, stored.start_offset, stored.delivery_complete_count, batches
    )
