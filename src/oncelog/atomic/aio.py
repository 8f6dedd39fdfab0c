"""The asyncio API of ``oncelog.atomic``: the same classes with coroutines, over psycopg's ``AsyncConnection``, asyncpg
or sqlite3.

sqlite3 executes statements on the event loop's thread: while another connection holds the database's lock, the loop
stops for up to the connection's ``timeout``.
"""

from oncelog.atomic.inbox import InboxReader as Inbox
from oncelog.atomic.outbox import OutboxWriter as Outbox
from oncelog.atomic.relay import OutboxRelay as Relay
from oncelog.atomic.rows_and_records import TwoPhase as RowsAndRecords
from oncelog.atomic.transaction import Transaction

__all__ = ["Inbox", "Outbox", "Relay", "RowsAndRecords", "Transaction"]
