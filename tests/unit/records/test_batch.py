"""Headers, records, building and setting the producer. Expected bytes are from the format's tables or from other
libraries."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder
from kio.records.readers import read_batch as kio_read_batch
from kio.records.writers import write_batch as kio_write_batch

from oncelog.records import _pure, native
from oncelog.records.batch import (
    HEADER_SIZE_BYTES,
    TRANSACTIONAL_BIT,
    BatchBuilder,
    BatchHeader,
    Compression,
    CorruptBatch,
    Headers,
    OlderFormat,
    Record,
    TimestampType,
    decode_records,
    decrement_sequence,
    encode_batch,
    encode_empty_batch,
    encode_pairs,
    header_bytes,
    increment_sequence,
    iter_headers,
    read_header,
    set_base_offset_and_epoch,
    set_producer,
    set_timestamps,
    verify_crc,
)

T = 1_700_000_000_000
ROWS: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]] = [
    (T, b"key", b"value", []),
    (T + 5, None, b"x" * 300, [("trace", b"1"), ("größe", None)]),
    (T - 70_000, b"", None, []),
    (T, b"k" * 70, b"", [("", b"")]),
]


def build(rows: list[tuple[int, bytes | None, bytes | None, Any]] | None = None, **settings: Any) -> bytearray:
    builder = BatchBuilder()
    for timestamp, key, value, headers in ROWS if rows is None else rows:
        builder.append(timestamp, key, value, headers)
    return builder.build(**settings)


def expected_records(first_offset: int = 0, first_sequence: int = -1) -> list[Record]:
    return [
        Record(
            first_offset + index,
            timestamp,
            key,
            value,
            tuple(headers),
            first_sequence + index if first_sequence >= 0 else -1,
        )
        for index, (timestamp, key, value, headers) in enumerate(ROWS)
    ]


def test_header_has_kafkas_layout() -> None:
    batch = build(
        base_offset=2**40,
        partition_leader_epoch=7,
        producer_id=2**50,
        producer_epoch=9,
        base_sequence=100,
        transactional=True,
        compression=Compression.GZIP,
    )
    assert struct.unpack_from(">q", batch, 0) == (2**40,)
    assert struct.unpack_from(">i", batch, 8) == (len(batch) - 12,)
    assert struct.unpack_from(">ib", batch, 12) == (7, 2)
    assert struct.unpack_from(">h", batch, 21) == (1 | 16,)
    assert struct.unpack_from(">iqq", batch, 23) == (3, T, T + 5)
    assert struct.unpack_from(">qhii", batch, 43) == (2**50, 9, 100, 4)


@pytest.mark.parametrize("compression", list(Compression))
def test_built_batches_can_be_read(compression: Compression) -> None:
    batch = build(compression=compression, base_offset=50, producer_id=1, producer_epoch=0, base_sequence=8)
    assert decode_records(batch) == expected_records(50, 8)
    assert read_header(batch).compression is compression


@pytest.mark.parametrize("builder_type", [KafkaPythonBuilder, AiokafkaBuilder])
@pytest.mark.parametrize("transactional", [False, True])
def test_batches_equal_those_of_other_libraries(builder_type: Callable[..., Any], transactional: bool) -> None:
    theirs = builder_type(
        magic=2,
        compression_type=0,
        is_transactional=transactional,
        producer_id=11,
        producer_epoch=3,
        base_sequence=4,
        batch_size=1 << 20,
    )
    for offset, (timestamp, key, value, headers) in enumerate(ROWS):
        theirs.append(offset, timestamp, key, value, headers)
    ours = build(producer_id=11, producer_epoch=3, base_sequence=4, transactional=transactional)
    # Both leave the leader epoch at 0; it is the leader's to set.
    set_base_offset_and_epoch(ours, 0, 0, int.from_bytes(bytes(theirs.build())[12:16], "big", signed=True))
    assert bytes(ours) == bytes(theirs.build())


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("batch_type", [KafkaPythonBatch, AiokafkaBatch])
def test_other_libraries_read_our_batches(batch_type: Callable[..., Any], codec: Compression) -> None:
    batch = batch_type(bytes(build(compression=codec, base_offset=90)))
    assert batch.validate_crc()
    read = [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in batch]
    assert read == [record[:5] for record in expected_records(90)]


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD])
@pytest.mark.parametrize("builder_type", [KafkaPythonBuilder, AiokafkaBuilder])
def test_packed_batches_of_other_libraries_are_read(builder_type: Callable[..., Any], codec: Compression) -> None:
    theirs = builder_type(
        magic=2,
        compression_type=codec.value,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 20,
    )
    rows: list[tuple[int, bytes, bytes, list[Any]]] = [(T, b"key", b"value " * 500, [])] * 100
    for offset, (timestamp, key, value, headers) in enumerate(rows):
        theirs.append(offset, timestamp, key, value, headers)
    batch = bytes(theirs.build())
    assert read_header(batch).compression is codec
    assert decode_records(batch) == [Record(i, T, b"key", b"value " * 500) for i in range(100)]


def test_kio_reads_and_writes_the_same_bytes() -> None:
    # kio writes timestamps in whole seconds, so all rows have the same one here.
    rows = [(T, key, value, headers) for _, key, value, headers in ROWS]
    ours = bytes(build(rows, producer_id=5, producer_epoch=1, base_sequence=0, base_offset=30))
    batch, size = kio_read_batch(ours, 0)
    assert size == len(ours)
    assert [(r.offset, r.key, r.value) for r in batch.records] == [
        (30 + i, key, value) for i, (_, key, value, _) in enumerate(rows)
    ]
    with io.BytesIO() as written:
        kio_write_batch(written, batch)
        assert written.getvalue() == ours


def test_the_computed_size_grows_with_each_record_as_the_batch_does() -> None:
    builder = BatchBuilder()
    assert builder.size_bytes == HEADER_SIZE_BYTES
    for timestamp, key, value, headers in ROWS:
        area = builder.append(timestamp, key, value, headers)
        assert builder.size_bytes == HEADER_SIZE_BYTES + area == len(builder.build())
    assert builder.count == len(ROWS)
    assert builder.max_timestamp == T + 5


def test_the_builder_accepts_only_bytes_like_objects() -> None:
    builder = BatchBuilder()
    builder.append(T, bytearray(b"k"), memoryview(b"v"), [("h", memoryview(b"x"))])  # type: ignore[list-item]
    assert decode_records(builder.build()) == [Record(0, T, b"k", b"v", (("h", b"x"),))]
    for bad in ("text", 5, 1.5):
        with pytest.raises(TypeError):
            builder.append(T, bad, None)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            builder.append(T, None, bad)  # type: ignore[arg-type]
    with pytest.raises((TypeError, AttributeError)):
        builder.append(T, None, None, [(b"h", b"x")])  # type: ignore[list-item]
    with pytest.raises(OverflowError):
        builder.append(2**63, None, None)
    assert builder.count == 1
    assert len(decode_records(builder.build())) == 1


@pytest.mark.parametrize("transactional", [False, True])
def test_pairs_of_key_and_value_are_encoded_like_records(transactional: bool) -> None:
    pairs: list[tuple[bytes | None, bytes | None]] = [(b"k", b"v"), (b"", None), (None, b"x" * 300)]
    records = [Record(delta, 1_700_000_000_123, key, value) for delta, (key, value) in enumerate(pairs)]
    producer_id, producer_epoch = (9, 3) if transactional else (-1, -1)
    attributes = TRANSACTIONAL_BIT if transactional else 0
    made = encode_pairs(pairs, 1_700_000_000_123, attributes, producer_id, producer_epoch, 0, -1)
    assert made == encode_batch(
        records, transactional=transactional, producer_id=producer_id, producer_epoch=producer_epoch
    )


def test_empty_batches_are_not_built() -> None:
    with pytest.raises(ValueError, match="at least one record"):
        BatchBuilder().build()
    with pytest.raises(ValueError, match="at least one record"):
        encode_batch([])


def test_offsets_must_rise_in_an_encoded_batch() -> None:
    for offsets in ([4], [5, 5], [6, 5]):
        with pytest.raises(ValueError, match="does not follow"):
            encode_batch([Record(offset, T, None, None) for offset in offsets], base_offset=5)
    with pytest.raises(ValueError, match="before the record"):
        encode_batch([Record(5, T, None, None)], base_offset=5, last_offset=4)


def test_gaps_and_last_offset_of_compacted_batches_are_kept() -> None:
    kept = [Record(5, T, b"a", b"1", (), 20), Record(9, T + 3, b"b", b"2", (), 24)]
    batch = encode_batch(kept, base_offset=5, last_offset=12, producer_id=3, producer_epoch=0, base_sequence=20)
    header = read_header(batch)
    assert (header.last_offset, header.next_offset, header.last_sequence, header.records_count) == (12, 13, 27, 2)
    assert decode_records(batch) == kept


def test_the_delete_horizon_replaces_the_base_timestamp() -> None:
    batch = encode_batch([Record(0, T, b"a", None)], delete_horizon_ms=T + 500)
    header = read_header(batch)
    assert header.delete_horizon_ms == header.base_timestamp == T + 500
    assert decode_records(batch)[0].timestamp == T
    assert read_header(encode_batch([Record(0, T, b"a", None)])).delete_horizon_ms is None


def test_an_emptied_batch_keeps_offsets_and_producer() -> None:
    header = read_header(build(producer_id=3, producer_epoch=1, base_sequence=6, base_offset=9, transactional=True))
    empty = encode_empty_batch(header)
    assert len(empty) == HEADER_SIZE_BYTES
    assert verify_crc(empty)
    assert decode_records(empty) == []
    left = read_header(empty)
    assert (left.base_offset, left.last_offset, left.last_sequence) == (9, 12, 9)
    assert (left.records_count, left.base_timestamp, left.is_transactional) == (0, -1, True)


# --- properties of headers


def test_the_attribute_bits_of_a_batch_are_kafkas() -> None:
    def bits(attributes: int) -> tuple[bool, ...]:
        header = BatchHeader(attributes=attributes)
        return (
            header.timestamp_type is TimestampType.LOG_APPEND_TIME,
            header.is_transactional,
            header.is_control,
            header.delete_horizon_ms is not None,
        )

    assert [bits(1 << bit) for bit in range(3, 7)] == [
        tuple(position == bit for position in range(3, 7)) for bit in range(3, 7)
    ]
    assert [BatchHeader(attributes=code).compression for code in range(5)] == list(Compression)
    for code in (5, 6, 7):
        with pytest.raises(CorruptBatch, match="codec"):
            _ = BatchHeader(attributes=code).compression


def test_sequences_wrap_from_the_largest_to_zero() -> None:
    largest = 2**31 - 1
    assert increment_sequence(largest, 1) == 0
    assert increment_sequence(largest - 2, 5) == 2
    assert decrement_sequence(0, 1) == largest
    assert decrement_sequence(3, 5) == largest - 1
    batch = build(producer_id=1, producer_epoch=0, base_sequence=largest - 1)
    assert [record.sequence for record in decode_records(batch)] == [largest - 1, largest, 0, 1]
    assert read_header(batch).last_sequence == 1
    assert read_header(build()).last_sequence == -1


def test_log_append_time_applies_to_every_record() -> None:
    batch = build()
    set_timestamps(batch, 0, TimestampType.LOG_APPEND_TIME, T + 999)
    assert {record.timestamp for record in decode_records(batch)} == {T + 999}


# --- the CRC, and the producer that is set


def test_the_crc_leaves_out_offset_and_leader_epoch_and_covers_the_rest_of_the_batch() -> None:
    batch = build()
    set_base_offset_and_epoch(batch, 0, 12345, 99)
    assert verify_crc(batch)
    assert (read_header(batch).base_offset, read_header(batch).partition_leader_epoch) == (12345, 99)
    for position in range(21, len(batch)):
        changed = bytearray(batch)
        changed[position] ^= 0x40
        assert not verify_crc(changed), position


def test_setting_a_producer_equals_building_with_the_producer() -> None:
    batch = build(compression=Compression.LZ4)
    set_producer(batch, 77, 5, 1000, True)
    assert batch == build(
        compression=Compression.LZ4, producer_id=77, producer_epoch=5, base_sequence=1000, transactional=True
    )
    set_producer(batch, 77, 6, 0, False)
    assert batch == build(compression=Compression.LZ4, producer_id=77, producer_epoch=6, base_sequence=0)


def test_setting_a_field_of_one_batch_leaves_the_other_batches_unchanged() -> None:
    data = build() + build() + build()
    size = len(data) // 3
    set_base_offset_and_epoch(data, size, 4, 1)
    set_timestamps(data, size, TimestampType.LOG_APPEND_TIME, T + 9)
    assert [verify_crc(data, position) for position in (0, size, 2 * size)] == [True] * 3
    stamped = [(header.base_offset, header.max_timestamp) for _, header in iter_headers(data)]
    assert stamped == [(0, T + 5), (4, T + 9), (0, T + 5)]


# --- bytes that are no batch


def test_incomplete_last_batch_is_left_out() -> None:
    data = bytes(build() + build())
    size = len(data) // 2
    for end in range(size, 2 * size):
        assert [position for position, _ in iter_headers(data[:end])] == [0]
    assert [position for position, _ in iter_headers(data)] == [0, size]
    assert list(iter_headers(b"")) == []


def test_invalid_headers_are_refused() -> None:
    batch = build()
    with pytest.raises(CorruptBatch, match="61 bytes"):
        read_header(batch[:60])
    for length in (48, 0, -1, -(2**31)):
        changed = bytearray(batch)
        struct.pack_into(">i", changed, 8, length)
        with pytest.raises(CorruptBatch, match="length"):
            list(iter_headers(changed))
        assert not verify_crc(changed)
    old = bytearray(batch)
    old[16] = 1
    with pytest.raises(CorruptBatch, match="format 1"):
        read_header(old)


def test_a_truncated_or_changed_batch_is_not_decoded() -> None:
    batch = build()
    for end in range(HEADER_SIZE_BYTES, len(batch)):
        assert not verify_crc(batch[:end])
        with pytest.raises(CorruptBatch):
            decode_records(batch[:end])
        with pytest.raises(CorruptBatch):
            decode_records(batch[:end], check_crc=False)
    batch[-1] ^= 1
    with pytest.raises(CorruptBatch, match="CRC"):
        decode_records(batch)


def batch_of(area: bytes, count: int, last_offset_delta: int | None = None) -> bytes:
    delta = count - 1 if last_offset_delta is None else last_offset_delta
    return bytes(header_bytes(BatchHeader(records_count=count, last_offset_delta=delta, base_timestamp=T), area)) + area


def record(*body: int) -> bytes:
    return bytes([2 * len(body), *body])


MALFORMED = {
    "nothing": (b"", 1, _pure.TRUNCATED),
    "length past the end": (record(0, 0, 0, 1, 1, 0)[:-1], 1, _pure.PAST_END),
    "negative length": (bytes([1]) + b"\x00" * 8, 1, _pure.PAST_END),
    "no body": (record(), 1, _pure.TRUNCATED),
    "long varint": (b"\xff" * 6, 1, _pure.VARINT_TOO_LONG),
    "long varlong": (record(0, *[0xFF] * 10, 0), 1, _pure.VARINT_TOO_LONG),
    "key past the record": (record(0, 0, 0, 8, 1, 0), 1, _pure.TRUNCATED),
    "value past the record": (record(0, 0, 0, 1, 8, 0), 1, _pure.TRUNCATED),
    "no header count": (record(0, 0, 0, 1, 1), 1, _pure.TRUNCATED),
    "negative header count": (record(0, 0, 0, 1, 1, 1), 1, _pure.NEGATIVE_HEADERS),
    "too many headers": (record(0, 0, 0, 1, 1, 4, 0), 1, _pure.TOO_MANY_HEADERS),
    "negative header key": (record(0, 0, 0, 1, 1, 2, 1, 1), 1, _pure.NEGATIVE_HEADER_KEY),
    "header key past the record": (record(0, 0, 0, 1, 1, 2, 4, 65), 1, _pure.TRUNCATED),
    "bytes left in the record": (record(0, 0, 0, 1, 1, 0, 0), 1, _pure.LENGTH_MISMATCH),
    "bytes left in the batch": (record(0, 0, 0, 1, 1, 0) + b"\x00", 1, "1 bytes remain"),
    "more records than counted": (record(0, 0, 0, 1, 1, 0) * 2, 1, "7 bytes remain"),
    "fewer records than counted": (record(0, 0, 0, 1, 1, 0), 2, _pure.TRUNCATED),
    "far fewer records than counted": (record(0, 0, 0, 1, 1, 0), 2**31 - 1, _pure.TRUNCATED),
    "offset repeated": (record(0, 0, 0, 1, 1, 0) * 2, 2, _pure.BAD_OFFSET),
    "offset past the batch": (record(0, 0, 2, 1, 1, 0), 1, _pure.BAD_OFFSET),
    "offset before the batch": (record(0, 0, 1, 1, 1, 0), 1, _pure.BAD_OFFSET),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_records_are_refused(case: str) -> None:
    area, count, reason = MALFORMED[case]
    with pytest.raises(CorruptBatch, match=reason):
        decode_records(batch_of(area, count))
    for decode in {native.decode, _pure.decode}:
        with pytest.raises(CorruptBatch, match=reason):
            decode(area, count, 0, count - 1, T, -1, None)


def test_any_negative_length_is_read_as_null_as_in_java() -> None:
    assert decode_records(batch_of(record(0, 0, 0, 3, 5, 0), 1)) == [Record(0, T, None, None)]


def test_header_key_that_is_not_utf8_is_read_with_replacements() -> None:
    area = record(0, 0, 0, 1, 1, 2, 4, 0xFF, 0x41, 1)
    assert decode_records(batch_of(area, 1))[0].headers == (("\ufffdA", None),)


def test_compiled_and_pure_code_build_the_same_record_area() -> None:
    areas = [native.RecordArea(), _pure.RecordArea()]
    headers: Headers
    for timestamp, key, value, headers in ROWS:
        sizes = {area.append(timestamp, key, value, headers) for area in areas}
        assert len(sizes) == 1
    compiled, pure = areas
    assert compiled.to_bytes() == pure.to_bytes()
    for field in ("base_timestamp", "max_timestamp", "count", "size_bytes"):
        assert getattr(compiled, field) == getattr(pure, field)


def legacy(magic: int, value: bytes) -> bytes:
    """A message set of an older format, as kafka-python writes it."""
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=0, batch_size=10_000)
    builder.append(0, T, None, value)
    return bytes(builder.build())


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("value", [b"", b"x" * 100], ids=["smaller than a header", "larger"])
def test_an_older_message_format_is_distinguished_from_damage(magic: int, value: bytes) -> None:
    data = legacy(magic, value)
    with pytest.raises(OlderFormat, match=f"message format {magic}, of producers before Apache Kafka 0.11"):
        read_header(data)
    newer = bytes(build())
    headers = iter_headers(newer + data)
    assert next(headers)[0] == 0
    with pytest.raises(OlderFormat):
        next(headers)
    assert list(iter_headers(newer + bytes(40))) == list(iter_headers(newer))
