"""Keeps track of records that the program fetched together, but that count as handed out one by one.

Called by the blocking consumer, whose threads must not wait for the event loop at each record. A rebalance or a seek
invalidates records that the program has not taken yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oncelog.client.core.consumer.subscription import PartitionState, Subscription
from oncelog.client.core.structs import ConsumerRecord, OffsetAndMetadata, TopicPartition


class _PartitionProgress:
    """The offset of the next record of one partition that the program will take."""

    __slots__ = ("next_offset", "state", "version")

    def __init__(self, state: PartitionState, version: int, next_offset: int) -> None:
        self.state = state
        self.version = version
        self.next_offset = next_offset


class BufferedRecords:
    """Records that were fetched for the program but not all handed out: how far each partition has been handed out."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._held: dict[TopicPartition, _PartitionProgress] = {}
        self.handed_out = False
        """Whether a record was handed out since this was last set to False."""

    def hold(self, found: Mapping[TopicPartition, Sequence[ConsumerRecord[object, object]]]) -> None:
        """Hold these records instead of all held before."""
        self.hold_from({name: records[0].offset for name, records in found.items()})

    def hold_from(self, first_offsets: Mapping[TopicPartition, int]) -> None:
        """Hold the records fetched from these offsets on, instead of all held before."""
        self._held.clear()
        for name, offset in first_offsets.items():
            state = self._subscription.assigned.get(name)
            if state is not None:
                self._held[name] = _PartitionProgress(state, state.version, offset)

    def names(self) -> list[TopicPartition]:
        """The partitions of the records that were held last, even if all have been handed out."""
        return list(self._held)

    def clear(self) -> None:
        """Hold nothing."""
        self._held.clear()

    def hand_out(self, name: TopicPartition, offset: int) -> bool:
        """Mark a held record as handed out; returns False if a seek or a rebalance has invalidated it.

        May be called from another thread.
        """
        held = self._held.get(name)
        if held is None:
            return False
        state = self._subscription.assigned.get(name)
        if state is not held.state or state.version != held.version or state.revoking:
            self._held.pop(name, None)
            return False
        held.next_offset = offset + 1
        self.handed_out = True
        return True

    def first(self, name: TopicPartition) -> int | None:
        """The first offset of the partition's held records; None if it has none, or they are invalid."""
        held = self._held.get(name)
        if held is None or held.state is not self._subscription.assigned.get(name):
            return None
        return held.next_offset if held.state.version == held.version else None

    def position(self, name: TopicPartition) -> int | None:
        """The offset of the next record that will be handed out; None while it is not known."""
        state = self._subscription.assigned.get(name)
        if state is None or state.reset is not None or state.position < 0:
            return None
        held = self.first(name)
        return state.position if held is None else held

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The positions to commit: in each assigned partition, the offset after the last record handed out."""
        found: dict[TopicPartition, OffsetAndMetadata] = {}
        for name, state in self._subscription.assigned.items():
            offset = self.position(name)
            if offset is not None:
                found[name] = OffsetAndMetadata(offset, "", state.position_epoch)
        return found


__all__ = ["BufferedRecords"]
