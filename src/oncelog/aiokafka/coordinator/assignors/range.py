"""``aiokafka.coordinator.assignors.range``."""

from oncelog.aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor


class RangePartitionAssignor(AbstractPartitionAssignor):
    """Assigns each member a run of consecutive partitions of each topic."""

    name = "range"


__all__ = ["RangePartitionAssignor"]
