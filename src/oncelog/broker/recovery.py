"""How far a start has come; read from other threads by those who wait for it."""

from __future__ import annotations


class RecoveryProgress:
    """``opened`` of the ``partitions`` that the data folder has are open; ``done`` once the broker can serve."""

    __slots__ = ("coordinators_ns", "done", "opened", "partitions")

    def __init__(self) -> None:
        self.partitions = 0
        self.opened = 0
        self.coordinators_ns = 0
        """What reading the coordinators' logs took."""
        self.done = False

    @property
    def opened_at_start(self) -> int:
        """Without those that were made later."""
        return min(self.opened, self.partitions)
