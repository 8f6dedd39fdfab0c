"""``aiokafka.coordinator.assignors``: a class for each assignor, which only carries its name.
``client.core.group.assignors`` implements the assignors."""

from __future__ import annotations

from typing import ClassVar


class AbstractPartitionAssignor:
    """Names an assignor for ``partition_assignment_strategy``. Assignors written by users are not supported."""

    name: ClassVar[str]


__all__ = ["AbstractPartitionAssignor"]
