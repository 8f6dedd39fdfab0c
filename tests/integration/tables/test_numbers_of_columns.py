"""Tables with as many columns as PostgreSQL and SQLite allow, and rows with more, which are refused at the start."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from oncelog.errors import ConfigError
from oncelog.spark.tables.columns import MAX_COLUMNS
from oncelog.spark.tables.options import Mode, TableOptions
from oncelog.spark.tables.sink import check_table, open_store
from oncelog.spark.tables.store import TableRefused
from tests.integration.tables.existing import Existing, ExistingSqlite, numbers, texts


@pytest.fixture(params=["sqlite", "postgresql"])
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> Existing:
    if request.param == "sqlite":
        return ExistingSqlite(str(tmp_path / "tables.db"), tmp_path, "driver")
    return Existing(request.getfixturevalue("database"), tmp_path, "driver")


def names(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]


def test_a_table_with_the_maximum_number_of_columns_is_written(sink: Existing) -> None:
    most = MAX_COLUMNS[sink.form]
    sink.write({name: texts("a") for name in names(most)}, mode=Mode.UPSERT, key=("c0",))
    assert sink.run("SELECT * FROM o") == [("a",) * most]
    with pytest.raises(Exception, match=r"(?i)too many columns|at most 1600 columns"):
        sink.run(f"CREATE TABLE more ({', '.join(f'{name} integer' for name in names(most + 1))})")


def test_rows_with_more_columns_than_a_table_may_have_are_refused_before_the_query_runs(sink: Existing) -> None:
    most = MAX_COLUMNS[sink.form]
    schema = StructType([StructField(name, LongType()) for name in names(most + 1)])
    options = TableOptions(sink.form, "o", url=sink.url)
    reported = f"have {most + 1} columns, while a {sink.form.value} table may have {most}: put several"
    with pytest.raises(ConfigError, match=reported):
        check_table(open_store(options), schema, options)
    with pytest.raises(ConfigError, match=reported):
        sink.start({name: LongType() for name in names(most + 1)})


def test_columns_that_would_exceed_the_maximum_are_not_added(sink: Existing) -> None:
    most = MAX_COLUMNS[sink.form]
    sink.run(f"CREATE TABLE o ({', '.join(f'{name} integer' for name in names(most - 1))})")
    with pytest.raises(ConfigError, match=f"has {most - 1} columns, and the rows add 2, while .* may have {most}"):
        sink.write({"c0": numbers(1), "new": numbers(2), "newer": numbers(3)}, evolve=True)
    sink.write({"c0": numbers(1), "new": numbers(2)}, evolve=True)
    assert sink.run("SELECT c0, c1, new FROM o") == [(1, None, 2)]


def test_a_row_that_is_too_long_for_postgresql_is_written_after_the_advised_change(existing: Existing) -> None:
    rows = {name: numbers(1) for name in names(1600)}
    with pytest.raises(TableRefused, match=r"row is too big: .*with struct\(\.\.\.\)"):
        existing.write(rows)
    fields = [pa.array([1], pa.int64())] * 1600
    struct = StructType([StructField(name, LongType()) for name in names(1600)])
    texts_of_struct = pa.StructArray.from_arrays(fields, names(1600)).to_pylist()
    existing.write({"id": numbers(1), "rest": (struct, pa.string(), [str(texts_of_struct[0]).replace("'", '"')])}, "p")
    assert existing.run("SELECT id, rest ->> 'c1599', pg_typeof(rest)::text FROM p") == [(1, "1", "jsonb")]


def test_a_key_of_more_columns_than_an_index_of_postgresql_may_have_is_refused(existing: Existing) -> None:
    rows = {name: texts("a") for name in names(40)}
    with pytest.raises(ConfigError, match="names 33 columns, while an index of PostgreSQL may have 32: put them into"):
        existing.write(rows, mode=Mode.UPSERT, key=tuple(names(33)))
    existing.write(rows, mode=Mode.UPSERT, key=tuple(names(32)))
    with pytest.raises(psycopg.errors.TooManyColumns):
        existing.run(f"CREATE UNIQUE INDEX ON o ({', '.join(names(33))})")


def test_dropped_columns_count_in_postgresql_until_the_table_is_copied(existing: Existing) -> None:
    existing.run(f"CREATE TABLE o ({', '.join(f'{name} integer' for name in names(1600))})")
    existing.run(f"ALTER TABLE o {', '.join(f'DROP COLUMN {name}' for name in names(1600)[1:])}")
    with pytest.raises(TableRefused, match=r"at most 1600 columns \(PostgreSQL counts dropped columns too"):
        existing.write({"c0": numbers(1), "new": numbers(2)}, evolve=True)
    existing.run("CREATE TABLE copied (LIKE o)")
    existing.write({"c0": numbers(1), "new": numbers(2)}, "copied", evolve=True)
    assert existing.run("SELECT * FROM copied") == [(1, 2)]
