"""``aiokafka.admin.new_partitions``."""

from __future__ import annotations

from collections.abc import Sequence


class NewPartitions:
    """How many partitions a topic is to have in all, and optionally which brokers get the new ones."""

    def __init__(self, total_count: int, new_assignments: Sequence[Sequence[int]] | None = None) -> None:
        self.total_count = total_count
        self.new_assignments = new_assignments


__all__ = ["NewPartitions"]
