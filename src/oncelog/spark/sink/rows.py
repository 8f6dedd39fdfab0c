"""Encodes rows of a DataFrame into record batches in a sink's task, without contacting a broker.

Called by the sink's writers in Spark's workers. The columns are those of Spark's own Kafka connector: ``value``
(required), ``key``, ``topic``, ``partition``, ``headers``; other columns are ignored, as Spark's connector does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from oncelog.errors import ConfigError, OncelogError
from oncelog.records.arrow import encode_from_arrow, header_lists, partitions_of_keys
from oncelog.records.batch import Compression
from oncelog.spark.kafka.interface import PartitionBatch

_CHUNK_ROWS = 65_536
_CHUNK_BYTES = 32 << 20
_SMALL_CHUNK_BYTES = 4 << 20
_BATCHES_OF_PARTITION = 2
"""The minimum number of batches per partition in a block of evenly spread rows: many rows fill batches better, few stay
in a CPU cache."""
_STICKY_ROWS = 1024
"""The number of rows without a key that go to one partition before the next partition gets some."""

Int64s = npt.NDArray[np.int64]


class BadRow(OncelogError):
    """A row cannot become a record; the text names the column, the value and what is allowed."""


@dataclass(frozen=True, slots=True)
class SinkColumns:
    """The positions of the sink's columns in the rows of a DataFrame; None for a missing column."""

    value: int
    key: int | None
    topic: int | None
    partition: int | None
    headers: int | None

    @classmethod
    def of(cls, schema: StructType, topic_option: str) -> SinkColumns:
        """The positions of the columns. Raises ConfigError if a column is missing, has a wrong type, or exists
        twice."""
        positions = positions_of(schema.fieldNames())
        for name, (types, words) in _TYPES.items():
            if name in positions and not isinstance(schema.fields[positions[name]].dataType, types):
                found = schema.fields[positions[name]]
                raise ConfigError(
                    f"Column {found.name} has type {found.dataType.simpleString()}, but must be {words}: convert it, "
                    f"for example with {_conversion(found)}"
                )
        if "value" not in positions:
            raise ConfigError(f"A column named value is required; the columns are {', '.join(schema.fieldNames())}")
        if "topic" not in positions and not topic_option:
            raise ConfigError("Name the destination: with the option topic, or a column topic")
        if "headers" in positions:
            check_headers(schema.fields[positions["headers"]])
        topic = None if topic_option else positions["topic"]
        get = positions.get
        return cls(positions["value"], get("key"), topic, get("partition"), get("headers"))


_TYPES: dict[str, tuple[tuple[type[DataType], ...], str]] = {
    "value": ((StringType, BinaryType), "string or binary"),
    "key": ((StringType, BinaryType), "string or binary"),
    "topic": ((StringType,), "string"),
    "partition": ((IntegerType,), "int"),
}
_COLUMNS = (*_TYPES, "headers")
HEADERS_TYPES = "map<string,string>, array<struct<key:string,value:string>>, or one of these with binary values"


def positions_of(names: Sequence[str]) -> dict[str, int]:
    """The positions of the columns to write; others are ignored. Raises ConfigError if two columns have one name.

    A name that matches exactly takes precedence, whatever ``spark.sql.caseSensitive`` says; Spark's own connector
    accepts no other. Without one, a name that differs in case is used.
    """
    positions: dict[str, int] = {}
    for wanted in _COLUMNS:
        exact = [number for number, name in enumerate(names) if name == wanted]
        found = exact or [number for number, name in enumerate(names) if name.lower() == wanted]
        if len(found) > 1:
            both = f"{names[found[0]]} and {names[found[1]]}"
            raise ConfigError(f"Columns {both} are both named {wanted}: drop or rename one")
        if found:
            positions[wanted] = found[0]
    return positions


def quoted_name(name: str) -> str:
    """A column's name, quoted for a Spark SQL expression."""
    return "`" + name.replace("`", "``") + "`"


def holds_headers(kind: DataType) -> bool:
    """Whether a column of this type can be the headers of records."""
    if isinstance(kind, MapType):
        return isinstance(kind.keyType, StringType) and isinstance(kind.valueType, StringType | BinaryType)
    item = kind.elementType if isinstance(kind, ArrayType) else None
    if not isinstance(item, StructType) or sorted(item.fieldNames()) != ["key", "value"]:
        return False
    return isinstance(item["key"].dataType, StringType) and isinstance(item["value"].dataType, StringType | BinaryType)


def check_headers(column: StructField) -> None:
    """Raises ConfigError if a column cannot be the headers of records."""
    if not holds_headers(column.dataType):
        raise ConfigError(
            f"Column {column.name} has type {column.dataType.simpleString()}, but headers must be {HEADERS_TYPES}: "
            f"convert it, for example with {_headers_conversion(column)}"
        )


def _headers_conversion(column: StructField) -> str:
    """A Spark SQL expression that converts the column to headers, by its type."""
    kind, name = column.dataType, quoted_name(column.name)
    if isinstance(kind, StructType):
        return f"from_json({_text_of(name, kind)}, 'map<string,string>')"
    if isinstance(kind, StringType):
        return f"from_json({name}, 'map<string,string>')"
    item = kind.elementType if isinstance(kind, ArrayType) else None
    if isinstance(item, NullType):
        return f"cast({name} AS array<struct<key:string,value:string>>)"
    if isinstance(item, StructType) and (len(item) == 2 or {"key", "value"} <= set(item.names)):
        key, *_, value = map(quoted_name, sorted(item.names, key=lambda field: (field != "key", field == "value")))
        return f"transform({name}, h -> struct(string(h.{key}) AS key, string(h.{value}) AS value))"
    if isinstance(kind, MapType):
        keys = f"transform_keys({name}, (k, v) -> {_text_of('k', kind.keyType)})"
        return f"transform_values({keys}, (k, v) -> {_text_of('v', kind.valueType)})"
    if isinstance(kind, NullType):
        return f"cast({name} AS map<string,string>)"
    return f"map('name', {_text_of(name, kind)})"


def _conversion(column: StructField) -> str:
    """A Spark SQL expression that converts the column to the type of a key, a value, a topic or a partition."""
    name = quoted_name(column.name)
    if column.name.lower() == "partition":
        return f"cast({name} AS int)"
    return _text_of(name, column.dataType)


def _text_of(expression: str, kind: DataType) -> str:
    if not isinstance(kind, StructType | ArrayType | MapType):
        return f"cast({expression} AS string)"
    return f"to_json({expression}, {_WHOLE_MOMENTS})" if _holds_moments(kind) else f"to_json({expression})"


_WHOLE_MOMENTS = (
    "map('timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSSXXX', "
    "'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS', 'timeZone', 'UTC')"
)
"""Options of ``to_json``, without which it would truncate microseconds."""


def _holds_moments(kind: DataType) -> bool:
    """Whether values of this type contain a timestamp."""
    match kind:
        case StructType():
            return any(_holds_moments(field.dataType) for field in kind.fields)
        case ArrayType():
            return _holds_moments(kind.elementType)
        case MapType():
            return _holds_moments(kind.keyType) or _holds_moments(kind.valueType)
        case _:
            return isinstance(kind, TimestampType | TimestampNTZType)


@dataclass(frozen=True, slots=True)
class Encoding:
    """The settings with which a task encodes rows; made on the driver and sent to the tasks.

    ``partition_counts`` contains the topic of the option ``topic``, those of the option ``topics`` (``listed``), or
    every topic if rows name their topics. ``max_request_bytes`` limits a row, key and value together. ``timestamp`` is
    the position of a column with the records' timestamps, if they are not the time of writing.
    """

    columns: SinkColumns
    topic: str
    partition_counts: Mapping[str, int]
    compression: str
    batch_size_bytes: int
    compression_level: int | None = None
    max_request_bytes: int | None = None
    listed: bool = False
    timestamp: int | None = None


class TaskEncoder:
    """Encodes the rows of one task, in order, into record batches in the order in which they are to be appended.

    :param seed: decides with which partition rows without a key begin; differs between tasks and batches, so that all
        partitions get rows.
    :param now_ms: the timestamp of the records.
    """

    def __init__(self, encoding: Encoding, *, seed: int, now_ms: int) -> None:
        self._encoding = encoding
        self._sticky = seed
        self._now_ms = now_ms
        self._compression = Compression[encoding.compression.upper()]
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0
        self._waiting_bytes = 0
        filled = encoding.batch_size_bytes * _BATCHES_OF_PARTITION * sum(encoding.partition_counts.values())
        self._chunk_bytes = min(max(filled, _SMALL_CHUNK_BYTES), _CHUNK_BYTES)
        self._bases: dict[str, int] = {}
        self._destinations: list[tuple[str, int]] = []
        self.rows = self.row_bytes = 0
        """The number of encoded rows, and the bytes of their columns."""

    def encode(self, batches: Iterable[pa.RecordBatch]) -> Iterator[PartitionBatch]:
        """Encoded batches, yielded once there are enough rows to fill them."""
        for chunk in self.encode_chunks(batches):
            yield from chunk

    def encode_chunks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[PartitionBatch]]:
        """Lists of encoded batches; each list contains those that were encoded together."""
        for batch in batches:
            if batch.num_rows == 0:
                continue
            self._waiting.append(batch)
            self._waiting_rows += batch.num_rows
            self._waiting_bytes += batch.nbytes
            if self._waiting_rows >= _CHUNK_ROWS or self._waiting_bytes >= self._chunk_bytes:
                yield self._encode_waiting()
        if self._waiting:
            yield self._encode_waiting()

    def _encode_waiting(self) -> list[PartitionBatch]:
        waiting, self._waiting = self._waiting, []
        self.row_bytes += self._waiting_bytes
        self._waiting_rows = self._waiting_bytes = 0
        rows = waiting[0] if len(waiting) == 1 else _joined(waiting)
        self.rows += rows.num_rows
        columns = self._encoding.columns
        key = _column(rows, columns.key)
        headers = _column(rows, columns.headers)
        if headers is not None and headers.null_count == len(headers):
            headers = None
        if headers is not None:
            headers = _lists_of(headers)
        if self._encoding.max_request_bytes is not None:
            _check_sizes(rows.column(columns.value), key, self._encoding.max_request_bytes)
        encoded = encode_from_arrow(
            rows.column(columns.value),
            self._destination_of_rows(rows, key),
            key=key,
            timestamp=_column(rows, self._encoding.timestamp),
            default_timestamp_ms=self._now_ms,
            headers=headers,
            compression=self._compression,
            level=self._encoding.compression_level,
            batch_size_bytes=self._encoding.batch_size_bytes,
        )
        return [
            PartitionBatch(*self._destinations[destination], records, data) for destination, records, _, data in encoded
        ]

    def _destination_of_rows(self, rows: pa.RecordBatch, key: pa.Array | None) -> Int64s:
        columns = self._encoding.columns
        explicit = _column(rows, columns.partition)
        if columns.topic is None:
            topic = self._encoding.topic
            return self._partition_of_rows(topic, rows.num_rows, key, explicit) + self._base(topic)
        topics = rows.column(columns.topic)
        if topics.null_count:
            raise BadRow("A row has no topic: column topic is null there, and the option topic is not given")
        destinations = np.empty(rows.num_rows, np.int64)
        for topic in pc.unique(topics).to_pylist():
            chosen = np.flatnonzero(np.asarray(pc.equal(topics, topic)))
            taken = pa.array(chosen)
            some_keys = None if key is None else key.take(taken)
            some_explicit = None if explicit is None else explicit.take(taken)
            destinations[chosen] = self._partition_of_rows(topic, len(chosen), some_keys, some_explicit) + self._base(
                topic
            )
        return destinations

    def _base(self, topic: str) -> int:
        """The position of partition 0 of ``topic`` in the list of destinations."""
        if topic not in self._bases:
            self._bases[topic] = len(self._destinations)
            self._destinations += [(topic, partition) for partition in range(self._count(topic))]
        return self._bases[topic]

    def _count(self, topic: str) -> int:
        count = self._encoding.partition_counts.get(topic)
        if count is None and self._encoding.listed:
            raise BadRow(f"A row names topic {topic!r}, which is not in the option topics: add it there")
        if count is None:
            raise BadRow(f"Topic {topic!r}, named by a row, does not exist: create it first")
        return count

    def _partition_of_rows(self, topic: str, rows: int, key: pa.Array | None, explicit: pa.Array | None) -> Int64s:
        """The partition of each row: the explicit partition, otherwise the partition of the key; consecutive rows
        without either share a partition.
        """
        count = self._count(topic)
        partitions: Int64s
        if key is None:
            partitions = np.full(rows, -1, np.int64)
        else:
            partitions = partitions_of_keys(key, count).astype(np.int64)
        if explicit is not None and explicit.null_count < rows:
            given = np.asarray(explicit.fill_null(-1)).astype(np.int64)
            bad = given[np.asarray(explicit.is_valid()) & ((given < 0) | (given >= count))]
            if len(bad):
                raise BadRow(f"A row names partition {bad[0]} of topic {topic}, which has partitions 0 to {count - 1}")
            partitions = np.where(given >= 0, given, partitions)
        free = np.flatnonzero(partitions < 0)
        if len(free):
            run = max(_STICKY_ROWS, -(-len(free) // count))
            rounds = np.arange(len(free)) // run
            partitions[free] = (self._sticky + rounds) % count
            self._sticky += int(rounds[-1]) + 1
        return partitions


def _lists_of(headers: pa.Array) -> pa.Array:
    try:
        return header_lists(headers)
    except ValueError:
        raise BadRow(
            "A row has a header that is null or whose key is null in column headers, and Kafka's headers need a key: "
            "leave the header out of the array, for example with filter(headers, h -> h.key IS NOT NULL)"
        ) from None


def _check_sizes(value: pa.Array, key: pa.Array | None, max_bytes: int) -> None:
    sizes = pc.fill_null(pc.binary_length(value), 0)
    if key is not None:
        sizes = pc.add(sizes, pc.fill_null(pc.binary_length(key), 0))
    largest = pc.max(sizes).as_py()
    if largest > max_bytes:
        raise BadRow(
            f"A row has {largest} bytes of key and value, more than kafka.max.request.size ({max_bytes}) allows"
        )


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """All rows in one batch. ``pyarrow.concat_batches`` does the same, but exists only from pyarrow 19 on."""
    columns = [pa.concat_arrays([batch.column(n) for batch in batches]) for n in range(batches[0].num_columns)]
    return pa.RecordBatch.from_arrays(columns, schema=batches[0].schema)


def _column(rows: pa.RecordBatch, position: int | None) -> pa.Array | None:
    return None if position is None else rows.column(position)
