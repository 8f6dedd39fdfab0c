"""PostgreSQL behind PgBouncer in transaction mode, as managed databases have it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.spark.tables.doctor import diagnose_table
from oncelog.spark.tables.inline import inline_part
from oncelog.spark.tables.options import Mode, TableFormat
from tests.integration.tables.worlds import NOW_MS, SCHEMA, PostgresWorld, Query, World, arrow
from tests.support.two_phase.pgbouncer import POOL, PgBouncer

TEXT = "x" * 400_000
"""Rows of this size are copied by the task."""


@pytest.fixture
def form() -> TableFormat:
    return TableFormat.POSTGRESQL


@pytest.fixture
def pooled(world: World, pooler: PgBouncer) -> World:
    world.options = replace(world.options, url=pooler.before(world.options.url))
    return world


@pytest.mark.parametrize("mode", list(Mode), ids=lambda mode: str(mode.value))
def test_batches_are_written_and_checked_through_a_pooler(pooled: World, tmp_path: Path, mode: Mode) -> None:
    key = ("id",) if mode is Mode.UPSERT else ()
    query = Query(tmp_path / "checkpoint", replace(pooled.options, mode=mode, key=key))
    for number in range(4):
        query.run(2 * number, [(number, "few")])
        rows = arrow([(number, "few"), (10 + number, TEXT)]).to_batches()
        query.run(2 * number + 1, [], made=lambda rows=rows: list(query.store.task_writer()(iter(rows))))
        found = diagnose_table(Checkpoint.open(str(query.root)), query.options, "", SCHEMA, NOW_MS, 0)
        assert (found.columns, found.missing_rights, found.leftovers, found.refused) == ("", [], [], False)
    few = [(number, "few") for number in range(4)]
    many = [(10 + number, TEXT) for number in range(4)]
    assert (
        pooled.read()
        == {
            Mode.APPEND: sorted([*few, *few, *many]),
            Mode.UPSERT: [*few, *many],
            Mode.COMPLETE: [(3, "few"), (13, TEXT)],
        }[mode]
    )
    assert isinstance(pooled, PostgresWorld)
    assert _prepared(pooled) == []


def _prepared(world: PostgresWorld) -> list[str]:
    """Statements that are prepared on any of the pool's connections; each transaction here is open, so has its own."""
    opened = [psycopg.connect(world.options.url, prepare_threshold=None) for _ in range(POOL)]
    found = [row[0] for one in opened for row in one.execute("SELECT statement FROM pg_prepared_statements").fetchall()]
    for one in opened:
        one.close()
    return found


def test_a_column_is_added_through_the_pooler(pooled: World, tmp_path: Path) -> None:
    query = Query(tmp_path / "checkpoint", replace(pooled.options, evolve=True))
    query.run(0, [(0, "a")])
    wider = StructType([*SCHEMA.fields, StructField("more", IntegerType())])
    rows = pa.table({"id": [1], "text": ["b"], "more": pa.array([7], pa.int32())})
    query.run(1, [], schema=wider, made=lambda: [inline_part(rows.to_batches())])
    assert pooled.read() == [(0, "a"), (1, "b")]
