"""``aiokafka.coordinator.assignors.sticky.sticky_assignor``."""

from oncelog.aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor


class StickyPartitionAssignor(AbstractPartitionAssignor):
    """Assigns partitions evenly, and moves as few as possible."""

    name = "sticky"


__all__ = ["StickyPartitionAssignor"]
