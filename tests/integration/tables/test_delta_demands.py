"""What a Delta table demands of its rows, checked or computed by Spark; what delta-rs cannot write is refused before.

Expected values are Delta-Spark's, which ``test_lake_engines.py`` asks.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from oncelog.errors import ConfigError, OncelogError
from oncelog.spark.private_apis.java_errors import our_sentence
from oncelog.spark.tables.lake.delta_features import check_features
from oncelog.spark.tables.options import Mode, TableFormat, TableOptions
from oncelog.spark.tables.sink import open_store
from tests.integration.tables.worlds import Query, World, arrow, world_of

READERS = (
    "deletionVectors",
    "v2Checkpoint",
    "timestampNtz",
    "typeWidening",
    "vacuumProtocolCheck",
    "variantType",
    "columnMapping",
)
FEATURES = (
    *READERS,
    "appendOnly",
    "invariants",
    "checkConstraints",
    "changeDataFeed",
    "generatedColumns",
    "identityColumns",
    "rowTracking",
    "domainMetadata",
    "clustering",
    "inCommitTimestamp",
    "allowColumnDefaults",
    "icebergCompatV1",
    "icebergCompatV2",
    "checkpointProtection",
    "collations-preview",
    "coordinatedCommits-preview",
    "one-of-tomorrow",
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return world_of(TableFormat.DELTA, tmp_path, str)


def edited(path: str, edit: Callable[[dict[str, Any]], None]) -> None:
    """Change the actions of a table's first commit."""
    log = Path(path) / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        edit(line)
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))


def with_protocol(options: TableOptions, **protocol: Any) -> DeltaTable:
    write_deltalake(options.table, arrow([(0, "a")]))

    def edit(line: dict[str, Any]) -> None:
        if "protocol" in line:
            line["protocol"] = protocol

    edited(options.table, edit)
    return DeltaTable(options.table)


def with_features(options: TableOptions, *names: str) -> DeltaTable:
    readers = [name for name in names if name in READERS]
    return with_protocol(
        options, minReaderVersion=3, minWriterVersion=7, readerFeatures=readers, writerFeatures=list(names)
    )


@pytest.mark.parametrize("feature", FEATURES)
def test_a_table_is_refused_exactly_if_the_library_would_refuse_the_commit(world: World, feature: str) -> None:
    table = with_features(world.options, feature)
    try:
        table.create_write_transaction([], "append", table.schema())
    except CommitFailedError:
        with pytest.raises(ConfigError, match=f"has the feature {feature}, which deltalake "):
            check_features(table, world.options)
    else:
        check_features(table, world.options)


@pytest.mark.parametrize(
    ("features", "says"),
    [
        (("rowTracking", "domainMetadata"), "DROP FEATURE rowTracking and then ALTER TABLE .* FEATURE domainMetadata"),
        (("typeWidening",), "DROP FEATURE typeWidening TRUNCATE HISTORY, which Spark may ask you to repeat"),
        (("clustering", "domainMetadata"), r"clustering and domainMetadata, which .* AS SELECT \* FROM delta\.`"),
    ],
)
def test_unsupported_table_features_are_refused_with_a_remedy_before_rows_are_computed(
    world: World, features: tuple[str, ...], says: str
) -> None:
    with_features(world.options, *features)
    query = Query(world.folder / "checkpoint", world.options)
    with pytest.raises(ConfigError, match=says):
        query.write(0, [], made=lambda: pytest.fail("rows were computed"))
    assert DeltaTable(world.options.table).version() == 0


def test_a_delta_protocol_without_table_features_is_refused_where_the_library_refuses_it(world: World) -> None:
    table = with_protocol(world.options, minReaderVersion=2, minWriterVersion=6)
    with pytest.raises(ConfigError, match="has the protocol of readers 2 and writers 6, which deltalake"):
        check_features(table, world.options)
    for reader, writer in ((1, 2), (1, 4), (2, 5)):
        options = replace(world.options, table=f"{world.options.table}-{writer}")
        check_features(with_protocol(options, minReaderVersion=reader, minWriterVersion=writer), options)


def configured(
    options: TableOptions, fields: list[dict[str, Any]], partitions: Sequence[str] = (), **configuration: str
) -> None:
    """A table with these columns, as Delta-Spark writes them."""
    write_deltalake(options.table, arrow([(0, "a")]).slice(0, 0))

    def edit(line: dict[str, Any]) -> None:
        if "protocol" in line:
            line["protocol"] = {"minReaderVersion": 1, "minWriterVersion": 4}
        if "metaData" in line:
            line["metaData"] |= {"configuration": configuration, "partitionColumns": list(partitions)}
            line["metaData"]["schemaString"] = json.dumps({"type": "struct", "fields": fields})

    edited(options.table, edit)


def column(name: str, kind: Any = "long", metadata: dict[str, Any] | None = None, *, null: bool = True) -> Any:
    return {"name": name, "type": kind, "nullable": null, "metadata": metadata or {}}


STRUCT = {"type": "struct", "fields": [column("a", "integer", null=False), column("b", "string")]}
INVARIANT = json.dumps({"expression": {"expression": "id > 3"}})
GENERATED = {"delta.generationExpression": "id * 2"}
LENGTH = "__CHAR_VARCHAR_TYPE_STRING"

BROKEN = [
    ([column("id")], {"delta.constraints.c": "id > 0"}, "-1L as id", "breaks its CHECK constraint c (id > 0)"),
    ([column("id")], {"delta.constraints.c": "id > 0"}, "cast(null as long) as id", "CHECK constraint c"),
    ([column("id"), column("x")], {"delta.constraints.c": "x > 0"}, "1L as id", "CHECK constraint c"),
    (
        [column("id", "long", {"delta.invariants": INVARIANT})],
        {},
        "3L as id",
        "breaks its invariant of column id (id > 3)",
    ),
    ([column("id"), column("d", "long", GENERATED)], {}, "1L as id, 3L as d", "breaks its generated column d (id * 2)"),
    ([column("v", "string", {LENGTH: "varchar(3)"})], {}, "'abcd' as v", "length of column v (varchar(3))"),
    ([column("v", "string", {LENGTH: "char(3)"})], {}, "'abc ' as v", "length of column v (char(3))"),
    ([column("s", STRUCT)], {}, "named_struct('a', cast(null as int), 'b', 'x') as s", "breaks its NOT NULL of s.a"),
    ([column("s", STRUCT)], {}, "cast(null as struct<a: int, b: string>) as s", "breaks its NOT NULL of s.a"),
    ([column("a.b", null=False)], {}, "cast(null as long) as `a.b`", "breaks its NOT NULL of a.b"),
]


@pytest.mark.parametrize(("fields", "configuration", "row", "says"), BROKEN)
@pytest.mark.parametrize("mode", [Mode.APPEND, pytest.param(Mode.COMPLETE, marks=pytest.mark.soak)], ids=str)
def test_row_that_breaks_a_condition_is_refused(
    spark: SparkSession, world: World, mode: Mode, fields: list[Any], configuration: Any, row: str, says: str
) -> None:
    configured(world.options, fields, **configuration)
    query = Query(world.folder / "checkpoint", replace(world.options, mode=mode))
    with pytest.raises(Py4JJavaError) as caught:
        query.write_frame(0, spark.sql(f"SELECT {row}"))
    assert says in our_sentence(str(caught.value))
    assert DeltaTable(world.options.table).version() == 0


KEPT = [
    ([column("id")], {"delta.constraints.c": "id > 0"}, "1L as id", {"id": 1}),
    ([column("id"), column("d", "long", GENERATED)], {}, "1L as id", {"id": 1, "d": 2}),
    ([column("id"), column("d", "long", GENERATED)], {}, "1L as id, 2L as d", {"id": 1, "d": 2}),
    ([column("id"), column("d", "long", GENERATED, null=False)], {}, "1L as id", {"id": 1, "d": 2}),
    ([column("v", "string", {LENGTH: "char(3)"})], {}, "'a' as v", {"v": "a  "}),
    ([column("v", "string", {LENGTH: "varchar(3)"})], {}, "'äöü' as v", {"v": "äöü"}),
    ([column("s", STRUCT)], {}, "named_struct('a', 1, 'b', 'x') as s", {"s": {"a": 1, "b": "x"}}),
    ([column("id"), column("x", "double")], {}, "cast(1 as short) as id, cast(2 as int) as x", {"id": 1, "x": 2.0}),
]


@pytest.mark.parametrize(("fields", "configuration", "row", "stored"), KEPT)
def test_rows_get_the_generated_values_of_the_table(
    spark: SparkSession, world: World, fields: list[Any], configuration: Any, row: str, stored: dict[str, Any]
) -> None:
    configured(world.options, fields, **configuration)
    Query(world.folder / "checkpoint", world.options).write_frame(0, spark.sql(f"SELECT {row}"))
    assert DeltaTable(world.options.table).to_pyarrow_table().to_pylist() == [stored]


def test_a_generated_partition_column_need_not_be_in_the_rows(spark: SparkSession, world: World) -> None:
    """As Delta's pages make tables: partitioned by the date of a time that the rows have."""
    generated = {"delta.generationExpression": "CAST(at AS DATE)"}
    columns = [column("id"), column("at", "timestamp"), column("day", "date", generated)]
    configured(world.options, columns, partitions=["day"])
    query = Query(world.folder / "checkpoint", world.options)
    query.write_frame(0, spark.sql("SELECT 1L AS id, timestamp'2024-02-29 12:00:00Z' AS At"))
    (file,) = pa.table(DeltaTable(world.options.table).get_add_actions()).to_pylist()
    assert file["partition"] == {"day": datetime.date(2024, 2, 29)}


def test_the_delta_constraints_of_an_upsert_are_checked_by_spark_or_by_the_library(
    spark: SparkSession, world: World
) -> None:
    """A constraint of a column that the rows do not have holds for what the table has there."""
    configured(world.options, [column("id"), column("x"), column("y")], **{"delta.constraints.c": "x > y"})
    options = replace(world.options, mode=Mode.UPSERT, key=("id",))
    query = Query(world.folder / "checkpoint", options)
    query.write_frame(0, spark.sql("SELECT 1L as id, 5L as x, 4L as y"))
    with pytest.raises(Py4JJavaError, match="breaks its CHECK constraint c"):
        query.write_frame(1, spark.sql("SELECT 1L as id, 3L as x, 4L as y"))
    with pytest.raises(OncelogError, match="rows failed validation"):
        query.write_frame(1, spark.sql("SELECT 1L as id, 3L as x"))
    query.write_frame(1, spark.sql("SELECT 1L as id, 7L as x"))
    assert DeltaTable(world.options.table).to_pyarrow_table().to_pylist() == [{"id": 1, "x": 7, "y": 4}]


@pytest.mark.parametrize(
    ("fields", "configuration", "mode", "says"),
    [
        ([column("id")], {"delta.appendOnly": "true"}, Mode.UPSERT, "appendOnly = true, and mode upsert replaces rows"),
        ([column("id")], {"delta.appendOnly": "true"}, Mode.COMPLETE, "appendOnly = true, and mode complete replaces"),
        ([column("id")], {"delta.columnMapping.mode": "name"}, Mode.APPEND, r"delta\.columnMapping\.mode = name"),
        ([column("id")], {"delta.constraints.c": "id rlike '1'"}, Mode.UPSERT, "deltalake cannot compute when it"),
        ([column("id"), column("d", "long", {"delta.identity.start": 1})], {}, Mode.APPEND, "has delta.identity"),
        ([column("id"), column("d", "long", {"CURRENT_DEFAULT": "1"})], {}, Mode.APPEND, "has CURRENT_DEFAULT"),
        (
            [column("id"), column("d", "long", {LENGTH: "array<char(3)>"})],
            {},
            Mode.APPEND,
            "lengths inside",
        ),
        (
            [column("id"), column("l", {"type": "array", "elementType": "long", "containsNull": False})],
            {},
            Mode.APPEND,
            "NOT NULL inside an array",
        ),
    ],
)
def test_a_table_that_cannot_be_written_is_refused_before_rows_are_computed(
    world: World, fields: list[Any], configuration: Any, mode: Mode, says: str
) -> None:
    from pyspark.sql.types import LongType, StructField, StructType

    configured(world.options, fields, **configuration)
    options = replace(world.options, mode=mode, key=("id",) if mode is Mode.UPSERT else ())
    query = Query(world.folder / "checkpoint", options)
    schema = StructType([StructField("id", LongType())])
    with pytest.raises(ConfigError, match=says):
        query.write(0, [], schema=schema, made=lambda: pytest.fail("rows were computed"))


def test_condition_that_spark_cannot_compute_is_named_in_the_refusal(spark: SparkSession, world: World) -> None:
    configured(world.options, [column("id")], **{"delta.constraints.c": "no_such_function(id)"})
    with pytest.raises(ConfigError, match=r"Spark cannot compute the CHECK constraint c \(no_such_function\(id\)\)"):
        Query(world.folder / "checkpoint", world.options).write_frame(0, spark.sql("SELECT 1L as id"))


def test_upsert_into_partitions_of_a_timestamp_is_refused(world: World) -> None:
    """Delta-Spark would read the partition's value, which has no zone, in that of its session."""
    moment = pa.array([datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)], pa.timestamp("us", "UTC"))
    write_deltalake(world.options.table, pa.table({"id": [1], "at": moment}), partition_by=["at"])
    options = replace(world.options, mode=Mode.UPSERT, key=("id",), partition_by=("at",))
    with pytest.raises(ConfigError, match="partitioned by at, a timestamp, which delta-rs writes without its zone"):
        open_store(options).check()
    open_store(replace(options, mode=Mode.APPEND, key=())).check()


PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "existing-tables.md"


def test_the_page_lists_the_delta_features_that_the_library_writes(tmp_path: Path) -> None:
    """Features of tables that are there are read off its table, and the library is asked."""
    rows = re.findall(r"^\| ((?:`[\w-]+`(?:, )?)+) \| (written|refused)(.*) \|$", PAGE.read_text(), re.MULTILINE)
    reported = {name: (what, more) for names, what, more in rows for name in re.findall("`([^`]+)`", names)}
    assert {"appendOnly", "clustering", "rowTracking", "typeWidening"} <= set(reported)
    del reported["columnMapping"]  # a matter of its mode
    for name, (what, more) in reported.items():
        if name.startswith("write."):
            continue
        options = TableOptions(TableFormat.DELTA, str(tmp_path / name))
        table = with_features(options, name)
        if what == "written":
            check_features(table, options)
            continue
        with pytest.raises(ConfigError) as caught:
            check_features(table, options)
        dropped = "DROP FEATURE" in more
        assert ("DROP FEATURE" in str(caught.value), "TRUNCATE HISTORY" in str(caught.value)) == (
            dropped,
            "TRUNCATE HISTORY" in more,
        ), name
