"""Functions on DataFrames without a public method in PySpark: rows as Arrow, a shuffle that runs at once, and
conversions between types of Arrow and Spark.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from oncelog.spark.private_apis.uses import ApiMissing, private_api

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType


def to_arrow(rows: DataFrame) -> pa.Table:
    """All rows as an Arrow table on the driver, in the types in which Spark sends them."""
    if hasattr(rows, "toArrow"):
        found: pa.Table = rows.toArrow()
        return found
    return collect(rows)


def _row_by_row(rows: DataFrame) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist([row.asDict() for row in rows.collect()], arrow_schema(rows.schema))


@private_api(
    "DataFrame._collect_as_arrow below 4.0",
    seen="3.5.9",
    buys="small batches are collected as Arrow, which toArrow does from PySpark 4.0 on",
    instead=_row_by_row,
    loses="small batches take longer",
)
def collect(rows: DataFrame) -> pa.Table:
    """All rows as an Arrow table, on PySpark 3.5."""
    import pyarrow as pa

    found: list[pa.RecordBatch] = rows._collect_as_arrow()  # type: ignore[operator]
    return pa.Table.from_batches(found) if found else arrow_schema(rows.schema).empty_table()


def _checkpointed(planned: DataFrame, into: SparkSession, has_run: Callable[[], bool]) -> DataFrame:
    return planned.localCheckpoint(eager=True)


@private_api(
    "DataFrame._jdf",
    "Dataset.queryExecution",
    "QueryExecution.toRdd",
    "Dataset.schema",
    "RDD.isEmpty",
    "JavaSession.internalCreateDataFrame",
    buys="the rows are computed before the transaction begins, and are then read back in small Arrow batches",
    instead=_checkpointed,
    loses="executors keep a second copy of the shuffled batches, and pass more of them at a time to Python",
)
def run_shuffle(planned: DataFrame, into: SparkSession, has_run: Callable[[], bool]) -> DataFrame:
    """Run the shuffle at the end of a plan; returns its result as rows of the session ``into``.

    Adaptive execution runs the shuffle when the plan becomes an RDD. If it is off, reading the first row does.

    :param has_run: whether tasks have computed rows.
    """
    java: Any = planned._jdf
    rdd = java.queryExecution().toRdd()
    if not has_run():
        rdd.isEmpty()
    session: Any = into._jsparkSession
    kind: Any = type(planned)
    made: DataFrame = kind(session.internalCreateDataFrame(rdd, java.schema(), False), into)
    return made


def _active_session() -> SparkSession:
    from pyspark.sql import SparkSession

    found = SparkSession.getActiveSession()
    if found is None:
        raise ApiMissing("PySpark has no pyspark.sql.pandas.types, and there is no session to ask: start one before")
    return found


def _arrow_schema_of_session(columns: StructType) -> pa.Schema:
    return _active_session().createDataFrame([], columns).toArrow().schema


@private_api(
    "pyspark.sql.pandas.types.to_arrow_schema",
    buys="the types of columns of records with schemas and of Iceberg tables are found without a job",
    instead=_arrow_schema_of_session,
    loses="the types of columns take a job in the active session",
)
def arrow_schema(columns: StructType) -> pa.Schema:
    """The columns as Arrow types, with timestamps in UTC. PySpark's own function takes the time zone as an argument in
    later releases."""
    from pyspark.sql.pandas.types import to_arrow_schema

    convert: Any = to_arrow_schema
    if "timezone" in inspect.signature(convert).parameters:
        convert = functools.partial(convert, timezone="UTC")
    found: pa.Schema = convert(columns)
    return found


def _spark_type_of_session(kind: pa.DataType) -> DataType:
    import pyarrow as pa

    session = _active_session()
    name = "spark.sql.timestampType"
    before = session.conf.get(name)
    session.conf.set(name, "TIMESTAMP_NTZ")
    try:
        rows = session.createDataFrame(pa.table({"value": pa.array([], kind)}))
    finally:
        session.conf.set(name, str(before))
    return rows.schema["value"].dataType


@private_api(
    "pyspark.sql.pandas.types.from_arrow_type",
    buys="the types of columns of records with schemas are found without a call to the JVM",
    instead=_spark_type_of_session,
    loses="the active session determines the types of columns",
)
def spark_type(kind: pa.DataType) -> DataType:
    """The Spark type for an Arrow type; a timestamp without a time zone becomes ``TimestampNTZType``."""
    from pyspark.sql.pandas.types import from_arrow_type

    return from_arrow_type(kind, prefer_timestamp_ntz=True)
