"""What a leader refuses, accepts and rewrites (EOS conformance checks 1-10, except those of the enclosing request)."""

from __future__ import annotations

import struct
from typing import Any

import pytest
import zstandard

from oncelog.apps.conformance.raw.batches import ZSTD, batch, record
from oncelog.errors import Error
from oncelog.records.batch import (
    BatchBuilder,
    BatchHeader,
    Compression,
    Record,
    TimestampType,
    decode_records,
    header_bytes,
    read_header,
    set_base_offset_and_epoch,
    set_timestamps,
    verify_crc,
)
from oncelog.records.compression import compress
from oncelog.records.control import encode_end_txn_marker
from oncelog.records.native import RecordArea
from oncelog.records.validation import InvalidBatch, ValidatedBatch, validate_append

NOW = 1_700_000_000_000
HOUR = 3_600_000


def batch_of(*timestamps: int, key: bytes | None = b"k", value: bytes = b"v", **settings: Any) -> bytearray:
    builder = BatchBuilder()
    for timestamp in timestamps or (NOW,):
        builder.append(timestamp, key, value)
    return builder.build(**settings)


def with_header(batch: bytes | bytearray, **fields: int) -> bytes:
    area = bytes(batch[61:])
    return bytes(header_bytes(read_header(batch)._replace(**fields), area)) + area


def accepted(batch: bytes | bytearray, **settings: Any) -> ValidatedBatch:
    verdict = validate_append(batch, now_ms=NOW, **settings)
    assert isinstance(verdict, ValidatedBatch), verdict
    assert verify_crc(verdict.records)
    assert verdict.header == read_header(verdict.records)
    return verdict


def refused(batch: bytes | bytearray, **settings: Any) -> InvalidBatch:
    before = bytes(batch)
    verdict = validate_append(batch, now_ms=NOW, **settings)
    assert isinstance(verdict, InvalidBatch), verdict
    assert bytes(batch) == before
    return verdict


@pytest.mark.parametrize("codec", list(Compression))
def test_a_valid_batch_is_stored_unchanged(codec: Compression) -> None:
    batch = batch_of(NOW, NOW + 5, NOW - 5, compression=codec, producer_id=3, producer_epoch=0, base_sequence=9)
    verdict = accepted(memoryview(batch))  # type: ignore[arg-type]
    assert isinstance(verdict.records, memoryview)
    assert verdict.records == batch
    assert verdict.header.max_timestamp == NOW + 5


def test_offset_and_leader_epoch_are_assigned_without_a_new_crc() -> None:
    batch = batch_of()
    accepted(batch)
    set_base_offset_and_epoch(batch, 0, 777, 4)
    assert verify_crc(batch)
    batch[22] ^= 0x10
    assert not verify_crc(batch)


@pytest.mark.parametrize("codec", list(Compression))
def test_a_wrong_max_timestamp_is_corrected_with_a_new_crc(codec: Compression) -> None:
    lying = with_header(batch_of(NOW - 7, NOW - 3, compression=codec), max_timestamp=NOW + 99)
    verdict = accepted(lying)
    assert verdict.header.max_timestamp == NOW - 3
    assert read_header(lying).max_timestamp == NOW + 99


def test_a_batch_without_timestamps_has_no_largest_timestamp() -> None:
    verdict = accepted(with_header(batch_of(-1, -1), max_timestamp=5))
    assert verdict.header.max_timestamp == -1


@pytest.mark.parametrize("codec", list(Compression))
def test_log_append_time_sets_the_timestamps_of_the_batch(codec: Compression) -> None:
    verdict = accepted(batch_of(NOW - 10**9, 5, compression=codec), timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert verdict.header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert verdict.header.max_timestamp == NOW
    assert [record.timestamp for record in decode_records(verdict.records)] == [NOW, NOW]


def test_a_log_append_time_set_by_the_client_is_refused_on_a_log_append_time_topic() -> None:
    batch = batch_of(NOW, NOW)
    set_timestamps(batch, 0, TimestampType.LOG_APPEND_TIME, NOW)
    verdict = refused(batch, timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert verdict.error_code is Error.INVALID_TIMESTAMP
    assert [index for index, _ in verdict.record_errors] == [0, 1]


def test_a_log_append_time_set_by_the_client_becomes_create_time_on_a_create_time_topic() -> None:
    batch = batch_of(NOW, NOW)
    set_timestamps(batch, 0, TimestampType.LOG_APPEND_TIME, NOW + 5)
    verdict = accepted(batch)
    assert verdict.header.timestamp_type is TimestampType.CREATE_TIME
    assert verdict.header.max_timestamp == NOW + 5


def test_a_log_append_time_set_by_the_client_must_be_within_the_limits() -> None:
    batch = batch_of(NOW, NOW)
    set_timestamps(batch, 0, TimestampType.LOG_APPEND_TIME, NOW + 10**9)
    verdict = refused(batch)
    assert verdict.error_code is Error.INVALID_TIMESTAMP
    assert [index for index, _ in verdict.record_errors] == [0, 1]


# --- the envelope


def test_only_a_produce_with_exactly_one_batch_is_accepted() -> None:
    one = bytes(batch_of())
    for data in (b"", one[:16], one[:-1], one + one, one + b"\x00"):
        assert refused(data).error_code is Error.INVALID_RECORD


def test_only_record_format_2_is_accepted() -> None:
    for magic, error in ((0, 87), (1, 87), (3, 2), (-1, 2)):
        batch = batch_of()
        struct.pack_into(">b", batch, 16, magic)
        assert refused(batch).error_code == error


def test_base_offset_must_be_zero() -> None:
    assert refused(batch_of(base_offset=1)).error_code is Error.INVALID_RECORD


def test_a_batch_of_the_maximum_size_is_accepted_and_a_batch_one_byte_larger_refused() -> None:
    room = 1_048_588 - len(batch_of(value=b"x" * 1_000_000)) + 1_000_000
    assert len(batch_of(value=b"x" * room)) == 1_048_588
    accepted(batch_of(value=b"x" * room))
    verdict = refused(batch_of(value=b"x" * (room + 1)))
    assert verdict.error_code is Error.MESSAGE_TOO_LARGE
    assert "1048589" in verdict.message
    assert "1048588" in verdict.message


def test_a_batch_with_changed_bytes_is_corrupt() -> None:
    for position in (17, 22, 40, 61, -1):
        batch = batch_of()
        batch[position] ^= 4
        assert refused(batch).error_code is Error.CORRUPT_MESSAGE


def test_a_batch_with_a_length_below_a_header_is_corrupt() -> None:
    for length in (-(2**31), -1, 0, 13):
        batch = batch_of()
        struct.pack_into(">i", batch, 8, length)
        assert refused(batch).error_code is Error.CORRUPT_MESSAGE
    stub = batch_of()[:40]
    struct.pack_into(">i", stub, 8, 28)
    assert refused(stub).error_code is Error.CORRUPT_MESSAGE


# --- the header


@pytest.mark.parametrize(
    "fields",
    [
        {"records_count": 0},
        {"records_count": -1},
        {"records_count": 1},
        {"records_count": 3},
        {"last_offset_delta": 5},
        {"last_offset_delta": -1},
        {"records_count": 1, "last_offset_delta": 0},
        {"records_count": 3, "last_offset_delta": 2},
        {"records_count": 2**31 - 1, "last_offset_delta": 2**31 - 2},
    ],
)
def test_the_record_count_of_a_batch_must_be_correct(fields: dict[str, int]) -> None:
    assert refused(with_header(batch_of(NOW, NOW), **fields)).error_code is Error.INVALID_RECORD


def test_control_batch_from_a_client_is_refused() -> None:
    assert refused(encode_end_txn_marker(5, 0, 0, True, NOW)).error_code is Error.INVALID_RECORD


def test_a_batch_with_a_producer_id_needs_a_sequence() -> None:
    for sequence in (-1, -2):
        batch = batch_of(producer_id=5, producer_epoch=0, base_sequence=sequence)
        assert refused(batch).error_code is Error.INVALID_RECORD
    accepted(batch_of(producer_id=5, producer_epoch=0, base_sequence=0))
    accepted(batch_of())


@pytest.mark.parametrize("code", [5, 6, 7])
def test_a_batch_with_an_unknown_codec_is_unsupported(code: int) -> None:
    assert refused(with_header(batch_of(), attributes=code)).error_code is Error.UNSUPPORTED_COMPRESSION_TYPE


# --- records


@pytest.mark.parametrize("codec", list(Compression))
def test_records_without_key_are_refused_by_index_in_a_compacted_topic(codec: Compression) -> None:
    builder = BatchBuilder()
    for key in (b"a", None, b"", None):
        builder.append(NOW, key, b"v")
    batch = builder.build(compression=codec)
    accepted(batch)
    verdict = refused(batch, compacted=True)
    assert verdict.error_code is Error.INVALID_RECORD
    assert [index for index, _ in verdict.record_errors] == [1, 3]
    assert all("key" in message for _, message in verdict.record_errors)


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_timestamps_beyond_the_allowed_range_are_refused_by_index(codec: Compression) -> None:
    accepted(batch_of(NOW + HOUR, 0, -1, compression=codec))
    verdict = refused(batch_of(NOW, NOW + HOUR + 1, NOW, compression=codec))
    assert verdict.error_code is Error.INVALID_TIMESTAMP
    assert [index for index, _ in verdict.record_errors] == [1]
    assert str(NOW + HOUR + 1) in verdict.record_errors[0][1]
    limits = {"before_max_ms": 1000, "after_max_ms": 10}
    accepted(batch_of(NOW - 1000, NOW + 10, -1, compression=codec), **limits)
    verdict = refused(batch_of(NOW - 1001, NOW + 11, compression=codec), **limits)
    assert [index for index, _ in verdict.record_errors] == [0, 1]
    accepted(batch_of(NOW + 10**12, compression=codec), timestamp_type=TimestampType.LOG_APPEND_TIME, **limits)


def test_the_first_bad_record_determines_the_error_code() -> None:
    builder = BatchBuilder()
    builder.append(NOW + 2 * HOUR, b"k", None)
    builder.append(NOW, None, None)
    verdict = refused(builder.build(), compacted=True)
    assert verdict.error_code is Error.INVALID_TIMESTAMP
    assert [index for index, _ in verdict.record_errors] == [0, 1]


@pytest.mark.parametrize("codec", [codec for codec in Compression if codec])
def test_a_batch_that_cannot_be_decompressed_is_invalid(codec: Compression) -> None:
    junk = b"no codec writes this"
    header = BatchHeader(attributes=codec.value, records_count=1, base_timestamp=NOW, max_timestamp=NOW)
    assert refused(bytes(header_bytes(header, junk)) + junk).error_code is Error.INVALID_RECORD


def test_a_decompression_bomb_is_refused() -> None:
    packed = compress(Compression.ZSTD, bytes(50_000_000))
    header = BatchHeader(attributes=Compression.ZSTD.value, records_count=1, base_timestamp=NOW, max_timestamp=NOW)
    verdict = refused(bytes(header_bytes(header, packed)) + packed, max_unpacked_bytes=1_000_000)
    assert verdict.error_code is Error.MESSAGE_TOO_LARGE
    assert "limit" in verdict.message


@pytest.mark.parametrize("codec", list(Compression))
def test_wrong_offset_deltas_are_corrected(codec: Compression) -> None:
    rows = [(5, b"a"), (5, b"b"), (0, b"c")]
    area = b"".join(bytes([14, 0, 2 * 3, 2 * delta, 2]) + key + bytes([1, 0]) for delta, key in rows)
    packed = compress(codec, area)
    header = BatchHeader(
        attributes=codec.value,
        records_count=3,
        last_offset_delta=2,
        base_timestamp=NOW,
        producer_id=7,
        producer_epoch=1,
        base_sequence=2**31 - 2,
    )
    verdict = accepted(bytes(header_bytes(header, packed)) + packed)
    assert decode_records(verdict.records) == [
        Record(0, NOW + 3, b"a", None, (), 2**31 - 2),
        Record(1, NOW + 3, b"b", None, (), 2**31 - 1),
        Record(2, NOW + 3, b"c", None, (), 0),
    ]
    assert verdict.header.max_timestamp == NOW + 3


@pytest.mark.parametrize("source", list(Compression))
@pytest.mark.parametrize("target", list(Compression))
def test_a_batch_is_recompressed_with_the_topics_codec(source: Compression, target: Compression) -> None:
    batch = batch_of(
        NOW, NOW + 1, compression=source, producer_id=4, producer_epoch=2, base_sequence=8, transactional=True
    )
    verdict = accepted(batch, compression_type=target)
    assert verdict.header.compression is target
    assert verdict.header.is_transactional
    assert decode_records(verdict.records) == decode_records(batch)
    assert (verdict.records is batch) == (source is target)


def test_batch_that_grows_past_the_limit_when_compressed_again_is_refused() -> None:
    batch = batch_of(value=bytes(100_000), compression=Compression.ZSTD)
    assert len(batch) < 1000
    verdict = refused(batch, compression_type=Compression.NONE, max_message_bytes=50_000)
    assert verdict.error_code is Error.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
def test_a_batch_that_unpacks_to_far_more_than_max_message_bytes_is_too_large(codec: Compression) -> None:
    batch = batch_of(value=bytes(64 * 1024 * 1024), compression=codec)
    verdict = validate_append(batch, now_ms=NOW, max_message_bytes=10_000_000)
    assert isinstance(verdict, ValidatedBatch)
    assert refused(batch, max_message_bytes=len(batch)).error_code is Error.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", list(Compression))
def test_a_compressed_batch_has_no_record_above_the_limit(codec: Compression) -> None:
    """The limit is on a record as Kafka 4.4 stores it, without its length; it holds for compressed batches alone."""
    batch = batch_of(NOW, NOW, value=b"v" * 92, compression=codec)
    accepted(batch, max_record_bytes=100)
    if codec is Compression.NONE:
        accepted(batch, max_record_bytes=99)
    else:
        verdict = refused(batch, max_record_bytes=99)
        assert verdict.error_code is Error.INVALID_RECORD
        assert "100 bytes, max.decompressed.message.bytes allows 99" in verdict.message


def many_records(count: int, timestamp: int, *, key: bytes | None, deltas: bool = True) -> bytes:
    area = RecordArea()
    for _ in range(1000):
        area.append(timestamp, key, None, ())
    if deltas:
        for _ in range(count - 1000):
            area.append(timestamp, key, None, ())
        records = area.to_bytes()
    else:
        first = RecordArea()
        first.append(timestamp, key, None, ())
        records = first.to_bytes() * count
    batch = batch_of(timestamp)
    header = read_header(batch)._replace(
        attributes=Compression.ZSTD, records_count=count, last_offset_delta=count - 1, base_timestamp=timestamp
    )
    packed = compress(Compression.ZSTD, records)
    return bytes(header_bytes(header, packed)) + packed


def never_unpacked(*_: object) -> bytes:
    raise AssertionError("it was unpacked")


def test_records_over_the_limit_are_refused_before_decompression(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seven bytes are the minimum for each record that the header counts."""
    monkeypatch.setattr("cramjam.zstd.decompress", never_unpacked)
    monkeypatch.setattr("cramjam.zstd.decompress_into", never_unpacked)
    packed = zstandard.ZstdCompressor(write_content_size=False).compress(record(None) * 1000)
    counted = batch(records=packed, count=1000, attributes=ZSTD)
    verdict = refused(counted, max_unpacked_bytes=6_999)
    assert verdict.error_code is Error.MESSAGE_TOO_LARGE
    with pytest.raises(AssertionError, match="it was unpacked"):
        refused(counted, max_unpacked_bytes=7_000)


def test_zstd_that_declares_more_than_the_limit_is_refused_before_decompression(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cramjam.zstd.decompress_into", never_unpacked)
    declared = batch(records=zstandard.compress(record(bytes(100_000))), count=1, attributes=ZSTD)
    assert refused(declared, max_unpacked_bytes=50_000).error_code is Error.MESSAGE_TOO_LARGE


def test_the_list_of_refused_records_is_bounded() -> None:
    verdict = refused(many_records(5000, NOW, key=None), compacted=True)
    assert (verdict.error_code, len(verdict.record_errors)) == (Error.INVALID_RECORD, 1000)
    verdict = refused(many_records(5000, NOW + 2 * HOUR, key=b"k"))
    assert (verdict.error_code, len(verdict.record_errors)) == (Error.INVALID_TIMESTAMP, 1000)


def test_wrong_offset_deltas_are_corrected_up_to_a_bound() -> None:
    mended = accepted(many_records(2000, NOW, key=b"k", deltas=False))
    assert [record.offset for record in decode_records(mended.records)] == list(range(2000))
    assert refused(many_records(70_000, NOW, key=b"k", deltas=False)).error_code is Error.INVALID_RECORD
