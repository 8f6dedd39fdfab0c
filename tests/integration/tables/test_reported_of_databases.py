"""Tables and rows of PostgreSQL and SQLite with which other writers failed, as public reports have them; more of them
than in ``test_reported_elsewhere.py``. Each test names its report.
"""

from __future__ import annotations

import contextlib
import datetime
import re
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from pyspark.sql import types as spark

from oncelog.errors import ConfigError, OncelogError
from oncelog.spark.tables.options import Mode
from oncelog.spark.tables.store import TableRefused
from tests.integration.tables.existing import Existing, ExistingSqlite, doubles, numbers, texts

UTC = datetime.UTC


def arrays(kind: spark.DataType, arrow: pa.DataType, *values: Any) -> tuple[spark.DataType, pa.DataType, Any]:
    return spark.ArrayType(kind), pa.list_(arrow), values


# --- PostgreSQL: constraints


def test_a_partial_unique_index_is_refused_as_key_with_advice_that_works(existing: Existing) -> None:
    """supabase/postgrest-js#403, bezhai/chiwei-platform#8 and jOOQ/jOOQ#12531."""
    existing.run(
        "CREATE TYPE e_enum AS ENUM ('A', 'B'); CREATE TABLE o (id text PRIMARY KEY, nullable_column text, "
        "not_null_column text NOT NULL, discriminator e_enum NOT NULL);"
        "CREATE UNIQUE INDEX u_variant_a ON o (not_null_column, discriminator) WHERE discriminator = 'A'"
    )
    rows = {"id": texts("1", "2"), "not_null_column": texts("x", "x"), "discriminator": texts("A", "B")}
    key = ("not_null_column", "discriminator")
    with pytest.raises(ConfigError, match="without WHERE: make one, CREATE UNIQUE INDEX") as refused:
        existing.write(rows, mode=Mode.UPSERT, key=key)
    existing.run(re.findall(r"make one, (.*?), or name", str(refused.value))[0])
    for nullable in ("a", "b"):
        existing.write(rows | {"nullable_column": texts(nullable, None)}, mode=Mode.UPSERT, key=key)
    assert existing.run("SELECT id, nullable_column FROM o ORDER BY 1") == [("1", "b"), ("2", None)]


def test_a_key_whose_constraint_is_deferrable_is_refused_and_the_suggested_statements_work(existing: Existing) -> None:
    """nucleuscloud/neosync#3469: "does not support deferrable unique constraints as arbiters"."""
    existing.run(
        'CREATE TABLE o (id bigint, "User Id" bigint, n bigint, '
        'CONSTRAINT "one User" UNIQUE (id, "User Id") DEFERRABLE INITIALLY IMMEDIATE)'
    )
    rows = {"id": numbers(1, 2), "User Id": numbers(1, 1), "n": numbers(0, 0)}
    with pytest.raises(ConfigError, match="is DEFERRABLE, and PostgreSQL cannot use such a") as refused:
        existing.write(rows, mode=Mode.UPSERT, key=("User Id", "id"))
    existing.run(re.findall(r"ALTER TABLE .*", str(refused.value))[0])
    for n in (1, 2):
        existing.write(rows | {"n": numbers(n, n)}, mode=Mode.UPSERT, key=("User Id", "id"))
    assert existing.run("SELECT id, n FROM o ORDER BY 1") == [(1, 2), (2, 2)]


def test_a_violated_deferred_constraint_is_reported_in_a_sentence(existing: Existing) -> None:
    """commandprompt/pgcolumnar#168 and orioledb/orioledb#244: rows that break it at the end are not there."""
    existing.run(
        "CREATE TABLE parents (id bigint PRIMARY KEY);"
        "CREATE TABLE o (id bigint UNIQUE DEFERRABLE INITIALLY DEFERRED, "
        "parent bigint REFERENCES parents DEFERRABLE INITIALLY DEFERRED)"
    )
    with pytest.raises(OncelogError, match=r'cannot be written: duplicate key .*"o_id_key".*\(id\)=\(1\)'):
        existing.write({"id": numbers(1, 2, 1)})
    with pytest.raises(OncelogError, match=r'violates foreign key constraint "o_parent_fkey".*\(parent\)=\(7\)'):
        existing.write({"id": numbers(1), "parent": numbers(7)})
    assert existing.run("SELECT * FROM o") == existing.run("SELECT * FROM oncelog_batches") == []
    existing.run("INSERT INTO parents VALUES (7)")
    existing.write({"id": numbers(1), "parent": numbers(7)})
    assert existing.run("SELECT * FROM o") == [(1, 7)]


def test_an_upsert_that_swaps_unique_values_is_refused_unless_the_constraint_is_deferred(existing: Existing) -> None:
    """streamingfast/substreams-sink-sql#51 and debezium/debezium#7801: two rows that exchange their values."""
    existing.run(
        "CREATE TABLE o (signature varchar(256) PRIMARY KEY, slot varchar(256), program_id varchar(256), "
        "CONSTRAINT uq_tran UNIQUE (slot, program_id))"
    )

    def upsert(first: str, second: str) -> None:
        rows = {"signature": texts("a", "b"), "slot": texts(first, second), "program_id": texts("p", "p")}
        existing.write(rows, mode=Mode.UPSERT, key=("signature",))

    upsert("1", "2")
    with pytest.raises(OncelogError, match=r'duplicate key value violates unique constraint "uq_tran"'):
        upsert("2", "1")
    existing.run(
        "ALTER TABLE o DROP CONSTRAINT uq_tran, "
        "ADD CONSTRAINT uq_tran UNIQUE (slot, program_id) DEFERRABLE INITIALLY DEFERRED"
    )
    upsert("2", "1")
    assert existing.run("SELECT signature, slot FROM o ORDER BY 1") == [("a", "2"), ("b", "1")]


def test_existing_keys_are_refused_by_append_and_replaced_by_upsert(existing: Existing) -> None:
    """ConduitIO/conduit-connector-postgres#59, risingwavelabs/risingwave#10251 and #21523."""
    existing.run("CREATE TABLE o (id bigint PRIMARY KEY, n bigint); INSERT INTO o VALUES (1, 0)")
    rows = {"id": numbers(1, 2), "n": numbers(1, 1)}
    with pytest.raises(OncelogError, match=r'unique constraint "o_pkey".*\(Key \(id\)=\(1\) already exists'):
        existing.write(rows)
    existing.write(rows, mode=Mode.UPSERT, key=("id",))
    assert existing.run("SELECT * FROM o ORDER BY 1") == [(1, 1), (2, 1)]


def test_a_key_without_the_partition_column_is_refused_and_the_error_lists_the_columns(existing: Existing) -> None:
    """apache/seatunnel#9022: the key of the source, (id), is no unique index of the partitioned table."""
    existing.run(
        "CREATE TABLE o (id bigint, partkey text, creation_date date) PARTITION BY LIST (partkey);"
        "ALTER TABLE o ADD PRIMARY KEY (id, partkey);"
        "CREATE TABLE o_a PARTITION OF o FOR VALUES IN ('a'); CREATE TABLE o_rest PARTITION OF o DEFAULT"
    )
    rows = {"id": numbers(1, 1), "partkey": texts("a", "z"), "creation_date": texts("2025-03-21", None)}
    with pytest.raises(ConfigError, match=r"the table is partitioned \(LIST \(partkey\)\), so name id, partkey"):
        existing.write(rows, mode=Mode.UPSERT, key=("id",))
    for _ in range(2):
        existing.write(rows, mode=Mode.UPSERT, key=("id", "partkey"))
    assert existing.run("SELECT partkey, creation_date FROM o ORDER BY 1") == [
        ("a", datetime.date(2025, 3, 21)),
        ("z", None),
    ]


def test_rows_that_violate_an_exclusion_constraint_are_refused_and_the_error_names_it(existing: Existing) -> None:
    """supabase/postgrest-js#403's other half: PostgreSQL takes no exclusion constraint for the key of an upsert."""
    existing.run("CREATE TABLE o (room int4range, n bigint, EXCLUDE USING gist (room WITH &&))")
    rows = {"room": texts("[1,3)", "[3,5)"), "n": numbers(1, 2)}
    existing.write(rows)
    with pytest.raises(OncelogError, match=r'conflicting key value violates exclusion constraint "o_room_excl"'):
        existing.write({"room": texts("[2,4)"), "n": numbers(3)})
    with pytest.raises(ConfigError, match="no unique index of the table is on just these columns"):
        existing.write(rows, mode=Mode.UPSERT, key=("room",))
    assert existing.run("SELECT n FROM o ORDER BY 1") == [(1,), (2,)]


def test_upsert_into_a_table_with_rules_is_refused_before_rows_are_computed(existing: Existing) -> None:
    """aarondl/sqlboiler#1193."""
    existing.run(
        "CREATE TABLE users (id serial PRIMARY KEY, name text NOT NULL); CREATE TABLE audits (name text NOT NULL);"
        "CREATE RULE update_rule AS ON UPDATE TO users DO ALSO INSERT INTO audits (name) VALUES (new.name)"
    )
    columns = {"id": spark.LongType(), "name": spark.StringType()}
    with pytest.raises(ConfigError, match="does not support upserts: INSERT with ON CONFLICT clause cannot be used"):
        existing.start(columns, "users", mode=Mode.UPSERT, key=("id",))
    existing.write({"id": numbers(7), "name": texts("a")}, "users")
    assert existing.run("SELECT * FROM users") == [(7, "a")]


@pytest.mark.parametrize("how", ["STORED", "VIRTUAL"])
def test_an_upsert_recomputes_generated_columns(existing: Existing, how: str) -> None:
    """drizzle-team/drizzle-orm#5743: the row was inserted, and its update refused."""
    ((version,),) = existing.run("SELECT current_setting('server_version_num')::int / 10000")
    if how == "VIRTUAL" and version < 18:
        how = "STORED"
    existing.run(
        "CREATE TABLE products (id serial PRIMARY KEY, length_mm integer, width_mm integer, "
        f"sum_dims integer GENERATED ALWAYS AS (length_mm + width_mm) {how} NOT NULL)"
    )
    for width in (1, 2):
        rows = {"id": numbers(1), "length_mm": numbers(10), "width_mm": numbers(width)}
        existing.write(rows, "products", mode=Mode.UPSERT, key=("id",))
        assert existing.run("SELECT * FROM products") == [(1, 10, width, 10 + width)]


def test_a_trigger_may_insert_the_rows_into_child_tables(existing: Existing) -> None:
    """pgpartman/pg_partman#105: the trigger gets no ON CONFLICT, so an upsert ends as a plain INSERT does."""
    existing.run(
        "CREATE TABLE part_table (id bigint PRIMARY KEY, val text);"
        "CREATE TABLE child (CHECK (id < 100), PRIMARY KEY (id)) INHERITS (part_table);"
        "CREATE FUNCTION into_child() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN INSERT INTO child VALUES (NEW.*); RETURN NULL; END$$;"
        "CREATE TRIGGER t BEFORE INSERT ON part_table FOR EACH ROW EXECUTE FUNCTION into_child()"
    )
    rows = {"id": numbers(1, 2), "val": texts("test1", "test2")}
    existing.write(rows, "part_table")
    assert existing.run("SELECT * FROM ONLY child ORDER BY 1") == [(1, "test1"), (2, "test2")]
    with pytest.raises(OncelogError, match=r'duplicate key value violates unique constraint "child_pkey"'):
        existing.write(rows, "part_table", mode=Mode.UPSERT, key=("id",))
    assert existing.run("SELECT count(*) FROM part_table") == [(2,)]


# --- PostgreSQL: names


def test_reserved_words_are_accepted_as_column_and_table_names(existing: Existing) -> None:
    """QGEP/datamodel#238, b00ted/serilog-sinks-postgresql#24, apache/spark#15664: `order`, `system_user`, `level`."""
    found = existing.run("SELECT word FROM pg_get_keywords() WHERE catcode <> 'U'")
    words = sorted({word for (word,) in found} | {"system_user", "level"})  # the first is one from PostgreSQL 16 on
    assert {"order", "user", "end", "table", "timestamp"} < set(words)
    rows = {word: texts(word) for word in words} | {"key": numbers(1)}
    columns = "".join(f'"{word}" text, ' for word in words)
    for word in ("order", "user"):
        existing.run(f'CREATE TABLE "{word}" ({columns}key bigint UNIQUE)')
        for _ in range(2):
            existing.write(rows, f'public."{word}"', mode=Mode.UPSERT, key=("key",))
        assert existing.run(f'SELECT "order", "system_user", key FROM "{word}"') == [("order", "system_user", 1)]


def test_an_identity_column_numbers_the_written_rows(existing: Existing) -> None:
    """b00ted/serilog-sinks-postgresql#24: COPY into an identity column ended in "invalid byte sequence"."""
    existing.run(
        'CREATE TABLE log ("id" int8 NOT NULL GENERATED ALWAYS AS IDENTITY (INCREMENT 1 START 1), '
        '"timestamp" timestamp(6) NOT NULL, "level" text COLLATE "pg_catalog"."default" NOT NULL, '
        '"exception" text, "log_event" jsonb, CONSTRAINT "pk_log" PRIMARY KEY ("id"))'
    )
    rows = {"timestamp": texts("2019-02-17 01:02:03.123456"), "level": texts("Error"), "log_event": texts('{"a": [1]}')}
    existing.write(rows, "log")
    existing.write(rows | {"exception": texts("")}, "log")
    found = existing.run("SELECT id, exception, log_event->'a'->>0 FROM log ORDER BY id")
    assert found == [(1, None, "1"), (2, "", "1")]
    with pytest.raises(ConfigError, match=r"Column id of .* is GENERATED ALWAYS AS IDENTITY: leave it out"):
        existing.write(rows | {"id": numbers(5)}, "log")


SYSTEM = ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"]


@pytest.mark.parametrize("evolve", [True, False])
@pytest.mark.parametrize("name", SYSTEM)
def test_the_name_of_a_system_column_is_refused_with_advice_to_rename(
    existing: Existing, name: str, evolve: bool
) -> None:
    """treasure-data/prestogres#25, VirtoCommerce/vc-module-core#224, estuary/connectors#884, xtdb/xtdb#5880,
    Valour-Software/Valour#1380 and risingwavelabs/risingwave#11242; Debezium's rows have ``xmin`` in their source.
    """
    rows = {"id": numbers(1), name: numbers(2)}
    if evolve:
        existing.run("CREATE TABLE o (id bigint)")
    with pytest.raises(ConfigError, match=rf"column named {name}.*with AS") as refused:
        existing.start({column: spark.LongType() for column in rows}, evolve=evolve)
    assert "\n" not in str(refused.value)
    assert existing.run("SELECT count(*) FROM pg_class WHERE relname LIKE 'oncelog_staged%'") == [(0,)]
    existing.write({"id": numbers(1), name.upper(): numbers(2)}, "made")
    assert existing.run(f'SELECT "{name.upper()}" FROM made') == [(2,)]


# --- PostgreSQL: values


def test_infinite_timestamps_are_stored_in_any_row_of_a_batch(existing: Existing) -> None:
    """debezium/debezium#7435, #7382, #1879, debezium-connector-jdbc#85 and Altinity/clickhouse-sink-connector#1418:
    the infinite one was not the first of its batch, overflowed, or became an empty text.
    """
    existing.run("CREATE TABLE o (n bigint, z timestamptz, t timestamp(0), d date, r tstzrange)")
    given = ["2026-01-02 03:04:05Z", "infinity", "-infinity", None, "9999-12-31 23:59:59.999999Z"]
    existing.write(
        {
            "n": numbers(*range(5)),
            "z": texts(*given),
            "t": texts("2026-01-02", "-infinity", "infinity", None, "4713-01-01 BC"),
            "d": texts("infinity", "2026-01-02", "-infinity", None, "4713-01-01 BC"),
            "r": texts("[2026-01-01,infinity]", "empty", "(,)", None, "[-infinity,)"),
        }
    )
    stored = existing.run("SELECT z::text, t::text, d::text, r::text FROM o ORDER BY n")
    right = existing.run(
        "SELECT z::timestamptz::text, t::timestamp(0)::text, d::date::text, r::tstzrange::text FROM (VALUES "
        "(0, '2026-01-02 03:04:05Z', '2026-01-02', 'infinity', '[2026-01-01,infinity]'), "
        "(1, 'infinity', '-infinity', '2026-01-02', 'empty'), (2, '-infinity', 'infinity', '-infinity', '(,)'), "
        "(3, NULL, NULL, NULL, NULL), (4, '9999-12-31 23:59:59.999999Z', '4713-01-01 BC', '4713-01-01 BC', "
        "'[-infinity,)')) v (n, z, t, d, r) ORDER BY n"
    )
    assert stored == right
    assert stored[1][:3] == ("infinity", "-infinity", "2026-01-02")


ARRAYS: dict[str, tuple[Any, str]] = {
    "timestamptz[]": (
        arrays(
            spark.TimestampType(),
            pa.timestamp("us", "UTC"),
            [datetime.datetime(1, 1, 1, tzinfo=UTC), None, datetime.datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=UTC)],
        ),
        '{"0001-01-01 00:00:00Z",NULL,"2024-02-29 01:02:03.000004Z"}',
    ),
    "date[]": (arrays(spark.DateType(), pa.date32(), [datetime.date(1, 1, 1), None]), "{0001-01-01,NULL}"),
    "numeric[]": (
        arrays(spark.DecimalType(38, 18), pa.decimal128(38, 18), [Decimal("1.5"), None, Decimal("-1e-18")]),
        "{1.500000000000000000,NULL,-0.000000000000000001}",
    ),
    "float8[]": (
        arrays(spark.DoubleType(), pa.float64(), [float("nan"), float("-inf"), -0.0, 5e-324, None]),
        "{NaN,-Infinity,-0,5e-324,NULL}",
    ),
    "bytea[]": (arrays(spark.BinaryType(), pa.binary(), [b'\0\\"', b"", None]), '{"\\\\x005c22","\\\\x",NULL}'),
    "bool[]": (arrays(spark.BooleanType(), pa.bool_(), [True, None, False]), "{t,NULL,f}"),
    "jsonb[]": (
        arrays(spark.StringType(), pa.string(), ['{"a": "b,\\"c"}', None, "null"]),
        '{"{\\"a\\": \\"b,\\\\\\"c\\"}",NULL,"null"}',
    ),
    "time[]": (
        arrays(spark.StringType(), pa.string(), ["10:30:45.123456", None, "24:00"]),
        "{10:30:45.123456,NULL,24:00:00}",
    ),
    "inet[]": (arrays(spark.StringType(), pa.string(), ["10.0.0.0/8", "::1", None]), "{10.0.0.0/8,::1,NULL}"),
    "text[]": (
        arrays(spark.StringType(), pa.string(), ["", "NULL", "null", "\\N", '"', "{}", " a ", "a,b", None]),
        '{"","NULL","null","\\\\N","\\"","{}"," a ","a,b",NULL}',
    ),
}


@pytest.mark.parametrize("kind", list(ARRAYS))
def test_arrays_of_each_type_are_stored(existing: Existing, kind: str) -> None:
    """confluentinc/kafka-connect-jdbc#1662, apache/spark#9137 and #56904: arrays failed, or lost their fractions."""
    values, text = ARRAYS[kind]
    existing.run(f"CREATE TABLE o (a {kind}, b {kind})")
    existing.write({"a": values, "b": (values[0], values[1], [None])})
    assert existing.run("SELECT a::text, b FROM o") == existing.run(f"SELECT %s::{kind}::text, NULL", (text,))


def test_ltree_values_are_stored(existing: Existing) -> None:
    """confluentinc/kafka-connect-jdbc#1181: "is of type public.ltree but expression is of type character varying"."""
    existing.run("CREATE EXTENSION ltree; CREATE TABLE o (path ltree PRIMARY KEY, paths ltree[], n bigint)")
    rows = {"path": texts("Top.Science", ""), "paths": arrays(spark.StringType(), pa.string(), ["a.b", None], None)}
    for n in (1, 2):
        existing.write(rows | {"n": numbers(n, n)}, mode=Mode.UPSERT, key=("path",))
    found = existing.run("SELECT path::text, paths::text, n FROM o ORDER BY path DESC")
    assert found == [("Top.Science", "{a.b,NULL}", 2), ("", None, 2)]


def test_a_time_with_nanoseconds_is_refused(existing: Existing) -> None:
    """apache/spark#56904: nanoseconds of a time were cut."""
    existing.run("CREATE TABLE o (a time[], t time)")
    for rows in ({"t": texts("10:00:00.123456789")}, {"a": texts("{10:00:00.1234567}")}):
        with pytest.raises(OncelogError, match="would round it"):
            existing.write(rows)
    existing.write({"t": texts("10:00:00.123456000")})
    assert existing.run("SELECT t::text FROM o") == [("10:00:00.123456",)]


ESCAPED = [
    "\\N", "\\.", "a\n\\.\nb", "\\200", "C:\\temp\\new", "\\", '"', '""', "'", ",", "\t", "\r\n", "\n", "", " ", "NULL",
    "\\x00", "\u2028", "\ufeff", "\x1a", "\x7f", "\U0001f600",
]  # fmt: skip


def test_texts_with_characters_special_to_copy_are_stored_unchanged(existing: Existing) -> None:
    """psycopg/psycopg2#397 and #1372, nlextract/NLExtract#45, spotify/luigi#1212, gmr/pgdumplib#7, darold/ora2pg#1518
    and #1720: "invalid byte sequence", NULL in place of a text, the end of the data in the middle of it.
    """
    existing.run("CREATE TABLE o (t text)")
    existing.write({"t": texts(*ESCAPED, None)})
    found = [text for (text,) in existing.run("SELECT t FROM o")]
    assert found == [*ESCAPED, None]


def test_bytes_after_a_zero_byte_are_stored(existing: Existing) -> None:
    """rubyrep/rubyrep#22: the rest behind the first zero was gone."""
    existing.run("CREATE TABLE o (b bytea)")
    whole = bytes(range(256)) * 3
    existing.write({"b": (spark.BinaryType(), pa.binary(), [b"a\0b", b"\0", b"", whole])})
    assert [bytes(one) for (one,) in existing.run("SELECT b FROM o")] == [b"a\0b", b"\0", b"", whole]


def test_nan_and_infinity_are_stored_or_refused_as_by_postgresql(existing: Existing) -> None:
    """debezium/debezium#1879's sibling: NaN and Infinity in numeric, whose precision may exclude them."""
    existing.run("CREATE TABLE o (f float8, n numeric)")
    given = doubles(float("nan"), float("inf"), float("-inf"), -0.0, 1e300)
    existing.write({"f": given, "n": given})
    assert [str(f) for (f,) in existing.run("SELECT f FROM o")] == ["nan", "inf", "-inf", "-0.0", "1e+300"]
    right = existing.run("SELECT v::numeric::text FROM unnest('{NaN,Infinity,-Infinity,-0,1e300}'::float8[]) v")
    assert existing.run("SELECT n::text FROM o") == right
    existing.run("DROP TABLE o; CREATE TABLE o (n numeric(10,2))")
    existing.write({"n": doubles(float("nan"))})
    for value in (float("inf"), 1e9):
        with pytest.raises(OncelogError, match="numeric field overflow"):
            existing.write({"n": doubles(value)})
    assert existing.run("SELECT n::text FROM o") == [("NaN",)]


INTERVALS = [
    "1.5 days", "1.5 hours", "0.1 minutes", "P1.5D", "PT1.5H", "PT1.5M", "P1.5M", "1.5 months", "1.5 weeks", "2.5 y",
    "1.5", "0.3 minutes", "5 ms", "1000 ms", "1 s 500 ms", "1.5 s", "1 day 02:03:04.5", "PT4.5S", "PT4.50S",
    "0.00001 days", "1 microsecond", "1000000 us", "1.0 s", "@ 1.5 min ago", "-1.5 days", "1-2 3 4:05:06.7", "0.01 min",
    "P0001-02-03T04:05:06.7", "1.25 h", "0.004 hours", "1.5 sec", "3", "1.5 decades", "00:00:00.9", "4:05.6",
]  # fmt: skip


@pytest.mark.parametrize("digits", [0, 2, None])
def test_the_text_of_an_interval_is_refused_only_if_the_column_would_round_it(
    existing: Existing, digits: int | None
) -> None:
    """risingwavelabs/risingwave#16882's sibling: fractions of days are whole hours."""
    kind = "interval" if digits is None else f"interval({digits})"
    existing.run(f"CREATE TABLE o (i {kind})")
    found = {text: refused_as_rounded(existing, text) for text in INTERVALS}
    changed = {text: existing.run(f"SELECT %s::interval <> %s::{kind}", (text, text))[0][0] for text in INTERVALS}
    assert found == changed


def refused_as_rounded(existing: Existing, text: str, why: str = "would round it") -> bool:
    try:
        existing.write({"i": texts(text)})
    except TableRefused as refused:
        if why in str(refused):
            return True
        raise
    return False


DATES = [
    "2024-01-01", "2024-01-01 00:00:00", "2024-01-01T00:00:00.000", "20240101", "20240101T000000", "January 8, 1999",
    "08OCT2024", "Oct-08-1999", "1/8/1999", "2024-01-01 00:00:00.5", "2024-01-01T00:00:00.000001",
    "2024-01-01 04:00", "20240101T040506", "2024-01-01 00:00:01", "J2451187",
    "2024-10-10T10:00Z", "2024-01-01 00:01", "20240101 100000", "2024-01-01 1000", "2024-01-01 000000",
    "20240101t100000", "20240101 000000.5", "2 Jan 2024 240000", "02.01.2024 1000", "2024-01-01t10:00",
    "2024-01-01 -0530", "2024 Jan 02",
]  # fmt: skip


def test_the_text_of_a_date_is_refused_only_if_its_time_of_day_would_be_dropped(existing: Existing) -> None:
    """apache/seatunnel#9590's sibling: dates with times, in each form that PostgreSQL reads."""
    existing.run("CREATE TABLE o (i date)")
    found = {text: refused_as_rounded(existing, text, "would drop its time") for text in DATES}
    assert found == {text: existing.run("SELECT %s::timestamp <> %s::date", (text, text))[0][0] for text in DATES}


CLOCK_TIMES = [
    "2024-01-02 10:00", "2024-01-02 10:00 PM", "1/2/2024 10:00:00 AM +00:00", "2024-01-02 10:00:00 PM Z", "2024-01-02Z",
    "2024-01-02+02:00", "2024-01-02 UTC", "20240102T100000", "20240102T1000Z", "20240102T1000", "20240102 1000Z",
    " 2024-01-02 10:00", "2024-01-02 10:00 BC", "2024-01-02 10:00 BC Z", "20240102 100000-05", "2 Jan 2024 10:00",
    "2024 Jan 02 10:00", "2024-01-02 at 10:00", "Tue, 02 Jan 2024 10:00:00 GMT",
]  # fmt: skip


def test_the_text_of_a_timestamp_is_refused_only_if_its_zone_would_be_dropped(existing: Existing) -> None:
    """fluent/fluent-plugin-sql#140: "the time difference disappeared". A text without a zone is another instant in
    another time zone of the session."""
    existing.run("CREATE TABLE o (i timestamp)")

    def instant(text: str, zone: str) -> Any:
        with psycopg.connect(existing.url, options=f"-c TimeZone={zone}") as connection:
            return connection.execute("SELECT extract(epoch FROM %s::timestamptz)", (text,)).fetchone()

    def has_zone(text: str) -> bool:
        return bool(instant(text, "UTC") == instant(text, "Asia/Kolkata"))

    found = {text: refused_as_rounded(existing, text, "would drop its zone") for text in CLOCK_TIMES}
    assert found == {text: has_zone(text) for text in CLOCK_TIMES}


@pytest.mark.parametrize("kind", ["numeric(3,-2)", "numeric(3,-2)[]"])
def test_a_text_is_refused_if_a_column_of_negative_scale_would_round_it(existing: Existing, kind: str) -> None:
    """apache/spark#45956 and pgjdbc/pgjdbc#4211: PostgreSQL 15 rounds before the decimal point."""
    existing.run(f"CREATE TABLE o (i {kind})")
    around = "{{{}}}".format if kind.endswith("[]") else str
    for text in ("12345", "12340.0", "99", "1.5e2"):
        assert refused_as_rounded(existing, around(text), "would round it"), text
    for text in ("12300", "12300.00", "1e4", "0"):
        assert not refused_as_rounded(existing, around(text), "would round it"), text


# --- SQLite


@pytest.fixture
def sqlite(tmp_path: Path) -> ExistingSqlite:
    return ExistingSqlite(str(tmp_path / "o.db"), tmp_path, "driver")


def stored_by_sqlite(kind: str, value: Any) -> tuple[str, Any] | None:
    """What SQLite itself stores; None if it refuses."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t (a {kind}) STRICT")
        try:
            connection.execute("INSERT INTO t VALUES (?)", (value,))
        except sqlite3.IntegrityError:
            return None
        found: tuple[str, Any] = connection.execute("SELECT typeof(a), a FROM t").fetchone()
        return found


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        ("TEXT", numbers(1), 1),
        ("TEXT", doubles(1.5), 1.5),
        ("INT", texts("42"), "42"),
        ("INTEGER", texts("forty"), "forty"),
        ("REAL", texts("1.5"), "1.5"),
        ("REAL", texts("abc"), "abc"),
        ("INT", doubles(1.0), 1.0),
        ("INTEGER", doubles(1.5), 1.5),
    ],
)
def test_strict_columns_accept_the_values_that_sqlite_accepts(
    sqlite: ExistingSqlite, kind: str, given: Any, value: Any
) -> None:
    """Dicklesworthstone/frankensqlite#272, #162, #163 and #164."""
    sqlite.run(f"CREATE TABLE o (a {kind}) STRICT")
    right = stored_by_sqlite(kind, value)
    if right is None:
        with pytest.raises(OncelogError, match=r"cannot store (TEXT|REAL) value in (INTEGER|REAL|INT) column o\.a"):
            sqlite.write({"a": given})
    else:
        sqlite.write({"a": given})
    assert sqlite.run("SELECT typeof(a), a FROM o") == ([] if right is None else [right])


@pytest.mark.parametrize("how", ["VIRTUAL", "STORED"])
def test_a_value_that_a_generated_strict_column_cannot_hold_is_refused(sqlite: ExistingSqlite, how: str) -> None:
    """tursodatabase/turso#6161, #7071 and #8959."""
    columns = f"(a TEXT, b INTEGER GENERATED ALWAYS AS (a) {how}) STRICT"
    sqlite.run(f"CREATE TABLE o {columns}")
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE o {columns}")
        try:
            connection.execute("INSERT INTO o (a) VALUES ('abc')")
            refuses = False
        except sqlite3.IntegrityError:  # for VIRTUAL in newer versions alone
            refuses = True
    if refuses:
        with pytest.raises(OncelogError, match=r"cannot store TEXT value in INTEGER column o\.b, in the row a = 'abc'"):
            sqlite.write({"a": texts("42", "abc")})
        assert sqlite.run("SELECT * FROM o") == []
    sqlite.write({"a": texts("42")})
    assert sqlite.run("SELECT * FROM o") == [("42", 42)]


def test_sqlite_upserts_by_columns_named_like_reserved_words(sqlite: ExistingSqlite) -> None:
    """apache/seatunnel#10852: "near VALUES: syntax error"."""
    sqlite.run('CREATE TABLE "values" (id TEXT, type TEXT, "excluded" INTEGER, "order" TEXT, PRIMARY KEY (id, type))')
    for n in (1, 2):
        rows = {"id": texts("a", "a"), "type": texts("x", "y"), "excluded": numbers(n, n), "order": texts("o", None)}
        sqlite.write(rows, "values", mode=Mode.UPSERT, key=("type", "id"))
    assert sqlite.run('SELECT * FROM "values" ORDER BY type') == [("a", "x", 2, "o"), ("a", "y", 2, None)]
