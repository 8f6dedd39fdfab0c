"""Tables of SQLite that somebody else has made: the rows go in as they are, or are refused in one sentence."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
)

from oncelog.errors import ConfigError
from oncelog.spark.tables.keys import KeyRefused
from oncelog.spark.tables.options import Mode
from oncelog.spark.tables.store import TableRefused
from tests.integration.tables.existing import ExistingSqlite, decimals, doubles, moments, numbers, texts

LONG, TEXT = LongType(), StringType()


@pytest.fixture
def sqlite(tmp_path: Path) -> ExistingSqlite:
    return ExistingSqlite(str(tmp_path / "tables.db"), tmp_path, "driver")


def days(*values: datetime.date) -> Any:
    return DateType(), pa.date32(), values


def flags(*values: bool) -> Any:
    return BooleanType(), pa.bool_(), values


DAY = datetime.date(2024, 2, 29)
STORED: list[tuple[str, Any, Any]] = [
    ("INTEGER", numbers(2**63 - 1), 2**63 - 1),
    ("INT", doubles(12.0), 12),
    ("INTEGER", doubles(1.5), 1.5),
    ("BIGINT", decimals("12.000"), 12),
    ("REAL", numbers(2**53), 2.0**53),
    ("DOUBLE PRECISION", decimals("0.1"), 0.1),
    ("FLOAT", doubles(0.30000000000000004), 0.30000000000000004),
    ("NUMERIC", decimals("12.5"), 12.5),
    ("DECIMAL(10,2)", decimals("12.50"), 12.5),
    ("DECIMAL(10,2)", texts("12.50"), 12.5),
    ("DECIMAL(10,2)", texts("n/a"), "n/a"),
    ("NUMERIC", decimals("12345678901234567"), 12345678901234567),
    ("BOOLEAN", flags(True), 1),
    ("DATE", days(DAY), "2024-02-29"),
    ("DATETIME", moments(1), "1970-01-01 00:00:00.000001Z"),
    ("TIMESTAMP", texts("2024-01-02T03:04:05Z"), "2024-01-02T03:04:05Z"),
    ("VARCHAR(3)", texts("longer"), "longer"),
    ("VARCHAR(10)", numbers(12), "12"),
    ("TEXT", doubles(0.30000000000000004), "0.30000000000000004"),
    ("TEXT", decimals("0.1"), "0.100000000000000000"),
    ("TEXT", texts("a\0b"), "a\0b"),
    ("", texts("007"), "007"),
    ("", numbers(7), 7),
    ("BLOB", (BinaryType(), pa.binary(), [b"\0\xff"]), b"\0\xff"),
    ("BLOB", texts("a"), "a"),
    ("JSON", (ArrayType(IntegerType()), pa.string(), ["[1]"]), "[1]"),
    ("INTEGER", texts("12"), 12),
    ("INTEGER", texts("none"), "none"),
]


@pytest.mark.parametrize(("kind", "given", "stored"), STORED)
def test_a_value_that_fits_the_column_is_stored_unchanged(
    sqlite: ExistingSqlite, kind: str, given: Any, stored: Any
) -> None:
    sqlite.run(f"CREATE TABLE o (c {kind})")
    sqlite.write({"c": given})
    ((found,),) = sqlite.run("SELECT c FROM o")
    assert (found, type(found)) == (stored, type(stored))


CHANGED: list[tuple[str, Any, str]] = [
    ("REAL", numbers(2**53 + 1), "has 9007199254740993 in column c, which is REAL and would hold 9007199254740992.0"),
    ("NUMERIC", decimals("0.123456789012345678"), r"would hold 0\.12345678901234568: change the column to TEXT"),
    ("DECIMAL(20,2)", texts("123456789012345678901"), r"would hold 1\.2345678901234568e\+20"),
    ("NUMERIC", texts("007"), "has '007' in column c, which is NUMERIC and would drop its leading zeros"),
    ("INTEGER", texts("0.12345678901234567890"), "would hold"),
    ("NUMERIC", texts("1e999999999"), "would hold another number"),
    ("REAL", doubles(float("nan")), "would hold NULL for NaN"),
]


@pytest.mark.parametrize(("kind", "given", "why"), CHANGED)
def test_a_value_that_the_column_would_change_is_refused(
    sqlite: ExistingSqlite, kind: str, given: Any, why: str
) -> None:
    sqlite.run(f"CREATE TABLE o (c {kind})")
    with pytest.raises(TableRefused, match=why):
        sqlite.write({"c": given})
    assert sqlite.run("SELECT * FROM o") == []


STRICT: list[tuple[str, Any, str]] = [
    ("INTEGER", texts("a"), "cannot store TEXT value in INTEGER column o.c, in the row c = 'a'"),
    ("INT", doubles(1.5), r"cannot store REAL value in INT column o.c, in the row c = 1\.5"),
    ("REAL", texts("a"), "cannot store TEXT value in REAL column o.c"),
]


@pytest.mark.parametrize(("kind", "given", "why"), STRICT)
def test_a_strict_table_refuses_a_value_and_shows_the_row(
    sqlite: ExistingSqlite, kind: str, given: Any, why: str
) -> None:
    sqlite.run(f"CREATE TABLE o (c {kind}) STRICT")
    with pytest.raises(TableRefused, match=why):
        sqlite.write({"c": given})


def test_a_strict_table_accepts_values_that_fit(sqlite: ExistingSqlite) -> None:
    sqlite.run("CREATE TABLE o (a INT, b REAL, c TEXT, d BLOB, e ANY, f TEXT) STRICT")
    given = {"a": flags(True), "b": numbers(2), "c": moments(0), "d": (BinaryType(), pa.binary(), [b"x"])}
    sqlite.write({**given, "e": texts("007"), "f": decimals("1.5")})
    assert sqlite.run("SELECT * FROM o") == [
        (1, 2.0, "1970-01-01 00:00:00.000000Z", b"x", "007", "1.500000000000000000")
    ]


START: list[tuple[str, dict[str, DataType], dict[str, Any], str]] = [
    (
        "CREATE TABLE o (c INTEGER)",
        {"c": TimestampType()},
        {},
        r"is INTEGER, .* as it is: write unix_micros\(c\)",
    ),
    ("CREATE TABLE o (c REAL)", {"c": DateType()}, {}, r"write unix_date\(c\) in the query"),
    ("CREATE TABLE o (c TEXT)", {"c": BinaryType()}, {}, r"write cast\(c as string\) in the query"),
    ("CREATE TABLE o (c TEXT)", {"c": BooleanType()}, {}, r"write cast\(c as string\) in the query"),
    ("CREATE TABLE o (c BLOB) STRICT", {"c": TEXT}, {}, r"write cast\(cast\(c as string\) as binary\)"),
    ("CREATE TABLE o (c INTEGER)", {"c": ArrayType(LONG)}, {}, "JSON needs a column of type TEXT"),
    (
        "CREATE TABLE o (a INTEGER, c INTEGER AS (a + 1))",
        {"a": LONG, "c": LONG},
        {},
        "Column c of .* is generated from other columns: leave it out",
    ),
    (
        "CREATE TABLE o (a TEXT, c INTEGER NOT NULL)",
        {"a": TEXT},
        {},
        "Column c of .* is NOT NULL, and the rows have no",
    ),
    ("CREATE TABLE o (a TEXT, c TEXT PRIMARY KEY) WITHOUT ROWID", {"a": TEXT}, {}, "Column c of .* is NOT NULL"),
    (
        "CREATE TABLE o (id INTEGER, c TEXT)",
        {"id": LONG, "c": TEXT},
        {"mode": Mode.UPSERT, "key": ("id",)},
        r'no unique index .* make one, CREATE UNIQUE INDEX one_row_per_key ON "o" \("id"\), or',
    ),
    ("CREATE VIEW o AS SELECT 1 AS c", {"c": LONG}, {}, "is a view, which can have no index in SQLite"),
    ("CREATE VIRTUAL TABLE o USING fts5(c)", {"c": TEXT}, {}, "is a virtual table, which can have no index in SQLite"),
    (
        "CREATE TABLE p (x INTEGER); CREATE TABLE o (c INTEGER REFERENCES p (x))",
        {"c": LONG},
        {},
        'does not accept such rows: foreign key mismatch - "o" referencing "p"',
    ),
    ("CREATE TABLE o (a TEXT)", {"a": TEXT, "c": TEXT}, {}, "has no column c: set evolve to true"),
]


@pytest.mark.parametrize(("made", "columns", "options", "why"), START)
def test_rows_that_the_table_forbids_are_refused_before_they_are_computed(
    sqlite: ExistingSqlite, made: str, columns: dict[str, DataType], options: dict[str, Any], why: str
) -> None:
    sqlite.run(made)
    with pytest.raises(ConfigError, match=why):
        sqlite.start(columns, **options)


def test_missing_columns_get_the_defaults_of_the_table(sqlite: ExistingSqlite) -> None:
    sqlite.run(
        "CREATE TABLE o (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT, made TEXT NOT NULL DEFAULT 'now', "
        "loud TEXT AS (upper(a)) STORED);"
    )
    sqlite.write({"a": texts("x", "y")})
    assert sqlite.run("SELECT * FROM o") == [(1, "x", "now", "X"), (2, "y", "now", "Y")]


def test_tables_with_triggers_and_without_rowid_are_written(sqlite: ExistingSqlite) -> None:
    sqlite.run(
        "CREATE TABLE o (id INTEGER, a TEXT, PRIMARY KEY (id, a)) WITHOUT ROWID; CREATE TABLE log (a TEXT); "
        "CREATE TRIGGER t BEFORE INSERT ON o BEGIN SELECT RAISE(IGNORE) WHERE NEW.a = 'drop'; "
        "SELECT RAISE(ABORT, 'no such thing') WHERE NEW.a = 'fail'; INSERT INTO log VALUES (NEW.a); END;"
    )
    sqlite.write({"id": numbers(1, 2), "a": texts("x", "drop")})
    with pytest.raises(TableRefused, match="no such thing, in the row id = 4, a = 'fail'"):
        sqlite.write({"id": numbers(3, 4), "a": texts("y", "fail")})
    assert (sqlite.run("SELECT * FROM o"), sqlite.run("SELECT * FROM log")) == ([(1, "x")], [("x",)])


VIOLATED = [
    ("CREATE TABLE o (id INTEGER CHECK (id < 5))", (1, 5), "CHECK constraint failed: id < 5, in the row id = 5"),
    ("CREATE TABLE o (id INTEGER UNIQUE)", (1, 1), "UNIQUE constraint failed: o.id, in the row id = 1"),
    ("CREATE TABLE o (id INTEGER NOT NULL)", (1, None), "NOT NULL constraint failed: o.id, in the row id = None"),
    (
        "CREATE TABLE p (x INTEGER PRIMARY KEY); CREATE TABLE o (id INTEGER REFERENCES p (x))",
        (7,),
        "FOREIGN KEY constraint failed, in the row id = 7",
    ),
    (
        "CREATE TABLE p (x INTEGER PRIMARY KEY); "
        "CREATE TABLE o (id INTEGER REFERENCES p (x) DEFERRABLE INITIALLY DEFERRED)",
        (7,),
        "FOREIGN KEY constraint failed",
    ),
]


@pytest.mark.parametrize(("made", "values", "why"), VIOLATED)
def test_the_error_names_a_violated_constraint_and_the_row(
    sqlite: ExistingSqlite, made: str, values: tuple[int | None, ...], why: str
) -> None:
    sqlite.run(made)
    with pytest.raises(TableRefused, match=why):
        sqlite.write({"id": numbers(*values)})
    assert sqlite.run("SELECT * FROM o") == []


def test_an_existing_unique_key_accepts_upserts(sqlite: ExistingSqlite) -> None:
    sqlite.run('CREATE TABLE "Or.der" (id TEXT COLLATE NOCASE UNIQUE, "select" TEXT, n INTEGER DEFAULT 5);')
    for text in ("x", "y"):
        sqlite.write({"id": texts("A"), "select": texts(text)}, table='"Or.der"', mode=Mode.UPSERT, key=("id",))
    assert sqlite.run('SELECT * FROM "Or.der"') == [("A", "y", 5)]


def test_bytes_that_are_not_text_are_refused(sqlite: ExistingSqlite) -> None:
    sqlite.run("CREATE TABLE o (c TEXT)")
    bad = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    with pytest.raises(TableRefused, match=r"in column c, which is TEXT and takes no bytes that are not UTF-8"):
        sqlite.write({"c": (StringType(), pa.string(), bad)})


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("TEXT COLLATE NOCASE", "x", "X"),
        ("TEXT COLLATE RTRIM", "x", "x "),
        ("INTEGER", "1", "1.0"),
        ("NUMERIC", "1e1", "10"),
    ],
)
@pytest.mark.parametrize("rowid", ["", " WITHOUT ROWID"])
def test_two_keys_that_sqlite_considers_equal_are_refused(
    sqlite: ExistingSqlite, kind: str, first: str, second: str, rowid: str
) -> None:
    """SQLite itself would keep whichever comes last."""
    sqlite.run(f"CREATE TABLE o (k {kind} PRIMARY KEY, n INT){rowid}")
    for latest_by in ((), ("n",)):
        rows = {"k": texts(first, second), "n": numbers(1, 2)}
        with pytest.raises(KeyRefused, match=r"two rows with one key \(k = .*\) as SQLite compares it"):
            sqlite.write(rows, mode=Mode.UPSERT, key=("k",), latest_by=latest_by)
    assert sqlite.run("SELECT * FROM o") == []
    sqlite.write({"k": texts(first), "n": numbers(1)}, mode=Mode.UPSERT, key=("k",))
    sqlite.write({"k": texts(second), "n": numbers(2)}, mode=Mode.UPSERT, key=("k",))
    assert sqlite.run("SELECT n FROM o") == [(2,)]


def test_the_error_names_a_missing_folder(tmp_path: Path) -> None:
    sqlite = ExistingSqlite(str(tmp_path / "none" / "tables.db"), tmp_path, "driver")
    with pytest.raises(TableRefused, match=r"none/tables\.db, which cannot be opened as a file: make its folder"):
        sqlite.write({"k": texts("a")})
    (tmp_path / "none").mkdir()
    sqlite.write({"k": texts("a")})
    assert sqlite.run("SELECT * FROM o") == [("a",)]


def test_a_path_with_url_characters_is_opened(tmp_path: Path) -> None:
    sqlite = ExistingSqlite(str(tmp_path / "my shop #1 ?mode=ro&x=%41.db"), tmp_path, "driver")
    sqlite.write({"k": texts("a")})
    assert sqlite.run("SELECT * FROM o") == [("a",)]
    assert [path.name for path in tmp_path.glob("*.db")] == ["my shop #1 ?mode=ro&x=%41.db"]
