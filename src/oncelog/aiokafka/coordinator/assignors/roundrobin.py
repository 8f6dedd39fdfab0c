"""``aiokafka.coordinator.assignors.roundrobin``."""

from oncelog.aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor


class RoundRobinPartitionAssignor(AbstractPartitionAssignor):
    """All partitions in turn."""

    name = "roundrobin"


__all__ = ["RoundRobinPartitionAssignor"]
