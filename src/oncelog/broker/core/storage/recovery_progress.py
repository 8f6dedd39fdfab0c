"""Progress of a start, read from other threads that wait for it."""

from __future__ import annotations


class RecoveryProgress:
    """``opened`` of the data folder's ``partitions`` are open; ``done`` once the broker can serve requests."""

    __slots__ = ("coordinators_ns", "done", "opened", "partitions")

    def __init__(self) -> None:
        self.partitions = 0
        self.opened = 0
        self.coordinators_ns = 0
        """How long reading the coordinators' logs took."""
        self.done = False

    @property
    def opened_at_start(self) -> int:
        """Opened partitions, not counting those created later."""
        return min(self.opened, self.partitions)
