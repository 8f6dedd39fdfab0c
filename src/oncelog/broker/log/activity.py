"""Counters of what a partition's log has done since it was opened: plain numbers for the metrics.

``partition_log`` counts where the work is done; no decision depends on these numbers.
"""

from __future__ import annotations

from typing import Final

from oncelog.errors import Error

REFUSALS: Final = (
    Error.CORRUPT_MESSAGE,
    Error.MESSAGE_TOO_LARGE,
    Error.RECORD_LIST_TOO_LARGE,
    Error.INVALID_RECORD,
    Error.INVALID_TIMESTAMP,
    Error.UNSUPPORTED_COMPRESSION_TYPE,
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
    Error.INVALID_PRODUCER_EPOCH,
    Error.PRODUCER_FENCED,
    Error.INVALID_TXN_STATE,
    Error.CONCURRENT_TRANSACTIONS,
    Error.TRANSACTION_ABORTABLE,
    Error.TRANSACTION_COORDINATOR_FENCED,
    Error.NOT_ENOUGH_REPLICAS,
    Error.KAFKA_STORAGE_ERROR,
    Error.UNKNOWN_SERVER_ERROR,
)
"""The errors for which a log refuses a batch."""


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
