"""The page "A table that exists": its tables of what takes what are computed on the real databases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import psycopg
import pytest
from pyspark.sql.types import DataType, StructField, StructType

from oncelog.errors import ConfigError
from oncelog.spark.tables.options import TableFormat, TableOptions
from oncelog.spark.tables.sink import open_store
from tests.integration.tables.column_types import GIVEN, POSTGRESQL_SETUP, POSTGRESQL_TYPES, SQLITE_TYPES, written
from tests.integration.tables.existing import ExistingSqlite
from tests.support.two_phase.postgres import Postgres

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "existing-tables.md"
NAMES = ("string", *(name for name in GIVEN if name != "string"))
"""Spark's types, the one that most columns take first."""
GROUPS = {
    "numbers": ("byte", "short", "int", "long", "float", "double", "decimal"),
    "times": ("date", "timestamp", "timestamp_ntz"),
    "nested": ("array<int>", "array<string>", "map", "struct"),
}
"""Types that the page names together where a column takes all of them."""


def rows_of(section: str) -> list[str]:
    """The lines of the section's first table, without its head."""
    text = PAGE.read_text().partition(f"\n## {section}\n")[2]
    _, bar, table = text.partition("\n|---|---|\n")
    assert bar
    return table.partition("\n\n")[0].splitlines()


def grouped(taken: list[str]) -> str:
    if len(taken) == len(NAMES):
        return "all"
    words = {name: word for word, names in GROUPS.items() if set(names) <= set(taken) for name in names}
    return ", ".join(dict.fromkeys(words.get(name, name) for name in taken))


def as_rows(columns: Sequence[str], takes: Callable[[str, DataType], bool]) -> list[str]:
    """One row for the columns that take the same types of Spark."""
    rows: dict[str, list[str]] = {}
    for column in columns:
        taken = [name for name in NAMES if takes(column, GIVEN[name].kind)]
        rows.setdefault(grouped(taken), []).append(column)
    return [f"| {', '.join(found)} | {taken.replace('<', chr(92) + '<')} |" for taken, found in rows.items()]


def test_the_examples_for_postgresql_work(postgres: Postgres) -> None:
    url = postgres.new_database()
    columns = ", ".join(f'"{name}" {written(name)}' for name in POSTGRESQL_TYPES)
    with psycopg.connect(url) as connection:
        connection.execute(f"{POSTGRESQL_SETUP}; CREATE TABLE o ({columns})".encode())
    options = TableOptions(TableFormat.POSTGRESQL, "o", url=url)
    store = open_store(options)

    def takes(column: str, kind: DataType) -> bool:
        try:
            store.compare(StructType([StructField(column, kind)]), options)
        except ConfigError:
            return False
        return True

    assert rows_of("PostgreSQL") == as_rows(list(POSTGRESQL_TYPES), takes)


@pytest.mark.parametrize(("section", "strict"), [("SQLite", ""), ("STRICT tables of SQLite", " STRICT")])
def test_the_examples_for_sqlite_work(tmp_path: Path, section: str, strict: str) -> None:
    existing = ExistingSqlite(str(tmp_path / "t.db"), tmp_path, "driver")
    kinds = [kind for kind in SQLITE_TYPES if not strict or kind in ("INTEGER", "REAL", "TEXT", "BLOB", "ANY")]
    columns = ", ".join(f'"{kind or "none"}" {kind}' for kind in kinds)
    existing.run(f"CREATE TABLE o ({columns}){strict}")
    options = TableOptions(TableFormat.SQLITE, "o", url=existing.url)
    store = open_store(options)

    def takes(column: str, kind: DataType) -> bool:
        try:
            store.compare(StructType([StructField(column, kind)]), options)
        except ConfigError:
            return False
        return True

    assert rows_of(section) == as_rows([kind or "none" for kind in kinds], takes)
