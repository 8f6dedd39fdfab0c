"""The epochs of a group and of its assignment, which consumer groups and share groups change in the same way.

Source: Kafka's ``GroupMetadataManager`` and ``TargetAssignmentBuilder`` (4.4, KIP-1263).
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Final, Generic, Protocol, TypeVar

from oncelog.broker.coordinator.runtime import CoordinatorRecord

MAX_EPOCH: Final = 2**31 - 1
"""The last epoch; the one after it is epoch 1, as with the generations of classic groups."""


class AssignedGroup(Protocol):
    group_id: str
    epoch: int
    metadata_hash: int
    assignment_epoch: int
    assignment_timestamp_ms: int

    @property
    def members(self) -> Sized: ...


EpochRecord = Callable[[str, int, int], CoordinatorRecord]
G = TypeVar("G", bound=AssignedGroup)


class EpochDraft(Generic[G]):
    """The next state of a group; ``written`` are the records that lead to this state, in the order in which they
    apply."""

    def __init__(self, group: G, epoch: EpochRecord, target_epoch: EpochRecord) -> None:
        """:param epoch: creates the record of a group's epoch, from group id, epoch and hash of the topics.
        :param target_epoch: creates the record of the assignment's epoch, from group id, epoch and time in ms.
        """
        self.group = group
        self.written: list[CoordinatorRecord] = []
        self._epoch_record = epoch
        self._target_epoch_record = target_epoch

    def begin_epoch(self, metadata_hash: int) -> None:
        group = self.group
        group.epoch = group.epoch + 1 if group.epoch < MAX_EPOCH else 1
        group.metadata_hash = metadata_hash
        self.written.append(self._epoch_record(group.group_id, group.epoch, metadata_hash))

    def was_assigned_within(self, interval_ms: int, now_ms: int) -> bool:
        """Whether the last assignment is so recent that no new one is to be computed yet."""
        last_ms = self.group.assignment_timestamp_ms
        return last_ms != 0 and 0 <= now_ms - last_ms < interval_ms

    def end_assignment(self, now_ms: int) -> None:
        """Record that the targets of the group's epoch are set, and when."""
        group = self.group
        group.assignment_epoch, group.assignment_timestamp_ms = group.epoch, now_ms
        self.written.append(self._target_epoch_record(group.group_id, group.epoch, now_ms))

    def end_assignment_if_empty(self) -> None:
        """End the assignment if the group has no members: its epoch needs no target, and the next member need not wait
        for the interval between assignments."""
        if not self.group.members:
            self.end_assignment(0)
