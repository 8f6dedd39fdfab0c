"""A sink knows its table by what the table says, however somebody spells it, and whatever it is called by now."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.spark.sink.engine import BatchOutcome, SinkRefused
from oncelog.spark.tables.options import TableFormat, TableOptions
from tests.integration.tables.worlds import DeltaWorld, IcebergWorld, PostgresWorld, Query, SqliteWorld, World
from tests.support.two_phase.postgres import Postgres

SKIPPED, WRITTEN = BatchOutcome.SKIPPED, BatchOutcome.WRITTEN
ROWS = [(0, "a"), (1, "b")]


@pytest.fixture
def query(world: World) -> Query:
    """Batch 0 has ended, and batch 1 is written while Spark does not know it."""
    made = Query(world.folder / "checkpoint", world.options)
    made.run(0, [(0, "a")])
    made.write(1, [(1, "b")])
    assert world.read() == ROWS
    return made


def _continues(world: World, query: Query, options: TableOptions) -> None:
    """The last batch is skipped and the next one written once."""
    again = Query(query.root, options, query.name)
    assert again.run(1, [(1, "b")]).outcome is SKIPPED
    assert again.run(2, [(2, "c")]).outcome is WRITTEN
    again.store = Query(query.root, options, query.name).store
    assert again.write(2, [(2, "c")]).outcome is SKIPPED
    world.options = options
    assert world.read() == [*ROWS, (2, "c")]


def _spellings(world: World) -> list[TableOptions]:
    """Other ways to name the same table."""
    folder, options = world.folder, world.options
    (folder / "sub").mkdir()
    (folder / "link").symlink_to(folder, target_is_directory=True)
    there = (f"{folder}/sub/..", f"{folder}/link", f"{folder}//.")
    match world:
        case DeltaWorld():
            paths = [
                *(f"{above}/lake/flights" for above in there),
                f"{folder}/lake/flights/",
                f"file://{folder}/lake/flights",
            ]
            return [replace(options, table=path) for path in paths]
        case SqliteWorld():
            files = [replace(options, url=f"{above}/tables.db") for above in there]
            return [*files, *(replace(options, table=name) for name in ('"flights"', "FLIGHTS"))]
        case PostgresWorld():
            names = ("public.flights", '"public"."flights"', '"flights"')
            more: list[dict[str, str]] = [{"application_name": "x"}, {"options": "-c search_path=pg_catalog,public"}]
            urls = [replace(options, url=make_conninfo(options.url, **given)) for given in more]
            return [*(replace(options, table=name) for name in names), *urls]
    catalogs = [{**options.catalog, "uri": f"sqlite:///{above}/catalog.db"} for above in there]
    return [replace(options, catalog=catalog) for catalog in catalogs]


def test_a_table_spelt_differently_is_recognised_as_the_same(world: World, query: Query) -> None:
    for options in _spellings(world):
        found = Query(query.root, options).write(1, [(1, "b")])
        assert found.outcome is SKIPPED, options
        doubled = Query(query.root, options).write(1, [(1, "b")], on_missing=OnMissingMarker.WRITE)
        assert doubled.outcome is SKIPPED, options
    assert world.read() == ROWS
    _continues(world, query, options)


def _rename(world: World) -> TableOptions:
    match world:
        case DeltaWorld():
            shutil.move(world.options.table, world.folder / "renamed")
            return replace(world.options, table=str(world.folder / "renamed"))
        case SqliteWorld():
            with world._connected() as connection:
                connection.execute("ALTER TABLE flights RENAME TO renamed")
            shutil.move(world.options.url, world.folder / "moved.db")
            return replace(world.options, url=str(world.folder / "moved.db"), table="renamed")
        case PostgresWorld():
            world._execute("CREATE SCHEMA other")
            world._execute("ALTER TABLE flights SET SCHEMA other")
            world._execute("ALTER TABLE other.flights RENAME TO renamed")
            return replace(world.options, table="other.renamed")
        case IcebergWorld():
            world.catalog().rename_table("lake.flights", "lake.renamed")
            return replace(world.options, table="lake.renamed")
    raise AssertionError


def _rows(world: World, options: TableOptions) -> list[Any]:
    if isinstance(world, SqliteWorld):
        with sqlite3.connect(options.url) as connection:
            return connection.execute(f"SELECT id, text FROM {options.table} ORDER BY id").fetchall()
    if isinstance(world, PostgresWorld):
        with psycopg.connect(options.url) as connection:
            return connection.execute(f"SELECT id, text FROM {options.table} ORDER BY id".encode()).fetchall()
    world.options = options
    return world.read()


def test_a_query_continues_after_its_table_was_moved_or_renamed_with_its_data(world: World, query: Query) -> None:
    options = _rename(world)
    again = Query(query.root, options)
    assert again.run(1, [(1, "b")]).outcome is SKIPPED
    assert again.run(2, [(2, "c")]).outcome is WRITTEN
    assert _rows(world, options) == [*ROWS, (2, "c")]


@pytest.mark.parametrize("names", [("", "late"), ("late", ""), ("late", "later")])
def test_a_renamed_sink_does_not_duplicate_existing_rows(world: World, names: tuple[str, str]) -> None:
    old, new = (Query(world.folder / "checkpoint", world.options, name=name) for name in names)
    old.run(0, [(0, "a")])
    old.write(1, [(1, "b")])
    for choice in (OnMissingMarker.FAIL, OnMissingMarker.WRITE):
        with pytest.raises(
            SinkRefused, match=r"as it is written: .* holds batch 1 of this query .* set onMissingMa.*skip"
        ):
            new.write(1, [(1, "b")], on_missing=choice)
    assert new.run(1, [(1, "b")], on_missing=OnMissingMarker.SKIP).outcome is SKIPPED  # as the message says
    assert new.run(2, [(2, "c")]).outcome is WRITTEN
    assert world.read() == [*ROWS, (2, "c")]


def test_the_refusal_of_a_renamed_sink_says_how_to_continue_with_the_next_batch(world: World) -> None:
    old, new = (Query(world.folder / "checkpoint", world.options, name=name) for name in ("late", "later"))
    old.run(0, [(0, "a")])
    old.run(1, [(1, "b")])
    with pytest.raises(
        SinkRefused, match=r"holds batch 1 .* by sink 'late' .* and none by sink 'later'\. .* to write until"
    ):
        new.write(2, [(2, "c")])
    assert new.run(2, [(2, "c")], on_missing=OnMissingMarker.WRITE).outcome is WRITTEN
    assert new.write(2, [(2, "c")], on_missing=OnMissingMarker.WRITE).outcome is SKIPPED
    assert world.read() == [*ROWS, (2, "c")]


def test_older_checkpoint_with_a_renamed_sink_is_refused_whatever_the_options_are(world: World) -> None:
    old, new = (Query(world.folder / "checkpoint", world.options, name=name) for name in ("late", "later"))
    for number, row in enumerate([*ROWS, (2, "c")]):
        old.run(number, [row])
    for number in (1, 2):
        old.forget(number)
    for choice in OnMissingMarker:
        with pytest.raises(
            SinkRefused, match=r"holds batch 2 of this query .*give the sink the name that it had there"
        ):
            new.write(1, [(1, "b")], on_missing=choice, upto=70)
    assert world.read() == [*ROWS, (2, "c")]


def test_a_renamed_sink_writes_no_row_twice_even_if_the_file_of_its_last_write_is_lost(world: World) -> None:
    old, new = (Query(world.folder / "checkpoint", world.options, name=name) for name in ("", "late"))
    old.write(0, [(0, "a")])
    shutil.rmtree(old.root / "oncelog")
    with pytest.raises(SinkRefused, match="as it is written"):
        new.write(0, [(0, "a")], on_missing=OnMissingMarker.WRITE)
    assert world.read() == ROWS[:1]


def test_two_sinks_without_names_may_write_to_two_tables(world: World, query: Query) -> None:
    table = {TableFormat.DELTA: str(world.folder / "lake" / "b"), TableFormat.ICEBERG: "lake.b"}.get(
        world.options.format, "b"
    )
    other = Query(world.folder / "two", replace(world.options, table=table))
    first = Query(world.folder / "two", replace(world.options, table=f"{table}{table[-1]}"))
    for number, row in enumerate(ROWS):
        assert first.write(number, [row]).outcome is WRITTEN
        other.siblings = {one.key for one in Checkpoint.open(str(first.root)).last_writes()}  # as in a run
        assert other.run(number, [row]).outcome is WRITTEN
    other.siblings = ()
    assert first.write(1, [ROWS[1]]).outcome is other.write(1, [ROWS[1]]).outcome is SKIPPED


# --- copies: what is in a copy decides about the copy


def test_a_copied_delta_table_skips_only_batches_that_the_copy_contains(tmp_path: Path) -> None:
    world = DeltaWorld(tmp_path, TableOptions(TableFormat.DELTA, str(tmp_path / "t")))
    query = Query(tmp_path / "checkpoint", world.options)
    query.run(0, [(0, "a")])
    shutil.copytree(tmp_path / "t", tmp_path / "copy")
    query.write(1, [(1, "b")])
    copy = replace(world.options, table=str(tmp_path / "copy"))
    assert Query(query.root, copy).write(1, [(1, "b")]).outcome is WRITTEN  # the copy lacks it
    assert Query(query.root, copy).write(1, [(1, "b")]).outcome is SKIPPED
    assert _rows(world, copy) == ROWS


def _dumped(source: str, target: str, *options: str) -> None:
    dump = subprocess.run(["pg_dump", "--dbname", source, *options], check=True, capture_output=True)
    subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", target], input=dump.stdout, check=True, capture_output=True)


@pytest.fixture
def postgres_world(tmp_path: Path, postgres: Postgres) -> PostgresWorld:
    return PostgresWorld(tmp_path, TableOptions(TableFormat.POSTGRESQL, "flights", url=postgres.new_database()))


def test_a_restored_database_keeps_its_batches(
    tmp_path: Path, postgres: Postgres, postgres_world: PostgresWorld
) -> None:
    query = Query(tmp_path / "checkpoint", postgres_world.options)
    query.run(0, [(0, "a")])
    query.write(1, [(1, "b")])
    target = postgres.new_database()
    with psycopg.connect(target, autocommit=True) as connection:
        connection.execute("CREATE TABLE before (x int)")  # so that oids are others
    _dumped(postgres_world.options.url, target)
    restored = replace(postgres_world.options, url=target)
    _continues(postgres_world, query, restored)
    with psycopg.connect(target, autocommit=True) as connection:
        connection.execute("DROP TABLE flights")  # what was restored with it says nothing of the next one of the name
    with pytest.raises(SinkRefused, match="wrote last to the table with id"):
        Query(query.root, restored).write(3, [(3, "d")])


def test_a_schema_restored_from_a_dump_keeps_its_batches(tmp_path: Path, postgres_world: PostgresWorld) -> None:
    query = Query(tmp_path / "checkpoint", postgres_world.options)
    query.run(0, [(0, "a")])
    query.write(1, [(1, "b")])
    _dumped(
        postgres_world.options.url, postgres_world.options.url, "--clean", "--table=flights", "--table=oncelog_batches"
    )
    _continues(postgres_world, query, postgres_world.options)


def test_a_table_copied_from_another_table_does_not_inherit_the_written_batches(
    tmp_path: Path, postgres_world: PostgresWorld
) -> None:
    query = Query(tmp_path / "checkpoint", postgres_world.options)
    query.run(0, [(0, "a")])
    postgres_world._execute("CREATE TABLE made AS SELECT * FROM flights")
    with pytest.raises(SinkRefused, match="wrote last to the table with id"):
        Query(query.root, replace(query.options, table="made")).write(1, [(1, "b")])


def test_a_role_that_may_not_read_the_system_identifier_can_write(
    tmp_path: Path, postgres_world: PostgresWorld
) -> None:
    postgres_world._execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    postgres_world._execute("DO $$ BEGIN CREATE ROLE plain LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    postgres_world._execute("GRANT CREATE, USAGE ON SCHEMA public TO plain")
    plain = replace(postgres_world.options, url=make_conninfo(postgres_world.options.url, options="-c role=plain"))
    query = Query(tmp_path / "checkpoint", plain)
    query.run(0, [(0, "a")])
    assert query.write(0, [(0, "a")]).outcome is SKIPPED


def test_roles_with_other_rights_see_the_same_batches(tmp_path: Path, postgres_world: PostgresWorld) -> None:
    plain = replace(postgres_world.options, url=make_conninfo(postgres_world.options.url, options="-c role=unasked"))
    query, other = (Query(tmp_path / "checkpoint", options) for options in (postgres_world.options, plain))
    query.run(0, [(0, "a")])
    postgres_world._execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    postgres_world._execute("DO $$ BEGIN CREATE ROLE unasked; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    postgres_world._execute("GRANT ALL ON flights, oncelog_batches TO unasked")
    postgres_world._execute("GRANT CREATE, USAGE ON SCHEMA public TO unasked")
    for number, writer, reader in ((1, other, query), (2, query, other), (3, other, query)):
        assert writer.write(number, [(number, "x")]).outcome is WRITTEN
        assert reader.run(number, [(number, "x")]).outcome is SKIPPED
    assert [number for number, _ in postgres_world.read()] == [0, 1, 2, 3]


def test_a_table_moved_back_to_its_schema_keeps_the_batches_written_in_the_other_schema(
    tmp_path: Path, postgres_world: PostgresWorld
) -> None:
    query = Query(tmp_path / "checkpoint", postgres_world.options)
    query.run(0, [(0, "a")])
    postgres_world._execute("CREATE SCHEMA other")
    postgres_world._execute("ALTER TABLE flights SET SCHEMA other")
    assert Query(query.root, replace(query.options, table="other.flights")).write(1, [(1, "b")]).outcome is WRITTEN
    postgres_world._execute("ALTER TABLE other.flights SET SCHEMA public")
    _continues(postgres_world, query, query.options)


def test_a_copied_sqlite_file_keeps_the_record_of_written_batches(tmp_path: Path) -> None:
    options = TableOptions(TableFormat.SQLITE, "flights", url=str(tmp_path / "a.db"))
    query = Query(tmp_path / "checkpoint", options)
    query.run(0, [(0, "a")])
    query.write(1, [(1, "b")])
    shutil.copy(options.url, tmp_path / "b.db")
    copy = replace(options, url=str(tmp_path / "b.db"))
    _continues(SqliteWorld(tmp_path, copy), query, copy)


def test_a_query_continues_with_an_iceberg_table_registered_in_another_catalog(tmp_path: Path) -> None:
    from pyiceberg.catalog import load_catalog

    def catalog(name: str) -> dict[str, str]:
        return {"type": "sql", "uri": f"sqlite:///{tmp_path}/{name}.db", "warehouse": f"file://{tmp_path}/warehouse"}

    options = TableOptions(TableFormat.ICEBERG, "lake.flights", catalog=catalog("one"))
    query = Query(tmp_path / "checkpoint", options)
    query.run(0, [(0, "a")])
    query.write(1, [(1, "b")])
    location = load_catalog("default", **options.catalog).load_table("lake.flights").metadata_location
    other = load_catalog("default", **catalog("two"))
    other.create_namespace("sea")
    other.register_table("sea.trips", location)
    registered = replace(options, table="sea.trips", catalog=catalog("two"))
    _continues(IcebergWorld(tmp_path, registered), query, registered)
