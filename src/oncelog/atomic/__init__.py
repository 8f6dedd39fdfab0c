"""Rows in a database and records in a log, both or neither: ``oncelog.atomic``; for asyncio ``oncelog.atomic.aio``.

Three ways with one interface, a block given by ``transaction()``: two-phase commit (:class:`RowsAndRecords`), an outbox
with a relay (:class:`Outbox`, :class:`Relay`), and records into rows (:class:`Inbox`).
"""

from oncelog.atomic.blocking import Inbox, Outbox, Relay, RowsAndRecords, Transaction
from oncelog.atomic.refusals import AtomicError, Mismatch, Superseded

__all__ = ["AtomicError", "Inbox", "Mismatch", "Outbox", "Relay", "RowsAndRecords", "Superseded", "Transaction"]
