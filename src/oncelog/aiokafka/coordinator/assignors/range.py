"""``aiokafka.coordinator.assignors.range``."""

from oncelog.aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor


class RangePartitionAssignor(AbstractPartitionAssignor):
    """A run of each topic's partitions to each member."""

    name = "range"


__all__ = ["RangePartitionAssignor"]
