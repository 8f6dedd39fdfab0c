"""Two runs of a query write a table of PostgreSQL or SQLite, and the first stops in the middle of a commit: its process
is suspended, or its machine has lost its power, which PostgreSQL notices after two hours.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from oncelog.spark.sink.engine import BatchOutcome, BatchStep
from oncelog.spark.tables.databases import postgresql_lock, sqlite
from oncelog.spark.tables.options import TableFormat
from oncelog.spark.tables.store import table_group
from tests.integration.tables.test_conflicts import once_at
from tests.integration.tables.worlds import Query, World
from tests.support.children import ends_with_us


@pytest.fixture
def form() -> TableFormat:
    return TableFormat.POSTGRESQL


@pytest.fixture
def query(world: World) -> Query:
    query = Query(world.folder / "checkpoint", world.options)
    query.run(0, [(0, "a")])
    return query


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql_lock, "LOCK_S", 0.3)


@pytest.fixture
def paused(query: Query) -> Iterator[psycopg.Connection[Any]]:
    """The connection of the first run, whose transaction holds the lock on the sink's name."""
    with closing(psycopg.connect(query.options.url)) as connection:
        group = table_group(query.query_id, query.name)
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (group,))
        yield connection


@pytest.mark.parametrize("copying", [False, True])
def test_a_batch_is_written_once_while_the_driver_of_an_earlier_run_is_suspended(
    world: World, query: Query, paused: psycopg.Connection[Any], copying: bool, caplog: pytest.LogCaptureFixture
) -> None:
    table = query.options.table
    if copying:
        paused.pgconn.send_query(f"COPY {table} FROM STDIN".encode())
        paused.pgconn.get_result()
        paused.pgconn.put_copy_data(b"1\tb\n")
    else:
        paused.execute(f"INSERT INTO {table} VALUES (1, 'b')".encode())
    with caplog.at_level(logging.WARNING):
        assert query.run(1, [(1, "b")]).outcome is BatchOutcome.WRITTEN
    assert f"session {paused.info.backend_pid} of PostgreSQL was ended" in caplog.text
    assert world.read() == [(0, "a"), (1, "b")]
    if not copying:
        with pytest.raises(psycopg.OperationalError):
            paused.execute("COMMIT")
    assert query.run(2, [(2, "c")]).outcome is BatchOutcome.WRITTEN
    assert world.read() == [(0, "a"), (1, "b"), (2, "c")]


def test_a_session_that_works_is_not_ended(
    world: World, query: Query, paused: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """A transaction that a killed driver has left may take long to end: PostgreSQL still moves the rows."""

    def work() -> None:
        paused.execute("SELECT pg_sleep(2)")
        paused.rollback()

    working = threading.Thread(target=work)
    observe = once_at(BatchStep.MARKER_READ, working.start)
    with caplog.at_level(logging.WARNING):
        assert query.run(1, [(1, "b")], observe=observe).outcome is BatchOutcome.WRITTEN
    working.join()
    assert "this run waits until that session has ended" in caplog.text
    assert world.read() == [(0, "a"), (1, "b")]


def test_a_run_that_only_looks_ends_no_session(query: Query, paused: psycopg.Connection[Any]) -> None:
    group = table_group(query.query_id, query.name)
    seen = query.store.look(group, ())
    assert seen.marker is not None and seen.marker.batch_id == 0
    assert paused.execute("SELECT 1").fetchone() == (1,)


_SUSPENDED = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
connection.execute("INSERT INTO flights VALUES (1, 'b')")
os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.mark.parametrize("form", [TableFormat.SQLITE])
def test_the_driver_that_waits_for_a_suspended_writer_of_sqlite_warns_and_continues_when_that_writer_has_ended(
    world: World, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LOCK_S", 0.2)
    with subprocess.Popen([sys.executable, "-c", _SUSPENDED, query.options.url]) as suspended:
        ends_with_us(suspended.pid)
        os.waitid(os.P_PID, suspended.pid, os.WSTOPPED | os.WNOWAIT)
        warned: list[str] = []

        def warn(text: str) -> None:
            warned.append(text)
            if len(warned) == 2:
                suspended.kill()
                suspended.wait()

        assert query.run(1, [(1, "b")], warn=warn).outcome is BatchOutcome.WRITTEN
    assert len(warned) == 2
    assert (
        f"locked by another writer for 0 s (database is locked): end that process (fuser {query.options.url}"
        in warned[0]
    )
    assert "tried again (9 more attempts)" in warned[0]
    assert world.read() == [(0, "a"), (1, "b")]
