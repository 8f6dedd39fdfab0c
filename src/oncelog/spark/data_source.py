"""``format("oncelog")``: the data source.

PySpark finds it through the package ``pyspark_oncelog``, pickles it, and calls it on the driver and in tasks. Spark
starts separate processes to look sources up, to create one, to plan and so on; so imports that only some of them need
are made where they are needed. Batch reads: :mod:`oncelog.spark.source.batch`; streaming reads:
:mod:`oncelog.spark.source.stream`; writes: :mod:`oncelog.spark.sink.writers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from oncelog.errors import ConfigError
from oncelog.spark.options import includes_headers, includes_millis, parse_sink_options, parse_source_options
from oncelog.spark.versions import HAS_READ_LIMITS, NO_DATA_SOURCES, PYSPARK, check_pyspark, pyspark_problem

try:
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import (
        ArrayType,
        BinaryType,
        IntegerType,
        LongType,
        StringType,
        StructField,
        StructType,
        TimestampType,
    )
except ImportError as missing:
    raise ConfigError(pyspark_problem() or NO_DATA_SOURCES.format(PYSPARK)) from missing

if TYPE_CHECKING:
    from oncelog.spark.options import SinkOptions
    from oncelog.spark.sink.engine import BatchStep

SCHEMA = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
    ]
)
"""Not given as text, because then spark.sql.timestampType would decide what a timestamp is."""
_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_HEADERS = StructField("headers", ArrayType(_HEADER))
_MILLIS = StructField("timestampMillis", LongType())


class OncelogDataSource(DataSource):
    """Kafka topics as Spark tables and streams, read and written exactly once."""

    def __init__(self, options: Mapping[str, str]) -> None:
        check_pyspark()
        super().__init__(dict(options))

    @classmethod
    def name(cls) -> str:
        return "oncelog"

    def schema(self) -> StructType:
        headers = [_HEADERS] if includes_headers(self._options) else []
        millis = [_MILLIS] if includes_millis(self._options) else []
        return StructType([*SCHEMA.fields, *headers, *millis])

    @property
    def _options(self) -> Mapping[str, str]:
        return cast(Mapping[str, str], self.options)

    def _check_schema(self, given: StructType) -> None:
        """Refuse a schema from the user: Spark passes on what was given to ``schema()``, if that was called."""
        text, own = _text(given), _text(self.schema())
        if text != own:
            raise ConfigError(
                f"A schema cannot be given ({text}): the columns are those of a record ({own}); leave schema() out, "
                "and parse the column value, as from_json does"
            )

    def reader(self, schema: StructType) -> DataSourceReader:
        from oncelog.spark.source.batch import BatchReader

        self._check_schema(schema)
        return BatchReader(parse_source_options(self._options, streaming=False))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        self._check_schema(schema)
        options = parse_source_options(self._options, streaming=True)
        if not HAS_READ_LIMITS:
            from oncelog.spark.source.unlimited import UnlimitedReader

            return UnlimitedReader(options)
        from oncelog.spark.source.stream import StreamReader

        return StreamReader(options)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from oncelog.spark.sink.writers import begin_batch

        if overwrite:
            raise ConfigError("A topic cannot be overwritten: use mode('append')")
        return begin_batch(schema, _by_driver(parse_sink_options(self._options, streaming=False)), self.observe)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from oncelog.spark.sink.writers import begin_stream

        return begin_stream(schema, _by_driver(parse_sink_options(self._options, streaming=True)), self.observe)

    def observe(self, step: BatchStep, batch_id: int | None) -> None:
        """Called on the driver at each step of a commit; a subclass may watch, or crash there in a test."""


def _by_driver(options: SinkOptions) -> SinkOptions:
    """Refuse option writers: Spark calls a data source's tasks without a barrier, so they may not write."""
    if options.writers:
        raise ConfigError(
            f"Option writers is {options.writers}, but in format oncelog the driver writes: use "
            "foreachBatch(for_each_batch(options)) for a stream and write(df, options) for a batch, both of "
            "oncelog.spark.session"
        )
    return options


def _text(schema: StructType) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema.fields)
