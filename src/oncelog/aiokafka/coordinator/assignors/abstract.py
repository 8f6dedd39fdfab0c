"""``aiokafka.coordinator.assignors``: classes that stand for assignors; the rules are in
``client.core.group.assignors``."""

from __future__ import annotations

from typing import ClassVar


class AbstractPartitionAssignor:
    """Names an assignor for ``partition_assignment_strategy``. Assignors of one's own are not supported."""

    name: ClassVar[str]


__all__ = ["AbstractPartitionAssignor"]
