"""A row and a record by two-phase commit: a program killed at every point, with PostgreSQL and with SQLite."""

from __future__ import annotations

import logging
import random
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from oncelog import atomic
from oncelog.client.errors import KafkaError
from tests.integration.client.reading import read_back
from tests.support.both_databases import SQLITE_IN_SOAK
from tests.support.crash_rounds.node import ServeProcess
from tests.support.two_phase.databases import make_tables, rows
from tests.support.two_phase.postgres import WHY_NOT, Postgres, programs
from tests.support.two_phase.running import LOCKED, Paused, Writers
from tests.support.two_phase.writer import PARTITIONS, TwoPhase

logger = logging.getLogger(__name__)

POINTS = 70
"""More than the calls of the start and two transactions, counting before and after each call to producer and
database.
"""
KIND = "two-phase"
ENABLED = {"transaction.two.phase.commit.enable": "true", "num.partitions": str(PARTITIONS)}


SHUT_OUT = (*LOCKED, psycopg.errors.UniqueViolation, sqlite3.IntegrityError, KafkaError, atomic.Superseded)
"""How an instance that another has overtaken may end; the row that it writes may be there by then."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeProcess]:
    process = ServeProcess(tmp_path_factory.mktemp("node"), ENABLED)
    process.start()
    yield process
    process.close()


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    if programs() is None:
        pytest.skip(WHY_NOT)
    with Postgres() as running:
        yield running


@pytest.fixture(params=["postgres", "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database with the program's tables."""
    if request.param == "postgres":
        running: Postgres = request.getfixturevalue("postgres")
        address = running.new_database()
    else:
        address = f"sqlite:{tmp_path / 'orders.db'}"
    make_tables(address)
    return address


def test_the_tests_postgresql_does_not_run_in_pytests_temporary_folder(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each pytest that starts on this machine closes them to all other users: initdb failed because of that."""
    assert tmp_path_factory.getbasetemp().parent not in postgres.folder.parents


def check(servers: str, name: str, database: str) -> int:
    """Rows and records are the same, in the same order; returns how many there are."""
    numbers = rows(database)
    assert numbers == list(range(1, len(numbers) + 1))
    seen = read_back(servers, name, PARTITIONS)
    for partition in range(PARTITIONS):
        assert [int(record.value or b"") for record in seen if record.partition == partition] == numbers
    return len(numbers)


def kill_rounds(node: ServeProcess, name: str, database: str, count: int, broker_every: int) -> int:
    """Kill the program, and now and then the broker too; after every tenth of the rounds, both must hold the same."""
    draw = random.Random(count)
    writers = Writers(KIND, node.bootstrap_servers, name, database)
    try:
        for number in range(1, count + 1):
            if number % 3:
                status = writers.run(kill_at=number % POINTS)
            else:
                status = writers.run(kill_after_s=draw.uniform(0, 0.3))
            assert status in (0, -signal.SIGKILL)
            if number % broker_every == 0:
                node.kill()
                node.start()
            if number % max(1, count // 10) == 0:
                assert writers.run(transactions=1) == 0
                logger.info("%d of %d kills, %d rows", number, count, check(node.bootstrap_servers, name, database))
        assert writers.run(transactions=1) == 0
        return check(node.bootstrap_servers, name, database)
    finally:
        writers.close()


@SQLITE_IN_SOAK
def test_a_program_killed_at_every_point_commits_rows_and_records_together_or_not_at_all(
    node: ServeProcess, database: str, unique_name: str
) -> None:
    assert kill_rounds(node, unique_name, database, POINTS, broker_every=35) > 11


@pytest.mark.soak
def test_a_thousand_kills_lose_neither_rows_nor_records(node: ServeProcess, database: str, unique_name: str) -> None:
    assert kill_rounds(node, unique_name, database, 1000, broker_every=50) > 150


def test_the_program_waits_for_a_killed_broker(node: ServeProcess, database: str, unique_name: str) -> None:
    writers = Writers(KIND, node.bootstrap_servers, unique_name, database)
    try:
        assert writers.run(transactions=1) == 0
        for _ in range(2):
            writers.begin(transactions=15)
            writers.await_start()
            node.kill()
            node.start()
            assert writers.end() == 0
        assert check(node.bootstrap_servers, unique_name, database) == 31
    finally:
        writers.close()


@pytest.mark.parametrize("half", [0, 1])
def test_an_instance_paused_while_another_takes_over_commits_each_row_and_record_once(
    node: ServeProcess, database: str, unique_name: str, half: int
) -> None:
    """At every point: if the first holds a lock, the second cannot take over before the first continues."""
    servers = node.bootstrap_servers
    taken_over = 0
    for at in range(half, POINTS, 2):
        first = Paused(KIND, servers, unique_name, database, at)
        assert first.standing.wait(120)
        second = TwoPhase(servers, unique_name, database, wait_s=0.05)
        try:
            second.start()
            second.write()
            taken_over += 1
        except LOCKED:
            pass
        finally:
            second.close()
        first.resume()
        assert first.outcome is None or isinstance(first.outcome, SHUT_OUT), at
    last = TwoPhase(servers, unique_name, database)
    last.start()
    last.write()
    last.close()
    assert taken_over >= 5
    check(servers, unique_name, database)
