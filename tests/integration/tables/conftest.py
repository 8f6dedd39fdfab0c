"""A table in each of the four formats; PostgreSQL, and a pooler before it, are children of the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oncelog.spark.tables.options import TableFormat
from tests.integration.tables.existing import PATHS, Existing
from tests.integration.tables.worlds import World, world_of
from tests.support.two_phase.pgbouncer import PgBouncer
from tests.support.two_phase.postgres import WHY_NOT, Postgres, programs

ONE_OF_EACH_ENGINE = pytest.mark.parametrize(
    "form",
    [
        TableFormat.POSTGRESQL,
        TableFormat.DELTA,
        pytest.param(TableFormat.SQLITE, marks=pytest.mark.soak),
        pytest.param(TableFormat.ICEBERG, marks=pytest.mark.soak),
    ],
    indirect=True,
    ids=lambda form: str(form.value),
)
"""A database and a table format; ``make soak`` adds SQLite and Iceberg."""


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    if programs() is None:
        pytest.skip(WHY_NOT)
    with Postgres() as started:
        yield started


@pytest.fixture(scope="session")
def pooler(postgres: Postgres) -> Iterator[PgBouncer]:
    """Fails without PgBouncer: where PostgreSQL is, nothing of it is left out in silence."""
    with PgBouncer(postgres) as started:
        yield started


@pytest.fixture(params=list(TableFormat), ids=lambda form: str(form.value))
def form(request: pytest.FixtureRequest) -> TableFormat:
    return TableFormat(request.param)


@pytest.fixture
def database(postgres: Postgres) -> Iterator[str]:
    """The address of an empty database of PostgreSQL."""
    with postgres.lent_database() as address:
        yield address


@pytest.fixture
def new_database(form: TableFormat, request: pytest.FixtureRequest) -> Callable[[], str]:
    """Starts PostgreSQL only for the tests that use it; each calls this once."""
    address: str = request.getfixturevalue("database") if form is TableFormat.POSTGRESQL else ""
    return lambda: address


@pytest.fixture
def world(form: TableFormat, tmp_path: Path, new_database: Callable[[], str]) -> World:
    return world_of(form, tmp_path, new_database)


@pytest.fixture(params=PATHS)
def existing(
    request: pytest.FixtureRequest, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Existing:
    monkeypatch.setattr("oncelog.spark.tables.inline.INLINE_BYTES", 0)
    return Existing(database, tmp_path, request.param)
