"""Rows and records, both or neither: for asyncio, with psycopg's ``AsyncConnection``, asyncpg or sqlite3.

The classes of ``oncelog.atomic``, with coroutines. Statements of sqlite3 run on the loop's thread: a lock that
another connection holds stops the loop for up to the connection's ``timeout``.
"""

from oncelog.atomic.inbox import InboxReader as Inbox
from oncelog.atomic.outbox import OutboxWriter as Outbox
from oncelog.atomic.relay import OutboxRelay as Relay
from oncelog.atomic.rows_and_records import TwoPhase as RowsAndRecords
from oncelog.atomic.transaction import Transaction

__all__ = ["Inbox", "Outbox", "Relay", "RowsAndRecords", "Transaction"]
