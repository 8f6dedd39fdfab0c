"""Writes an INSERT into a SQL table: a batch write that refuses values in columns that only a broker sets.

A SQL table has all columns of a record, so an INSERT has them, too; Spark passes null for those that the statement
omits. A value in the statement is written or refused, but never silently dropped; in ``format("oncelog")`` further
columns of a DataFrame are ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from oncelog.errors import ConfigError
from oncelog.spark.options import SinkOptions
from oncelog.spark.sink.engine import Observer
from oncelog.spark.sink.rows import BadRow
from oncelog.spark.sink.writers import begin_batch
from oncelog.spark.sql.table_options import changed

_ONLY_READ = ("timestampType", "offset", "timestampMillis")


class TableWriter(DataSourceArrowWriter):
    """The writer of one INSERT: a transaction, like every batch write."""

    def __init__(self, columns: StructType, own: Collection[str], options: SinkOptions, observe: Observer) -> None:
        """Make the writer of one INSERT.

        :param own: the columns that ``CREATE TABLE`` creates, without and with headers, in Spark's notation.
        :raises ConfigError: the table's columns have changed.
        """
        if columns.simpleString() not in own:
            raise ConfigError(changed(columns.simpleString()))
        self._positions = {name: number for number, name in enumerate(columns.fieldNames())}
        self._topic = options.topic
        self._writer = begin_batch(columns, options, observe, timestamp=self._positions["timestamp"])

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._writer.write(map(self._checked, iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._writer.commit(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._writer.abort(messages)

    def _checked(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        for name in _ONLY_READ:
            if name in self._positions and len(column := self._column(rows, name)):
                raise BadRow(
                    f"A row has {column[0].as_py()} in column {name}, which is only read: name the columns to write, "
                    "as in INSERT INTO orders (key, value) SELECT key, value FROM ... (instead of CREATE TABLE "
                    "... AS SELECT, create the table first)"
                )
        if self._topic and len(wrong := _other(self._column(rows, "topic"), self._topic)):
            raise BadRow(
                f"A row names topic {wrong[0].as_py()!r} in column topic, while this table writes topic "
                f"{self._topic!r}: leave the column out, or create a table with the option topics, a list"
            )
        _check_times(self._column(rows, "timestamp").cast(pa.timestamp("us", "UTC")).cast(pa.int64()))
        return rows

    def _column(self, rows: pa.RecordBatch, name: str) -> pa.Array:
        """The values of a column without nulls."""
        return rows.column(self._positions[name]).drop_null()


def _check_times(micros: pa.Array) -> None:
    """Raises BadRow for a time, in microseconds since 1970, that a Kafka record cannot have."""
    if not len(micros):
        return
    least = pc.min(micros).as_py()
    if least < 0:
        raise BadRow(
            f"A row has a time before 1970 in column timestamp ({least} microseconds), which no record of Kafka "
            "can have: leave the column out, and write the time into the value"
        )
    cut = micros.filter(pc.not_equal(pc.multiply(pc.divide(micros, 1000), 1000), micros))
    if len(cut):
        raise BadRow(
            f"A row has a time of {cut[0].as_py()} microseconds in column timestamp, and records of Kafka keep "
            "milliseconds: cut it, date_trunc('MILLISECOND', timestamp), or write it into the value"
        )


def _other(names: pa.Array, topic: str) -> pa.Array:
    return names.filter(pc.not_equal(names, topic))
