"""Tables that Delta-Spark and Iceberg's Spark runtime have made, written by our sinks and read back by them."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from oncelog.errors import ConfigError, OncelogError
from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.engine import BatchOutcome, SinkRefused
from oncelog.spark.tables.inline import inline_part
from oncelog.spark.tables.options import Mode, TableFormat, TableOptions
from oncelog.spark.tables.sink import open_store
from oncelog.spark.tables.store import WrittenPart
from tests.integration.tables.worlds import DAY_MS, Query
from tests.support.lake_engines import EngineError, LakeEngine

pytestmark = [pytest.mark.soak, pytest.mark.spark]

ICE = "id bigint, ts timestamp, s string"
SCHEMA = StructType([StructField("id", LongType()), StructField("ts", TimestampType()), StructField("s", StringType())])
MOMENTS = [datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), datetime.datetime(2024, 2, 29, 12), None]
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 1 << 40], pa.int64()),
        "ts": pa.array([m and m.replace(tzinfo=datetime.UTC) for m in MOMENTS], pa.timestamp("us", "UTC")),
        "s": ["ä" * 9, "", None],
    }
)
VALUES = (
    "(1, timestamp'1969-12-31 23:59:59.999999Z', 'äääääääää'), (2, timestamp'2024-02-29 12:00:00Z', ''), "
    "(1099511627776, null, null)"
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeEngine]:
    started = LakeEngine(tmp_path_factory.mktemp("engine"))
    yield started
    started.close()


def made(rows: pa.Table) -> list[WrittenPart]:
    return [inline_part(rows.to_batches())]


def iceberg(engine: LakeEngine, name: str, **more: Any) -> TableOptions:
    return TableOptions(TableFormat.ICEBERG, f"lake.{name}", catalog=engine.catalog, **more)


def write(engine: LakeEngine, options: TableOptions, rows: pa.Table = ROWS, schema: StructType = SCHEMA) -> None:
    name = options.table.replace("/", "_")
    query = Query(engine.folder / f"checkpoint{name}", options)
    query.run(0, [], schema=schema, made=lambda: made(rows))


def partitions(engine: LakeEngine, table: str) -> list[str]:
    return sorted(
        str(row) for row in engine.sql(f"SELECT partition, record_count FROM {table}.files WHERE content = 0")
    )


SPECS = (
    "days(ts)",
    "hours(ts)",
    "months(ts)",
    "years(ts)",
    "bucket(16, id)",
    "bucket(4, s)",
    "truncate(3, s)",
    "truncate(10, id)",
    "bucket(7, ts)",
    "days(ts), bucket(4, id), s",
)


@pytest.mark.parametrize("spec", SPECS)
def test_rows_are_in_the_partitions_that_iceberg_chooses(engine: LakeEngine, spec: str) -> None:
    """And filters that let readers skip partitions find them."""
    name = f"p{SPECS.index(spec)}"
    for table in (name, f"{name}_theirs"):
        engine.sql(f"CREATE TABLE ice.lake.{table} ({ICE}) USING iceberg PARTITIONED BY ({spec})")
    write(engine, iceberg(engine, name))
    engine.sql(f"INSERT INTO ice.lake.{name}_theirs VALUES {VALUES}")
    ours, theirs = f"ice.lake.{name}", f"ice.lake.{name}_theirs"
    assert partitions(engine, ours) == partitions(engine, theirs)
    for where in ("ts < timestamp'1970-01-01 00:00:00Z'", "id = 2", "s = ''", "s LIKE 'ääää%'", "ts IS NULL"):
        select = f"SELECT * FROM {{}} WHERE {where}"
        assert engine.sql(select.format(ours)) == engine.sql(select.format(theirs)), where


def _table(engine: LakeEngine, name: str, rest: str = "", columns: str = ICE, *alter: str) -> str:
    table = f"ice.lake.{name}"
    engine.sql(f"CREATE TABLE {table} ({columns}) USING iceberg {rest}", *(one.format(table) for one in alter))
    return table


def properties(**given: str) -> str:
    pairs = ", ".join(f"'{name.replace('_', '.')}' = '{value}'" for name, value in given.items())
    return f"TBLPROPERTIES ({pairs})"


MERGE_ON_READ = properties(write_delete_mode="merge-on-read", write_update_mode="merge-on-read")

WRITABLE: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "v1": ("TBLPROPERTIES ('format-version' = '1')", ICE, ()),
    "sorted": ("", ICE, ("ALTER TABLE {} WRITE ORDERED BY s",)),
    "renamed": (
        "",
        "id bigint, other timestamp, s string",
        (
            "ALTER TABLE {} RENAME COLUMN other TO ts",
            "ALTER TABLE {} ALTER COLUMN s FIRST",
            "ALTER TABLE {} ADD COLUMN more int AFTER id",
        ),
    ),
    "evolved": (
        "PARTITIONED BY (days(ts))",
        ICE,
        (f"INSERT INTO {{}} VALUES {VALUES}", "ALTER TABLE {} REPLACE PARTITION FIELD days(ts) WITH hours(ts)"),
    ),
    "unpartitioned": ("PARTITIONED BY (days(ts))", ICE, ("ALTER TABLE {} DROP PARTITION FIELD days(ts)",)),
    "deleted": (MERGE_ON_READ, ICE, (f"INSERT INTO {{}} VALUES {VALUES}", "DELETE FROM {} WHERE id = 2")),
    "branched": ("", ICE, (f"INSERT INTO {{}} VALUES {VALUES}", "ALTER TABLE {} CREATE BRANCH dev")),
    "objects": ("TBLPROPERTIES ('write.object-storage.enabled' = 'true')", ICE, ()),
    "gzip": ("TBLPROPERTIES ('write.parquet.compression-codec' = 'gzip')", ICE, ()),
    "identified": ("", ICE.replace("bigint", "bigint NOT NULL"), ("ALTER TABLE {} SET IDENTIFIER FIELDS id",)),
}


@pytest.mark.parametrize("mode", list(Mode), ids=str)
@pytest.mark.parametrize("name", list(WRITABLE))
def test_iceberg_tables_of_many_kinds_contain_the_written_rows(engine: LakeEngine, name: str, mode: Mode) -> None:
    rest, columns, alter = WRITABLE[name]
    table = _table(engine, f"{name}_{mode.value}", rest, columns, *alter)
    select = f"SELECT id, cast(ts as string), s FROM {table} ORDER BY id, ts"
    before = engine.sql(select)
    key = ("id",) if mode is Mode.UPSERT else ()
    write(engine, iceberg(engine, f"{name}_{mode.value}", mode=mode, key=key))
    rows = [(1, "1969-12-31 18:59:59.999999", "äääääääää"), (2, "2024-02-29 07:00:00", ""), (1 << 40, None, None)]
    expected = [*(before if mode is Mode.APPEND else ()), *rows]
    assert engine.sql(select) == sorted(expected, key=str) or sorted(engine.sql(select), key=str) == sorted(
        expected, key=str
    )


REFUSED = [
    ("three", "TBLPROPERTIES ('format-version' = '3')", (), "has format-version 3, and pyiceberg"),
    ("orc", "TBLPROPERTIES ('write.format.default' = 'orc')", (), "write.format.default = orc, and pyiceberg"),
    (
        "redundant",
        "PARTITIONED BY (days(ts)) TBLPROPERTIES ('format-version' = '1')",
        ("ALTER TABLE {} REPLACE PARTITION FIELD days(ts) WITH hours(ts)",),
        "cannot be written by pyiceberg .* redundant partitions",
    ),
    (
        "provider",
        "TBLPROPERTIES ('write.location-provider.impl' = 'com.example.Provider')",
        (),
        "has write.location-provider.impl = com.example.Provider, which pyiceberg",
    ),
]


@pytest.mark.parametrize(("name", "rest", "alter", "says"), REFUSED)
def test_tables_that_pyiceberg_cannot_write_are_refused_before_rows_are_computed(
    engine: LakeEngine, name: str, rest: str, alter: tuple[str, ...], says: str
) -> None:
    _table(engine, name, rest, ICE, *alter)
    query = Query(engine.folder / f"checkpoint-{name}", iceberg(engine, name))
    with pytest.raises(ConfigError, match=says):
        query.write(0, [], schema=SCHEMA, made=lambda: pytest.fail("rows were computed"))


def test_the_advice_for_iceberg_works(engine: LakeEngine) -> None:
    engine.sql(
        "ALTER TABLE ice.lake.orc SET TBLPROPERTIES ('write.format.default' = 'parquet')",
        "CREATE TABLE ice.lake.two USING iceberg TBLPROPERTIES ('format-version' = '2') "
        "AS SELECT * FROM ice.lake.three",
        "ALTER TABLE ice.lake.provider UNSET TBLPROPERTIES ('write.location-provider.impl')",
    )
    for name in ("orc", "two", "provider"):
        write(engine, iceberg(engine, name))
        assert engine.sql(f"SELECT count(*) FROM ice.lake.{name}") == [(3,)]


def test_the_first_and_the_last_day_are_stored_exactly(engine: LakeEngine) -> None:
    """In values, partitions and the statistics by which readers skip files."""
    days = [datetime.date(1, 1, 1), datetime.date(1582, 10, 4), datetime.date(9999, 12, 31)]
    times = [datetime.datetime(1, 1, 1), datetime.datetime(1582, 10, 4), datetime.datetime(9999, 12, 31, 23, 59, 59)]
    numbers = [Decimal("-99999999.99"), Decimal("0.00"), Decimal("99999999.99")]
    kinds: list[tuple[str, Any, Any]] = [("d", DateType(), pa.date32()), ("t", TimestampNTZType(), pa.timestamp("us"))]
    kinds += [("z", TimestampType(), pa.timestamp("us", "UTC")), ("n", DecimalType(10, 2), pa.decimal128(10, 2))]
    columns = [days, times, times, numbers]
    rows = pa.table([pa.array(v, k) for v, (_, _, k) in zip(columns, kinds, strict=True)], [k[0] for k in kinds])
    schema = StructType([StructField(name, kind) for name, kind, _ in kinds])
    ddl = "d date, t timestamp_ntz, z timestamp, n decimal(10, 2)"
    lake = str(engine.folder / "days")
    engine.sql(f"CREATE TABLE delta.`{lake}` ({ddl}) USING delta")
    engine.sql(f"CREATE TABLE delta.`{lake}_z` ({ddl}) USING delta PARTITIONED BY (d, z)")
    engine.sql(f"CREATE TABLE ice.lake.days ({ddl}) USING iceberg PARTITIONED BY (months(d), days(z))")
    for table, options in (
        (f"delta.`{lake}`", TableOptions(TableFormat.DELTA, lake)),
        (f"delta.`{lake}_z`", TableOptions(TableFormat.DELTA, f"{lake}_z", partition_by=("d", "z"))),
        ("ice.lake.days", iceberg(engine, "days")),
    ):
        write(engine, options, rows, schema)
        engine.sql("SET TIME ZONE 'UTC'")
        for day, number in zip(days, numbers, strict=True):
            moment = f"{day:%Y-%m-%d}".rjust(10, "0")
            for where in (
                f"d = date'{moment}'",
                f"t >= timestamp_ntz'{moment} 00:00:00' AND t < timestamp_ntz'{moment} 23:59:59.5'",
                f"z >= timestamp'{moment} 00:00:00' AND z < timestamp'{moment} 23:59:59.5'",
                f"n = {number}BD",
            ):
                assert engine.sql(f"SELECT n FROM {table} WHERE {where}") == [(str(number),)], (table, where)
        engine.sql("SET TIME ZONE 'America/New_York'")
        zoned = engine.sql(f"SELECT unix_micros(z) FROM {table} ORDER BY z")
        assert zoned == [
            (
                round(
                    (
                        t.replace(tzinfo=datetime.UTC) - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
                    ).total_seconds()
                )
                * 10**6,
            )
            for t in times
        ], table


def test_iceberg_types_without_a_spark_name_are_written_or_refused(engine: LakeEngine) -> None:
    """A uuid is made of text, a fixed of binary; a time has no type in Spark's rows."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.schema import Schema
    from pyiceberg.types import FixedType, NestedField, TimeType, UUIDType
    from pyiceberg.types import LongType as IcebergLong

    engine.sql("CREATE NAMESPACE IF NOT EXISTS ice.lake")
    fields = [("id", IcebergLong()), ("u", UUIDType()), ("f", FixedType(3)), ("t", TimeType())]
    schema = Schema(*(NestedField(n, name, kind, required=False) for n, (name, kind) in enumerate(fields, 1)))
    load_catalog(**engine.catalog).create_table("lake.odd", schema)
    text = "f79c3e09-677c-4bbd-a479-3f349cb785e7"
    kinds = StructType([StructField("id", LongType()), StructField("u", StringType()), StructField("f", BinaryType())])
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "u": [text, None], "f": [b"abc", None]})
    write(engine, iceberg(engine, "odd"), rows, kinds)
    found = load_catalog(**engine.catalog).load_table("lake.odd").scan().to_arrow().sort_by("id").to_pylist()
    assert [(row["id"], str(row["u"]), row["f"]) for row in found] == [(1, text, b"abc"), (2, "None", None)]
    options = iceberg(engine, "odd")
    with pytest.raises(OncelogError, match="value in column u that is no uuid"):
        Query(engine.folder / "cp-odd1", options, query_id="odd1-0000").run(
            0, [], schema=kinds, made=lambda: made(rows.set_column(1, "u", pa.array(["x", "y"])))
        )
    with pytest.raises(OncelogError, match="value in column f that is no fixed"):
        Query(engine.folder / "cp-odd2", options, query_id="odd2-0000").run(
            0, [], schema=kinds, made=lambda: made(rows.set_column(2, "f", pa.array([b"x", b"y"])))
        )
    only = StructType([StructField("t", IntegerType())])
    with pytest.raises(ConfigError, match=r"Column t of .* is time, which no type of Spark's holds"):
        Query(engine.folder / "cp-odd3", options, query_id="odd3-0000").write(0, [], schema=only)


MAINTENANCE = {
    "files": ("rewrite_data_files", ", options => map('min-input-files', '1', 'rewrite-all', 'true')"),
    "manifests": ("rewrite_manifests", ""),
    "expired": ("expire_snapshots", ", older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1"),
    "orphans": ("remove_orphan_files", ""),
}


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_maintenance_of_an_iceberg_table_hides_no_batch(engine: LakeEngine, mode: Mode) -> None:
    """Between a crash and the restart, and while the query runs."""
    name = f"maintained_{mode.value}"
    engine.sql(f"CREATE TABLE ice.lake.{name} ({ICE}) USING iceberg")
    options = iceberg(engine, name, mode=mode, key=("id",) if mode is Mode.UPSERT else ())
    query = Query(engine.folder / f"checkpoint-{name}", options)

    def batch(query: Query, number: int) -> BatchOutcome:
        rows = ROWS.set_column(0, "id", pa.array([10 * number + n for n in range(3)], pa.int64()))
        return query.write(number, [], schema=SCHEMA, made=lambda: made(rows)).outcome

    for number in range(3):
        assert batch(query, number) is BatchOutcome.WRITTEN
        engine.sql(f"INSERT INTO ice.lake.{name} VALUES (-1, null, null)")
        for procedure, arguments in MAINTENANCE.values():
            engine.sql(f"CALL ice.system.{procedure}(table => 'lake.{name}'{arguments})")
        assert len(engine.sql(f"SELECT * FROM ice.lake.{name}.snapshots")) == 1
        assert batch(Query(query.root, options), number) is BatchOutcome.SKIPPED
        query.end(number)
    numbers = [20, 21, 22] if mode is Mode.COMPLETE else [n * 10 + m for n in range(3) for m in range(3)]
    assert engine.sql(f"SELECT id FROM ice.lake.{name} WHERE id >= 0 ORDER BY id") == [(one,) for one in numbers]


@pytest.mark.parametrize("selects", [True, False])
@pytest.mark.parametrize("form", [TableFormat.DELTA, TableFormat.ICEBERG], ids=str)
def test_a_replaced_table_is_refused(engine: LakeEngine, form: TableFormat, selects: bool) -> None:
    """REPLACE TABLE keeps the properties of Iceberg and the application transactions of Delta."""
    short = f"replaced_{form.value}_{selects}".lower()
    name = f"ice.lake.{short}" if form is TableFormat.ICEBERG else short
    engine.sql(f"CREATE TABLE {name} (id bigint, s string) USING {form.value}")
    if form is TableFormat.ICEBERG:
        options = iceberg(engine, short)
    else:
        options = TableOptions(form, f"{engine.folder}/spark-warehouse/{short}")
    query = Query(engine.folder / f"checkpoint-{short}", options)

    def write(query: Query, number: int) -> BatchOutcome:
        return query.write(number, [], schema=DELTA_SCHEMA, made=lambda: made(DELTA_ROWS)).outcome

    for number in range(2):
        assert write(query, number) is BatchOutcome.WRITTEN
        query.end(number)
    columns = "AS SELECT 0L AS id, 'old' AS s" if selects else ""
    engine.sql(f"REPLACE TABLE {name} {'' if selects else '(id bigint, s string)'} USING {form.value} {columns}")
    for run in (query, Query(query.root, options)):
        with pytest.raises(SinkRefused, match=r"has no marker in .*, so it cannot be known whether it is written"):
            write(run, 2)
    query.write(2, [], schema=DELTA_SCHEMA, made=lambda: made(DELTA_ROWS), on_missing=OnMissingMarker.WRITE)
    query.end(2)
    assert write(Query(query.root, options), 3) is BatchOutcome.WRITTEN
    assert engine.sql(f"SELECT count(*) FROM {name}") == [(6 + selects,)]


def test_iceberg_tables_upgraded_to_format_version_3_are_refused(engine: LakeEngine) -> None:
    engine.sql(f"CREATE TABLE ice.lake.upgraded ({ICE}) USING iceberg")
    query = Query(engine.folder / "checkpoint-upgraded", iceberg(engine, "upgraded"))
    query.run(0, [], schema=SCHEMA, made=lambda: made(ROWS))
    engine.sql("ALTER TABLE ice.lake.upgraded SET TBLPROPERTIES ('format-version' = '3')")
    with pytest.raises(ConfigError, match=r"has format-version 3, .* copy the rows in Spark"):
        query.run(1, [], schema=SCHEMA, made=lambda: made(ROWS))


# --- Delta

RETENTIONS = {
    "INTERVAL 30 DAYS": 30 * DAY_MS,
    "Interval 2 Weeks": 14 * DAY_MS,
    "30 days": 30 * DAY_MS,
    "interval 1 day 12 hours": 1.5 * DAY_MS,
    "interval 86400000 milliseconds": DAY_MS,
    "interval 86400.5 seconds": DAY_MS + 500,
}


@pytest.mark.parametrize("text", list(RETENTIONS))
def test_the_retention_of_batches_in_delta_is_read_as_delta_spark_accepts_it(engine: LakeEngine, text: str) -> None:
    path = str(engine.folder / f"retention-{list(RETENTIONS).index(text)}")
    properties = f"TBLPROPERTIES ('delta.setTransactionRetentionDuration' = '{text}')"
    engine.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, s STRING) USING delta {properties}")
    options = TableOptions(TableFormat.DELTA, path)
    write(engine, options, DELTA_ROWS, DELTA_SCHEMA)
    assert open_store(options).look("84d98cca-0000", []).retention_ms == RETENTIONS[text]


DELTA_WRITABLE = {
    "plain": "",
    "vectors": "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    "changes": "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
    "checkpoints": "TBLPROPERTIES ('delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2')",
}
DELTA_ROWS = pa.table({"id": pa.array([1, 3, 4], pa.int64()), "s": ["one", "three", "four"]})
DELTA_SCHEMA = StructType([StructField("id", LongType()), StructField("s", StringType())])


@pytest.mark.parametrize("mode", list(Mode), ids=str)
@pytest.mark.parametrize("name", list(DELTA_WRITABLE))
def test_delta_tables_of_many_kinds_contain_the_written_rows(engine: LakeEngine, name: str, mode: Mode) -> None:
    """A row that was deleted before does not come back."""
    path = str(engine.folder / f"{name}-{mode.value}")
    table = f"delta.`{path}`"
    engine.sql(
        f"CREATE TABLE {table} (id BIGINT, s STRING) USING delta {DELTA_WRITABLE[name]}",
        f"INSERT INTO {table} SELECT id, 'old' FROM range(0, 3, 1, 1)",
        f"DELETE FROM {table} WHERE id = 2",
    )
    key = ("id",) if mode is Mode.UPSERT else ()
    write(engine, TableOptions(TableFormat.DELTA, path, mode=mode, key=key), DELTA_ROWS, DELTA_SCHEMA)
    rows = [(1, "one"), (3, "three"), (4, "four")]
    kept = {Mode.APPEND: [(0, "old"), (1, "old")], Mode.UPSERT: [(0, "old")], Mode.COMPLETE: []}[mode]
    assert sorted(engine.sql(f"SELECT * FROM {table}")) == sorted([*kept, *rows])


@pytest.mark.parametrize("name", ["plain", "vectors", "checkpoints"])
@pytest.mark.parametrize("to", ["VERSION AS OF 3", "TIMESTAMP AS OF '{}'"])
def test_restore_of_a_delta_table_undoes_the_batches_after_the_restored_version(
    engine: LakeEngine, name: str, to: str
) -> None:
    """delta-io/delta#1813: the library's and Delta-Spark's application transactions stay."""
    path = str(engine.folder / f"restored-{name}-{to[:1]}")
    table = f"delta.`{path}`"
    engine.sql(f"CREATE TABLE {table} (id BIGINT, s STRING) USING delta {DELTA_WRITABLE[name]}")
    query = Query(engine.folder / f"checkpoint-{name}-{to[:1]}", TableOptions(TableFormat.DELTA, path))
    row = pa.table({"id": pa.array([7], pa.int64()), "s": ["new"]})

    def write(number: int) -> BatchOutcome:
        return query.run(number, [], schema=DELTA_SCHEMA, made=lambda: made(row)).outcome

    for number in range(3):
        write(number)
    ((at,),) = engine.sql("SELECT cast(current_timestamp() AS string)")
    engine.sql(f"DELETE FROM {table} WHERE id = 7", f"RESTORE TABLE {table} TO {to.format(at)}")
    assert write(3) is BatchOutcome.WRITTEN
    engine.sql(f"OPTIMIZE {table}", f"RESTORE TABLE {table} TO {to.format(at)}")
    with pytest.raises(SinkRefused, match="batch 3 is not in this table, whose last is batch 2"):
        write(4)
    query.forget(3)
    query.forget(4)
    assert (write(3), write(4)) == (BatchOutcome.WRITTEN, BatchOutcome.WRITTEN)
    assert engine.sql(f"SELECT count(*) FROM {table}") == [(5,)]


MADE_BY = {
    "convert": ("CONVERT TO DELTA parquet.`{}`", ""),
    "clone": ("CONVERT TO DELTA parquet.`{}`", "CREATE TABLE delta.`{}-clone` SHALLOW CLONE delta.`{}`"),
}


@pytest.mark.parametrize("mode", list(Mode), ids=str)
@pytest.mark.parametrize("made_by", list(MADE_BY))
def test_delta_tables_converted_from_parquet_are_refused_with_advice(
    engine: LakeEngine, made_by: str, mode: Mode
) -> None:
    """delta-rs reads no history that begins so."""
    path = str(engine.folder / f"{made_by}-{mode.value}")
    convert, clone = (statement.replace("{}", path) for statement in MADE_BY[made_by])
    name = f"{made_by}_{mode.value}"
    engine.sql(f"CREATE TABLE {name} USING parquet LOCATION '{path}' AS SELECT 1L AS id, 'old' AS s")
    key = ("id",) if mode is Mode.UPSERT else ()
    options = TableOptions(TableFormat.DELTA, path, mode=mode, key=key)
    with pytest.raises(ConfigError, match=r"is no Delta table, .* make it one in Spark") as advised:
        write(engine, options, DELTA_ROWS, DELTA_SCHEMA)
    assert f"({convert})" in str(advised.value)
    engine.sql(convert)
    if clone:
        engine.sql(clone)
        options = replace(options, table=f"{path}-clone")
    query = Query(engine.folder / f"checkpoint-{name}", options)
    if clone and mode is Mode.UPSERT:
        with pytest.raises(ConfigError, match="has files of another table, as a shallow clone does"):
            query.write(0, [], schema=DELTA_SCHEMA, made=lambda: made(DELTA_ROWS))
        engine.sql(f"CREATE TABLE delta.`{path}-copy` USING delta AS SELECT * FROM delta.`{options.table}`")
        options = replace(options, table=f"{path}-copy")
        query = Query(engine.folder / f"checkpoint-{name}-copy", options)
    for _ in range(2):
        query.write(0, [], schema=DELTA_SCHEMA, made=lambda: made(DELTA_ROWS))
    rows = [(1, "one"), (3, "three"), (4, "four")]
    kept = [(1, "old")] if mode is Mode.APPEND else []
    assert sorted(engine.sql(f"SELECT * FROM delta.`{options.table}`")) == sorted([*kept, *rows])


PARTED: dict[str, tuple[Any, Any, list[Any], list[str]]] = {
    "double": (
        DoubleType(),
        pa.float64(),
        [math.inf, -math.inf, math.nan, 1e16, 0.1, -0.0, 5e-324, None],
        ["'Infinity'", "'-Infinity'", "'NaN'", "1e16", "0.1", "'-0.0'", "5e-324", "NULL"],
    ),
    "float": (FloatType(), pa.float32(), [math.inf, 0.1, None], ["'Infinity'", "'0.1'", "NULL"]),
    "decimal(38,10)": (
        DecimalType(38, 10),
        pa.decimal128(38, 10),
        [Decimal("0E-10"), Decimal("1.5"), Decimal("-1E-10")],
        ["0", "1.5", "-0.0000000001"],
    ),
    "boolean": (BooleanType(), pa.bool_(), [True, False, None], ["true", "false", "NULL"]),
    "timestamp": (
        TimestampType(),
        pa.timestamp("us", "UTC"),
        [m and m.replace(tzinfo=datetime.UTC) for m in MOMENTS],
        ["'1969-12-31 23:59:59.999999Z'", "'2024-02-29 12:00:00Z'", "NULL"],
    ),
    "timestamp_ntz": (
        TimestampNTZType(),
        pa.timestamp("us"),
        MOMENTS,
        ["'1969-12-31 23:59:59.999999'", "'2024-02-29 12:00:00'", "NULL"],
    ),
    "date": (DateType(), pa.date32(), [datetime.date(1, 1, 1), None], ["'0001-01-01'", "NULL"]),
}
"""Spark's type, Arrow's, values, and the same values as SQL's constants."""


@pytest.mark.parametrize("kind", list(PARTED))
def test_partition_values_of_each_type_equal_those_that_spark_writes(engine: LakeEngine, kind: str) -> None:
    """delta-io/delta-kernel-rs#2315 and ClickHouse/ClickHouse#120691: Java read other values, or none."""
    spark_type, arrow, values, texts = PARTED[kind]
    name = re.sub(r"\W", "_", kind)
    theirs, ours = (str(engine.folder / f"parted-{name}-{who}") for who in ("theirs", "ours"))
    constants = [f"({number}, cast({text} as {kind}))" for number, text in enumerate(texts)]
    for path in (theirs, ours):
        engine.sql(f"CREATE TABLE delta.`{path}` (id BIGINT, p {kind}) USING delta PARTITIONED BY (p)")
    engine.sql(f"INSERT INTO delta.`{theirs}` VALUES {', '.join(constants)}")
    rows = pa.table({"id": list(range(len(values))), "p": pa.array(values, arrow)})
    schema = StructType([StructField("id", LongType()), StructField("p", spark_type)])
    write(engine, TableOptions(TableFormat.DELTA, ours), rows, schema)
    wheres = ["true", "p IS NULL", *(f"p = cast({text} as {kind})" for text in texts)]
    for where in wheres:
        found = [
            engine.sql(f"SELECT id, cast(p AS string) FROM delta.`{path}` WHERE {where}") for path in (theirs, ours)
        ]
        assert sorted(found[0], key=str) == sorted(found[1], key=str), where


DROPPED = {
    "rowTracking": "TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
    "inCommitTimestamp": "TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')",
    "typeWidening": "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
    "vacuumProtocolCheck": "TBLPROPERTIES ('delta.feature.vacuumProtocolCheck' = 'supported')",
    "domainMetadata": "TBLPROPERTIES ('delta.feature.domainMetadata' = 'supported')",
    "checkpointProtection": "TBLPROPERTIES ('delta.feature.checkpointProtection' = 'supported')",
}


@pytest.mark.parametrize("feature", list(DROPPED))
def test_the_advice_to_drop_a_feature_works(engine: LakeEngine, feature: str) -> None:
    """Also where others depend on it: the statements are in their order."""
    path = str(engine.folder / feature)
    engine.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, s STRING) USING delta {DROPPED[feature]}",
        f"INSERT INTO delta.`{path}` VALUES (0, 'old')",
    )
    options = TableOptions(TableFormat.DELTA, path)
    with pytest.raises(ConfigError, match=f"{feature}.* which deltalake") as caught:
        write(engine, options, DELTA_ROWS, DELTA_SCHEMA)
    advice = str(caught.value).partition("drop it in Spark with ")[2].partition(", ")[0].split(" and then ")
    assert advice[0].startswith("ALTER TABLE")
    engine.sql(*advice)
    write(engine, options, DELTA_ROWS, DELTA_SCHEMA)
    assert len(engine.sql(f"SELECT * FROM delta.`{path}`")) == 4


KEPT = {
    "clustering": "(id BIGINT, s STRING) USING delta CLUSTER BY (id)",
    "identityColumns": "(n BIGINT GENERATED ALWAYS AS IDENTITY, id BIGINT, s STRING) USING delta",
    "allowColumnDefaults": "(id BIGINT, s STRING DEFAULT 'x') USING delta "
    "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
    "icebergCompatV2": "(id BIGINT, s STRING) USING delta "
    "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableIcebergCompatV2' = 'true')",
    "columnMapping.mode": "(id BIGINT, s STRING) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
}


@pytest.mark.parametrize("feature", list(KEPT))
def test_the_advice_to_copy_a_table_works(engine: LakeEngine, feature: str) -> None:
    path = str(engine.folder / feature)
    engine.sql(f"CREATE TABLE delta.`{path}` {KEPT[feature]}", f"INSERT INTO delta.`{path}` (id, s) VALUES (0, 'old')")
    options = TableOptions(TableFormat.DELTA, path)
    with pytest.raises(ConfigError, match=rf"{feature}.* AS SELECT \* FROM delta\.`{path}`") as caught:
        write(engine, options, DELTA_ROWS, DELTA_SCHEMA)
    if feature in ("clustering", "identityColumns", "allowColumnDefaults"):
        with pytest.raises(EngineError, match=r"NONREMOVABLE|not supported"):
            engine.sql(f"ALTER TABLE delta.`{path}` DROP FEATURE {feature}")
    engine.sql(*re.findall(r"ALTER TABLE .*? DROP DEFAULT", str(caught.value)))
    engine.sql(f"CREATE TABLE delta.`{path}-copy` USING delta AS SELECT * FROM delta.`{path}`")
    write(engine, replace(options, table=f"{path}-copy"), DELTA_ROWS, DELTA_SCHEMA)
    assert len(engine.sql(f"SELECT * FROM delta.`{path}-copy`")) == 4


@pytest.mark.parametrize(
    ("columns", "constraint", "row", "good"),
    [
        ("id BIGINT", "id > 0", "-1L as id", False),
        ("id BIGINT", "id > 0", "cast(null as bigint) as id", False),
        ("id BIGINT", "id > 0", "1L as id", True),
        ("id BIGINT, d BIGINT GENERATED ALWAYS AS (id * 2)", "", "1L as id, 3L as d", False),
        ("id BIGINT, d BIGINT GENERATED ALWAYS AS (id * 2)", "", "1L as id", True),
        ("v VARCHAR(3)", "", "'abcd' as v", False),
        ("v VARCHAR(3)", "", "'abc ' as v", False),
        ("v CHAR(3)", "", "'a' as v", True),
        ("s STRUCT<a: INT NOT NULL, b: STRING>", "", "named_struct('a', 1, 'b', 'x') as s", True),
        ("s STRUCT<a: INT NOT NULL, b: STRING>", "", "named_struct('a', cast(null as int), 'b', 'x') as s", False),
        ("s STRUCT<a: INT NOT NULL, b: STRING>", "", "cast(null as struct<a: int, b: string>) as s", False),
    ],
)
def test_check_constraints_of_a_table_apply_as_in_delta(
    engine: LakeEngine, spark: Any, request: pytest.FixtureRequest, columns: str, constraint: str, row: str, good: bool
) -> None:
    """The same row into two tables of the same kind: by Delta-Spark, and by the sink."""
    from py4j.protocol import Py4JJavaError

    number = abs(hash(request.node.name))
    paths = [str(engine.folder / f"judged-{number}-{who}") for who in ("theirs", "ours")]
    for path in paths:
        engine.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta")
        if constraint:
            engine.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT c CHECK ({constraint})")
    theirs, ours = paths
    frame = spark.sql(f"SELECT {row}")
    insert = f"INSERT INTO delta.`{theirs}` ({', '.join(frame.columns)}) SELECT {row}"
    query = Query(engine.folder / f"checkpoint-{number}", TableOptions(TableFormat.DELTA, ours))
    if good:
        engine.sql(insert)
        query.write_frame(0, frame)
        assert engine.sql(f"SELECT * FROM delta.`{theirs}`") == engine.sql(f"SELECT * FROM delta.`{ours}`")
        return
    with pytest.raises(EngineError):
        engine.sql(insert)
    with pytest.raises(Py4JJavaError, match=r"A row for delta table .* breaks its"):
        query.write_frame(0, frame)
