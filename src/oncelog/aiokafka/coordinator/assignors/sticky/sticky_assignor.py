"""``aiokafka.coordinator.assignors.sticky.sticky_assignor``."""

from oncelog.aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor


class StickyPartitionAssignor(AbstractPartitionAssignor):
    """Even, and as little moved as can be."""

    name = "sticky"


__all__ = ["StickyPartitionAssignor"]
