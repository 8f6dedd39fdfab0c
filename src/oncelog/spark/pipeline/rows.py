"""The rows of a pipeline: from its sources, through its transform, to the records of its sinks.

Called by :mod:`oncelog.spark.pipeline.running`. Rows for several topics, dead letters among them, become one DataFrame
with a column ``topic``, so that one transaction holds all of a batch.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping
from functools import partial, reduce
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.functions import (
    array,
    coalesce,
    col,
    concat,
    explode_outer,
    from_json,
    get,
    lit,
    map_entries,
    raise_error,
    size,
    struct,
    to_json,
    transform,
    when,
)
from pyspark.sql.functions import filter as filter_items
from pyspark.sql.types import ArrayType, IntegerType, MapType, StringType, StructField, StructType

from oncelog.records.arrow import MAX_MS
from oncelog.runtime import real_json as json
from oncelog.schemas.framing import KEY_HEADER, VALUE_HEADER
from oncelog.schemas.schema_errors import NOTHING_WRONG
from oncelog.spark.options import includes_headers, includes_millis
from oncelog.spark.pipeline.dead_letters import ERROR_HEADER, ORIGIN_HEADERS
from oncelog.spark.pipeline.definition import ONLY, Pipeline, PipelineError, Sink, Source
from oncelog.spark.pipeline.reads import SourceRead
from oncelog.spark.pipeline.registered import Schemas
from oncelog.spark.sink.rows import check_headers, holds_headers, quoted_name
from oncelog.spark.tables.columns import JSON_OPTIONS
from oncelog.spark.tables.sink import check_table, open_store
from oncelog.spark.tables.store import Conflict
from oncelog.spark.versions import HAS_DATA_SOURCES, PYSPARK

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_META = ("key", "timestamp", "topic", "partition", "offset")
_HEADERS = "array<struct<key:string,value:binary>>"
_RECORD = {"key": "binary", "value": "binary", "partition": "int", "headers": _HEADERS}
_MILLIS = "timestampMillis"
_CORRUPT = "_oncelog_malformed"
_PROBLEM = "_oncelog_problem"


SINK = "_oncelog_sink"
"""The column with the sink of a row, if a pipeline has several sinks and one is a table."""


def rows_of(
    spark: SparkSession,
    one: Pipeline,
    bootstrap_servers: str,
    schemas: Schemas,
    starts: Mapping[SourceRead, str] | None = None,
) -> DataFrame:
    """The rows that a pipeline writes: the records for topics, the rows of its only table, or with several sinks one
    column for each (:func:`rows_for`). Raises PipelineError, OncelogError, or Spark's own errors.

    :param starts: the ``startingOffsets`` of reads, by name; if given, every read gets its name. Spark allows a name
        only once, so the transform is called once per sink. None: reads have no names.
    """
    if starts is None:
        read = _sources(spark, one, bootstrap_servers, schemas)
        found = _found(one, read)
        dead_letters = {name: read[name] for name in one.sources if one.sources[name].dead_letter}
    else:
        named = partial(_read, spark, bootstrap_servers=bootstrap_servers, schemas=schemas, starts=starts)
        found = {
            sink: _found(one, {name: named(SourceRead(name, sink), source) for name, source in one.sources.items()})[
                sink
            ]
            for sink in one.sinks
        }
        dead_letters = {
            name: named(SourceRead(name), source) for name, source in one.sources.items() if source.dead_letter
        }
    # Spark identifies state by the order of branches, which must not depend on the order of sinks
    records = [_records(found[name], sink, one, schemas) for name, sink in sorted(one.topic_sinks.items())]
    records += [_dead_letters(rows, one.sources[name]) for name, rows in dead_letters.items()]
    tables = {name: found[name] for name in one.table_sinks}
    for name, rows in tables.items():
        _check_table(one, name, rows)
    if not records and len(tables) == 1:
        return tables[next(iter(tables))]
    for_topics = {"": reduce(lambda left, right: left.unionByName(right), records)} if records else {}
    if not tables:
        return for_topics[""]
    parts = {
        name: rows.select(lit(number).alias(SINK), struct("*").alias(f"_{number}"))
        for number, (name, rows) in enumerate({**for_topics, **tables}.items())
    }
    in_order = [parts[name] for name in sorted(parts)]
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), in_order)


def _check_table(one: Pipeline, name: str, rows: DataFrame) -> None:
    """Check before the query starts that the table can take the rows. Raises OncelogError."""
    options = one.table_sinks[name].parsed(one.mode)
    with contextlib.suppress(Conflict):  # the database may be restarting: the first batch will wait for it
        check_table(open_store(options), rows.schema, options)


def table_schemas(
    spark: SparkSession, one: Pipeline, bootstrap_servers: str, schemas: Schemas
) -> dict[str, StructType]:
    """The columns of the rows for each table; nothing is read. Raises as :func:`rows_of`."""
    found = _found(one, _sources(spark, one, bootstrap_servers, schemas))
    return {name: found[name].schema for name in one.table_sinks}


def _sources(spark: SparkSession, one: Pipeline, bootstrap_servers: str, schemas: Schemas) -> dict[str, DataFrame]:
    return {
        name: _read(spark, SourceRead(name), source, bootstrap_servers, schemas) for name, source in one.sources.items()
    }


def _found(one: Pipeline, read: Mapping[str, DataFrame]) -> Mapping[str, DataFrame]:
    """The rows of each sink, as the transform returns them for the well-formed rows of the sources."""
    return _transformed(one, {name: _good(rows, one.sources[name]) for name, rows in read.items()})


def rows_for(rows: DataFrame, number: int) -> DataFrame:
    """The rows of one sink among several: all topics together are the first sink, and each table is one."""
    return rows.where(col(SINK) == number).select(f"_{number}.*")


def _transformed(one: Pipeline, good: Mapping[str, DataFrame]) -> Mapping[str, DataFrame]:
    try:
        result = one.transform(good[ONLY]) if _takes_one(one) else one.transform(**good)
    except PySparkException:
        raise
    except Exception as error:
        raise PipelineError(f"pipeline {one.name} cannot start: {type(error).__name__}: {error}") from error
    found = result if isinstance(result, Mapping) else {ONLY: result}
    if set(found) != set(one.sinks):
        raise PipelineError(
            f"pipeline {one.name} returns rows for {', '.join(sorted(found))}, but its sinks are "
            f"{', '.join(sorted(one.sinks))}: return a mapping from each sink's name to its rows"
        )
    return found


def _takes_one(one: Pipeline) -> bool:
    return list(one.sources) == [ONLY]


def _read(
    spark: SparkSession,
    read: SourceRead,
    source: Source,
    bootstrap_servers: str,
    schemas: Schemas,
    starts: Mapping[SourceRead, str] | None = None,
) -> DataFrame:
    """Read a source: its columns, and with a schema the column ``payload``, which is null for tombstones and for
    malformed values. For malformed values another column gives the reason."""
    options = source.reader_options(bootstrap_servers, "" if starts is None else starts.get(read, ""))
    if HAS_DATA_SOURCES:
        reader = spark.readStream.format("oncelog").options(**options)
        rows = (reader if starts is None else reader.name(read.name)).load()
    else:
        rows = _read_by_sparks_own_source(spark, options)
    if source.is_registered:
        return _decoded(rows, read.source, source, schemas)
    return _parsed(rows, source) if source.schema else rows


def _read_by_sparks_own_source(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """The committed records, read by Spark's own Kafka source. Raises PipelineError if its jar is missing."""
    isolation = "kafka.isolation.level"
    given = {isolation: "read_committed", **options} if isolation not in map(str.lower, options) else options
    try:
        return spark.readStream.format("kafka").options(**given).load()
    except PySparkException as error:
        if "Failed to find data source: kafka" not in str(error):
            raise
        raise PipelineError(
            f"PySpark {PYSPARK} reads topics with Spark's own Kafka connector, which is not on the class path: add it "
            "with --spark spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.12:VERSION, Spark's own version"
        ) from error


def _parsed(rows: DataFrame, source: Source) -> DataFrame:
    """Add ``payload``: the value as a struct, if the whole value is one JSON object of the schema.

    Spark ignores what follows a JSON value and treats an empty text as null. So the value is put into an array,
    followed by an object with a name that the value cannot know.
    Whether the value is well-formed is decided in an array that is exploded. So a malformed value fails whichever
    columns the transform uses: Spark may evaluate a later filter first, and drops unused columns, but it keeps the rows
    that ``explode`` makes. It does not optimize across ``explode`` either, so the value is not parsed once for each
    column.
    """
    columns, name = _columns(source.schema), secrets.token_hex(8)
    elements = ArrayType(StructType([*columns, StructField(name, IntegerType())]))
    around = StructType([StructField(name, elements), StructField(_CORRUPT, StringType())])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    text = concat(lit(f'{{"{name}":['), col("value").cast("string"), lit(f',{{"{name}":1}}]}}'))
    found = col(name)
    value, behind = get(found[name], lit(0)), get(found[name], lit(1))
    whole = (size(found[name]) == 2) & value.isNotNull() & value[name].isNull() & (behind[name] == 1)
    if source.malformed != "null":
        whole &= found[_CORRUPT].isNull()
    checked = when(whole, array(struct(*(value[column.name].alias(column.name) for column in columns))))
    problem = lit(f"the value is not JSON of the schema {source.schema}")
    rows = rows.withColumn(name, from_json(text, around, options))
    return _checked(rows, source, checked, problem, col("value").isNotNull()).drop(name)


def _decoded(rows: DataFrame, name: str, source: Source, schemas: Schemas) -> DataFrame:
    """Add ``payload``: the value in the columns of the reader's schema, decoded with the schema that the record
    names."""
    from oncelog.spark.schemas.functions import PROBLEM, VALUE

    decoded = secrets.token_hex(8)
    rows = rows.withColumn(decoded, schemas.decoded(name, source))
    value, problem = col(decoded).getField(VALUE), col(decoded).getField(PROBLEM)
    kind = rows.select(value.alias("value")).schema["value"].dataType
    if isinstance(kind, StructType):
        columns = [value.getField(column.name).alias(column.name) for column in kind]
    else:
        columns = [value.alias("value")]
    whole = when(col("value").isNotNull() & problem.isNull(), array(struct(*columns)))
    return _checked(rows, source, whole, problem, problem.isNotNull()).drop(decoded)


def _checked(rows: DataFrame, source: Source, whole: Column, problem: Column, is_malformed: Column) -> DataFrame:
    """Add the column ``payload``, and the column with the reason for which it is null.

    :param whole: an array with the payload as its only element; null if there is no payload.
    :param is_malformed: whether the value is malformed, where ``whole`` is null.
    """
    if source.malformed == "fail":
        whole = whole.when(is_malformed, raise_error(_refusal(source, problem)))
    found = when(is_malformed, problem)
    if _MILLIS in rows.columns:
        beyond = concat(lit("the timestamp "), col(_MILLIS), lit(f" ms is beyond {MAX_MS} ms, the end of Spark's"))
        found = when(col("timestamp").isNull(), beyond).otherwise(found)
    rows = rows.withColumn(_PROBLEM, found)
    return rows.withColumn("payload", explode_outer(whole))


def _columns(schema: str) -> StructType:
    """The columns of a schema, as Spark writes it or in ``df.schema.json()``. Raises PipelineError or Spark's
    errors."""
    if not schema.lstrip().startswith("{"):
        found = StructType.fromDDL(schema)
    else:
        try:
            found = StructType.fromJson(json.loads(schema))
        except (ValueError, KeyError, TypeError) as error:
            raise PipelineError(f"schema {schema} is not the JSON of a schema, as df.schema.json() gives it") from error
    if not isinstance(found, StructType):
        raise PipelineError(
            f"schema {schema} has no columns: write each as a name and a type, for example origin string"
        )
    return found


def _malformed(rows: DataFrame) -> Column:
    """Whether a row is written to the dead-letter topic."""
    unread = col("value").isNotNull() & col("payload").isNull()
    return unread | col("timestamp").isNull() if _MILLIS in rows.columns else unread


def _refusal(source: Source, problem: Column) -> Column:
    place = concat(lit("Record "), col("offset"), lit(" of "), col("topic"), lit("-"), col("partition"))
    advice = "correct the schema, or set malformed to dead-letter or null"
    if not source.is_registered:
        return concat(place, lit(f" has a value that is not JSON of the schema {source.schema}: {advice}"))
    mismatch = "set the source's schema to a version that can take it, or register one with defaults for new fields"
    chosen = when(problem.contains(NOTHING_WRONG), lit(mismatch)).otherwise(lit(advice))
    return concat(place, lit(" cannot be read: "), problem, lit(": "), chosen)


def _good(rows: DataFrame, source: Source) -> DataFrame:
    """The rows that are passed to the transform: without dead letters, and with the fields of ``payload`` as
    columns.
    """
    if source.schema or source.is_registered:
        if source.dead_letter:
            rows = rows.where(~_malformed(rows))
        columns = rows.select("payload.*").columns
        payload = {name.lower() for name in columns}
        meta = [name for name in (*_META, *_passed_on(source)) if name not in payload]
        rows = rows.select(*(col("payload").getField(name).alias(name) for name in columns), *meta)
    if source.watermark is not None:
        rows = rows.withWatermark(*source.watermark)
    return rows


def _passed_on(source: Source) -> tuple[str, ...]:
    """The further columns of a record that the source's options request."""
    texts = source.texts()
    headers = ("headers",) if includes_headers(texts) else ()
    return (*headers, _MILLIS) if includes_millis(texts) else headers


def _dead_letters(rows: DataFrame, source: Source) -> DataFrame:
    """The malformed records unchanged, with the reason and their origin as headers."""
    added = [_header(ERROR_HEADER, col(_PROBLEM)), *(_header(name, col(of)) for name, of in ORIGIN_HEADERS.items())]
    none = array().cast(_HEADERS)
    return rows.where(_malformed(rows)).select(
        lit(source.dead_letter).alias("topic"),
        col("key"),
        col("value"),
        lit(None).cast("int").alias("partition"),
        concat(coalesce(col("headers"), none), array(*added).cast(_HEADERS)).alias("headers"),
    )


def _header(name: str, value: Column) -> Column:
    return struct(lit(name).alias("key"), value.cast("string").cast("binary").alias("value"))


def _records(rows: DataFrame, sink: Sink, one: Pipeline, schemas: Schemas) -> DataFrame:
    """The columns that a sink writes. If the sink has a format, ``value`` contains all columns, encoded. Otherwise it
    is the rows' column ``value``, or the JSON of all columns if the rows have no such column."""
    if twice := [column for column in dict.fromkeys(rows.columns) if rows.columns.count(column) > 1]:
        raise PipelineError(f"pipeline {one.name}: its rows have two columns {twice[0]}: drop or rename one")
    columns = {column.lower(): column for column in rows.columns}
    key = columns.get((sink.key or "key").lower())
    if sink.key and key is None:
        raise PipelineError(
            f"pipeline {one.name}: its key {sink.key!r} is not one of the columns {', '.join(rows.columns)}"
        )
    if not sink.topic and "topic" not in columns:
        raise PipelineError(
            f"pipeline {one.name}: a sink without a topic takes it from a column topic, but the columns are "
            f"{', '.join(rows.columns)}"
        )
    chosen: dict[str, Column] = {} if key is None else {"key": _key(rows, key)}
    if "value" in columns and not sink.format:
        chosen |= {name: col(columns[name]) for name in ("value", "partition") if name in columns}
        if "headers" in columns:
            chosen["headers"] = _headers(rows.schema[columns["headers"]])
    else:
        left_out = {"topic"} if not sink.topic else set()
        left_out |= {"key"} if not sink.key else set()
        if _holds_headers(rows, columns.get("headers")):
            stale = [VALUE_HEADER, *([KEY_HEADER] if sink.key else [])]
            given = _headers(rows.schema[columns["headers"]])
            chosen["headers"] = filter_items(given, lambda one: ~one["key"].isin(stale))
            left_out |= {"headers"}
        payload = [col(quoted_name(column)) for column in rows.columns if column.lower() not in left_out]
        if sink.format:
            chosen["value"] = schemas.encoded(sink, struct(*payload), rows.select(*payload).schema)
        else:
            chosen["value"] = to_json(struct(*payload), JSON_OPTIONS)
    if one.writes_one_topic and len(one.sinks) == 1:
        return rows.select(*(column.alias(name) for name, column in chosen.items()))
    topic = lit(sink.topic) if sink.topic else col(columns["topic"])
    typed = [chosen.get(name, lit(None)).cast(kind).alias(name) for name, kind in _RECORD.items()]
    return rows.select(topic.alias("topic"), *typed)


def _holds_headers(rows: DataFrame, name: str | None) -> bool:
    """Whether the column ``headers`` contains record headers, and is not a field of the value with the same name."""
    return name is not None and holds_headers(rows.schema[name].dataType)


def _headers(column: StructField) -> Column:
    """The column of headers in the form of Kafka's source. Raises ConfigError if the column does not contain
    headers."""
    check_headers(column)
    given = col(quoted_name(column.name))
    if column.dataType.simpleString() == _HEADERS:
        return given
    if isinstance(column.dataType, MapType):
        return map_entries(given).cast(_HEADERS)
    return transform(given, lambda one: struct(one["key"], one["value"])).cast(_HEADERS)


def _key(rows: DataFrame, name: str) -> Column:
    key = col(quoted_name(name))
    return key if rows.schema[name].dataType.typeName() in ("binary", "string") else key.cast("string")
