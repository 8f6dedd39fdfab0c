"""Converts record batches to Arrow and back, without a Python object for each record.

Called by the Spark source and sink and by the clients' Arrow methods; nothing in the broker imports it, because pyarrow
and numpy are extras. The compiled module does the work; without it, the record codec in Python gives the same results
more slowly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from oncelog.records._pure import record_size
from oncelog.records.arrow_bounds import is_view
from oncelog.records.batch import (
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
    Buffer,
    Compression,
    CorruptBatch,
    Record,
    attributes_of,
    crc_is_right,
    header_bytes,
    record_area,
)
from oncelog.records.compression import DEFAULT_LIMIT_BYTES, compress
from oncelog.records.native import RecordArea, compiled, decode, murmur2

HEADERS_TYPE = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
_MAX_INT32 = 2**31 - 1
_MAX_INT64 = 2**63 - 1
_MIN_RECORD_BYTES = 7
_MIN_INT64 = -(2**63)
MAX_MS = _MAX_INT64 // 1000
"""The latest time in ms that 64-bit microseconds can hold, in the year 294247; the earliest is its negative."""
_TIMESTAMP = pa.timestamp("ms", tz="UTC")

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]


class BatchBytes(NamedTuple):
    """The bytes that contain a batch, as fetched or read from a segment, with the batch's position in them and its
    header."""

    data: Buffer
    position: int
    header: BatchHeader


def schema(*, headers: bool = False, large: bool = False) -> pa.Schema:
    """The schema of :func:`decode_to_arrow`: names of Spark's Kafka source, without topic and partition, and its types,
    but timestamps in ms, as Kafka has them."""
    binary = pa.large_binary() if large else pa.binary()
    fields = [
        pa.field("key", binary),
        pa.field("value", binary),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", _TIMESTAMP, nullable=False),
        pa.field("timestampType", pa.int32(), nullable=False),
    ]
    if headers:
        fields.append(pa.field("headers", HEADERS_TYPE))
    return pa.schema(fields)


# --- record batches to Arrow


class _Area(NamedTuple):
    """The decompressed records of a batch, with its header."""

    records: memoryview | bytes
    header: BatchHeader

    @property
    def append_time(self) -> int | None:
        return self.header.max_timestamp if self.header.attributes & TIMESTAMP_TYPE_BIT else None


def decode_to_arrow(
    batches: Iterable[BatchBytes],
    *,
    start_offset: int = 0,
    end_offset: int = _MAX_INT64,
    headers: bool = False,
    large: bool = False,
    check_crc: bool = True,
    max_size_bytes: int = DEFAULT_LIMIT_BYTES,
) -> pa.RecordBatch:
    """The records of ``batches`` with offsets in [``start_offset``, ``end_offset``), in order.

    The caller leaves out what a reader may not see; this function leaves out control batches. Timestamps are in ms, any
    that Kafka has; :func:`in_microseconds` converts them. With ``headers`` there is a column of lists, null for a
    record without headers, as in Spark's source. ``large`` uses 64-bit offsets for key and value.

    :raises CorruptBatch: as :func:`oncelog.records.batch.decode_records`, for any of the batches.
    :raises ValueError: more than 2 GiB of records without ``large``.
    """
    areas = [
        _unpack(batch, check_crc, max_size_bytes)
        for batch in batches
        if batch.header.records_count and not batch.header.is_control
    ]
    total = sum(len(area.records) for area in areas)
    if total > _MAX_INT32 and not (large and not headers):
        raise ValueError(f"{total} bytes of records are too many for one Arrow batch; pass fewer record batches")
    if compiled is None:
        return _decode_with_twin(areas, start_offset, end_offset, headers, large)
    return _decode_compiled(areas, total, start_offset, end_offset, headers, large)


def _unpack(batch: BatchBytes, check_crc: bool, max_size_bytes: int) -> _Area:
    header = batch.header
    if check_crc and not crc_is_right(batch.data, batch.position, header):
        raise CorruptBatch(f"the batch at offset {header.base_offset} is cut off or its CRC differs")
    records = record_area(batch.data, batch.position, header, max_size_bytes)
    if not 0 <= header.records_count <= len(records) // _MIN_RECORD_BYTES:
        raise CorruptBatch(
            f"the batch at offset {header.base_offset} claims {header.records_count} records in {len(records)} bytes"
        )
    return _Area(records, header)


def _decode_compiled(
    areas: list[_Area], total: int, start_offset: int, end_offset: int, headers: bool, large: bool
) -> pa.RecordBatch:
    capacity = sum(area.header.records_count for area in areas)
    keys = _Filling(capacity, total, large)
    values = _Filling(capacity, total, large)
    offsets: Int64s = np.empty(capacity, np.int64)
    timestamps: Int64s = np.empty(capacity, np.int64)
    types: Int32s = np.zeros(capacity, np.int32)
    header_lists = _FillingHeaders(capacity, total) if headers else None
    decoder = compiled.ColumnsDecoder(
        keys.output,
        values.output,
        offsets,
        timestamps,
        header_lists.output if header_lists else None,
        start_offset,
        end_offset,
    )
    for area in areas:
        header = area.header
        first = decoder.rows
        decoder.add(
            area.records,
            header.records_count,
            header.base_offset,
            header.last_offset_delta,
            header.base_timestamp,
            area.append_time,
        )
        if header.attributes & TIMESTAMP_TYPE_BIT:
            types[first : decoder.rows] = header.timestamp_type
    rows: int = decoder.rows
    if rows and (timestamps[:rows].max() == _MAX_INT64 or timestamps[:rows].min() == _MIN_INT64):
        # some timestamps do not fit into microseconds
        return _decode_with_twin(areas, start_offset, end_offset, headers, large)
    binary = pa.large_binary() if large else pa.binary()
    columns = [
        keys.array(rows, binary),
        values.array(rows, binary),
        _numbers(pa.int64(), offsets[:rows]),
        _numbers(_TIMESTAMP, timestamps[:rows] // 1000),
        _numbers(pa.int32(), types[:rows]),
    ]
    if header_lists:
        lists = header_lists.array(rows)
        if lists is None:
            return _decode_with_twin(areas, start_offset, end_offset, headers, large)
        columns.append(lists)
    return pa.RecordBatch.from_arrays(columns, schema=schema(headers=headers, large=large))


def _numbers(kind: pa.DataType, column: npt.NDArray[Any]) -> pa.Array:
    """An Arrow array of numbers without nulls. ``pa.array`` would import pandas, which takes longer than converting a
    million records."""
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(column)])


class _Filling:
    """Preallocated buffers for a binary column of at most ``rows`` rows and ``size_bytes`` of data."""

    def __init__(self, rows: int, size_bytes: int, wide: bool) -> None:
        self.offsets: npt.NDArray[Any] = np.empty(rows + 1, np.int64 if wide else np.int32)
        # Arrow's memory pool keeps freed memory for the next column. malloc would return it to the system, and first
        # use of a new page takes longer than filling the page.
        self.data = pa.allocate_buffer(size_bytes)
        self.validity: Bytes = np.zeros((rows + 7) // 8, np.uint8)
        self.output = compiled.BytesOutput(self.offsets, self.data, self.validity, wide)

    def array(self, rows: int, kind: pa.DataType) -> pa.Array:
        size_bytes: int = self.output.size
        data = self.data.slice(0, size_bytes)
        # copied if it fills less than half, because a slice would keep the whole buffer alive
        if size_bytes * 2 < self.data.size:
            data = pa.py_buffer(data.to_pybytes())
        validity, offsets = self.validity[: (rows + 7) // 8], self.offsets[: rows + 1]
        return pa.Array.from_buffers(kind, rows, [pa.py_buffer(validity), pa.py_buffer(offsets), data])


class _FillingHeaders:
    """Preallocated buffers for a headers column. There can be at most one header for every two bytes of the records."""

    def __init__(self, rows: int, size_bytes: int) -> None:
        self.keys = _Filling(size_bytes // 2, size_bytes, wide=False)
        self.values = _Filling(size_bytes // 2, size_bytes, wide=False)
        self.offsets: Int32s = np.empty(rows + 1, np.int32)
        self.validity: Bytes = np.zeros((rows + 7) // 8, np.uint8)
        self.output = compiled.HeadersOutput(self.offsets, self.validity, self.keys.output, self.values.output)

    def array(self, rows: int) -> pa.Array | None:
        """The column; None if a header key is not valid UTF-8, which has to be repaired first."""
        count: int = self.output.count
        keys = self.keys.array(count, pa.string())
        try:
            keys.validate(full=True)
        except pa.ArrowInvalid:
            return None
        items = pa.StructArray.from_arrays([keys, self.values.array(count, pa.binary())], ["key", "value"])
        validity, offsets = pa.py_buffer(self.validity[: (rows + 7) // 8]), pa.py_buffer(self.offsets[: rows + 1])
        return pa.Array.from_buffers(HEADERS_TYPE, rows, [validity, offsets], children=[items])


def _decode_with_twin(
    areas: list[_Area], start_offset: int, end_offset: int, headers: bool, large: bool
) -> pa.RecordBatch:
    records: list[Record] = []
    types: list[int] = []
    for area in areas:
        header = area.header
        decoded = decode(
            area.records,
            header.records_count,
            header.base_offset,
            header.last_offset_delta,
            header.base_timestamp,
            -1,
            area.append_time,
        )
        chosen = [record for record in decoded if start_offset <= record.offset < end_offset]
        records += chosen
        types += [header.timestamp_type.value] * len(chosen)
    binary = pa.large_binary() if large else pa.binary()
    columns = [
        pa.array([record.key for record in records], binary),
        pa.array([record.value for record in records], binary),
        pa.array([record.offset for record in records], pa.int64()),
        pa.array([record.timestamp for record in records], pa.int64()).cast(_TIMESTAMP),
        pa.array(types, pa.int32()),
    ]
    if headers:
        lists = [
            [{"key": name, "value": content} for name, content in record.headers] if record.headers else None
            for record in records
        ]
        columns.append(pa.array(lists, HEADERS_TYPE))
    return pa.RecordBatch.from_arrays(columns, schema=schema(headers=headers, large=large))


def in_microseconds(timestamps: pa.Array) -> pa.Array:
    """Timestamps in ms, without nulls, in microseconds; null for those beyond ``MAX_MS``, which microseconds cannot
    hold.
    """
    rows = len(timestamps)
    held = np.frombuffer(timestamps.buffers()[1], np.int64, rows, timestamps.offset * 8)
    kind = pa.timestamp("us", tz="UTC")
    if not rows or (held.min() >= -MAX_MS and held.max() <= MAX_MS):
        return _numbers(kind, held * 1000)
    return pa.array([ms * 1000 if -MAX_MS <= ms <= MAX_MS else None for ms in held.tolist()], pa.int64()).cast(kind)


# --- Arrow to record batches


class EncodedBatch(NamedTuple):
    """An encoded record batch for one destination. Its producer is not set yet (base offset 0, producer id -1)."""

    destination: int
    records_count: int
    max_timestamp: int
    data: bytes


def partitions_of_keys(keys: pa.Array, partitions: int) -> Int32s:
    """The partition that Java's producer chooses for each key; -1 for a null key, whose partition the caller
    chooses."""
    keys = _binary(keys)
    hashes: Int32s = np.empty(len(keys), np.int32)
    if compiled is None:
        hashes[:] = [murmur2(key or b"") & 0x7FFFFFFF for key in keys.to_pylist()]
    else:
        compiled.murmur2_rows(_column(keys), hashes)
    hashes %= partitions
    if keys.null_count:
        hashes[_nulls(keys)] = -1
    return hashes


def bytes_of(column: pa.Array) -> list[bytes | None]:
    """The values of a binary or string column as Python bytes."""
    rows: list[bytes | None] = _binary(column).to_pylist()
    return rows


def encode_from_arrow(
    value: pa.Array,
    destinations: npt.NDArray[np.integer[Any]],
    *,
    key: pa.Array | None = None,
    timestamp: pa.Array | None = None,
    default_timestamp_ms: int,
    headers: pa.Array | None = None,
    compression: Compression = Compression.NONE,
    level: int | None = None,
    batch_size_bytes: int = 512 * 1024,
) -> Iterator[EncodedBatch]:
    """The rows as record batches: by destination from the lowest up, and for each destination in row order. The
    arrays are validated now, but each batch is encoded only when it is requested.

    ``destinations`` holds a number of at least 0 for each row: a partition, or the caller's own index for topic and
    partition. ``key`` and ``value`` are binary or string arrays; ``timestamp`` is a timestamp array (null rows,
    or all if it is None, get ``default_timestamp_ms``); ``headers`` is an array of lists of structs of key and
    value, or of maps, whose values are binary or strings. A batch takes at most ``batch_size_bytes`` of uncompressed
    records, but at least one record.

    :raises ValueError: arrays of different lengths, a header without a key, or a row too large for a record.
    """
    rows = len(value)
    for name, column in (("key", key), ("timestamp", timestamp), ("headers", headers), ("destinations", destinations)):
        if column is not None and len(column) != rows:
            raise ValueError(f"{name} has {len(column)} rows, value has {rows}")
    if not rows:
        return iter(())
    if int(destinations.min()) < 0:
        raise ValueError("every row needs a destination from 0 up")
    order, bounds, numbers = _by_destination(destinations)
    timestamps = _milliseconds(timestamp, rows, default_timestamp_ms)
    lists = None if headers is None else header_lists(headers)
    columns = _Columns(None if key is None else _binary(key), _binary(value), lists)
    source = _CompiledSource(columns, timestamps, order) if compiled else _PythonSource(columns, timestamps, order)
    runs = zip(numbers, bounds[:-1], bounds[1:], strict=True)
    return _encode_runs(source, runs, compression, level, batch_size_bytes)


def _encode_runs(
    source: _CompiledSource | _PythonSource,
    runs: Iterable[tuple[int, int, int]],
    compression: Compression,
    level: int | None,
    batch_size_bytes: int,
) -> Iterator[EncodedBatch]:
    """Encode each run as record batches. A run is a destination and a range of rows in the order of the source."""
    for number, start, stop in runs:
        at = start
        while at < stop:
            area, after, base, largest = source.encode(at, stop, batch_size_bytes)
            header = BatchHeader(
                attributes=attributes_of(compression),
                last_offset_delta=after - at - 1,
                base_timestamp=base,
                max_timestamp=largest,
                records_count=after - at,
            )
            packed = compress(compression, area, level) if compression else area
            data = b"".join((header_bytes(header, packed), packed))
            yield EncodedBatch(number, after - at, largest, data)
            at = after


class _Columns(NamedTuple):
    key: pa.Array | None
    value: pa.Array
    headers: pa.Array | None


class _CompiledSource:
    def __init__(self, columns: _Columns, timestamps: Int64s, order: Int64s) -> None:
        key = None if columns.key is None else _column(columns.key)
        headers = None if columns.headers is None else _header_columns(columns.headers)
        self._encoder = compiled.RowEncoder(key, _column(columns.value), timestamps, order, headers)

    def encode(self, start: int, stop: int, limit_bytes: int) -> tuple[bytes, int, int, int]:
        area: tuple[bytes, int, int, int] = self._encoder.encode(start, stop, limit_bytes)
        return area


class _PythonSource:
    """Encodes rows in Python, with the same results as the compiled ``RowEncoder``."""

    def __init__(self, columns: _Columns, timestamps: Int64s, order: Int64s) -> None:
        self._values: list[bytes | None] = columns.value.to_pylist()
        self._keys: list[bytes | None]
        self._keys = [None] * len(self._values) if columns.key is None else columns.key.to_pylist()
        self._headers: list[Any] = [None] * len(self._values)
        if columns.headers is not None:
            self._headers = columns.headers.to_pylist()
        self._timestamps: list[int] = timestamps.tolist()
        self._order: list[int] = order.tolist()

    def encode(self, start: int, stop: int, limit_bytes: int) -> tuple[bytes, int, int, int]:
        area = RecordArea()
        at = start
        while at < stop:
            row = self._order[at]
            timestamp, key, value = self._timestamps[row], self._keys[row], self._values[row]
            headers = [(item["key"], item["value"]) for item in self._headers[row] or ()]
            base = area.base_timestamp if area.count else timestamp
            size_bytes = record_size(area.count, timestamp - base, key, value, headers)
            if area.count and area.size_bytes + size_bytes > limit_bytes:
                break
            area.append(timestamp, key, value, headers)
            at += 1
        return area.to_bytes(), at, area.base_timestamp, area.max_timestamp


def _by_destination(destinations: npt.NDArray[np.integer[Any]]) -> tuple[Int64s, list[int], list[int]]:
    """The rows sorted by destination (stable), the bounds of each destination's rows, and the destinations."""
    # numpy sorts 16-bit integers by radix, many times faster than larger ones.
    narrow = destinations.astype(np.int16) if int(destinations.max()) < 2**15 else destinations
    order: Int64s = np.argsort(narrow, kind="stable").astype(np.int64, copy=False)
    ordered = narrow[order]
    starts = np.flatnonzero(np.diff(ordered)) + 1
    bounds: list[int] = [0, *starts.tolist(), len(order)]
    numbers: list[int] = [int(ordered[start]) for start in bounds[:-1]]
    return order, bounds, numbers


_PER_MS = {"s": (1000, 1), "ms": (1, 1), "us": (1, 1000), "ns": (1, 1_000_000)}


def _milliseconds(timestamp: pa.Array | None, rows: int, default_ms: int) -> Int64s:
    """Timestamps in ms, rounded down."""
    if timestamp is None:
        return np.full(rows, default_ms, np.int64)
    if not pa.types.is_timestamp(timestamp.type):
        raise ValueError(f"the timestamp column has type {timestamp.type}, a timestamp is needed")
    times, parts = _PER_MS[timestamp.type.unit]
    raw = timestamp.cast(pa.int64())
    filled: Int64s = np.frombuffer(raw.buffers()[1], np.int64, rows, raw.offset * 8)
    if raw.null_count:
        filled = np.where(_nulls(raw), 0, filled)
    if times > 1 and max(-int(filled.min()), int(filled.max())) > _MAX_INT64 // times:
        raise ValueError(f"a timestamp is beyond {_MAX_INT64 // times} s, which is all that Kafka's milliseconds hold")
    filled = filled * times // parts
    if raw.null_count:
        filled = np.where(_nulls(raw), default_ms, filled)
    return np.ascontiguousarray(filled, np.int64)


def _nulls(array: pa.Array) -> npt.NDArray[np.bool_]:
    """A mask of the null rows of an array that has nulls. Converting ``is_null`` to numpy would import pandas."""
    first, end = array.offset, array.offset + len(array)
    # Only the validity bits of this slice are read, not those of the whole parent array.
    some = np.frombuffer(array.buffers()[0], np.uint8)[first // 8 : (end + 7) // 8]
    valid = np.unpackbits(some, bitorder="little")[first % 8 :][: len(array)]
    rows: npt.NDArray[np.bool_] = valid == 0
    return rows


def _binary(array: pa.Array) -> pa.Array:
    """``array`` with 32- or 64-bit offsets and bytes: strings become their UTF-8, other layouts are copied."""
    kind = array.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return array
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        binary = pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()
        return array.view(binary)
    if pa.types.is_dictionary(kind):
        return _binary(array.dictionary_decode())
    if pa.types.is_null(kind) or is_view(kind) or pa.types.is_fixed_size_binary(kind):
        return array.cast(pa.binary())
    raise ValueError(f"keys and values must be binary or string, not {kind}")


def _column(array: pa.Array) -> Any:
    validity, offsets, data = array.buffers()
    wide = pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type)
    return compiled.Column(b"" if offsets is None else offsets, data, validity, wide, array.offset, len(array))


def check_headers(column: pa.Array | pa.ChunkedArray) -> None:
    """Check that a column can be sent as headers.

    :raises ValueError: as :func:`header_lists`.
    """
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        header_lists(chunk)


def header_lists(headers: pa.Array) -> pa.Array:
    """Headers, which may be maps, and whose values may be strings, as lists of structs of key and binary value.

    :raises ValueError: the column is neither lists of structs of key and value nor maps, or an item or a key is null.
    """
    kind = headers.type
    wide = pa.types.is_large_list(kind)
    if pa.types.is_map(kind):
        keys, values = headers.keys, headers.items
    elif (
        (wide or pa.types.is_list(kind))
        and pa.types.is_struct(kind.value_type)
        and sorted(field.name for field in kind.value_type) == ["key", "value"]
    ):
        used = headers.flatten()
        if used.null_count or used.field("key").null_count:
            raise ValueError("a header needs a key")
        keys, values = headers.values.field("key"), headers.values.field("value")
        if pa.types.is_binary(values.type):
            return headers
    else:
        raise ValueError(f"headers must be maps, or lists of structs of key and value, not {kind}")
    items = pa.StructArray.from_arrays([keys, _binary(values)], ["key", "value"])
    made = (pa.large_list if wide else pa.list_)(items.type)
    return pa.Array.from_buffers(made, len(headers), headers.buffers()[:2], offset=headers.offset, children=[items])


def _header_columns(headers: pa.Array) -> tuple[Any, Any, Any]:
    """The lists of a headers column, and the keys and values of all their items."""
    keys, values = _binary(headers.values.field("key")), _binary(headers.values.field("value"))
    validity, offsets = headers.buffers()[:2]
    wide = pa.types.is_large_list(headers.type)
    lists = compiled.Column(offsets, None, validity, wide, headers.offset, len(headers))
    return lists, _column(keys), _column(values)
