"""What a partition's log was asked to do since it was opened: plain numbers that metrics add up when asked.

Counted by ``partition_log`` where the work is done; nothing is decided by them.
"""

from __future__ import annotations

from oncelog.errors import Error


class Activity:
    """Counts of one log; they only rise.

    ``appends`` are batches that were written, markers among them, ``duplicates`` those that were there already,
    ``refusals`` those that were not taken in, by reason. ``commits`` and ``aborts`` are transactions' ends.
    """

    __slots__ = ("aborts", "appends", "bytes_in", "commits", "duplicates", "refusals", "since_offset")

    def __init__(self, since_offset: int) -> None:
        """:param since_offset: where the log ended when it was opened: what comes after it was appended since."""
        self.since_offset = since_offset
        self.appends = 0
        self.bytes_in = 0
        self.duplicates = 0
        self.commits = 0
        self.aborts = 0
        self.refusals: dict[Error, int] = {}
