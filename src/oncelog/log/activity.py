"""Counters of what a partition's log has done since it was opened: plain numbers for the metrics.

``partition_log`` counts where the work is done; no decision depends on these numbers.
"""

from __future__ import annotations

from oncelog.errors import Error


class Activity:
    """Counts of one log; they only rise.

    ``appends`` are batches that were written, markers included; ``duplicates`` those that were in the log already;
    ``refusals`` those not accepted, by reason. ``commits`` and ``aborts`` are ends of transactions.
    """

    __slots__ = ("aborts", "appends", "bytes_in", "commits", "duplicates", "refusals", "since_offset")

    def __init__(self, since_offset: int) -> None:
        """:param since_offset: the log's end when it was opened: everything after it was appended since."""
        self.since_offset = since_offset
        self.appends = 0
        self.bytes_in = 0
        self.duplicates = 0
        self.commits = 0
        self.aborts = 0
        self.refusals: dict[Error, int] = {}
