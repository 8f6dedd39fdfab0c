"""What tasks leave that no commit names, and what is wrong with a table: found, and deleted if it is old enough."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.spark.tables.databases.postgresql_copy import STAGED
from oncelog.spark.tables.doctor import TableDiagnosis, diagnose_table
from oncelog.spark.tables.inline import INLINE_BYTES
from oncelog.spark.tables.options import TableFormat
from oncelog.spark.tables.sink import open_store
from oncelog.spark.tables.store import WrittenPart
from tests.integration.cli.conftest import call
from tests.integration.tables.worlds import NOW_MS, SCHEMA, PostgresWorld, Query, World, arrow

IN_TASKS = [TableFormat.DELTA, TableFormat.ICEBERG, TableFormat.POSTGRESQL]
ROWS = [(number, f"{number:>200}") for number in range(INLINE_BYTES // 100)]
"""So many that a task writes them itself."""


@pytest.fixture
def query(world: World) -> Query:
    query = Query(world.folder / "checkpoint", world.options)
    query.run(0, [(0, "a")])
    return query


def task(query: Query) -> list[WrittenPart]:
    """A task that writes its rows."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield from arrow(ROWS).to_batches(max_chunksize=500)

    return list(query.store.task_writer()(batches()))


def age(world: World, hours: float = 100) -> None:
    """All that the table has is so old."""
    if isinstance(world, PostgresWorld):
        with psycopg.connect(world.options.url, autocommit=True) as connection:
            for (name,) in connection.execute(
                "SELECT relname FROM pg_class WHERE relname LIKE 'oncelog_staged%' AND relkind = 'r'"
            ).fetchall():
                made_s, _, rest = name.removeprefix(STAGED).partition("_")
                earlier = f"{STAGED}{int(made_s) - round(hours * 3600)}_{rest}"
                connection.execute(f'ALTER TABLE "{name}" RENAME TO "{earlier}"'.encode())
        return
    then = time.time() - hours * 3600
    for path in world.folder.rglob("*"):
        if path.is_file():
            os.utime(path, (then, then))


@pytest.mark.parametrize("form", IN_TASKS, indirect=True)
def test_files_of_a_lost_task_attempt_are_found_and_deleted(world: World, query: Query) -> None:
    query.store.prepare(SCHEMA, query.options)
    lost = task(query)
    assert [part.inline for part in lost] == [None] * len(lost)
    query.run(1, ROWS, made=lambda: task(query))
    store = open_store(world.options)
    assert store.leftovers(72) == []
    age(world)
    before = world.read()
    found = store.leftovers(72)
    assert len(found) == 1
    assert found[0].size_bytes > 0
    assert found[0].rows == (len(ROWS) if world.options.format is TableFormat.POSTGRESQL else None)
    store.remove(found, 72)
    assert store.leftovers(72) == []
    assert world.read() == before
    assert len(before) == len(ROWS) + 1
    query.run(2, [(-1, "c")])


@pytest.mark.parametrize("form", [TableFormat.DELTA], indirect=True)
def test_files_of_older_versions_and_of_other_writers_are_kept(world: World, query: Query) -> None:
    query.run(1, ROWS, made=lambda: task(query))
    from deltalake import DeltaTable

    DeltaTable(world.options.table).optimize.compact()
    (Path(world.options.table) / "part-00000-another.parquet").write_bytes(b"x")
    age(world)
    assert open_store(world.options).leftovers(72) == []


@pytest.mark.parametrize("form", [TableFormat.POSTGRESQL], indirect=True)
def test_staged_rows_of_a_dropped_table_are_found(world: World, query: Query) -> None:
    gone = Query(world.folder / "other", replace(world.options, table='public."odd % name"'))
    gone.run(0, [(0, "a")])
    task(gone)
    age(world)
    store = open_store(world.options)
    assert store.leftovers(72) == []
    with psycopg.connect(world.options.url, autocommit=True) as connection:
        connection.execute('DROP TABLE "odd % name"')
    (found,) = store.leftovers(72)
    assert (found.what.startswith("public.oncelog_staged_"), found.rows) == (True, len(ROWS))
    store.remove([found], 72)
    assert store.leftovers(72) == []


@pytest.mark.parametrize("form", [TableFormat.DELTA], indirect=True)
def test_the_command_reports_and_deletes_leftovers(world: World, query: Query) -> None:
    task(query)
    age(world)
    words = ("pipeline", "clean", "-o", "format=delta", "-o", f"table={world.options.table}")
    reported = call(*words, "--dry-run").done()
    assert reported.err.startswith("1 left over, ")
    assert reported.err.endswith(", nothing was deleted\n")
    assert reported.out.startswith("part-oncelog-")
    (line,) = call(*words, "--json").done().json_lines
    assert line["deleted"] is True
    assert call(*words).done().err == "0 left over, 0 bytes, deleted\n"
    assert "give one" in call("pipeline", "clean").sentence()
    assert "--option takes NAME=VALUE" in call("pipeline", "clean", "-o", "delta").sentence()


def examined(query: Query, schema: StructType = SCHEMA) -> TableDiagnosis:
    checkpoint = Checkpoint.open(str(query.root))
    return diagnose_table(checkpoint, query.options, query.name, schema, NOW_MS, 72)


def test_a_sound_table_has_no_findings(world: World, query: Query) -> None:
    found = examined(query)
    assert (found.verdict, found.next_batch, found.repeats, found.refused) == ("write", 1, False, False)
    assert found.marker is not None
    assert found.marker.batch_id == 0
    assert dict(found.lines())["columns"] == "as the rows need them"
    query.plan(1)
    assert (examined(query).repeats, examined(query).verdict) == (True, "write")
    query.write(1, [(1, "b")])
    assert examined(query).verdict == "skip"
    assert examined(query).as_json()["holds"] == {"batchId": 1, "rows": 1}


def test_a_checkpoint_that_is_older_than_the_table_is_reported(world: World, query: Query) -> None:
    query.run(1, [(1, "b")])
    query.forget(1)
    found = examined(query)
    assert found.verdict == "refuse"
    assert "the table holds batch 1 already" in found.reason


def test_a_missing_record_of_the_last_batch_is_reported(world: World, query: Query) -> None:
    query.run(1, [(1, "b")])
    world.clean_identities()
    found = examined(query)
    assert (found.verdict, found.marker) == ("refuse", None)
    assert "the identities that it kept were deleted" in found.reason


def test_the_check_of_a_table_reports_differing_columns_and_changes_nothing(world: World, query: Query) -> None:
    other = StructType([StructField("id", LongType()), StructField("text", BinaryType())])
    assert "Column text of " in examined(query, other).columns
    wider = StructType([*SCHEMA.fields, StructField("more", StringType())])
    assert "has no column more" in examined(query, wider).columns
    query.options = replace(world.options, evolve=True)
    assert examined(query, wider).columns == ""
    assert examined(query).columns == ""


def test_a_table_that_does_not_exist_yet_is_not_reported(world: World) -> None:
    query = Query(world.folder / "checkpoint", world.options)
    found = examined(query)
    assert (found.table_id, found.verdict, found.refused) == ("", "write", False)


@pytest.mark.parametrize("form", [TableFormat.POSTGRESQL], indirect=True)
def test_missing_database_permissions_are_reported(world: World, query: Query) -> None:
    with psycopg.connect(world.options.url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS examined")
        connection.execute("CREATE ROLE examined LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO examined")
        query.options = replace(query.options, url=query.options.url.replace("user=tests", "user=examined"))
        assert [re.split(" on |, for ", text)[0] for text in examined(query).missing_rights] == [
            "the role has no right to INSERT",
            "the role has no right to INSERT",
            "the role has no right to UPDATE",
            "the role lacks the privilege CREATE",
        ]
        connection.execute("GRANT INSERT, UPDATE ON flights, oncelog_batches TO examined")
        (missing,) = examined(query).missing_rights
        assert missing.endswith("for staged rows, which writers = 0 does without")
        query.options = replace(query.options, driver_writes=True)
        assert examined(query).missing_rights == []
        connection.execute("DROP TABLE flights")
        (missing,) = examined(query).missing_rights
        assert missing.startswith("the role lacks the privilege CREATE on the schema")
