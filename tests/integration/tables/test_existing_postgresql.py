"""Tables of PostgreSQL that somebody else has made: the rows go in as they are, or are refused in one sentence."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from oncelog.errors import ConfigError
from oncelog.spark.tables.options import Mode, TableFormat, TableOptions
from oncelog.spark.tables.sink import open_store
from oncelog.spark.tables.store import TableRefused
from tests.integration.tables.column_types import GIVEN, POSTGRESQL_SETUP, POSTGRESQL_TYPES, written
from tests.integration.tables.existing import Existing, decimals, doubles, moments, numbers, tables_of, texts
from tests.integration.tables.worlds import Query
from tests.support.two_phase.postgres import Postgres

UTC = datetime.UTC
# --- types


def test_a_table_with_uuid_enum_and_jsonb_columns_is_written(existing: Existing) -> None:
    existing.run("CREATE TYPE order_status AS ENUM ('new', 'sold')")
    existing.run(
        "CREATE TABLE o (id uuid PRIMARY KEY, name varchar(50), status order_status, doc jsonb, price numeric, "
        "at timestamptz(3))"
    )
    key = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 678000, UTC)
    row: dict[str, Any] = {
        "id": texts(key),
        "name": texts("tea"),
        "status": texts("new"),
        "doc": texts('{"a": [1]}'),
        "price": decimals("12.5"),
        "at": moments(moment),
    }
    existing.write(row)
    existing.write({**row, "status": texts("sold")}, mode=Mode.UPSERT, key=("id",))
    assert existing.run("SELECT id::text, name, status::text, doc, price, at FROM o") == [
        (key, "tea", "sold", {"a": [1]}, Decimal("12.5"), moment)
    ]


@pytest.fixture(scope="module")
def taken(postgres: Postgres) -> dict[str, list[str]]:
    """Which columns take which rows, by types alone, as ``pipeline doctor`` says it."""
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

    return {name: [column for column in POSTGRESQL_TYPES if takes(column, given.kind)] for name, given in GIVEN.items()}


DOES_NOT_FIT = {("byte", "year (a domain of integer)")}


@pytest.mark.parametrize("name", GIVEN)
def test_stored_values_equal_those_that_an_assignment_in_postgresql_stores(
    existing: Existing, taken: dict[str, list[str]], name: str
) -> None:
    """Into every type of column that takes them: the same as an INSERT of PostgreSQL's own stores."""
    given = GIVEN[name]
    values = {column: _values(name, column) for column in taken[name]}
    most = max(map(len, values.values()))
    filled = {column: (*found, *[None] * (most - len(found))) for column, found in values.items()}
    definitions = ", ".join(f'"{column}" {written(column)}' for column in filled)
    existing.run(f"{POSTGRESQL_SETUP}; CREATE TABLE o ({definitions}); CREATE TABLE theirs (LIKE o)")
    sent = {column: _sent(name, column) for column in filled}
    existing.write(
        {
            c: (given.kind, given.arrow if sent[c] is _same else pa.string(), list(map(sent[c], filled[c])))
            for c in filled
        }
    )
    with psycopg.connect(existing.url) as connection:
        marks = ", ".join(f"%s{_cast(name, column)}" for column in filled)
        for row in zip(*filled.values(), strict=True):
            values_of_row = [sent[column](value) for column, value in zip(filled, row, strict=True)]
            connection.execute(f"INSERT INTO theirs SELECT {marks}".encode(), values_of_row)
    for column in filled:
        read = READ_IN_TEXTS.get(_cast(name, column), "") if column in ("json", *TEXTS) else ""
        statement = f'SELECT "{column}"{read}::text FROM {{}} ORDER BY 1'
        ours, theirs = (existing.run(statement.format(table)) for table in ("o", "theirs"))
        assert ours == theirs, f"{name} into {column}"
        assert any(value for (value,) in ours) or (name, column) in DOES_NOT_FIT


def _same(value: Any) -> Any:
    return value


def _sent(name: str, column: str) -> Callable[[Any], Any]:
    """Spark makes JSON of arrays, unless the column takes arrays."""
    return json.dumps if isinstance(GIVEN[name].kind, ArrayType) and not column.endswith("[]") else _same


READ_IN_TEXTS = {"::jsonb": "::jsonb", "::timestamptz": "::timestamptz", "::timestamp": "::timestamp"}
"""Texts say the same in other letters: spaces in JSON, zeros behind a point."""
TEXTS = ("text", "varchar(50)", "char(36)", "citext")


def _values(name: str, column: str) -> tuple[Any, ...]:
    if (name, column) in DOES_NOT_FIT:
        return ()
    if name == "string":
        return POSTGRESQL_TYPES[column]
    if name == "array<string>":
        return ([*POSTGRESQL_TYPES.get(column.removesuffix("[]"), ("a",)), None], [])
    return GIVEN[name].values


def _cast(name: str, column: str) -> str:
    if isinstance(GIVEN[name].kind, ArrayType) and not column.endswith("[]"):
        return "::jsonb"
    return f"::{GIVEN[name].sql}" if GIVEN[name].sql else f"::{written(column)}"


# --- values

ODD_TEXTS = ["", "a", "\\N", 'quo"te', "a,b", "two\nlines", "\r\n", "\\.", "a\n\\.\nb", "'", "\\x41", "NULL", "{}"]
ODD_TEXTS += ["\u202e😀", " x "]


def test_texts_and_arrays_of_texts_are_stored_unchanged(existing: Existing) -> None:
    existing.run("CREATE TABLE o (t text, list text[], table_of text[], j jsonb)")
    nested = [["a", None], ['"', "\\"]]
    rows = len(ODD_TEXTS)
    existing.write(
        {
            "t": texts(*ODD_TEXTS),
            "list": (ArrayType(StringType()), pa.list_(pa.string()), [[text, None] for text in ODD_TEXTS]),
            "table_of": (ArrayType(ArrayType(StringType())), pa.list_(pa.list_(pa.string())), [nested] * rows),
            "j": texts(*[json.dumps(text) for text in ODD_TEXTS]),
        }
    )
    expected = [(text, [text, None], nested, text) for text in ODD_TEXTS]
    assert sorted(existing.run("SELECT * FROM o")) == sorted(expected)


def test_a_map_of_texts_is_written_into_hstore(existing: Existing) -> None:
    existing.run("CREATE EXTENSION hstore; CREATE TABLE o (h hstore)")
    kind = MapType(StringType(), StringType())
    given = [("a", "1"), ('q"', "\\"), ("n", None), ("", "")]
    existing.write({"h": (kind, pa.map_(pa.string(), pa.string()), [given, None, []])})
    found = existing.run("SELECT key, value FROM o, each(h)")
    assert sorted(found) == sorted(given)
    assert existing.run("SELECT count(*) FILTER (WHERE h IS NULL), count(*) FROM o") == [(1, 3)]


PRICE = (
    "CREATE TYPE price AS (amount numeric(10,2), text varchar(12), day date);"
    "CREATE TYPE offer AS (price price, more numeric(10,2)[])"
)
EXACT: list[tuple[str, Any, str]] = [
    ("integer", decimals("12.000"), "12"),
    ("bigint", doubles(1e15), "1000000000000000"),
    ("numeric(10,2)", decimals("12.500"), "12.50"),
    ("numeric(10,2)", doubles(19.99), "19.99"),
    ("numeric(10,2)", texts("12.5000"), "12.50"),
    ("numeric", doubles(0.30000000000000004), "0.30000000000000004"),
    ("numeric", (FloatType(), pa.float32(), [0.1]), "0.1"),
    ("numeric(10,2)[]", (ArrayType(DoubleType()), pa.list_(pa.float64()), [[1.25, None]]), "{1.25,NULL}"),
    ("double precision", (FloatType(), pa.float32(), [0.1]), "0.10000000149011612"),
    ("double precision", decimals("0.1"), "0.1"),
    ("double precision", numbers(2**53), "9.007199254740992e+15"),
    ("real", decimals("0.1"), "0.1"),
    ("money", decimals("1234.50"), "$1,234.50"),
    ("money", texts("-$1,234.500"), "-$1,234.50"),
    ("interval(2)", texts("1 day 02:03:04.5600"), "1 day 02:03:04.56"),
    ("interval", texts("P1Y2M3DT4H5M6.789012S"), "1 year 2 mons 3 days 04:05:06.789012"),
    ("price", texts(' (12.50,"a ""b"" \\\\ (c)",2024-01-02)'), '(12.50,"a ""b"" \\\\ (c)",2024-01-02)'),
    ("price", texts('(,"",)'), '(,"",)'),
    ("price[]", texts(r'{"(1.5,\"x,\\\"y\\\"\",)",NULL}'), r'{"(1.50,\"x,\"\"y\"\"\",)",NULL}'),
    ("offer", texts('("(1.5,x,)",{1.25})'), '("(1.50,x,)",{1.25})'),
    ("date", texts("2024-01-02 00:00:00"), "2024-01-02"),
    ("timestamp", texts("2024-01-02T10:00:00.123456"), "2024-01-02 10:00:00.123456"),
    ("timestamp", texts("Jan 2 2024 10:00 PM"), "2024-01-02 22:00:00"),
    ("varchar(3)", texts("abc"), "abc"),
    ("text[]", (ArrayType(StringType()), pa.list_(pa.string()), [[]]), "{}"),
    ("boolean", texts("yes"), "true"),
    ("double precision", texts("0.10000000000000000000"), "0.1"),
    ("numeric(10,2)[]", texts('{{"1.50"},{NULL}}'), "{{1.50},{NULL}}"),
    ("varchar(8)[]", texts(r'{"a\\\"b ",NULL}'), r'{"a\\\"b ",NULL}'),
    ("varchar(3)[]", (ArrayType(StringType()), pa.list_(pa.string()), [["{a}", 'b"', "NUL"]]), r'{"{a}","b\"",NUL}'),
    ("box[]", (ArrayType(StringType()), pa.list_(pa.string()), [["(3,4),(1,2)", None]]), "{(3,4),(1,2);NULL}"),
    ("int2vector", texts("1 2"), "1 2"),
]


@pytest.mark.parametrize(("column_type", "given", "stored"), EXACT)
def test_a_value_that_fits_the_column_is_accepted(
    existing: Existing, column_type: str, given: Any, stored: str
) -> None:
    existing.run(f"{PRICE}; CREATE TABLE o (c {column_type})")
    existing.write({"c": given})
    assert existing.run("SELECT c::text FROM o") == [(stored,)]


BEYOND = 253_402_300_800_000_000
"""The first microsecond of the year 10000."""
REFUSED: list[tuple[str, Any, str]] = [
    (
        "integer",
        decimals("12.5"),
        r'invalid input syntax for type integer: "12\.5',
    ),
    ("smallint", numbers(40_000), r'value "40000" is out of range for type smallint, in column c: "40000"'),
    ("numeric(10,2)", decimals("12.345"), r"has 12\.345.* in column c, which is numeric\(10,2\) and would round it: "),
    ("numeric(10,2)", texts("12.345"), r"would round it: round it in the query, round\(c, 2\)"),
    (
        "numeric(10,2)",
        doubles(0.30000000000000004),
        r"has 0\.30000000000000004 .* would round it",
    ),
    (
        "numeric(10,2)[]",
        (ArrayType(DoubleType()), pa.list_(pa.float64()), [[1.0, 1.255]]),
        r"has 1\.255 .* would round",
    ),
    ("numeric(4,2)", decimals("123"), r"numeric field overflow, in column c: \"123\.0*\" \(A field with precision 4"),
    ("money", decimals("0.001"), r"would round it"),
    ("money", texts("($1,234.567)"), r"has '\(\$1,234\.567\)' in column c, which is money and would round it"),
    ("interval(0)", texts("00:00:01.5"), r"would round it: write 0 digits after the decimal point"),
    ("interval", texts("PT1.1234567S"), r"would round it: write 6 digits after the decimal point"),
    (
        "interval year",
        texts("1 year 2 months"),
        r'which drops the fields of an interval that it lacks: ALTER COLUMN "c" TYPE interval',
    ),
    (
        "price",
        texts("(12.345,x,)"),
        r"'12\.345' in column c, which is price and whose amount, numeric\(10,2\), would round",
    ),
    ("price", texts('(1,"a ",)', "(1,123456789012  ,)"), r"'123456789012  ' .* whose text, .*, would drop spaces"),
    (
        "price[]",
        texts('{"(1,x,2024-01-02 10:00)"}'),
        r"whose day, date, would drop its time: leave it out in the query$",
    ),
    ("offer", texts('("(1,,)","{1.255}")'), r"has '1\.255' .* whose more, numeric\(10,2\)\[\], would round it"),
    (
        "offer",
        texts('("(1.255,,)",)'),
        r"has '1\.255' .* whose price, price, whose amount, numeric\(10,2\), would round",
    ),
    ("price", texts("(1,x)"), r"malformed record literal"),
    ("double precision", numbers(2**53 + 1), r"has 9007199254740993 .* would hold 9007199254740992"),
    ("real", numbers(16_777_217), r"would hold 16777216"),
    ("double precision", decimals("0.123456789012345678"), r"would hold 0\.12345678901234568"),
    ("timestamptz(3)", moments(1), r"has 1970-01-01 00:00:00\.000001\+00:00 in column c, .* would round it"),
    ("timestamp(0)", texts("2024-01-02 10:00:00.5"), r"would round it: write 0 digits after the decimal point"),
    ("timestamptz", texts("2024-01-02 10:00:00.1234567Z"), r"would round it"),
    ("timestamp", texts("2024-01-02T10:00:00Z"), r"would drop its zone"),
    ("timestamp", texts("2024-01-02 10:00:00+02"), r"would drop its zone"),
    ("timestamp", texts("2024-01-02 10:00 Europe/Berlin"), r"would drop its zone"),
    ("date", texts("2024-01-02 10:00:00"), r"would drop its time: leave it out in the query, cast\(c as date\)"),
    ("time", texts("2024-01-02 10:00:00"), r"would drop its day"),
    ("numeric(10,2)[]", texts("{{1.5},{12.345}}"), r"has '12\.345' in column c, .* round it: round it in the query$"),
    ("varchar(3)[]", texts('[2:3]={abc,"abc "}'), r"has 'abc ' in column c, .* would drop spaces at its end"),
    ("double precision", texts("0.12345678901234567890"), r"would hold 0\.12345678901234568"),
    ("real", texts("16777217"), r"would hold 16777216"),
    ("double precision[]", texts("{0.5,0.12345678901234567890}"), r"has '0\.12345678901234567890' .* would hold"),
    ("tsrange", texts("[2024-01-01 00:00+02,)"), r"would drop its zone"),
    ("tsmultirange", texts("{[2024-01-01 00:00:00.0000001,)}"), r"would round it: write 6 digits"),
    ("daterange", texts("[2024-01-01 10:00,)"), r"would drop its time"),
    ('"char"', texts("ab"), r"would cut it"),
    ("varchar(3)", texts("abcd"), r'value too long for type character varying\(3\), in column c: "abcd"'),
    ("varchar(3)", texts("abc "), r"would drop spaces at its end: drop them in the query, rtrim\(c\)"),
    ("char(3)", texts("abcd"), r'value too long for type character\(3\), in column c: "abcd"'),
    ("name", texts("x" * 64), r"would cut it"),
    ("oid", numbers(-1), r"has -1 in column c, which is oid and would hold a number at the upper end of the type: "),
    ("oid[]", texts("{1,-1}"), r"would hold a number at the upper end"),
    ("xid", texts(" -07"), r"would hold a number at the upper end"),
    ("uuid", texts("no"), r'invalid input syntax for type uuid: "no", in column c: "no"'),
    ("jsonb", texts("{a}"), r"invalid input syntax for type json, in column c: \"{a}\" \(Token \"a\" is invalid"),
    ("jsonb", texts('"\\u0000"'), r"unsupported Unicode escape sequence, in column c: "),
    ("text", texts("a\0b"), r"has 'a\\x00b' in column c, which is text and cannot hold the character NUL: "),
    ("text[]", (ArrayType(StringType()), pa.list_(pa.string()), [["\0"]]), r"cannot hold the character NUL"),
    (
        "integer[]",
        tables_of(([1], [])),
        "no empty arrays",
    ),
    ("integer[]", tables_of(([1], [2, 3])), "malformed"),
    ("timestamptz", moments(-(2**62)), r"timestamp out of range: .*BC.*, in column c"),
    ("date", (DateType(), pa.date32(), [-2_500_000]), r"date out of range: .* BC"),
    ("order_status", texts("sol"), r'invalid input value for enum order_status: "sol", in column c: "sol"'),
    ("year", numbers(1800), r'violates check constraint "year_check", in column c: "1800"'),
]


@pytest.mark.parametrize(("column_type", "given", "why"), REFUSED)
def test_a_value_that_does_not_fit_the_column_is_refused_and_the_error_names_column_and_value(
    existing: Existing, column_type: str, given: Any, why: str
) -> None:
    existing.run(f"{PRICE}; {POSTGRESQL_SETUP} CREATE TABLE o (c {column_type})")
    with pytest.raises((TableRefused, ConfigError), match=why) as refused:
        existing.write({"c": given})
    assert "\n" not in str(refused.value)
    assert existing.run("SELECT * FROM o") == []


def test_bytes_that_are_not_text_are_refused(existing: Existing) -> None:
    existing.run("CREATE TABLE o (id bigint, c text)")
    bad = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\3\0\0\0"), pa.py_buffer(b"a\xff\xfe")]
    )
    with pytest.raises(TableRefused, match=r"\(id = 2\) has '.+xff.+xfe' in column c, .* no bytes that are not UTF-8"):
        existing.write({"id": numbers(1, 2), "c": (StringType(), pa.string(), bad)})


YEARS = {
    -(4712 * 366 * 86_400 * 10**6): "2753-03-24 00:00:00+00 BC",
    -62_167_219_200_000_001: "0002-12-31 23:59:59.999999+00 BC",
    -62_135_596_800_000_001: "0001-12-31 23:59:59.999999+00 BC",
    BEYOND: "10000-01-01 00:00:00+00",
    2**63 - 1: "294247-01-10 04:00:54.775807+00",
}
"""Microseconds since 1970, the last of them the latest of Spark; as PostgreSQL writes them, and numpy knows them."""


def test_every_year_is_stored_unchanged(existing: Existing) -> None:
    existing.run("CREATE TABLE o (at timestamptz, local timestamp, day date)")
    given = list(YEARS)
    existing.write(
        {
            "at": moments(*given),
            "local": (TimestampNTZType(), pa.timestamp("us"), given),
            "day": (DateType(), pa.date32(), [value // 86_400_000_000 for value in given]),
        }
    )
    expected = [
        (text, text.replace("+00", ""), text.partition(" ")[0] + text[-3:].replace("+00", ""))
        for text in YEARS.values()
    ]
    existing.run(f"ALTER DATABASE {existing.run('SELECT current_database()')[0][0]} SET timezone = 'UTC'")
    assert existing.run("SELECT at::text, local::text, day::text FROM o ORDER BY o.at") == expected


ADVISED = [
    ("numeric(10,2)[]", "array(1.255BD, null)", "{1.26,NULL}"),
    ("numeric(10,2)[]", "array(array(1.255BD), array(2BD))", "{{1.26},{2.00}}"),
    ("varchar(3)[]", "array('abc ')", "{abc}"),
    ("timestamp(3)[]", "array(timestamp_ntz'2024-01-01 00:00:00.000001')", '{"2024-01-01 00:00:00"}'),
    ("timestamptz(3)", "timestamp'2024-01-01 00:00:00.000001Z'", "2024-01-01 00:00:00+00"),
    ("text", "'a\\0b'", "ab"),
    ("date", "'2024-01-02 10:00:00'", "2024-01-02"),
    ("date[]", "array('2024-01-02 10:00:00')", "{2024-01-02}"),
    ("time", "'2024-01-02 10:00:00'", "10:00:00"),
    ("hstore", "map('a', 1)", '"a"=>"1"'),
    ("date", "19737", "2024-01-15"),
    ("timestamp", "-1L", "1969-12-31 23:59:59.999999"),
    ("timestamptz", "-1L", "1969-12-31 23:59:59.999999+00"),
    ("time", "3723000004L", "01:02:03.000004"),
    ("interval", "90061000000L", "25:01:01"),
    ("boolean", "1", "true"),
]
"""A type, a value of a query that the column would change, and what it holds of what the refusal says to write."""


@pytest.mark.spark
@pytest.mark.parametrize(("column_type", "value", "stored"), ADVISED)
def test_the_option_that_a_refusal_suggests_is_accepted(
    spark: SparkSession, database: str, tmp_path: Path, column_type: str, value: str, stored: str
) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"{POSTGRESQL_SETUP}; CREATE TABLE o (c {column_type})".encode())
        query = Query(tmp_path / "checkpoint", TableOptions(TableFormat.POSTGRESQL, "o", url=database))
        rows = spark.sql(f"SELECT {value} AS c")
        with pytest.raises((TableRefused, ConfigError)) as refused:
            query.write_frame(0, rows)
        advice = re.search(
            r"(?:in the query, |: write )(.*?)(?: in the query(?:, if it counts \w+)?)?$", str(refused.value)
        )
        assert advice is not None, refused.value
        query.write_frame(0, rows.selectExpr(f"{advice[1]} AS c"))
        assert connection.execute("SELECT c::text FROM o").fetchall() == [(stored,)]


def test_null_in_an_array_stays_null_whatever_the_databases_settings_are(existing: Existing) -> None:
    existing.run(f"ALTER DATABASE {existing.run('SELECT current_database()')[0][0]} SET array_nulls = off")
    existing.run("CREATE TABLE o (c text[])")
    existing.write({"c": (ArrayType(StringType()), pa.list_(pa.string()), [["a", None, "NULL"]])})
    assert existing.run("SELECT c FROM o") == [(["a", None, "NULL"],)]


def test_a_table_name_in_another_case_is_reported(existing: Existing) -> None:
    """A name without quotes is in small letters for PostgreSQL; nobody gets a second table for it."""
    existing.run('CREATE SCHEMA "S"; CREATE TABLE orders (c text); CREATE TABLE "S".orders (c text)')
    for table, other in (("Orders", "orders"), ("S.ORDERS", '"S".orders')):
        with pytest.raises(
            ConfigError, match=f"{table} does not exist, and there is {other}: .* set table to {other},"
        ):
            existing.start({"c": StringType()}, table=table)
        existing.write({"c": texts("a")}, table=other)
    assert existing.run('SELECT * FROM orders UNION ALL SELECT * FROM "S".orders') == [("a",)] * 2


KEYS = [
    (
        "CREATE TABLE o (id text, at date, v text, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)",
        r"the table is partitioned \(RANGE \(at\)\), so name id, at, and make one, (CREATE UNIQUE INDEX .*?), or",
    ),
    (
        "CREATE TABLE o (id text, at date) PARTITION BY RANGE ((at + 1))",
        r"as an expression makes the partitions \(RANGE",
    ),
    ("CREATE TABLE b (id text); CREATE VIEW o AS SELECT id FROM b", "make one in the view's table, or write to"),
    ("CREATE TABLE o (id text)", r"make one, (CREATE UNIQUE INDEX .*?), or"),
]


@pytest.mark.parametrize(("made", "says"), KEYS)
def test_the_advice_about_a_key_without_an_index_works(existing: Existing, made: str, says: str) -> None:
    existing.run(made)
    columns = ("id", "at") if "PARTITION" in made else ("id",)
    with pytest.raises(ConfigError, match=f"no unique index of the table is on just these .*: .*{says}") as found:
        existing.start(dict.fromkeys(columns, StringType()), mode=Mode.UPSERT, key=("id",))
    advised = re.search(says, str(found.value))
    assert advised is not None
    if advised.groups():
        existing.run(advised[1])


def test_the_time_zone_of_the_servers_session_changes_no_timestamp(existing: Existing) -> None:
    name = existing.run("SELECT current_database()")[0][0]
    existing.run(f"ALTER DATABASE {name} SET timezone = 'America/New_York'")
    existing.run(f"ALTER DATABASE {name} SET datestyle = 'SQL, DMY'")
    existing.run("CREATE TABLE o (at timestamptz, local timestamp, day date, list timestamptz[])")
    moment = datetime.datetime(1883, 11, 18, 17, 3, 57, 1, UTC)
    local = moment.replace(tzinfo=None)
    existing.write(
        {
            "at": moments(moment),
            "local": (TimestampNTZType(), pa.timestamp("us"), [local]),
            "day": (DateType(), pa.date32(), [datetime.date(2024, 3, 4)]),
            "list": (ArrayType(TimestampType()), pa.list_(pa.timestamp("us", "UTC")), [[moment]]),
        }
    )
    assert existing.run("SELECT at AT TIME ZONE 'UTC', local, day, list[1] AT TIME ZONE 'UTC' FROM o") == [
        (local, local, datetime.date(2024, 3, 4), local)
    ]


TYPES_ALONE: list[tuple[str, DataType, str]] = [
    ("inet", BooleanType(), "is inet, to which PostgreSQL assigns no boolean: cast it in the query"),
    ("boolean", LongType(), "is boolean, to which PostgreSQL assigns no bigint"),
    ("timestamp", TimestampType(), r"write cast\(c as timestamp_ntz\) in the query"),
    ("timestamp[]", ArrayType(TimestampType()), r"write transform\(c, x -> cast\(x as timestamp_ntz\)\) in the query"),
    ("timestamptz", TimestampNTZType(), r"write cast\(c as timestamp\) in the query"),
    ("date", TimestampType(), r"write cast\(c as date\) in the query"),
    ("timestamptz", DateType(), r"write cast\(c as timestamp\) in the query"),
    ("real", DoubleType(), r"write cast\(c as float\) in the query"),
    ("text", BinaryType(), r"write cast\(c as string\) in the query"),
    ("timestamptz", LongType(), "is timestamp with time zone, to which PostgreSQL assigns no bigint"),
    ("uuid", BinaryType(), "is uuid, to which PostgreSQL assigns no binary"),
    ("integer[]", LongType(), r"is integer\[\], to which PostgreSQL assigns no bigint"),
    ("integer", ArrayType(LongType()), r"is integer, to which PostgreSQL assigns no array<bigint>"),
    ("address", StructType([StructField("street", StringType())]), "write the row's text in the query, as a string"),
    ("integer", ArrayType(LongType()), "write a value of it in the query, or its text as a string"),
    ("year", BooleanType(), "is year, to which PostgreSQL assigns no boolean"),
]


@pytest.mark.parametrize(("column_type", "kind", "why"), TYPES_ALONE)
def test_rows_of_unsuitable_types_are_refused_before_they_are_computed(
    existing: Existing, column_type: str, kind: DataType, why: str
) -> None:
    existing.run(POSTGRESQL_SETUP + f"CREATE TABLE o (c {column_type})")
    with pytest.raises(ConfigError, match=f"Column c of postgresql table o {'is .*' if why[:3] != 'is ' else ''}{why}"):
        existing.start({"c": kind})
