"""``aiokafka.coordinator.assignors.roundrobin``."""

from oncelog.aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor


class RoundRobinPartitionAssignor(AbstractPartitionAssignor):
    """Assigns all partitions to the members in turn."""

    name = "roundrobin"


__all__ = ["RoundRobinPartitionAssignor"]
