"""A broker that is killed, a PostgreSQL, a pooler before it, and empty databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.crash_rounds.node import ServeProcess
from tests.support.two_phase.databases import make_tables
from tests.support.two_phase.pgbouncer import PgBouncer
from tests.support.two_phase.postgres import WHY_NOT, Postgres, programs
from tests.support.two_phase.writer import PARTITIONS

SETTINGS = {
    "num.partitions": str(PARTITIONS),
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeProcess]:
    process = ServeProcess(tmp_path_factory.mktemp("node"), SETTINGS)
    process.start()
    yield process
    process.close()


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    if programs() is None:
        pytest.skip(WHY_NOT)
    with Postgres() as running:
        yield running


@pytest.fixture(scope="module")
def pooler(postgres: Postgres) -> Iterator[PgBouncer]:
    """Fails without PgBouncer: where PostgreSQL is, nothing of it is left out in silence."""
    with PgBouncer(postgres) as running:
        yield running


@pytest.fixture(params=["postgres", "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database with the programs' tables."""
    if request.param == "postgres":
        running: Postgres = request.getfixturevalue("postgres")
        address = running.new_database()
    else:
        address = f"sqlite:{tmp_path / 'orders.db'}"
    make_tables(address)
    return address
