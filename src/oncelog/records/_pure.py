"""The record codec in Python, which is used if the compiled module ``_native.pyx`` does not exist.

Both modules give the same results and refuse the same bytes with the same messages; a property test compares them.
Called through :mod:`oncelog.records.native` only. The layout of a record is that of Kafka's ``DefaultRecord`` (KIP-98):
varints are zigzag, of at most 5 or 10 bytes, and bits beyond 32 or 64 are dropped as Java drops them.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import TypeVar

from oncelog.records.crc import Buffer, compiled_crc32c
from oncelog.records.record import Header, Headers, Record
from oncelog.records.record_errors import CorruptBatch
from oncelog.types import MAX_SEQUENCE, NO_SEQUENCE, NO_TIMESTAMP

MAX_BATCH_BYTES = 2**31 - 1
_HEADER = Struct(">qiibIhiqqqhii")
_CRC = Struct(">I")
_OFFSET = Struct(">q")
_EPOCH = Struct(">i")
_LAST_AND_LATEST = Struct(">i8xq")
"""The last offset delta and the largest timestamp of a header, with the base timestamp between them skipped."""
_EPOCH_AT, _LAST_OFFSET_DELTA_AT = 12, 23
_CRC_AT, _CRC_COVERS_FROM = 17, 21
_LOG_OVERHEAD_BYTES = 12
_MAGIC = 2

_MIN_INT64 = -(2**63)
_MAX_INT64 = 2**63 - 1

T = TypeVar("T", bound=tuple[object, ...])

NO_KEY = 1
BAD_TIMESTAMP = 2
MAX_RECORD_ERRORS = 1000
"""Maximum number of refused records that are listed for one batch, whatever number of records the batch claims."""

PAST_END = "its length runs past the end of the batch"
VARINT_TOO_LONG = "a number is longer than its type allows"
TRUNCATED = "it ends inside a field"
NEGATIVE_HEADERS = "its number of headers is negative"
TOO_MANY_HEADERS = "it is too short for its number of headers"
NEGATIVE_HEADER_KEY = "the length of a header's key is negative"
LENGTH_MISMATCH = "its length differs from what it holds"
BAD_OFFSET = "its offset is not after the one before it and inside the batch"


class _Malformed(Exception):
    """The reason why a record cannot be read; caught within this module."""


def _varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """A 32-bit varint and the position after it; reads nothing from ``end`` on."""
    if position < end and (byte := data[position]) < 0x80:
        return byte >> 1 ^ -(byte & 1), position + 1
    return _several_bytes(data, position, end, 32)


def _varlong(data: bytes, position: int, end: int) -> tuple[int, int]:
    """A 64-bit varint and the position after it; reads nothing from ``end`` on."""
    if position < end and (byte := data[position]) < 0x80:
        return byte >> 1 ^ -(byte & 1), position + 1
    return _several_bytes(data, position, end, 64)


def _several_bytes(data: bytes, position: int, end: int, bits: int) -> tuple[int, int]:
    value = shift = 0
    while shift < bits:
        if position >= end:
            raise _Malformed(TRUNCATED)
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= (1 << bits) - 1
            return value >> 1 ^ -(value & 1), position
        shift += 7
    raise _Malformed(VARINT_TOO_LONG)


def _to_int64(value: int) -> int:
    """``value`` reduced to 64 bits with a sign, as Java's ``long`` arithmetic does."""
    value &= 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value > _MAX_INT64 else value


def _field(data: bytes, position: int, end: int) -> tuple[int, int]:
    """The length of a nullable byte field (-1 for null), and the position of its first byte."""
    length, position = _varint(data, position, end)
    if length > end - position:
        raise _Malformed(TRUNCATED)
    return max(length, -1), position


def _start(data: bytes, position: int) -> tuple[int, int, int, int]:
    """The record at ``position``: timestamp delta, offset delta, position of the key's length, end of the record."""
    length, position = _varint(data, position, len(data))
    if not 0 <= length <= len(data) - position:
        raise _Malformed(PAST_END)
    end = position + length
    if position >= end:
        raise _Malformed(TRUNCATED)
    timestamp_delta, position = _varlong(data, position + 1, end)
    offset_delta, position = _varint(data, position, end)
    return timestamp_delta, offset_delta, position, end


def _header_count(data: bytes, position: int, end: int) -> tuple[int, int]:
    count, position = _varint(data, position, end)
    if count < 0:
        raise _Malformed(NEGATIVE_HEADERS)
    if count > end - position:
        raise _Malformed(TOO_MANY_HEADERS)
    return count, position


def _header_key(data: bytes, position: int, end: int) -> tuple[int, int]:
    length, position = _varint(data, position, end)
    if length < 0:
        raise _Malformed(NEGATIVE_HEADER_KEY)
    if length > end - position:
        raise _Malformed(TRUNCATED)
    return length, position


def _check_end(data: bytes, position: int) -> None:
    if position != len(data):
        raise CorruptBatch(f"{len(data) - position} bytes remain after the last record")


def walk(
    area: Buffer, count: int, base_timestamp: int, require_keys: bool, low: int, high: int
) -> tuple[int, bool, list[tuple[int, int, int]]]:
    """Check the structure of ``count`` records without building them.

    :return: the largest timestamp (at least -1); whether the offset deltas are 0, 1, 2, ...; and for each refused
        record its index, ``NO_KEY`` or ``BAD_TIMESTAMP``, and its timestamp. Refused are records without a key if
        ``require_keys``, and records with a timestamp (other than -1) outside [low, high]. The check ends at the
        :data:`MAX_RECORD_ERRORS`-th refused record, because the batch is refused in any case.
    :raises CorruptBatch: the area does not hold exactly ``count`` well-formed records.
    """
    data = bytes(area)
    position = 0
    largest = NO_TIMESTAMP
    sequential = True
    refused: list[tuple[int, int, int]] = []
    index = 0
    try:
        while index < count:
            timestamp_delta, offset_delta, position, end = _start(data, position)
            timestamp = _to_int64(base_timestamp + timestamp_delta)
            key_length, position = _field(data, position, end)
            value_length, position = _field(data, position + max(key_length, 0), end)
            header_count, position = _header_count(data, position + max(value_length, 0), end)
            for _ in range(header_count):
                length, position = _header_key(data, position, end)
                length, position = _field(data, position + length, end)
                position += max(length, 0)
            if position != end:
                raise _Malformed(LENGTH_MISMATCH)
            if offset_delta != index:
                sequential = False
            largest = max(largest, timestamp)
            if require_keys and key_length < 0:
                refused.append((index, NO_KEY, timestamp))
            elif timestamp != NO_TIMESTAMP and not low <= timestamp <= high:
                refused.append((index, BAD_TIMESTAMP, timestamp))
            index += 1
            if len(refused) == MAX_RECORD_ERRORS:
                return largest, sequential, refused
    except _Malformed as error:
        raise CorruptBatch(f"record {index} of the batch is malformed: {error}") from None
    _check_end(data, position)
    return largest, sequential, refused


def longest(area: Buffer, count: int) -> int:
    """The size in bytes of the longest of ``count`` well-formed records, without its length prefix."""
    data = bytes(area)
    longest_bytes = position = 0
    for _ in range(count):
        size_bytes, start = _varint(data, position, len(data))
        longest_bytes, position = max(longest_bytes, size_bytes), start + size_bytes
    return longest_bytes


def seek(area: Buffer, count: int, base_timestamp: int, timestamp: int, first_delta: int) -> tuple[int, int] | None:
    """The offset delta and the timestamp of the first record that is neither before ``timestamp`` nor before
    ``first_delta``; None if there is none. No record is built, and later records are not examined.

    :raises CorruptBatch: a record up to there is malformed.
    """
    data = bytes(area)
    position = 0
    for index in range(count):
        try:
            timestamp_delta, offset_delta, _, position = _start(data, position)
        except _Malformed as error:
            raise CorruptBatch(f"record {index} of the batch is malformed: {error}") from None
        found = _to_int64(base_timestamp + timestamp_delta)
        if found >= timestamp and offset_delta >= first_delta:
            return offset_delta, found
    return None


def decode(
    area: Buffer,
    count: int,
    base_offset: int,
    last_offset_delta: int | None,
    base_timestamp: int,
    base_sequence: int,
    append_time: int | None,
) -> list[Record]:
    """The records of a decompressed area.

    ``append_time`` replaces every timestamp if given. Offset deltas may leave gaps (compaction) but must rise
    and stay within ``last_offset_delta``; if that is None they are not checked.

    :raises CorruptBatch: the area does not hold exactly ``count`` well-formed records.
    """
    data = bytes(area)
    position = 0
    previous = -1
    records: list[Record] = []
    try:
        while len(records) < count:
            timestamp_delta, offset_delta, position, end = _start(data, position)
            length, position = _field(data, position, end)
            key = None if length < 0 else data[position : position + length]
            length, position = _field(data, position + max(length, 0), end)
            value = None if length < 0 else data[position : position + length]
            header_count, position = _header_count(data, position + max(length, 0), end)
            headers: tuple[Header, ...] = ()
            if header_count:
                headers, position = _headers(data, position, end, header_count)
            if position != end:
                raise _Malformed(LENGTH_MISMATCH)
            if last_offset_delta is not None and not previous < offset_delta <= last_offset_delta:
                raise _Malformed(BAD_OFFSET)
            previous = offset_delta
            timestamp = _to_int64(base_timestamp + timestamp_delta) if append_time is None else append_time
            sequence = (base_sequence + offset_delta) & MAX_SEQUENCE if base_sequence >= 0 else -1
            records.append(Record(_to_int64(base_offset + offset_delta), timestamp, key, value, headers, sequence))
    except _Malformed as error:
        raise CorruptBatch(f"record {len(records)} of the batch is malformed: {error}") from None
    _check_end(data, position)
    return records


def columns(
    area: Buffer,
    count: int,
    base_offset: int,
    last_offset_delta: int,
    base_timestamp: int,
    append_time: int | None,
    first_offset: int,
) -> tuple[list[int], list[int], list[bytes | None], list[bytes | None], list[tuple[Header, ...]]]:
    """Offsets, timestamps, keys, values and headers of the records from ``first_offset`` on.

    :raises CorruptBatch: as :func:`decode` with ``last_offset_delta``.
    """
    decoded = decode(area, count, base_offset, last_offset_delta, base_timestamp, -1, append_time)
    chosen = [record for record in decoded if record.offset >= first_offset]
    return (
        [record.offset for record in chosen],
        [record.timestamp for record in chosen],
        [record.key for record in chosen],
        [record.value for record in chosen],
        [record.headers for record in chosen],
    )


def consumer_records(
    area: Buffer,
    count: int,
    base_offset: int,
    last_offset_delta: int,
    base_timestamp: int,
    append_time: int | None,
    first_offset: int,
    record_class: type[T],
    topic: str,
    partition: int,
    timestamp_type: int,
) -> list[T]:
    """The records from ``first_offset`` on as named tuples of eleven fields: topic, partition, offset, timestamp,
    timestamp type, key, value, None, size of the key and of the value (-1 for null), headers.

    :raises CorruptBatch: as :func:`decode` with ``last_offset_delta``.
    """
    found = columns(area, count, base_offset, last_offset_delta, base_timestamp, append_time, first_offset)
    offsets, timestamps, keys, values, headers = found
    return [
        tuple.__new__(
            record_class,
            (
                topic,
                partition,
                offset,
                timestamp,
                timestamp_type,
                key,
                value,
                None,
                -1 if key is None else len(key),
                -1 if value is None else len(value),
                more,
            ),
        )
        for offset, timestamp, key, value, more in zip(offsets, timestamps, keys, values, headers, strict=True)
    ]


def _headers(data: bytes, position: int, end: int, count: int) -> tuple[tuple[Header, ...], int]:
    headers: list[Header] = []
    for _ in range(count):
        length, position = _header_key(data, position, end)
        key = data[position : position + length].decode("utf-8", "replace")
        length, position = _field(data, position + length, end)
        headers.append((key, None if length < 0 else data[position : position + length]))
        position += max(length, 0)
    return tuple(headers), position


def _encode_varint(value: int) -> bytes:
    value = value << 1 ^ value >> 63
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_SMALL = [_encode_varint(value) for value in range(1024)]
"""The encoded varints of small numbers; nearly all lengths and deltas are small."""
_NULL = _encode_varint(-1)


def _varint_bytes(value: int) -> bytes:
    return _SMALL[value] if 0 <= value < 1024 else _encode_varint(value)


class RecordArea:
    """The growing record area of one batch: uncompressed records one after another.

    Deltas are relative to the first record's timestamp, or to ``base_timestamp`` if given. ``base_timestamp`` and
    ``max_timestamp`` are -1 while there is no record.
    """

    __slots__ = ("_fixed_base", "_parts", "base_timestamp", "count", "max_timestamp", "size_bytes")

    def __init__(self, base_timestamp: int | None = None) -> None:
        self._parts: list[bytes] = []
        self._fixed_base = base_timestamp is not None
        self.base_timestamp = NO_TIMESTAMP if base_timestamp is None else base_timestamp
        self.max_timestamp = NO_TIMESTAMP
        self.count = 0
        self.size_bytes = 0

    def append(self, timestamp: int, key: Buffer | None, value: Buffer | None, headers: Headers = ()) -> int:
        """Add a record one offset after the last one; returns the size of the area in bytes."""
        return self.append_at(self.count, timestamp, key, value, headers)

    def append_within(
        self, limit: int, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> int:
        """Like :meth:`append` if the area certainly stays within ``limit`` bytes and there are no headers; else returns
        -1 and adds nothing."""
        if headers or self.size_bytes + max_bytes(key, value, ()) > limit:
            return -1
        return self.append(timestamp, key, value)

    def append_rows(
        self,
        limit: int,
        timestamps: int | list[int],
        keys: list[bytes | None] | None,
        values: list[bytes | None],
        headers: list[Headers | None] | None,
        start: int,
    ) -> int:
        """Add rows from ``start`` on while the area certainly stays within ``limit`` bytes, but at least one to an
        empty area; returns the row after the last one added. ``timestamps`` may be a single one for all rows."""
        row = start
        while row < len(values):
            key = None if keys is None else keys[row]
            more: Headers = () if headers is None else headers[row] or ()
            if self.count and self.size_bytes + max_bytes(key, values[row], more) > limit:
                break
            timestamp = timestamps if isinstance(timestamps, int) else timestamps[row]
            self.append(timestamp, key, values[row], more)
            row += 1
        return row

    def append_at(
        self, offset_delta: int, timestamp: int, key: Buffer | None, value: Buffer | None, headers: Headers = ()
    ) -> int:
        """Add a record at a given offset (compaction leaves gaps); returns the size of the area in bytes."""
        if not _MIN_INT64 <= timestamp <= _MAX_INT64:
            raise OverflowError(f"timestamp {timestamp} is not a 64-bit integer")
        if not 0 <= offset_delta <= 0x7FFFFFFF:
            raise OverflowError(f"offset delta {offset_delta} is negative or not a 32-bit integer")
        base = self.base_timestamp if self.count or self._fixed_base else timestamp
        parts = [b"\x00", _varint_bytes(_to_int64(timestamp - base)), _varint_bytes(offset_delta)]
        for field in (key, value):
            if field is None:
                parts.append(_NULL)
            else:
                field = field if type(field) is bytes else bytes(memoryview(field))
                parts.append(_varint_bytes(len(field)))
                parts.append(field)
        parts.append(_varint_bytes(len(headers)))
        for name, content in headers:
            encoded = name.encode()
            parts.append(_varint_bytes(len(encoded)))
            parts.append(encoded)
            if content is None:
                parts.append(_NULL)
            else:
                content = content if type(content) is bytes else bytes(memoryview(content))
                parts.append(_varint_bytes(len(content)))
                parts.append(content)
        body = b"".join(parts)
        length = _varint_bytes(len(body))
        self._parts.append(length)
        self._parts.append(body)
        self.base_timestamp = base
        self.max_timestamp = max(self.max_timestamp, timestamp)
        self.count += 1
        self.size_bytes += len(length) + len(body)
        return self.size_bytes

    def to_bytes(self) -> bytes:
        """All records so far, as one bytes object."""
        return b"".join(self._parts)


def encode_pairs(
    pairs: Sequence[tuple[bytes | None, bytes | None]],
    timestamp_ms: int,
    attributes: int,
    producer_id: int,
    producer_epoch: int,
    base_offset: int,
    leader_epoch: int,
) -> bytearray:
    """A complete uncompressed batch of these keys and values, all with the same timestamp and without sequences.

    :raises ValueError: it would be larger than the format allows.
    """
    area = RecordArea()
    for delta, (key, value) in enumerate(pairs):
        area.append_at(delta, timestamp_ms, key, value)
    size_bytes = _HEADER.size + area.size_bytes
    if size_bytes > MAX_BATCH_BYTES:
        raise ValueError(too_large(size_bytes))
    count = len(pairs)
    before = base_offset, size_bytes - _LOG_OVERHEAD_BYTES, leader_epoch, _MAGIC, 0
    after = attributes, count - 1, timestamp_ms, timestamp_ms, producer_id, producer_epoch, NO_SEQUENCE, count
    batch = bytearray(_HEADER.pack(*before, *after))
    batch += area.to_bytes()
    _CRC.pack_into(batch, _CRC_AT, compiled_crc32c(memoryview(batch)[_CRC_COVERS_FROM:]))
    return batch


def assign_offsets(
    run: Sequence[bytearray | memoryview], base_offset: int, leader_epoch: int
) -> tuple[list[int], int, int]:
    """Write offsets from ``base_offset`` on, and the leader epoch, into consecutive batches.

    Returns the offset after each batch, the size of all batches in bytes, and their largest timestamp (-1 if they have
    none).

    :raises ValueError: a batch is shorter than a header; the batches before it are already changed.
    """
    offset, size_bytes, latest = base_offset, 0, NO_TIMESTAMP
    next_offsets = []
    for batch in run:
        if len(batch) < _HEADER.size:
            raise ValueError(too_short(len(batch)))
        _OFFSET.pack_into(batch, 0, offset)
        _EPOCH.pack_into(batch, _EPOCH_AT, leader_epoch)
        last_offset_delta, timestamp = _LAST_AND_LATEST.unpack_from(batch, _LAST_OFFSET_DELTA_AT)
        offset += last_offset_delta + 1
        next_offsets.append(offset)
        size_bytes += len(batch)
        latest = max(latest, timestamp)
    return next_offsets, size_bytes, latest


def too_short(size_bytes: int) -> str:
    return f"{size_bytes} bytes are shorter than the header of a batch"


def too_large(size_bytes: int) -> str:
    return f"a batch of {size_bytes} bytes is larger than the format allows; append fewer records"


def max_bytes(key: Buffer | None, value: Buffer | None, headers: Headers) -> int:
    """Upper bound on the size of an encoded record in bytes."""
    size = 21 + _length(key) + _length(value)
    for name, content in headers:
        size += 10 + 3 * len(name) + _length(content)
    return size


def _length(field: Buffer | None) -> int:
    """The length in bytes: a view's elements may be larger than one byte."""
    if field is None:
        return 0
    return len(field) if type(field) is bytes else memoryview(field).nbytes


def record_size(
    offset_delta: int, timestamp_delta: int, key: bytes | None, value: bytes | None, headers: Headers
) -> int:
    """The number of bytes that :meth:`RecordArea.append_at` would add for this record."""
    body = 1 + len(_varint_bytes(_to_int64(timestamp_delta))) + len(_varint_bytes(offset_delta))
    fields = [key, value]
    for name, content in headers:
        fields += (name.encode(), content)
    for field in fields:
        body += 1 if field is None else len(_varint_bytes(len(field))) + len(field)
    body += len(_varint_bytes(len(headers)))
    return len(_varint_bytes(body)) + body


def murmur2(data: Buffer) -> int:
    """Java's murmur2 (``org.apache.kafka.common.utils.Utils``), as an unsigned 32-bit integer."""
    data = bytes(data)
    length = len(data)
    mask = 0xFFFFFFFF
    h = (0x9747B28C ^ length) & mask
    whole = length & ~3
    for position in range(0, whole, 4):
        k = int.from_bytes(data[position : position + 4], "little") * 0x5BD1E995 & mask
        k = (k ^ k >> 24) * 0x5BD1E995 & mask
        h = (h * 0x5BD1E995 & mask) ^ k
    if length != whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * 0x5BD1E995 & mask
    h = (h ^ h >> 13) * 0x5BD1E995 & mask
    return h ^ h >> 15
