"""Record batches, format v2: headers, records, building, and rewriting in place.

Called by the log (headers, offsets and epochs), the broker (:mod:`oncelog.records.validation`), the coordinators
(their own records), the producer (:class:`BatchBuilder`, :func:`set_producer`), the consumer
(:func:`decode_records`) and Spark.

A batch is a header of 61 bytes and a record area; only the area is compressed. The CRC covers everything from the
attributes on, so base offset and leader epoch may be rewritten without recomputing it. Source: KIP-98, Kafka's
``DefaultRecordBatch``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import partial
from struct import Struct
from typing import NamedTuple, TypeVar

from oncelog.records import native
from oncelog.records._pure import MAX_BATCH_BYTES, too_large
from oncelog.records.compression import DEFAULT_LIMIT_BYTES, Compression, compress, decompress
from oncelog.records.crc import Buffer, compiled_crc32c, crc32c
from oncelog.records.native import RecordArea, decode, encode_pairs
from oncelog.records.record import Header, Headers, Record, decrement_sequence, increment_sequence
from oncelog.records.record_errors import CorruptBatch, OlderFormat, UnpacksTooLarge
from oncelog.types import (
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
)

__all__ = [
    "HEADER_SIZE_BYTES",
    "LOG_OVERHEAD_BYTES",
    "BatchBuilder",
    "BatchHeader",
    "Buffer",
    "Compression",
    "CorruptBatch",
    "Header",
    "Headers",
    "OlderFormat",
    "Record",
    "TimestampType",
    "decode_records",
    "decrement_sequence",
    "encode_batch",
    "encode_empty_batch",
    "encode_pairs",
    "increment_sequence",
    "iter_headers",
    "read_header",
    "record_area",
    "set_base_offset_and_epoch",
    "set_producer",
    "set_timestamps",
    "verify_crc",
]

MAGIC = 2
HEADER_SIZE_BYTES = 61
SMALLEST_RECORD_BYTES = 7
"""The size of the smallest record: one byte for its length, and six for empty fields."""
LOG_OVERHEAD_BYTES = 12
"""The size of the base offset and the batch length, which the batch length does not include."""

_START = Struct(">qi4xb")
"""The offset, the length and the format of a batch, which every format has at the same place."""
_SMALLEST_MESSAGE_BYTES = 14
"""The length of a format 0 message that has neither key nor value."""

CODEC_MASK = 0x07
TIMESTAMP_TYPE_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40

_HEADER = Struct(">qiibIhiqqqhii")
_NOT_COVERED, _COVERED = Struct(">qiibI"), Struct(">hiqqqhii")
"""The header in two parts. The CRC covers the second part and the records."""
_OFFSET = Struct(">q")
_INT32 = Struct(">i")
_UINT32 = Struct(">I")
_PRODUCER = Struct(">qhi")
_ATTRIBUTES = Struct(">h")
_TIMESTAMP = Struct(">q")
_LENGTH_AT, _EPOCH_AT, _CRC_AT, ATTRIBUTES_AT = 8, 12, 17, 21
_MAX_TIMESTAMP_AT, _PRODUCER_AT = 35, 43
_CODECS = tuple(Compression)
_MIN_LONG = -(2**63)


T = TypeVar("T", bound=tuple[object, ...])


class TimestampType(IntEnum):
    """Whether a batch's timestamps were set by the producer, or by the leader when it appended the batch."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1

    @classmethod
    def from_name(cls, name: str) -> TimestampType:
        """The type named ``CreateTime`` or ``LogAppendTime`` in the setting ``message.timestamp.type``."""
        return {"CreateTime": cls.CREATE_TIME, "LogAppendTime": cls.LOG_APPEND_TIME}[name]


class BatchHeader(NamedTuple):
    """A batch's header; fields have Kafka's names, and timestamps are in ms.

    ``last_offset`` is the last offset that the batch ever contained: compaction removes records, not offsets.
    """

    base_offset: int = 0
    batch_length: int = 0
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH
    magic: int = MAGIC
    crc: int = 0
    attributes: int = 0
    last_offset_delta: int = 0
    base_timestamp: int = NO_TIMESTAMP
    max_timestamp: int = NO_TIMESTAMP
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    records_count: int = 0

    @property
    def compression(self) -> Compression:
        """The codec of the records.

        :raises CorruptBatch: the attributes name a codec that does not exist.
        """
        code = self.attributes & CODEC_MASK
        if code >= len(_CODECS):
            raise CorruptBatch(f"the batch at offset {self.base_offset} names codec {code}, which does not exist")
        return _CODECS[code]

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.attributes & TIMESTAMP_TYPE_BIT else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def delete_horizon_ms(self) -> int | None:
        """The time in ms from which compaction may drop the batch's tombstones or marker (KIP-534); None if it is not
        set. It is stored in place of the base timestamp."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def size_bytes(self) -> int:
        return LOG_OVERHEAD_BYTES + self.batch_length

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record, wrapped; -1 if the batch has none."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)


# --- reading

_header_of = partial(tuple.__new__, BatchHeader)
"""Like ``BatchHeader._make``, without a Python frame for each call, because a reader makes a header every few
records."""


def read_header(buf: Buffer, position: int = 0) -> BatchHeader:
    """The header of the batch at ``position``. Only the header must be complete; the CRC is not checked.

    :raises CorruptBatch: too few bytes, a magic other than 2, or a length below a header's.
    :raises OlderFormat: the bytes are a message of format 0 or 1.
    """
    if len(buf) - position < HEADER_SIZE_BYTES:
        _refuse_older(buf, position)
        raise CorruptBatch(f"a batch header needs {HEADER_SIZE_BYTES} bytes, {len(buf) - position} are left")
    header: BatchHeader = _header_of(_HEADER.unpack_from(buf, position))
    if header.magic != MAGIC:
        _refuse_older(buf, position)
        raise CorruptBatch(f"the batch at offset {header.base_offset} has format {header.magic}, only 2 is supported")
    if header.batch_length < HEADER_SIZE_BYTES - LOG_OVERHEAD_BYTES:
        raise CorruptBatch(f"the batch at offset {header.base_offset} claims a length of {header.batch_length} bytes")
    return header


def _refuse_older(buf: Buffer, position: int) -> None:
    """Raise OlderFormat for a message of format 0 or 1, which begins with the same fields and may be smaller than a
    batch's header."""
    if len(buf) - position < _START.size:
        return
    offset, length, magic = _START.unpack_from(buf, position)
    if 0 <= magic < MAGIC and length >= _SMALLEST_MESSAGE_BYTES:
        raise OlderFormat(offset, magic)


def iter_headers(buf: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of every complete batch from ``position`` on; an incomplete last one is left out, as in
    Fetch.

    :raises CorruptBatch: as :func:`read_header`, at the batch that is wrong.
    :raises OlderFormat: as :func:`read_header`.
    """
    end = len(buf)
    while end - position >= HEADER_SIZE_BYTES:
        header = read_header(buf, position)
        size_bytes = header.size_bytes
        if size_bytes > end - position:
            return
        yield position, header
        position += size_bytes
    _refuse_older(buf, position)


def verify_crc(buf: Buffer, position: int = 0) -> bool:
    """Whether the batch at ``position`` is complete and its CRC is right."""
    view = memoryview(buf)
    if len(view) - position < HEADER_SIZE_BYTES:
        return False
    end = position + LOG_OVERHEAD_BYTES + int(_INT32.unpack_from(view, position + _LENGTH_AT)[0])
    if not position + HEADER_SIZE_BYTES <= end <= len(view):
        return False
    stored = int(_UINT32.unpack_from(view, position + _CRC_AT)[0])
    return stored == crc32c(view[position + ATTRIBUTES_AT : end])


def record_area(
    buf: Buffer, position: int, header: BatchHeader, max_size_bytes: int = DEFAULT_LIMIT_BYTES
) -> memoryview | bytes:
    """The decompressed records of the batch at ``position``; not copied if they were not compressed.

    :raises CorruptBatch: the batch is not complete, or its codec refuses the bytes.
    :raises UnpacksTooLarge: it decompresses to more; nothing is decompressed if the number of records shows that.
    """
    end = position + LOG_OVERHEAD_BYTES + header.batch_length
    if end > len(buf):
        raise CorruptBatch(f"the batch at offset {header.base_offset} is cut off")
    area = memoryview(buf)[position + HEADER_SIZE_BYTES : end]
    if not header.attributes & CODEC_MASK or (header.records_count == 0 and not area):
        return area
    if header.records_count * SMALLEST_RECORD_BYTES > max_size_bytes:
        raise UnpacksTooLarge(f"{header.records_count} records unpack to more than the limit of {max_size_bytes} bytes")
    return decompress(header.compression, area, max_size_bytes)


def decode_records(
    buf: Buffer, position: int = 0, *, check_crc: bool = True, max_size_bytes: int = DEFAULT_LIMIT_BYTES
) -> list[Record]:
    """Every record of the batch at ``position``, control records included.

    With LogAppendTime every record gets the batch's largest timestamp.

    :raises CorruptBatch: the CRC differs, the codec refuses the bytes, they decompress to more than ``max_size_bytes``,
        or the area is not exactly ``records_count`` well-formed records with rising offsets within the batch.
    """
    header = read_header(buf, position)
    area = _readable(buf, position, header, check_crc, max_size_bytes)
    return decode(
        area,
        header.records_count,
        header.base_offset,
        header.last_offset_delta,
        header.base_timestamp,
        header.base_sequence,
        _append_time(header),
    )


def consumer_records(
    buf: Buffer,
    position: int,
    header: BatchHeader,
    record_class: type[T],
    topic: str,
    partition: int,
    *,
    first_offset: int,
    check_crc: bool = True,
    max_size_bytes: int = DEFAULT_LIMIT_BYTES,
) -> list[T]:
    """The records of the batch at ``position`` from ``first_offset`` on, in the form that a consumer returns: named
    tuples of eleven fields, in the order of ``ConsumerRecord``, without an intermediate step.

    :param header: the batch's, from :func:`iter_headers`.
    :raises CorruptBatch: as :func:`decode_records`.
    """
    area = _readable(buf, position, header, check_crc, max_size_bytes)
    return native.consumer_records(
        area,
        header.records_count,
        header.base_offset,
        header.last_offset_delta,
        header.base_timestamp,
        _append_time(header),
        first_offset,
        record_class,
        topic,
        partition,
        int(header.timestamp_type),
    )


def record_columns(
    buf: Buffer,
    position: int,
    header: BatchHeader,
    *,
    first_offset: int,
    check_crc: bool = True,
    max_size_bytes: int = DEFAULT_LIMIT_BYTES,
) -> tuple[list[int], list[int], list[bytes | None], list[bytes | None], list[tuple[tuple[str, bytes | None], ...]]]:
    """Offsets, timestamps, keys, values and headers of the batch's records from ``first_offset`` on.

    :param header: the batch's, from :func:`iter_headers`.
    :raises CorruptBatch: as :func:`decode_records`.
    """
    area = _readable(buf, position, header, check_crc, max_size_bytes)
    return native.columns(
        area,
        header.records_count,
        header.base_offset,
        header.last_offset_delta,
        header.base_timestamp,
        _append_time(header),
        first_offset,
    )


def seek_record(
    buf: Buffer, position: int, header: BatchHeader, timestamp: int, first_offset: int
) -> tuple[int, int] | None:
    """The offset and the timestamp of the batch's first record that is neither before ``timestamp`` nor before
    ``first_offset``; None if there is none. The records, which may be millions, are not built.

    :raises CorruptBatch: as :func:`record_area`, or a record up to there is malformed.
    """
    area = record_area(buf, position, header)
    append_time = _append_time(header)
    if append_time is not None and append_time < timestamp:
        return None
    wanted = timestamp if append_time is None else _MIN_LONG
    found = native.seek(
        area, header.records_count, header.base_timestamp, wanted, max(0, first_offset - header.base_offset)
    )
    if found is None:
        return None
    delta, sent = found
    return header.base_offset + delta, sent if append_time is None else append_time


def crc_is_right(buf: Buffer, position: int, header: BatchHeader) -> bool:
    """Like :func:`verify_crc`, for a batch whose header is already known."""
    end = position + LOG_OVERHEAD_BYTES + header.batch_length
    checksum: int = compiled_crc32c(memoryview(buf)[position + ATTRIBUTES_AT : end])
    return end <= len(buf) and checksum == header.crc


def _readable(
    buf: Buffer, position: int, header: BatchHeader, check_crc: bool, max_size_bytes: int
) -> memoryview | bytes:
    """The decompressed records of the batch at ``position``, after a check of the CRC if requested."""
    if check_crc and not crc_is_right(buf, position, header):
        raise CorruptBatch(f"the batch at offset {header.base_offset} is cut off or its CRC differs")
    return record_area(buf, position, header, max_size_bytes)


def _append_time(header: BatchHeader) -> int | None:
    return header.max_timestamp if header.attributes & TIMESTAMP_TYPE_BIT else None


# --- building


def header_bytes(header: BatchHeader, area: Buffer) -> bytearray:
    """The header of a batch with record area ``area``; length, magic and CRC are computed, not taken from
    ``header``.
    """
    size_bytes = HEADER_SIZE_BYTES + len(area)
    if size_bytes > MAX_BATCH_BYTES:
        raise ValueError(too_large(size_bytes))
    covered = _COVERED.pack(*header[5:])
    crc = compiled_crc32c(area, compiled_crc32c(covered))
    length, leader_epoch = size_bytes - LOG_OVERHEAD_BYTES, header.partition_leader_epoch
    return bytearray(_NOT_COVERED.pack(header.base_offset, length, leader_epoch, MAGIC, crc) + covered)


def attributes_of(
    codec: Compression,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    transactional: bool = False,
    control: bool = False,
    delete_horizon: bool = False,
) -> int:
    """The value of a header's attributes field."""
    return (
        codec
        | (TIMESTAMP_TYPE_BIT if timestamp_type else 0)
        | (TRANSACTIONAL_BIT if transactional else 0)
        | (CONTROL_BIT if control else 0)
        | (DELETE_HORIZON_BIT if delete_horizon else 0)
    )


class BatchBuilder:
    """Collects the records of one batch, with consecutive offsets, and builds it.

    ``append(timestamp, key, value, headers=())`` takes a timestamp in ms, bytes or None, and pairs of str and bytes or
    None; it returns the size in bytes of the uncompressed record area so far.
    """

    __slots__ = ("_area", "append", "append_within")

    def __init__(self) -> None:
        self._area = RecordArea()
        # Bound methods of the area instead of wrappers: the producer calls nothing more often.
        self.append = self._area.append
        self.append_within = self._area.append_within

    def append_rows(
        self,
        limit_bytes: int,
        timestamps: int | list[int],
        keys: list[bytes | None] | None,
        values: list[bytes | None],
        headers: list[Headers | None] | None,
        start: int,
    ) -> int:
        """Add rows from ``start`` on while the batch certainly stays within ``limit_bytes``, at least one; returns the
        row after the last one added."""
        return self._area.append_rows(limit_bytes - HEADER_SIZE_BYTES, timestamps, keys, values, headers, start)

    @property
    def count(self) -> int:
        """Records so far."""
        return self._area.count

    @property
    def size_bytes(self) -> int:
        """The size in bytes that the batch would have now, without compression."""
        return HEADER_SIZE_BYTES + self._area.size_bytes

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp so far in ms; -1 if there are no records."""
        return self._area.max_timestamp

    def build(
        self,
        *,
        compression: Compression = Compression.NONE,
        level: int | None = None,
        base_offset: int = 0,
        partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        transactional: bool = False,
        control: bool = False,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    ) -> bytearray:
        """Build the batch; the builder is unchanged. The bytearray belongs to the caller and may be changed.

        :raises ValueError: there is no record, or the batch would be larger than the format allows.
        """
        area = self._area
        if not area.count:
            raise ValueError("a batch needs at least one record")
        records = area.to_bytes()
        header = BatchHeader(
            base_offset=base_offset,
            partition_leader_epoch=partition_leader_epoch,
            attributes=attributes_of(compression, timestamp_type, transactional, control),
            last_offset_delta=area.count - 1,
            base_timestamp=area.base_timestamp,
            max_timestamp=area.max_timestamp,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            records_count=area.count,
        )
        packed = compress(compression, records, level) if compression else records
        batch = header_bytes(header, packed)
        batch += packed
        return batch


def encode_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    last_offset: int | None = None,
    compression: Compression = Compression.NONE,
    level: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """A batch of records with given offsets, which may leave gaps: needed by compaction and dumps.

    ``record.sequence`` is not used: sequences follow from ``base_sequence``. ``last_offset`` is the batch's last
    offset if it is not the last record's.

    :raises ValueError: no records, or offsets that do not rise from ``base_offset``.
    """
    area = RecordArea(delete_horizon_ms)
    previous = base_offset - 1
    for record in records:
        if record.offset <= previous:
            raise ValueError(f"offset {record.offset} does not follow {previous}")
        previous = record.offset
        area.append_at(record.offset - base_offset, record.timestamp, record.key, record.value, record.headers)
    if not area.count:
        raise ValueError("a batch needs at least one record")
    if last_offset is not None and last_offset < previous:
        raise ValueError(f"last offset {last_offset} is before the record at {previous}")
    records_bytes = area.to_bytes()
    header = BatchHeader(
        base_offset=base_offset,
        partition_leader_epoch=partition_leader_epoch,
        attributes=attributes_of(compression, timestamp_type, transactional, control, delete_horizon_ms is not None),
        last_offset_delta=(previous if last_offset is None else last_offset) - base_offset,
        base_timestamp=area.base_timestamp,
        max_timestamp=area.max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        records_count=area.count,
    )
    packed = compress(compression, records_bytes, level) if compression else records_bytes
    return b"".join((header_bytes(header, packed), packed))


def encode_empty_batch(header: BatchHeader) -> bytes:
    """The rest of a batch after compaction removed all records, if its offsets and sequences are still needed.

    Offsets, producer fields, leader epoch, largest timestamp, and the timestamp type, transactional and control bits
    stay; source: ``DefaultRecordBatch.writeEmptyHeader``.
    """
    kept = header.attributes & (TIMESTAMP_TYPE_BIT | TRANSACTIONAL_BIT | CONTROL_BIT)
    return bytes(header_bytes(header._replace(attributes=kept, base_timestamp=NO_TIMESTAMP, records_count=0), b""))


# --- rewriting in place


def _set_crc(batch: bytearray | memoryview, position: int, end: int) -> None:
    _UINT32.pack_into(batch, position + _CRC_AT, crc32c(memoryview(batch)[position + ATTRIBUTES_AT : end]))


def _end(batch: bytearray | memoryview, position: int) -> int:
    return position + LOG_OVERHEAD_BYTES + int(_INT32.unpack_from(batch, position + _LENGTH_AT)[0])


def set_producer(
    batch: bytearray, producer_id: int, producer_epoch: int, base_sequence: int, transactional: bool
) -> None:
    """Write a producer id, an epoch and a first sequence into a batch, and compute its CRC again."""
    _PRODUCER.pack_into(batch, _PRODUCER_AT, producer_id, producer_epoch, base_sequence)
    (attributes,) = _ATTRIBUTES.unpack_from(batch, ATTRIBUTES_AT)
    attributes = attributes | TRANSACTIONAL_BIT if transactional else attributes & ~TRANSACTIONAL_BIT
    _ATTRIBUTES.pack_into(batch, ATTRIBUTES_AT, attributes)
    _set_crc(batch, 0, _end(batch, 0))


def set_base_offset_and_epoch(buf: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int) -> None:
    """Write the base offset and leader epoch, which the leader assigns, into the batch at ``position``. The CRC does
    not cover them."""
    _OFFSET.pack_into(buf, position, base_offset)
    _INT32.pack_into(buf, position + _EPOCH_AT, leader_epoch)


def set_timestamps(
    buf: bytearray | memoryview, position: int, timestamp_type: TimestampType, max_timestamp: int
) -> None:
    """Write the timestamp type and the largest timestamp (ms) into the batch at ``position``, and compute its CRC
    again."""
    (attributes,) = _ATTRIBUTES.unpack_from(buf, position + ATTRIBUTES_AT)
    attributes = attributes | TIMESTAMP_TYPE_BIT if timestamp_type else attributes & ~TIMESTAMP_TYPE_BIT
    _ATTRIBUTES.pack_into(buf, position + ATTRIBUTES_AT, attributes)
    _TIMESTAMP.pack_into(buf, position + _MAX_TIMESTAMP_AT, max_timestamp)
    _set_crc(buf, position, _end(buf, position))
