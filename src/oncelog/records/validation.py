"""Checks a batch from a client, and rewrites it if necessary, as a partition's leader does.

Called by the broker's partition for each Produce; a pure function. Offset and leader epoch are assigned by the caller
afterwards (:func:`oncelog.records.batch.set_base_offset_and_epoch`), which leaves the CRC valid. Source: Kafka's
``ProduceRequest.validateRecords``, ``UnifiedLog.analyzeAndValidateRecords`` and ``LogValidator``, in their order.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from oncelog.errors import Error
from oncelog.records import _pure
from oncelog.records.batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CONTROL_BIT,
    HEADER_SIZE_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
    TimestampType,
    header_bytes,
    read_header,
    record_area,
    set_timestamps,
)
from oncelog.records.compression import DEFAULT_LIMIT_BYTES, Compression, compress
from oncelog.records.crc import Buffer, crc32c
from oncelog.records.native import RecordArea, decode, walk
from oncelog.records.record_errors import CorruptBatch, UnpacksTooLarge
from oncelog.types import NO_PARTITION_LEADER_EPOCH, NO_TIMESTAMP

MAX_LONG = 2**63 - 1
_MIN_LONG = -(2**63)
_MAX_INT = 2**31 - 1
_START = Struct(">qi4xb")
_START_SIZE_BYTES = 17
_BASE_OFFSET = Struct(">q")
_LENGTH = Struct(">8xi")
_MIN_BATCH_LENGTH = 14
_LAST_CODEC = int(max(Compression))
_UNPACKED_FOR_EACH_BYTE = 16
_MIN_UNPACKED_BYTES = 16 * 1024 * 1024
_MAX_RENUMBERED = 65_536
"""Maximum number of wrongly numbered records in a batch that are renumbered; only a malicious client sends more."""


class ValidatedBatch(NamedTuple):
    """A batch ready to be stored.

    ``records`` are the bytes of the whole batch: the caller's own, or a rewritten copy if something had to change, such
    as a wrong largest timestamp. ``header`` is the header of these bytes.
    """

    header: BatchHeader
    records: Buffer


class InvalidBatch(NamedTuple):
    """The refusal of a batch, with its reason. ``record_errors`` (index in the batch, message) are sent in Produce
    version 8 and later (KIP-467)."""

    error_code: Error
    message: str
    record_errors: list[tuple[int, str]]


Checked = ValidatedBatch | InvalidBatch


def validate_append(
    batch: Buffer,
    *,
    now_ms: int,
    max_message_bytes: int = 1_048_588,
    compacted: bool = False,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    before_max_ms: int = MAX_LONG,
    after_max_ms: int = 3_600_000,
    compression_type: Compression | None = None,
    compression_level: int | None = None,
    max_unpacked_bytes: int | None = None,
    max_record_bytes: int = _MAX_INT,
) -> Checked:
    """Check the records of one partition in a Produce, and rewrite them if necessary.

    ``batch`` must be exactly one batch. ``compression_type`` is the topic's codec, None for ``producer``: a batch with
    another codec is recompressed. The largest timestamp is recomputed (CreateTime) or becomes ``now_ms``
    (LogAppendTime). Record offsets other than 0, 1, 2, ... are renumbered. One refused record refuses the batch.
    The decompressed size is limited to ``max_unpacked_bytes``, None means :func:`unpacked_limit`; a larger batch is
    refused with MESSAGE_TOO_LARGE, on which producers split it. No record of a compressed batch may be longer than
    ``max_record_bytes``, decompressed: ``max.decompressed.message.bytes`` of Apache Kafka 4.4.
    """
    header = _read_envelope(batch, max_message_bytes)
    if isinstance(header, InvalidBatch):
        return header
    refusal = _check_header(header)
    if refusal is not None:
        return refusal
    try:
        limit = unpacked_limit(max_message_bytes) if max_unpacked_bytes is None else max_unpacked_bytes
        area = record_area(batch, 0, header, limit)
        create_time = timestamp_type is TimestampType.CREATE_TIME
        low = max(now_ms - before_max_ms, _MIN_LONG) if create_time else _MIN_LONG
        high = min(now_ms + after_max_ms, MAX_LONG) if create_time else MAX_LONG
        # If the client set LogAppendTime, every record has the batch's timestamp, which is checked below.
        bounds = (_MIN_LONG, MAX_LONG) if header.attributes & TIMESTAMP_TYPE_BIT else (low, high)
        largest, sequential, refused = walk(area, header.records_count, header.base_timestamp, compacted, *bounds)
    except UnpacksTooLarge as error:
        return InvalidBatch(Error.MESSAGE_TOO_LARGE, str(error), [])
    except CorruptBatch as error:
        return InvalidBatch(Error.INVALID_RECORD, str(error), [])
    if len(area) > max_record_bytes and (refusal := _check_longest(area, header, max_record_bytes)):
        return refusal
    if header.attributes & TIMESTAMP_TYPE_BIT:
        if not create_time or header.max_timestamp == NO_TIMESTAMP:
            return _append_time_set_by_client(header.records_count)
        refused, largest = _dated_by_client(header, refused, low, high), header.max_timestamp
    if refused:
        return _refused_records(refused, low, high)
    if not create_time:
        largest = now_ms
    codec = header.compression if compression_type is None else compression_type
    rewritten: bytearray | None = None
    if not sequential:
        if header.records_count > _MAX_RENUMBERED:
            message = f"{header.records_count} records are numbered wrongly; at most {_MAX_RENUMBERED} are renumbered"
            return InvalidBatch(Error.INVALID_RECORD, message, [])
        renumbered = _renumbered(area, header)
        rewritten = _repacked(header, renumbered.base_timestamp, renumbered.to_bytes(), codec, compression_level)
    elif codec is not header.compression:
        rewritten = _repacked(header, header.base_timestamp, area, codec, compression_level)
    if rewritten is not None and len(rewritten) > max_message_bytes:
        return _too_large(len(rewritten), max_message_bytes)
    if header.max_timestamp != largest or header.timestamp_type is not timestamp_type or not create_time:
        rewritten = bytearray(batch) if rewritten is None else rewritten
        set_timestamps(rewritten, 0, timestamp_type, largest)
    if rewritten is not None:
        header = read_header(rewritten)
    return ValidatedBatch(header, batch if rewritten is None else rewritten)


def unpacked_limit(max_message_bytes: int) -> int:
    """The decompressed size in bytes that a batch may have in a topic with this ``max.message.bytes``; more than
    legitimate producers need."""
    return min(DEFAULT_LIMIT_BYTES, max(_MIN_UNPACKED_BYTES, _UNPACKED_FOR_EACH_BYTE * max_message_bytes))


def single_batch(records: Buffer) -> int | InvalidBatch:
    """The size in bytes of the only batch in a Produce's records, or a refusal if they are not exactly one batch of
    format 2.

    Bytes after the batch that are not a complete batch are ignored (Kafka's ``ByteBufferLogInputStream`` ends there).
    """
    refusal = _unreadable_start(records, 0)
    if refusal is not None:
        return refusal
    size_bytes = LOG_OVERHEAD_BYTES + int(_START.unpack_from(records)[1])
    if not _is_cut_off(records, size_bytes):
        message = "a Produce needs exactly one record batch per partition, and more follow the first"
        return _unreadable_start(records, size_bytes) or InvalidBatch(Error.INVALID_RECORD, message, [])
    return size_bytes


def _is_cut_off(records: Buffer, position: int) -> bool:
    """Whether the bytes end before the start of the batch is complete, or, if the start is valid, before the batch
    is."""
    left = len(records) - position
    if left < LOG_OVERHEAD_BYTES:
        return True
    (length,) = _LENGTH.unpack_from(records, position)
    if length < _MIN_BATCH_LENGTH:
        return False
    if left < _START_SIZE_BYTES:
        return True
    magic: int = _START.unpack_from(records, position)[2]
    return 0 <= magic <= MAGIC and left < LOG_OVERHEAD_BYTES + int(length)


def _unreadable_start(records: Buffer, position: int) -> InvalidBatch | None:
    """The refusal of a batch whose start at ``position`` cannot be read, for the first defect in the order of Kafka's
    checks; None if it can."""
    if len(records) - position >= LOG_OVERHEAD_BYTES:
        (length,) = _LENGTH.unpack_from(records, position)
        if length < _MIN_BATCH_LENGTH:
            return InvalidBatch(Error.CORRUPT_MESSAGE, f"the batch claims a length of {length} bytes", [])
    if len(records) - position < _START_SIZE_BYTES:
        return InvalidBatch(
            Error.INVALID_RECORD, "a Produce needs exactly one record batch per partition, got none", []
        )
    _, length, magic = _START.unpack_from(records, position)
    if not 0 <= magic <= MAGIC:
        return InvalidBatch(Error.CORRUPT_MESSAGE, f"the batch has the unknown format {magic}", [])
    size_bytes = LOG_OVERHEAD_BYTES + length
    left = len(records) - position
    if size_bytes > left:
        return InvalidBatch(Error.INVALID_RECORD, f"the batch has {size_bytes} bytes, only {left} arrived", [])
    if magic != MAGIC:
        return InvalidBatch(Error.INVALID_RECORD, f"the batch has format {magic}, only {MAGIC} is accepted", [])
    if size_bytes < HEADER_SIZE_BYTES:
        return InvalidBatch(Error.CORRUPT_MESSAGE, f"a batch of {size_bytes} bytes is smaller than its header", [])
    return None


def _too_large(size_bytes: int, max_message_bytes: int) -> InvalidBatch:
    message = f"the batch has {size_bytes} bytes, max.message.bytes allows {max_message_bytes}"
    return InvalidBatch(Error.MESSAGE_TOO_LARGE, message, [])


def _read_envelope(batch: Buffer, max_message_bytes: int) -> BatchHeader | InvalidBatch:
    """The batch's header if the bytes are exactly one batch of format 2 with base offset 0 and the right CRC, and not
    too large; otherwise a refusal."""
    size_bytes = len(batch)
    if HEADER_SIZE_BYTES <= size_bytes <= max_message_bytes:
        base_offset, length, magic = _START.unpack_from(batch)
        if magic == MAGIC and base_offset == 0 and length + LOG_OVERHEAD_BYTES == size_bytes:
            header = read_header(batch)
            if header.crc == crc32c(memoryview(batch)[ATTRIBUTES_AT:]):
                return header
    return _refused_envelope(batch, max_message_bytes)


def _refused_envelope(batch: Buffer, max_message_bytes: int) -> InvalidBatch:
    """The refusal of a batch as a whole, for the first defect in the order of Kafka's checks."""
    size_bytes = single_batch(batch)
    if isinstance(size_bytes, InvalidBatch):
        return size_bytes
    if size_bytes < len(batch):
        return InvalidBatch(Error.INVALID_RECORD, f"{len(batch) - size_bytes} bytes follow the batch", [])
    (base_offset,) = _BASE_OFFSET.unpack_from(batch)
    if base_offset != 0:
        message = f"the base offset of a client's batch must be 0, it is {base_offset}"
        return InvalidBatch(Error.INVALID_RECORD, message, [])
    if size_bytes > max_message_bytes:
        return _too_large(size_bytes, max_message_bytes)
    return InvalidBatch(Error.CORRUPT_MESSAGE, "the CRC of the batch differs from that of its bytes", [])


def _check_header(header: BatchHeader) -> InvalidBatch | None:
    """The refusal of a batch because of header fields that a client may set; None if they are right."""
    code = header.attributes & CODEC_MASK
    if code > _LAST_CODEC:
        return InvalidBatch(Error.UNSUPPORTED_COMPRESSION_TYPE, f"there is no codec with number {code}", [])
    count = header.records_count
    if count <= 0:
        return InvalidBatch(Error.INVALID_RECORD, f"the batch claims {count} records; at least one is needed", [])
    if header.last_offset_delta + 1 != count:
        message = f"the batch claims {count} records but its last offset delta is {header.last_offset_delta}"
        return InvalidBatch(Error.INVALID_RECORD, message, [])
    if header.attributes & CONTROL_BIT:
        return InvalidBatch(Error.INVALID_RECORD, "clients may not write control records", [])
    if header.producer_id >= 0 and header.base_sequence < 0:
        message = f"producer id {header.producer_id} needs a sequence from 0 up, got {header.base_sequence}"
        return InvalidBatch(Error.INVALID_RECORD, message, [])
    return None


def _check_longest(area: Buffer, header: BatchHeader, max_record_bytes: int) -> InvalidBatch | None:
    """Check the lengths of the records of a compressed batch."""
    longest_bytes = _pure.longest(area, header.records_count) if header.attributes & CODEC_MASK else 0
    if longest_bytes <= max_record_bytes:
        return None
    message = f"a record has {longest_bytes} bytes, max.decompressed.message.bytes allows {max_record_bytes}"
    return InvalidBatch(Error.INVALID_RECORD, message, [])


def _append_time_set_by_client(count: int) -> InvalidBatch:
    message = "only the leader may set the timestamp type LogAppendTime"
    return InvalidBatch(
        Error.INVALID_TIMESTAMP, message, [(index, message) for index in range(min(count, _pure.MAX_RECORD_ERRORS))]
    )


def _dated_by_client(
    header: BatchHeader, refused: list[tuple[int, int, int]], low: int, high: int
) -> list[tuple[int, int, int]]:
    """The refused records of a batch that arrived with LogAppendTime: its largest timestamp counts as the timestamp of
    all records.

    Kafka accepts such a batch in a CreateTime topic, and stores it as CreateTime.
    """
    without_key = {index for index, kind, _ in refused if kind == _pure.NO_KEY}
    outside = not low <= header.max_timestamp <= high
    indexes = range(min(header.records_count, _pure.MAX_RECORD_ERRORS)) if outside else sorted(without_key)
    return [
        (index, _pure.NO_KEY if index in without_key else _pure.BAD_TIMESTAMP, header.max_timestamp)
        for index in indexes
    ]


def _refused_records(refused: list[tuple[int, int, int]], low: int, high: int) -> InvalidBatch:
    """The refusal of a batch that lists all bad records; the kind of the first one determines the error code."""
    errors = [
        (
            index,
            "a compacted topic needs a key in every record"
            if kind == _pure.NO_KEY
            else f"timestamp {timestamp} is outside the allowed range [{low}, {high}]",
        )
        for index, kind, timestamp in refused
    ]
    code = Error.INVALID_RECORD if refused[0][1] == _pure.NO_KEY else Error.INVALID_TIMESTAMP
    first_index, first_message = errors[0]
    return InvalidBatch(code, f"{len(errors)} records refused; record {first_index}: {first_message}", errors)


def _renumbered(area: Buffer, header: BatchHeader) -> RecordArea:
    """The records with offset deltas 0, 1, 2, ...; some old clients number them wrongly, and Kafka repairs compressed
    batches."""
    renumbered = RecordArea()
    for record in decode(area, header.records_count, 0, None, header.base_timestamp, -1, None):
        renumbered.append(record.timestamp, record.key, record.value, record.headers)
    return renumbered


def _repacked(
    header: BatchHeader, base_timestamp: int, area: Buffer, codec: Compression, level: int | None
) -> bytearray:
    """The batch encoded again, with these records and this codec."""
    attributes = header.attributes & ~CODEC_MASK | codec
    rewritten = header._replace(
        attributes=attributes, base_timestamp=base_timestamp, partition_leader_epoch=NO_PARTITION_LEADER_EPOCH
    )
    packed = compress(codec, area, level)
    batch = header_bytes(rewritten, packed)
    batch += packed
    return batch
