"""The progress of a start, which other threads read while they wait for it."""

from __future__ import annotations


class RecoveryProgress:
    """The progress of one start: ``opened`` of the data folder's ``partitions`` are open; ``done`` once the broker can
    serve requests."""

    __slots__ = ("coordinators_ns", "done", "opened", "partitions")

    def __init__(self) -> None:
        self.partitions = 0
        self.opened = 0
        self.coordinators_ns = 0
        """How long reading the coordinators' logs took, in ns."""
        self.done = False

    @property
    def opened_at_start(self) -> int:
        """The number of partitions opened so far, not counting those created later."""
        return min(self.opened, self.partitions)
