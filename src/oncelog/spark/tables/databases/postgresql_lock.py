"""The lock on a sink's name in PostgreSQL: of two runs of a query, one at a time commits.

Called by :mod:`oncelog.spark.tables.databases.postgresql`. PostgreSQL holds the lock until the transaction has ended.
It does not notice that a driver hangs, and that a driver's machine is gone only by TCP's keepalives, after two hours.
So a run that is about to commit ends such a session, as the sink of a topic fences an earlier run.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from oncelog.runtime import real_time

if TYPE_CHECKING:
    import psycopg

logger = logging.getLogger(__name__)

LOCK_S = 60.0
"""A run waits this long for another session with the lock before it looks whether that session waits for its
driver."""
_POLL_S = 0.1
_TAKE = b"SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))"
_END_WAITING = b"""SELECT a.pid, pg_terminate_backend(a.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended(%s, 0)
    AND a.wait_event = 'ClientRead' AND pg_has_role(a.usesysid, 'USAGE')"""
"""Ends the session that has the lock if it waits for its client: in COPY, or between two statements."""


def lock(connection: psycopg.Connection[Any], name: str, table: str) -> None:
    """Take the lock on a sink's name until the transaction ends. A session that has had the lock for :data:`LOCK_S` and
    waits for its driver is ended.

    :param table: the table, for warnings.
    """
    while not _locked_in_time(connection, name):
        ended = [str(pid) for pid, _ in connection.execute(_END_WAITING, (name,)).fetchall()]
        logger.warning(
            "Another session holds the lock on %s in %s for more than %.0f s: %s",
            name,
            table,
            LOCK_S,
            f"its driver hangs or is gone, and session {', '.join(ended)} of PostgreSQL was ended"
            if ended
            else "this run waits until that session has ended",
        )


def lock_to_read(connection: psycopg.Connection[Any], name: str) -> None:
    """Wait for the commit that another session may be in, but no longer than :data:`LOCK_S`: a commit compares what was
    read under the lock."""
    _locked_in_time(connection, name)


def _locked_in_time(connection: psycopg.Connection[Any], name: str) -> bool:
    until = real_time.monotonic() + LOCK_S
    while connection.execute(_TAKE, (name,)).fetchone() != (True,):
        if real_time.monotonic() > until:
            return False
        time.sleep(_POLL_S)
    return True
