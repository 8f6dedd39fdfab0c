"""Tables, schemas and rows with which other writers failed, as public reports have them. Each test names its report."""

from __future__ import annotations

import datetime
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.avro.file import AvroFile
from pyiceberg.transforms import BucketTransform, IdentityTransform, YearTransform
from pyiceberg.types import DoubleType, IntegerType, LongType, NestedField, StringType, StructType, TimestampType
from pyspark.sql import types as spark

from oncelog.errors import ConfigError, OncelogError
from oncelog.spark.tables.inline import inline_part
from oncelog.spark.tables.options import Mode, TableFormat
from tests.integration.tables.arrow_batches import Batches, create, rows_of
from tests.integration.tables.existing import Existing, numbers, texts
from tests.integration.tables.test_delta_demands import column, configured
from tests.integration.tables.worlds import Query, World, world_of

UTC = datetime.UTC


# --- Delta


@pytest.fixture
def delta(tmp_path: Path) -> Batches:
    return Batches(world_of(TableFormat.DELTA, tmp_path, str))


@pytest.mark.parametrize("group", ["a b", "a/b", "a%20b", "ü=:?#[]", "a+b&c", "50%", "{}"])
def test_delta_merges_into_partitions_of_any_text(delta: Batches, group: str) -> None:
    """delta-io/delta-rs#4352: a space in a partition's value made every merge add the rows again."""
    rows = {"id": [1, 2], "region": [group, group], "n": [0, 0]}
    delta.upsert(rows | {}, "id bigint;region string;n bigint", "id")
    DeltaTable(delta.world.options.table)
    for n in (1, 2, 3):
        delta.upsert(rows | {"n": [n, n]}, "id bigint;region string;n bigint", "region", "id")
    assert rows_of(delta) == [{"id": 1, "region": group, "n": 3}, {"id": 2, "region": group, "n": 3}]


@pytest.mark.parametrize("group", ["a b", "a/b", "a%20b", "ü=:?#[]", "a+b&c", "50%", "{}"])
def test_delta_merges_into_its_partitions(delta: Batches, group: str) -> None:
    """delta-io/delta-rs#4352 and #2104: the table is partitioned by two columns of the rows."""
    table = delta.world.options.table
    start = pa.table({"id": [1], "region": [group], "month": ["2024 01"], "n": [0]})
    write_deltalake(table, start, partition_by=["region", "month"])
    kinds = "id bigint;region string;month string;n bigint"
    for n in (1, 2, 3):
        delta.upsert(
            {"id": [1, 2], "region": [group] * 2, "month": ["2024 01"] * 2, "n": [n, n]}, kinds, "id", "region"
        )
    assert [(row["id"], row["n"]) for row in rows_of(delta)] == [(1, 3), (2, 3)]


def test_delta_moves_a_row_to_another_partition(delta: Batches) -> None:
    """delta-io/delta-rs#2362: rows whose partition changed were lost, or stayed twice."""
    start = pa.table({"ts": [1, 2, 3], "data": [0.5, 1.5, 2.5], "part": ["A", "B", "A"]})
    write_deltalake(delta.world.options.table, start, partition_by=["part"])
    rows = {"ts": [1, 2, 4], "data": [9.0, 9.0, 9.0], "part": ["B", "A", None]}
    delta.upsert(rows, "ts bigint;data double;part string", "ts")
    assert [(row["ts"], row["part"]) for row in rows_of(delta)] == [(1, "B"), (2, "A"), (3, "A"), (4, None)]


def test_delta_merges_into_a_key_that_is_not_null(delta: Batches) -> None:
    """delta-io/delta-rs#4527: rows that no row of the batch matches failed the check of NOT NULL."""
    configured(delta.world.options, [column("id", null=False), column("text", "string"), column("more")])
    delta.upsert({"id": [1, 2], "text": ["a", "b"]}, "id bigint;text string", "id")
    delta.upsert({"id": [2, 3], "text": ["B", None]}, "id bigint;text string", "id")
    assert [(row["id"], row["text"]) for row in rows_of(delta)] == [(1, "a"), (2, "B"), (3, None)]


def test_delta_adds_a_column_to_a_partitioned_table(delta: Batches) -> None:
    """delta-io/delta-rs#2355: the new column was missing, without an error."""
    write_deltalake(delta.world.options.table, pa.table({"id": [1], "text": ["a"]}), partition_by=["id"])
    rows = {"id": [2], "text": ["b"], "n": [7]}
    with pytest.raises(ConfigError, match="has no column n: set evolve to true"):
        delta.write(rows, "id bigint;text string;n bigint")
    delta.write(rows, "id bigint;text string;n bigint", evolve=True)
    assert rows_of(delta) == [{"id": 1, "text": "a", "n": None}, {"id": 2, "text": "b", "n": 7}]


def test_delta_keeps_the_comments_of_columns(delta: Batches) -> None:
    """delta-io/delta-rs#2419: the comments that a catalog keeps in a column made it another one."""
    fields = [column("id", "long", {"comment": "the key"}), column("text", "string", {"comment": "free"})]
    configured(delta.world.options, fields)
    delta.write({"id": [1], "text": ["a"]}, "id bigint;text string")
    delta.upsert({"id": [1], "text": ["b"]}, "id bigint;text string", "id")
    assert rows_of(delta) == [{"id": 1, "text": "b"}]
    kept = json.loads(DeltaTable(delta.world.options.table).schema().to_json())["fields"]
    assert kept[0]["metadata"] == {"comment": "the key"}


@pytest.mark.parametrize(("kinds", "value"), [("d decimal(10,2)", "12345678.91"), ("d decimal(38,10)", "0E-10")])
def test_delta_decimals_with_more_digits_are_refused(delta: Batches, kinds: str, value: str) -> None:
    """delta-io/delta-rs#2275 and PostHog/posthog#74636: "Parser error: parse decimal overflow", or a broken table."""
    write_deltalake(delta.world.options.table, pa.table({"d": pa.array([Decimal("1.5")], pa.decimal128(2, 1))}))
    precision = (10, 2) if "(10" in kinds else (38, 10)
    with pytest.raises(ConfigError, match=r"Column d of .* is decimal\(2,1\), while the rows need decimal"):
        delta.write({"d": pa.array([Decimal(value)], pa.decimal128(*precision))}, kinds)
    assert len(rows_of(delta)) == 1


def test_delta_table_of_another_library_accepts_timestamps_and_lists(delta: Batches) -> None:
    """delta-io/delta-rs#1777, #3595 and pola-rs/polars#9434: zones, large lists and texts of the table's maker."""
    kinds = pa.schema([("at", pa.timestamp("us", "UTC")), ("list", pa.large_list(pa.large_string()))])
    moment = datetime.datetime(2023, 1, 1, 1, 1, 1, tzinfo=UTC)
    write_deltalake(delta.world.options.table, pa.table({"at": [moment], "list": [["a"]]}, schema=kinds))
    rows = {
        "at": pa.array([moment, moment + datetime.timedelta(days=1)], pa.timestamp("us", "Europe/Berlin")),
        "list": [["b", None], []],
    }
    delta.upsert(rows, "at timestamp;list array<string>", "at")
    assert [row["list"] for row in rows_of(delta)] == [["b", None], []]


def test_delta_partition_column_may_be_between_other_columns(delta: Batches) -> None:
    """delta-io/delta#6591: a partition column in the middle of the table."""
    start = pa.table({"id": [1], "part": ["x"], "more": [1.5]})
    write_deltalake(delta.world.options.table, start, partition_by=["part"])
    delta.write({"more": [2.5], "id": [2], "part": ["y"]}, "more double;id bigint;part string")
    assert rows_of(delta) == [{"id": 1, "part": "x", "more": 1.5}, {"id": 2, "part": "y", "more": 2.5}]


def test_delta_keys_that_are_null_or_duplicate_are_refused(delta: Batches) -> None:
    """PostHog/posthog#75601 and delta-io/delta-rs#2961: such rows were added again by each merge."""
    write_deltalake(delta.world.options.table, pa.table({"id": [1], "kind": ["a"]}))
    kinds = "id bigint;kind string"
    with pytest.raises(OncelogError, match="has NULL in its key kind: leave such rows out"):
        delta.upsert({"id": [1], "kind": pa.array([None], pa.string())}, kinds, "id", "kind")
    with pytest.raises(
        OncelogError, match="has 2 rows with the key id = 1, and which of them is the last is not known"
    ):
        delta.upsert({"id": [1, 1], "kind": ["a", "b"]}, kinds, "id")
    assert rows_of(delta) == [{"id": 1, "kind": "a"}]


NAMES = ["submittedAt", "Sales_order_id", "y--1", "a a", "people.name", "Attr_227e7d6a-876c-4ace-92f3", "select", "1"]


@pytest.mark.parametrize("name", NAMES)
def test_delta_merges_by_a_key_of_any_name(delta: Batches, name: str) -> None:
    """delta-io/delta-rs#1797, #1960, #4082, #2438, #2167, dlt-hub/dlt#3609, delta-io/delta#208, #233 and #707."""
    required = "." not in name  # else Spark looks at each row
    columns = [column(one, "string", null=not required) for one in (name, f"{name}2")]
    configured(delta.world.options, columns)
    kinds = f"{name}|string;{name}2|string"
    for text in ("x", "y"):
        delta.upsert({name: ["a", "b"], f"{name}2": [text, text]}, kinds, name)
    delta.write({name: ["c"], f"{name}2": ["z"]}, kinds)
    assert [tuple(row.values()) for row in rows_of(delta)] == [("a", "y"), ("b", "y"), ("c", "z")]


# --- Iceberg


ODD = ["a key", "a.b", "1st", "gpa_!@#%^&*()", "\U0001f600", "id:foo", "ü", "my/data", "select", "Mixed"]


@pytest.mark.parametrize("how", [IdentityTransform(), BucketTransform(64)], ids=str)
@pytest.mark.parametrize("name", ODD)
def test_iceberg_partitions_by_a_column_of_any_name(iceberg: Batches, name: str, how: Any) -> None:
    """apache/iceberg-python#2123 and #109, duckdb/duckdb-iceberg#1401, apache/iceberg#216 and #10279, hive#6619:
    manifests whose names are none in Avro, which no other engine reads."""
    part = name if isinstance(how, IdentityTransform) else f"{name}_bucket"
    table = create(iceberg, ("id", LongType(), False), (name, StringType(), False), spec=((2, how, part),))
    iceberg.write({"id": [1], name: ["a/b c"]}, f"id|bigint;{name}|string")
    iceberg.upsert({"id": [1, 2], name: ["a/b c", None]}, f"id|bigint;{name}|string", "id")
    assert [tuple(row.values()) for row in rows_of(iceberg)] == [(1, "a/b c"), (2, None)]
    for manifest in table.refresh().current_snapshot().manifests(table.io):
        with AvroFile[Any](table.io.new_input(manifest.manifest_path)) as file:
            names = names_in(json.loads(file.header.meta["avro.schema"]))
        assert len(names) > 10
        assert [one for one in names if not re.fullmatch(r"[^\W\d]\w*", one)] == []  # as Java's Avro has it


def names_in(schema: Any) -> list[str]:
    """All names in a schema of Avro."""
    if isinstance(schema, list):
        return [name for one in schema for name in names_in(one)]
    if not isinstance(schema, dict):
        return []
    return [schema[key] for key in ("name",) if key in schema] + names_in(list(schema.values()))


def test_iceberg_partitions_by_a_field_of_a_struct(iceberg: Batches) -> None:
    """apache/iceberg-python#2204: partitioned by a field of a struct."""
    place = StructType(NestedField(3, "city", StringType(), required=False))
    create(iceberg, ("id", LongType(), False), ("place", place, False), spec=((3, IdentityTransform(), "city"),))
    kinds = spark.StructType([spark.StructField("city", spark.StringType())])
    schema = _fields({"id": spark.LongType(), "place": kinds})
    query = Query(iceberg.world.folder / "nested", iceberg.world.options)
    rows = pa.table({"id": [1, 2], "place": [{"city": "x"}, None]})
    query.run(0, [], schema=schema, made=lambda: [inline_part(rows.to_batches())])
    query.run(
        1, [], schema=_fields({"id": spark.LongType()}), made=lambda: [inline_part(rows.select(["id"]).to_batches())]
    )
    assert len(rows_of(iceberg)) == 4


@pytest.fixture
def iceberg(tmp_path: Path) -> Batches:
    return Batches(world_of(TableFormat.ICEBERG, tmp_path, str))


def test_iceberg_upserts_after_a_column_was_added(iceberg: Batches) -> None:
    """apache/iceberg-python#3105, #2467 and mitodl/ol-data-platform#2668: no snapshot has the new column."""
    table = create(iceberg, ("id", LongType(), True), ("name", StringType(), False))
    iceberg.write({"id": [1, 2], "name": ["Alice", "Bob"]}, "id bigint;name string")
    with table.refresh().update_schema() as update:
        update.add_column("ping", StringType())
    rows = {"id": [2, 3], "name": ["B", "C"], "ping": ["pong", None]}
    iceberg.upsert(rows, "id bigint;name string;ping string", "id")
    assert [(row["id"], row["name"], row["ping"]) for row in rows_of(iceberg)] == [
        (1, "Alice", None),
        (2, "B", "pong"),
        (3, "C", None),
    ]


def test_iceberg_upserts_after_the_key_was_renamed(iceberg: Batches) -> None:
    """apache/iceberg-python#3850: KeyError, as the files still have the old name."""
    table = create(iceberg, ("id", LongType(), True), ("name", StringType(), False))
    iceberg.write({"id": [1, 2], "name": ["Alice", "Bob"]}, "id bigint;name string")
    with table.refresh().update_schema() as update:
        update.rename_column("id", "student")
    iceberg.upsert({"student": [2], "name": ["B"]}, "student bigint;name string", "student")
    assert [(row["student"], row["name"]) for row in rows_of(iceberg)] == [(1, "Alice"), (2, "B")]


def test_iceberg_upserts_a_partitioned_table_whose_columns_are_all_required(iceberg: Batches) -> None:
    """apache/iceberg-python#1690: all columns required, partitioned by the year of a time without a zone."""
    create(
        iceberg,
        ("student_id", IntegerType(), True),
        ("name", StringType(), True),
        ("enrollment_date", TimestampType(), True),
        ("gpa", DoubleType(), True),
        spec=((3, YearTransform(), "enrollment_year"),),
    )
    kinds = "student_id int;name string;enrollment_date timestamp_ntz;gpa double"

    def students(gpa: float, year: int) -> dict[str, Any]:
        moments = [datetime.datetime(2023, 9, 1), datetime.datetime(year, 1, 15)]
        ids = pa.array([101, 102], pa.int32())
        return {"student_id": ids, "name": ["Alice", "Bob"], "enrollment_date": moments, "gpa": [gpa, 3.5]}

    iceberg.upsert(students(3.8, 2024), kinds, "student_id")
    iceberg.upsert(students(3.9, 1969), kinds, "student_id")
    assert [(row["gpa"], row["enrollment_date"].year) for row in rows_of(iceberg)] == [(3.9, 2023), (3.5, 1969)]
    with pytest.raises(OncelogError, match="has NULL in column gpa, which is NOT NULL there"):
        iceberg.write(students(3.8, 2024) | {"gpa": pa.array([None, 1.0], pa.float64())}, kinds)


@pytest.mark.parametrize("how", [IdentityTransform(), BucketTransform(4)], ids=str)
def test_iceberg_writes_columns_and_partitions_that_are_all_null(iceberg: Batches, how: Any) -> None:
    """apache/iceberg-python#348, apache/paimon#9151, apache/hive#3261 and StarRocks/starrocks#43321."""
    create(iceberg, ("id", LongType(), False), ("pt", StringType(), False), spec=((2, how, "p"),))
    nulls = {"id": pa.array([None, None], pa.int64()), "pt": pa.array([None, None], pa.string())}
    for _ in range(2):
        iceberg.write(nulls, "id bigint;pt string")
    iceberg.write({"id": [1], "pt": ["a"]}, "id bigint;pt string")
    iceberg.write({"id": [2]}, "id bigint")
    assert [(row["id"], row["pt"]) for row in rows_of(iceberg)] == [(1, "a"), (2, None), *[(None, None)] * 4]


def test_iceberg_null_in_a_partition_that_is_required_is_refused(iceberg: Batches) -> None:
    """StarRocks/starrocks#58581: it was written."""
    create(iceberg, ("id", LongType(), False), ("name", StringType(), True), spec=((2, IdentityTransform(), "name"),))
    with pytest.raises(OncelogError, match="has NULL in column name, which is NOT NULL there"):
        iceberg.write({"id": [2], "name": pa.array([None], pa.string())}, "id bigint;name string")
    with pytest.raises(ConfigError, match=r"Column name of .* is NOT NULL, and the rows have no such column"):
        iceberg.write({"id": [2]}, "id bigint")
    assert rows_of(iceberg) == []


def test_the_error_names_an_iceberg_column_of_another_type(iceberg: Batches) -> None:
    """apache/iceberg-python#2017 and #674: "Unexpected physical type", without the column."""
    create(iceberg, ("id", LongType(), False), ("name", StringType(), False))
    with pytest.raises(ConfigError, match=r"Column id of .* is int64, while the rows need string"):
        iceberg.write({"id": ["1"], "name": ["a"]}, "id string;name string")


# --- PostgreSQL


def test_postgresql_columns_are_found_whatever_the_case_of_their_names(existing: Existing) -> None:
    """confluentinc/kafka-connect-jdbc#455, #274, #572, #786 and #1144, apache/iceberg#11091: Oracle's columns."""
    existing.run("CREATE TABLE o (UPPER_CASE_TEST varchar(10) PRIMARY KEY, mixed_CASE varchar(10), lower_case text)")
    rows = {"UPPER_CASE_TEST": texts("a", "b"), "Mixed_Case": texts("1", "2"), "LOWER_CASE": texts("x", None)}
    existing.write(rows)
    existing.write(rows | {"Mixed_Case": texts("3", "4")}, mode=Mode.UPSERT, key=("Upper_Case_Test",))
    assert existing.run("SELECT * FROM o ORDER BY 1") == [("a", "3", "x"), ("b", "4", None)]


def test_postgresql_table_from_a_bug_report_about_uuids_is_written(existing: Existing) -> None:
    """apache/seatunnel#712 and #11892, confluentinc/kafka-connect-jdbc#871 and #1375."""
    existing.run(
        'CREATE SCHEMA cnb; CREATE TABLE "cnb"."Values" ('
        '"_ide_status" varchar COLLATE "pg_catalog"."default" DEFAULT \'normal\'::character varying, '
        '"id" uuid NOT NULL DEFAULT gen_random_uuid(), "createdAt" timestamptz(6) DEFAULT now(), '
        '"deletedAt" timestamptz(6), "order" int4, "lastName" text, "parentId" uuid, "doc" jsonb, '
        'CONSTRAINT "PK_20911d8fe3d2273d60c489da8c9" PRIMARY KEY ("id"), '
        'CONSTRAINT "FK" FOREIGN KEY ("parentId") REFERENCES "cnb"."Values" ("id"))'
    )
    first, second = "6774d596-8cc8-4c20-8e98-6f2f105d62a8", "6774d596-8cc8-4c20-8e98-6f2f105d62a9"
    rows = {
        "id": texts(first, second),
        "createdAt": texts("2021-07-06 16:52:37.477347+08", "2021-07-06T16:54:41Z"),
        "order": numbers(0, 1),
        "lastName": texts(None, "Ü"),
        "parentId": texts(second, None),
        "doc": texts('{"a": 1}', "null"),
    }
    existing.write(rows, "cnb.Values")
    existing.write(rows, "cnb.Values", mode=Mode.UPSERT, key=("ID",))
    found = existing.run('SELECT id::text, "_ide_status", "order", "parentId"::text, doc::text FROM cnb."Values"')
    assert sorted(found) == [(first, "normal", 0, second, '{"a": 1}'), (second, "normal", 1, None, "null")]
    with pytest.raises(OncelogError, match='violates foreign key constraint "FK"'):
        existing.write({"id": texts(first.replace("6", "7")), "parentId": texts(first.replace("6", "8"))}, "cnb.Values")


def test_a_postgresql_table_name_that_includes_the_database_is_refused(existing: Existing) -> None:
    """confluentinc/kafka-connect-jdbc#1528: "cross-database references are not implemented"."""
    with pytest.raises(
        ConfigError, match=r"Option table of a postgresql sink is 'shop\.public\.o': write schema\.name"
    ):
        existing.start({"id": spark.LongType()}, "shop.public.o")


def test_the_error_names_a_postgresql_schema_that_differs_only_in_case(existing: Existing) -> None:
    """ibm-messaging/kafka-connect-jdbc-sink#59: a table was made beside the one that was meant."""
    existing.run('CREATE SCHEMA "DB2INST1"; CREATE TABLE "DB2INST1"."COMPANY" (id bigint)')
    for name in ("db2inst1.company", "DB2INST1.company", "db2inst1.COMPANY"):
        with pytest.raises(OncelogError, match=r'so set table to "DB2INST1"\."COMPANY"'):
            existing.start({"id": spark.LongType()}, name)


def test_postgresql_upsert_creates_the_table(existing: Existing) -> None:
    """confluentinc/kafka-connect-jdbc#848: the table did not appear."""
    for text in ("a", "b"):
        existing.write({"id": numbers(1), "t": texts(text)}, "made", mode=Mode.UPSERT, key=("id",))
    assert existing.run("SELECT * FROM made") == [(1, "b")]


def test_postgresql_accepts_the_strings_that_debezium_writes(existing: Existing) -> None:
    """risingwavelabs/risingwave#10460, #14862, #16882, debezium#4865, seatunnel#9590, spark#19567."""
    existing.run(
        "CREATE TABLE o (id bigint PRIMARY KEY, d DECIMAL(1000), at TIMESTAMP(3), i INTERVAL(3), t TIME(3), "
        "c CHAR(12), v VARCHAR(512), u uuid[], n inet[], ii interval[], r numrange, z timestamptz)"
    )
    existing.write(
        {
            "id": numbers(1, 2),
            "d": texts("123", "9" * 700),
            "at": texts("2023-06-19T10:30:45.123", "infinity"),
            "i": texts("P0Y0M1DT2H3M4.567S", "4 5:6:7.999"),
            "t": texts("10:30:45.678", None),
            "c": texts("Sample", ""),
            "v": texts("", "x"),
            "u": (
                spark.ArrayType(spark.StringType()),
                pa.list_(pa.string()),
                [["7be8aaf8-650e-4dbb-8186-0a749840ecf2"], None],
            ),
            "n": texts("{10.0.0.1,::1}", None),
            "ii": (spark.ArrayType(spark.StringType()), pa.list_(pa.string()), [["P1D", None], []]),
            "r": texts("[1,2)", "empty"),
            "z": texts("-infinity", "0001-01-01 00:00:00 BC"),
        }
    )
    columns = ", ".join(f"{name}::text" for name in ("d", "at", "i", "t", "c", "n", "ii"))
    assert existing.run(f"SELECT {columns} FROM o ORDER BY id") == [
        ("123", "2023-06-19 10:30:45.123", "1 day 02:03:04.567", "10:30:45.678", "Sample", "{10.0.0.1,::1}",
         '{"1 day",NULL}'),
        ("9" * 700, "infinity", "4 days 05:06:07.999", None, "", None, "{}"),
    ]  # fmt: skip


@pytest.mark.parametrize("form", [TableFormat.DELTA, TableFormat.ICEBERG], indirect=True)
def test_a_number_for_a_date_or_timestamp_column_is_refused_and_an_expression_suggested(world: World) -> None:
    """confluentinc/kafka-connect-jdbc#1190 and #674, memiiso/debezium-server-iceberg#620, risingwave#14862."""
    kinds = {"day": spark.DateType(), "at": spark.TimestampType(), "local": spark.TimestampNTZType()}
    Query(world.folder / "first", world.options, query_id="first").run(0, [], schema=_fields(kinds))
    says = {
        "day": r"write date_from_unix_date\(day\) in the query, if it counts days",
        "at": r"write timestamp_micros\(at\) in the query, if it counts microseconds",
        "local": r"write timestamp_ntz'1970-01-01' \+ local \* interval '0\.000001' second in the query, if",
    }
    for name, why in says.items():
        for kind in (spark.IntegerType(), spark.LongType()):
            with pytest.raises(ConfigError, match=why):
                Query(world.folder / "next", world.options).run(0, [], schema=_fields({name: kind}))


def _fields(kinds: dict[str, Any]) -> spark.StructType:
    return spark.StructType([spark.StructField(name, kind) for name, kind in kinds.items()])


def test_postgresql_texts_with_nul_are_refused_and_an_expression_suggested(existing: Existing) -> None:
    """confluentinc/kafka-connect-jdbc#1271, #1216, #1264 and #1602, seatunnel#8393, airbyte#3476, EthVM#523."""
    existing.run("CREATE TABLE o (id bigint, name varchar(20), doc jsonb, address bytea)")
    for column_name in ("name", "doc"):
        with pytest.raises(OncelogError, match=r"cannot hold the character NUL: leave it out in the query, replace\("):
            existing.write({"id": numbers(1), column_name: texts("\0")})
    with pytest.raises(OncelogError, match="unsupported Unicode escape sequence"):
        existing.write({"id": numbers(1), "doc": texts('{"body": "a\\u0000b"}')})
    existing.write({"address": (spark.BinaryType(), pa.binary(), [b"\0\xff"])})
    assert existing.run("SELECT encode(address, 'hex') FROM o") == [("00ff",)]


def test_postgresql_upserts_rows_with_only_key_columns(existing: Existing) -> None:
    """confluentinc/kafka-connect-jdbc#667 and #645: "syntax error at end of input"; apache/flink#19053."""
    existing.run("CREATE TABLE o (scope_id varchar(36), role_id varchar(36), PRIMARY KEY (scope_id, role_id))")
    for _ in range(2):
        rows = {"scope_id": texts("477c", "477c"), "role_id": texts("a", "b")}
        existing.write(rows, mode=Mode.UPSERT, key=("role_id", "scope_id"))
    assert sorted(existing.run("SELECT * FROM o")) == [("477c", "a"), ("477c", "b")]


def test_a_postgresql_key_without_an_index_is_refused_and_a_statement_suggested(existing: Existing) -> None:
    """confluentinc/kafka-connect-jdbc#1127: "no unique or exclusion constraint matching"; citext and expressions."""
    existing.run('CREATE TABLE o ("Id" bigint, email text); CREATE UNIQUE INDEX ON o (lower(email))')
    for key, rows in ((("id",), ["Id"]), (("email",), ["email"])):
        with pytest.raises(ConfigError, match=r"make one, (CREATE UNIQUE INDEX ON \S+ \(\S+\)), or name") as refused:
            existing.start(dict.fromkeys(rows, spark.StringType()), mode=Mode.UPSERT, key=key)
        existing.run(re.findall(r"make one, (.*?), or name", str(refused.value))[0])
        existing.write({"Id": numbers(1), "email": texts("a")}, mode=Mode.UPSERT, key=key)
    assert existing.run("SELECT * FROM o") == [(1, "a")]
