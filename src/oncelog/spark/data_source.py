"""``format("oncelog")``: the data source.

PySpark finds it through the package ``pyspark_oncelog``, pickles it, and calls it on the driver and in tasks. Spark
starts separate processes to look up sources, to create a source, to plan and so on; so imports that only some of them
need are made where they are needed. Batch reads: :mod:`oncelog.spark.source.batch`; streaming reads:
:mod:`oncelog.spark.source.stream`; writes: :mod:`oncelog.spark.sink.writers`; SQL tables: :mod:`oncelog.spark.sql`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from oncelog.errors import ConfigError
from oncelog.spark.options import (
    SERVERS_MISSING,
    OfOtherRead,
    includes_headers,
    includes_millis,
    parse_sink_options,
    parse_source_options,
)
from oncelog.spark.sql.table_options import AGAIN, SERVERS, SUBSCRIPTIONS, changed, creates_table, table_options
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
    from oncelog.spark.options import SinkOptions, SourceOptions
    from oncelog.spark.sink.engine import BatchStep
    from oncelog.spark.sql.table_options import OptionsOfTable

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
"""The columns of a record. Not given as text, because spark.sql.timestampType would change the meaning of a timestamp
in text."""
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
        """The columns of the rows; for ``CREATE TABLE`` they also contain the table's options.

        Raises ConfigError for options that every use would refuse, because Spark shows no later error.
        """
        if not creates_table(self._options):
            _check_any_use(self._options)
            return _columns(self._options)
        from oncelog.spark.sql.table_columns import marked

        table = table_options(self._options)
        return marked(_columns(table.reading), table)

    @property
    def _options(self) -> Mapping[str, str]:
        return cast(Mapping[str, str], self.options)

    def _source_options(self, given: StructType, *, streaming: bool) -> SourceOptions:
        """The options of the read, from the statement and from the SQL table with these columns.

        Refuses a schema from the user, which Spark passes on if ``schema()`` was called.
        """
        table = self._table(given)
        if table is not None and not table.reading and not _names_servers(self._options):
            # Spark copied the columns of another table, as CREATE TABLE ... AS SELECT does, and did not ask this
            # source: the options of reads are missing
            raise ConfigError(_no_options())
        options = self._options if table is None else table.of_read(self._options, streaming=streaming)
        parsed = parse_source_options(options, streaming=streaming)
        text, own = _text(given), _text(_columns(options if table is None else table.reading))
        if text != own and table is not None:
            raise ConfigError(changed(given.simpleString()))
        if text != own:
            raise ConfigError(
                f"A schema cannot be given ({text}): the columns are those of a record ({own}); leave schema() out, "
                "and parse the column value, as from_json does"
            )
        if table is not None and text != _text(_columns(options)):
            raise ConfigError(
                "Options includeHeaders and includeTimestampMillis decide the columns of a SQL table: give "
                "them to CREATE TABLE"
            )
        return parsed

    def _table(self, columns: StructType) -> OptionsOfTable | None:
        """The options of the SQL table, if these columns come from one."""
        from oncelog.spark.sql.table_columns import options_of

        table = options_of(columns)
        if table is None and not _names_servers(self._options):
            raise ConfigError(_no_options())
        return table

    def reader(self, schema: StructType) -> DataSourceReader:
        from oncelog.spark.source.batch import BatchReader

        return BatchReader(self._source_options(schema, streaming=False))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        try:
            options = self._source_options(schema, streaming=True)
        except ConfigError as refusal:
            from oncelog.spark.source.refused import RefusedReader

            return RefusedReader(refusal)
        if not HAS_READ_LIMITS:
            from oncelog.spark.source.unlimited import UnlimitedReader

            return UnlimitedReader(options)
        from oncelog.spark.source.stream import StreamReader

        return StreamReader(options)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from oncelog.spark.sink.writers import begin_batch

        if overwrite:
            raise ConfigError("A topic cannot be overwritten: use INSERT INTO, or mode('append')")
        table = self._table(schema)
        if table is None or _names_servers(self._options):
            _refuse_marked(table)
            return begin_batch(schema, _by_driver(parse_sink_options(self._options, streaming=False)), self.observe)
        from oncelog.spark.sql.table_writer import TableWriter

        options = _by_driver(parse_sink_options(table.of_write(self._options), streaming=False))
        return TableWriter(schema, _columns_of_tables(), options, self.observe)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from oncelog.spark.sink.writers import begin_stream

        if not _names_servers(self._options):
            raise ConfigError(
                f"{SERVERS_MISSING}; toTable does not see the options of CREATE TABLE: write with "
                'writeStream.format("oncelog").options(...).start()'
            )
        _refuse_marked(self._table(schema))
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


def _columns(options: Mapping[str, str]) -> StructType:
    headers = [_HEADERS] if includes_headers(options) else []
    millis = [_MILLIS] if includes_millis(options) else []
    return StructType([*SCHEMA.fields, *headers, *millis])


def _columns_of_tables() -> list[str]:
    """The columns that a SQL table may have, each combination in Spark's notation."""
    more: tuple[list[StructField], ...] = ([], [_HEADERS], [_MILLIS], [_HEADERS, _MILLIS])
    return [StructType([*SCHEMA.fields, *some]).simpleString() for some in more]


def _names_servers(options: Mapping[str, str]) -> bool:
    return any(name.lower() == SERVERS for name in options)


def _no_options() -> str:
    return f"{SERVERS_MISSING}; a SQL table has it from CREATE TABLE, if that was able to ask: {AGAIN}"


def _check_any_use(options: Mapping[str, str]) -> None:
    """Refuse options that each use of a table refuses: a batch read, a streaming read, and an INSERT through a
    temporary view.
    """
    names = {name.lower() for name in options}
    if names & {"topic", "topics"} and not names & {*SUBSCRIPTIONS}:
        parse_sink_options(options, streaming=False)
        return
    try:
        parse_source_options(options, streaming=True)
    except ConfigError as of_stream:
        try:
            parse_source_options(options, streaming=False)
        except OfOtherRead:
            raise of_stream from None


def _refuse_marked(table: OptionsOfTable | None) -> None:
    """Refuse rows with the columns of a SQL table if the write names a destination of its own: with such columns, a new
    table (saveAsTable, toTable) would be mistaken for the table that the rows come from.
    """
    if table is not None:
        raise ConfigError(
            "The rows have the column timestampType of a SQL table, and the write has a destination of its own: select "
            'the columns to write, as in rows.select("key", "value"); INSERT into the table itself leaves '
            "kafka.bootstrap.servers to the table"
        )


def _text(schema: StructType) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema.fields)
