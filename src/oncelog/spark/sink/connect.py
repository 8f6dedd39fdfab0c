"""Finds the query of a batch over Spark Connect, where there is no JVM to ask, only the user's ``checkpointLocation``.

Called by ``for_each_batch`` in the worker that a Connect server starts for each of its queries. With the plans of
another query, a batch could wrongly count as already written. So the checkpoint must be that of a query running in the
session in which this query was started, and in this very batch, and no other process of this machine may write with it.
One case is not detected: another query of the session that writes the same topic with ``format`` and is in the batch of
the same number.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from oncelog.errors import ConfigError
from oncelog.runtime import real_time
from oncelog.spark.process import this_process
from oncelog.spark.sink.planning import checkpoint_at

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

CLAIM_TIMEOUT_S = 30.0
"""Seconds to wait for the worker of an earlier run of the query to end."""


class StartSession:
    """The session in which the query was started: the active session when Spark unpickles the query's function."""

    def __init__(self, spark: SparkSession | None = None) -> None:
        self.spark = spark

    def __reduce__(self) -> tuple[object, ...]:
        return _start_session, ()


def _start_session() -> StartSession:
    from pyspark.sql.connect.session import SparkSession

    return StartSession(SparkSession.getActiveSession())


def check_checkpoint(location: str, batch_id: int, session: StartSession) -> None:
    """Raises ConfigError unless ``location`` is the checkpoint of the query whose batch is written."""
    checkpoint = checkpoint_at(location)
    query_id = checkpoint.query_id()
    where = f"Option checkpointLocation of for_each_batch names {location}, the checkpoint of query {query_id}"
    what = "give it the checkpointLocation of the query itself"
    running = {str(query.id) for query in session.spark.streams.active} if session.spark is not None else {query_id}
    if query_id not in running:
        raise ConfigError(
            f"{where}, which does not run in this session (its queries are {', '.join(sorted(running))}): {what}"
        )
    if not checkpoint.is_under_way(batch_id):
        last = max(checkpoint.batches("offsets"), default=-1)
        state = "has ended it" if checkpoint.ended(batch_id) else f"planned batch {last} last"
        raise ConfigError(f"{where}, while batch {batch_id} is to be written, and that query {state}: {what}")
    if not this_process().part(QueryClaims).claim(query_id):
        raise ConfigError(f"{where}, which another query of this server already uses: {what}")


class QueryClaims:
    """The queries whose batches only this process writes on this machine; kept by the process."""

    def __init__(self) -> None:
        self._locked: dict[str, int] = {}

    def claim(self, query_id: str) -> bool:
        """Claim a query for this process, until the process ends or the claims are closed; returns False if another
        process has claimed it."""
        if query_id in self._locked or sys.platform == "win32":
            return True
        import fcntl

        name = hashlib.sha256(f"{os.getuid()} {query_id}".encode()).hexdigest()[:32]
        file = os.open(Path(tempfile.gettempdir(), f"oncelog-query-{name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        deadline = real_time.monotonic() + CLAIM_TIMEOUT_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if real_time.monotonic() > deadline:
                    os.close(file)
                    return False
                time.sleep(0.1)
            else:
                self._locked[query_id] = file
                return True

    def close(self) -> None:
        for file in self._locked.values():
            os.close(file)
        self._locked.clear()
