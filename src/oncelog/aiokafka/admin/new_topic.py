"""``aiokafka.admin.new_topic``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oncelog.aiokafka.errors import IllegalArgumentError


class NewTopic:
    """A topic to create, with numbers of partitions and replicas or with its replicas placed by hand."""

    def __init__(
        self,
        name: str,
        num_partitions: int,
        replication_factor: int,
        replica_assignments: Mapping[int, Sequence[int]] | None = None,
        topic_configs: Mapping[str, str] | None = None,
    ) -> None:
        if (num_partitions == -1 or replication_factor == -1) == (replica_assignments is None):
            raise IllegalArgumentError(
                "give num_partitions and replication_factor, or -1 for both and replica_assignments instead"
            )
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.replica_assignments = replica_assignments or {}
        self.topic_configs = topic_configs or {}


__all__ = ["NewTopic"]
