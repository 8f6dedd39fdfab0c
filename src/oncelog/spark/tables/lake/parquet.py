"""Writes Parquet files of a Delta table: in tasks, and on the driver for the rows that tasks left to it.

Each file has the rows of one partition, as the format requires. Files have a distinctive name, so that files without a
commit can be found: a failed or repeated task leaves such files.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from oncelog.errors import OncelogError
from oncelog.runtime import real_json as json
from oncelog.runtime import real_time
from oncelog.runtime.chance import uuid4
from oncelog.spark.tables.options import TableOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.fs import FileSystem

PREFIX = "part-oncelog-"
SUFFIX = ".zstd.parquet"
_ROW_GROUP_BYTES = 32 << 20
_LONGEST_STATISTIC = 32


class PartitionRefused(OncelogError):
    """A row has a value in a partition column that Delta would read back as a different value."""


class DataFile(NamedTuple):
    """One file in a commit.

    :param statistics: JSON of the format's ``stats``.
    """

    path: str
    size_bytes: int
    rows: int
    partition_values: Mapping[str, str | None]
    statistics: str
    modified_ms: int


@dataclass(slots=True)
class FileWriter:
    """Writes batches in which the rows of each partition are consecutive; a file ends near ``target_file_bytes``."""

    files: FileSystem
    options: TableOptions
    schema: pa.Schema
    done: list[DataFile] = field(default_factory=list)
    _open: _OpenFile | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        for values, rows in _by_partition(batch, self.options.partition_by):
            if self._open is not None and self._open.values != values:
                self._close()
            if self._open is None:
                self._open = _OpenFile(self.files, self.schema, values)
            self._open.write(rows)
            if self._open.size_bytes >= self.options.target_file_bytes:
                self._close()

    @property
    def size_bytes(self) -> int:
        """The bytes in the files, and those held in memory for the next row group."""
        opened = 0 if self._open is None else self._open.size_bytes + self._open.held_bytes
        return sum(one.size_bytes for one in self.done) + opened

    def finish(self) -> list[DataFile]:
        self._close()
        return self.done

    def _close(self) -> None:
        if self._open is not None:
            self.done.append(self._open.finish())
            self._open = None


class _OpenFile:
    def __init__(self, files: FileSystem, schema: pa.Schema, values: Mapping[str, str | None]) -> None:
        from pyarrow.parquet import ParquetWriter

        self.values = values
        self._path = f"{PREFIX}{uuid4()}{SUFFIX}"
        self._stream = files.open_output_stream(self._path)
        self._writer = ParquetWriter(
            self._stream, schema, compression="zstd", compression_level=1, coerce_timestamps=None
        )
        self._held: list[pa.RecordBatch] = []
        self.held_bytes = self._rows = 0

    @property
    def size_bytes(self) -> int:
        """The bytes in the file. Rows held in memory count only once their row group is written."""
        return int(self._stream.tell())

    def write(self, rows: pa.RecordBatch) -> None:
        self._held.append(rows)
        self.held_bytes += rows.nbytes
        self._rows += rows.num_rows
        if self.held_bytes >= _ROW_GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held))
            self._held, self.held_bytes = [], 0

    def finish(self) -> DataFile:
        self._flush()
        self._writer.close()
        size = int(self._stream.tell())
        self._stream.close()
        statistics = _statistics(self._writer.writer.metadata, self._rows)
        return DataFile(self._path, size, self._rows, self.values, statistics, real_time.time_ms())


def file_schema(schema: pa.Schema, partition_by: Sequence[str]) -> pa.Schema:
    """The columns in the files: without the partition columns, with timestamps in UTC."""
    import pyarrow as pa

    kept = [one for one in schema if one.name not in partition_by]
    return pa.schema([pa.field(one.name, _in_utc(one.type), True) for one in kept])


def _in_utc(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _in_utc(kind.value_type), True))
    if pa.types.is_map(kind):
        return pa.map_(_in_utc(kind.key_type), _in_utc(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(one.name, _in_utc(one.type), True) for one in kind])
    return kind


def _by_partition(
    batch: pa.RecordBatch, partition_by: Sequence[str]
) -> Iterator[tuple[Mapping[str, str | None], pa.RecordBatch]]:
    """The runs of rows with the same values in the partition columns, without these columns."""
    import numpy as np
    import pyarrow as pa

    rest = [one.name for one in batch.schema if one.name not in partition_by]
    schema = file_schema(batch.schema, partition_by)
    rows = pa.Table.from_batches([batch.select(rest)]).cast(schema).combine_chunks()
    data = rows.to_batches()[0]
    if not partition_by:
        yield {}, data
        return
    codes = [batch.column(name).dictionary_encode(null_encoding="encode").indices for name in partition_by]
    changes = np.zeros(batch.num_rows, dtype=bool)
    for code in codes:
        numbers = code.to_numpy(zero_copy_only=False)
        changes[1:] |= numbers[1:] != numbers[:-1]
    starts = [0, *np.flatnonzero(changes).tolist(), batch.num_rows]
    for start, end in itertools.pairwise(starts):
        try:
            values = {name: _partition_value(name, batch.column(name)[start].as_py()) for name in partition_by}
        except (OverflowError, ValueError) as error:
            raise PartitionRefused(
                f"A row has a date or time outside the years 1 to 9999 in a partition column "
                f"({', '.join(partition_by)}): leave such rows out in the query"
            ) from error
        yield values, data.slice(start, end - start)


def _partition_value(name: str, value: Any) -> str | None:
    """A partition value as text in Delta's notation."""
    match value:
        case None:
            return None
        case "":
            raise _empty_text(name)
        case bool():
            return str(value).lower()
        case datetime.datetime():
            if value.tzinfo is not None:  # written as UTC: without a zone a reader would take its session's zone
                return f"{value.astimezone(datetime.UTC).replace(tzinfo=None).isoformat('T', 'microseconds')}Z"
            # not strftime, which writes years below 1000 without leading zeros
            return value.isoformat(" ", "microseconds")
        case datetime.date():
            return value.isoformat()
        case Decimal():
            return format(value, "f")
        case float() if not math.isfinite(value):
            # the spelling that Java's Double.parseDouble reads
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case _:
            return str(value)


def check_partition_texts(rows: Sequence[pa.RecordBatch], partition_by: Sequence[str]) -> None:
    """Raises PartitionRefused for rows of an upsert, whose files the library writes itself, if Delta would read a
    partition value differently."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for batch in rows:
        for name in (one for one in partition_by if one in batch.schema.names):
            values = batch.column(name)
            if pa.types.is_string(values.type) and pc.index(values, "").as_py() >= 0:
                raise _empty_text(name)


def _empty_text(name: str) -> PartitionRefused:
    return PartitionRefused(
        f"A row has an empty text in the partition column {name}, which Delta reads as NULL: replace it in the query"
    )


def _statistics(metadata: Any, rows: int) -> str:
    """The statistics of a file: the numbers of rows and nulls, and the least and greatest values of whole numbers,
    dates and short texts, which need no rounding and have no NaN."""
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for number in range(metadata.num_columns):
        chunks = [metadata.row_group(group).column(number) for group in range(metadata.num_row_groups)]
        name = metadata.schema.column(number)
        if name.path != name.name or "." in name.path:
            continue  # not found by name: the field is part of a nested column
        found = [chunk.statistics for chunk in chunks if chunk.statistics is not None]
        if len(found) < len(chunks) or not all(one.has_null_count for one in found):
            continue
        nulls[name.name] = sum(one.null_count for one in found)
        limits = [_limits(one) for one in found]
        known = [one for one in limits if one is not None]
        if known and len(known) == len(found):
            least[name.name] = _as_json(min(low for low, _ in known))
            greatest[name.name] = _as_json(max(high for _, high in known))
    return json.dumps({"numRecords": rows, "minValues": least, "maxValues": greatest, "nullCount": nulls})


def _limits(statistics: Any) -> tuple[Any, Any] | None:
    """The least and the greatest value; None if they are not known, or not exact."""
    if not statistics.has_min_max:
        return None
    try:
        found = statistics.min, statistics.max
    except OverflowError:
        return None  # a date outside the years of Python, 1 to 9999
    return found if _exact(found[0]) and _exact(found[1]) else None


def _exact(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_STATISTIC
    if isinstance(value, datetime.datetime | bool):
        return False
    return isinstance(value, int | datetime.date)


def _as_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime.date) else value
