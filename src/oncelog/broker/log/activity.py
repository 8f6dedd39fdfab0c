"""Counts events in a partition's log since it was opened, for the metrics.

The log counts where the work is done; no decision depends on these numbers.
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

    ``appends`` are batches that were written, markers included; ``duplicates`` are batches that were in the log
    already; ``refusals`` are batches not accepted, by error. ``commits`` and ``aborts`` are ends of transactions.
    """

    __slots__ = ("aborts", "appends", "bytes_in", "commits", "duplicates", "refusals", "since_offset")

    def __init__(self, since_offset: int) -> None:
        """:param since_offset: the log end offset when the log was opened."""
        self.since_offset = since_offset
        self.appends = 0
        self.bytes_in = 0
        self.duplicates = 0
        self.commits = 0
        self.aborts = 0
        self.refusals: dict[Error, int] = {}
