"""The compiled codec and its twin give the same for any bytes: records, changed records, and noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oncelog.client.core.structs import ConsumerRecord
from oncelog.records import _pure, native
from oncelog.records.batch import (
    BatchHeader,
    Compression,
    CorruptBatch,
    Record,
    TimestampType,
    decode_records,
    decrement_sequence,
    encode_batch,
    header_bytes,
    increment_sequence,
    read_header,
    verify_crc,
)
from oncelog.records.control import parse_control
from oncelog.records.validation import InvalidBatch, ValidatedBatch, validate_append

INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
BYTES = st.none() | st.binary(max_size=20) | st.binary(min_size=60, max_size=200)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
HEADERS = st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=8)), max_size=3)
ROWS = st.lists(st.tuples(INT64, BYTES, BYTES, HEADERS), max_size=12)
EDGES = st.sampled_from([0, 1, 2, 3, 0x3F, 0x7E, 0x7F, 0x80, 0x81, 0xFE, 0xFF])
CHANGES = st.lists(st.tuples(st.integers(0, 10**6), EDGES | st.integers(0, 255)), max_size=4)


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    """The result, or the refusal and its message."""
    try:
        return call(*arguments)
    except CorruptBatch as refusal:
        return str(refusal)


def area_of(rows: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]]) -> bytes:
    area = _pure.RecordArea()
    for timestamp, key, value, headers in rows:
        area.append(timestamp, key, value, headers)
    return area.to_bytes()


@st.composite
def areas(draw: st.DrawFn) -> tuple[bytes, int]:
    """A record area that is right, changed in places, cut, lengthened, or noise; and a number of records."""
    rows = draw(ROWS)
    area = bytearray(area_of(rows))
    for position, byte in draw(CHANGES):
        if area:
            area[position % len(area)] = byte
    match draw(st.integers(0, 4)):
        case 0:
            del area[draw(st.integers(0, len(area))) :]
        case 1:
            area += draw(st.binary(max_size=12))
        case 2 if not rows:
            area = bytearray(draw(st.binary(max_size=80)))
        case _:
            pass
    count = len(rows) if draw(st.integers(0, 3)) else draw(st.sampled_from([0, 1, len(rows) + 1, 2**31 - 1, -1]))
    return bytes(area), count


@given(ROWS, st.none() | INT64)
def test_the_compiled_and_the_pure_record_area_write_the_same_bytes(
    rows: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]], base: int | None
) -> None:
    compiled, pure = native.RecordArea(base), _pure.RecordArea(base)
    for timestamp, key, value, headers in rows:
        delta = timestamp - (pure.base_timestamp if pure.count or base is not None else timestamp)
        size_bytes = _pure.record_size(pure.count, delta, key, value, headers)
        before = pure.size_bytes
        assert compiled.append(timestamp, key, value, headers) == pure.append(timestamp, key, value, headers)
        assert pure.size_bytes == before + size_bytes
    assert compiled.to_bytes() == pure.to_bytes()
    for field in ("base_timestamp", "max_timestamp", "count", "size_bytes"):
        assert getattr(compiled, field) == getattr(pure, field)


@settings(max_examples=600)
@given(areas(), INT64, st.booleans(), INT64, INT64)
@example((b"", 0), 0, False, 0, 0)
def test_compiled_and_pure_code_validate_batches_with_the_same_result(
    area: tuple[bytes, int], base: int, keys: bool, low: int, high: int
) -> None:
    data, count = area
    arguments = (data, count, base, keys, min(low, high), max(low, high))
    assert outcome(native.walk, *arguments) == outcome(_pure.walk, *arguments)


@settings(max_examples=600)
@given(areas(), INT64, INT64, INT32)
def test_compiled_and_pure_code_find_the_same_record(
    area: tuple[bytes, int], base: int, timestamp: int, first_delta: int
) -> None:
    data, count = area
    arguments = (data, count, base, timestamp, first_delta)
    found = outcome(native.seek, *arguments)
    assert found == outcome(_pure.seek, *arguments)
    decoded = outcome(_pure.decode, data, count, 0, None, base, -1, None)
    if not isinstance(decoded, str):
        both = [(record.offset, record.timestamp) for record in decoded]
        assert found == next((at for at in both if at[0] >= first_delta and at[1] >= timestamp), None)


@settings(max_examples=600)
@given(areas(), INT64, st.none() | INT32, INT64, st.integers(-1, 2**31 - 1), st.none() | INT64)
def test_compiled_and_pure_code_read_the_same_records(
    area: tuple[bytes, int], base_offset: int, last: int | None, base: int, sequence: int, date: int | None
) -> None:
    data, count = area
    arguments = (data, count, base_offset, last, base, sequence, date)
    compiled = outcome(native.decode, *arguments)
    assert compiled == outcome(_pure.decode, *arguments)
    if isinstance(compiled, list):
        assert all(type(record) is Record for record in compiled)


@given(st.binary(max_size=100))
def test_compiled_and_pure_code_compute_the_same_hash(key: bytes) -> None:
    assert native.murmur2(key) == _pure.murmur2(key)


@given(ROWS.filter(bool), st.sampled_from(Compression), st.integers(0, 2**40), st.integers(0, 2**31 - 1))
def test_records_are_unchanged_after_encoding_and_decoding_a_batch(
    rows: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]],
    codec: Compression,
    base_offset: int,
    sequence: int,
) -> None:
    records = [
        Record(base_offset + index, timestamp, key, value, tuple(headers), increment_sequence(sequence, index))
        for index, (timestamp, key, value, headers) in enumerate(rows)
    ]
    batch = encode_batch(
        records, base_offset=base_offset, compression=codec, producer_id=1, producer_epoch=0, base_sequence=sequence
    )
    assert decode_records(batch) == records


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_sequences_wrap_to_0_after_the_largest_number(sequence: int, step: int) -> None:
    after = increment_sequence(sequence, step)
    assert after == (sequence + step) % 2**31
    assert 0 <= after < 2**31
    assert decrement_sequence(after, step) == sequence


@settings(max_examples=400)
@given(areas(), st.sampled_from(Compression), st.booleans(), st.sampled_from(TimestampType), st.data())
def test_accepted_batches_are_sound_and_refused_ones_never_raise(
    area: tuple[bytes, int], codec: Compression, compacted: bool, timestamp_type: TimestampType, data: st.DataObject
) -> None:
    """Whatever a client sends with a correct CRC: accepted batches read back whole, numbered, with their true
    maximum.
    """
    records, count = area
    header = BatchHeader(
        attributes=codec.value | data.draw(st.sampled_from([0, 0, 0, 8, 16, 32, 64])),
        records_count=count,
        last_offset_delta=count - 1,
        base_timestamp=data.draw(st.sampled_from([0, 1000, -1, 2**62])),
        max_timestamp=data.draw(st.sampled_from([0, 1000, -1])),
        producer_id=data.draw(st.sampled_from([-1, 5])),
        base_sequence=data.draw(st.sampled_from([-1, 0, 2**31 - 1])),
    )
    batch = bytes(header_bytes(header, records)) + records
    verdict = validate_append(
        batch,
        now_ms=1000,
        compacted=compacted,
        timestamp_type=timestamp_type,
        after_max_ms=2**63 - 1,
        compression_type=data.draw(st.none() | st.sampled_from(Compression)),
    )
    if isinstance(verdict, InvalidBatch):
        assert verdict.message
        return
    assert isinstance(verdict, ValidatedBatch)
    stored = decode_records(verdict.records)
    assert [record.offset for record in stored] == list(range(count))
    # Kafka takes the batch's word where its client claims LogAppendTime on a CreateTime topic
    dated_by_client = header.attributes & 8 and timestamp_type is TimestampType.CREATE_TIME
    largest = header.max_timestamp if dated_by_client else max(-1, *(record.timestamp for record in stored))
    assert verdict.header.max_timestamp == largest
    assert not compacted or all(record.key is not None for record in stored)


@settings(max_examples=300)
@given(st.binary(max_size=150))
def test_random_bytes_are_refused_by_every_reader(noise: bytes) -> None:
    for reader in (decode_records, parse_control):
        assert isinstance(outcome(reader, noise), str)
    assert isinstance(validate_append(noise, now_ms=0), InvalidBatch)


@settings(max_examples=600)
@given(areas(), INT64, INT32, INT64, st.none() | INT64, st.integers(-1, 20) | INT64)
def test_compiled_and_pure_code_deliver_the_same_records(
    area: tuple[bytes, int], base_offset: int, last: int, base: int, date: int | None, first: int
) -> None:
    data, count = area
    arguments = (data, count, base_offset, last, base, date, first)
    columns = outcome(native.columns, *arguments)
    assert columns == outcome(_pure.columns, *arguments)
    named = (ConsumerRecord, "topic", 3, 1)
    records = outcome(native.consumer_records, *arguments, *named)
    assert records == outcome(_pure.consumer_records, *arguments, *named)
    if isinstance(records, list):
        assert all(type(record) is ConsumerRecord for record in records)
        assert [record.offset for record in records] == columns[0]
        decoded = outcome(_pure.decode, data, count, base_offset, last, base, -1, date)
        assert columns[0] == [record.offset for record in decoded if record.offset >= first]


@given(ROWS, st.integers(0, 600), st.booleans(), st.integers(0, 12))
def test_compiled_and_pure_code_fill_batches_up_to_the_same_row(
    rows: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]],
    limit: int,
    one_stamp: bool,
    start: int,
) -> None:
    timestamps: Any = 5 if one_stamp else [row[0] for row in rows]
    keys, values = [row[1] for row in rows], [row[2] for row in rows]
    headers: list[Any] = [row[3] or None for row in rows]
    start = min(start, len(rows))
    compiled, pure = native.RecordArea(), _pure.RecordArea()
    reached = compiled.append_rows(limit, timestamps, keys, values, headers, start)
    assert reached == pure.append_rows(limit, timestamps, keys, values, headers, start)
    assert compiled.to_bytes() == pure.to_bytes()
    assert reached > start or start == len(rows)
    assert reached == start + pure.count
    assert pure.count <= 1 or pure.size_bytes <= limit
    for timestamp, key, value, more in rows:
        within = compiled.append_within(limit, timestamp, key, value, more)
        assert within == pure.append_within(limit, timestamp, key, value, more)
        assert within <= limit
    assert compiled.to_bytes() == pure.to_bytes()
    assert (compiled.count, compiled.size_bytes) == (pure.count, pure.size_bytes)


INT16 = st.integers(-(2**15), 2**15 - 1)


@given(st.lists(st.tuples(BYTES, BYTES), max_size=300), st.tuples(INT64, INT16, INT64, INT16, INT64, INT32))
def test_compiled_and_pure_code_encode_the_same_batches_of_pairs(
    pairs: list[tuple[bytes | None, bytes | None]], fields: tuple[int, int, int, int, int, int]
) -> None:
    made = native.encode_pairs(pairs, *fields)
    assert made == _pure.encode_pairs(pairs, *fields)
    timestamp, attributes, producer_id, producer_epoch, base_offset, leader_epoch = fields
    verify_crc(made)
    header = read_header(made)
    assert header.attributes == attributes
    assert (header.base_offset, header.partition_leader_epoch) == (base_offset, leader_epoch)
    assert (header.producer_id, header.producer_epoch) == (producer_id, producer_epoch)
    assert (header.base_timestamp, header.max_timestamp) == (timestamp, timestamp)


@given(st.lists(st.tuples(st.integers(1, 5), INT64), min_size=1, max_size=5), st.integers(0, 2**40), INT32)
def test_compiled_and_pure_code_assign_the_same_offsets_to_consecutive_batches(
    batches: list[tuple[int, int]], base_offset: int, leader_epoch: int
) -> None:
    made = [encode_batch([Record(delta, time, b"k", None) for delta in range(count)]) for count, time in batches]
    compiled, pure = [bytearray(batch) for batch in made], [bytearray(batch) for batch in made]
    next_offsets, size_bytes, latest = native.assign_offsets(compiled, base_offset, leader_epoch)
    assert (next_offsets, size_bytes, latest) == _pure.assign_offsets(pure, base_offset, leader_epoch)
    assert compiled == pure
    assert size_bytes == sum(map(len, made))
    assert latest == max([-1, *(time for _, time in batches)])
    offset = base_offset
    for (count, _), batch, before, after in zip(batches, compiled, made, next_offsets, strict=True):
        verify_crc(batch)
        header = read_header(batch)
        assert header._replace(base_offset=0, partition_leader_epoch=-1) == read_header(before)
        assert (header.base_offset, header.partition_leader_epoch) == (offset, leader_epoch)
        offset += count
        assert after == offset


@pytest.mark.parametrize("codec", [native, _pure])
def test_a_batch_shorter_than_a_header_gets_no_offset(codec: Any) -> None:
    with pytest.raises(ValueError, match="60 bytes are shorter"):
        codec.assign_offsets([bytearray(60)], 0, 0)
    with pytest.raises((TypeError, BufferError)):
        codec.assign_offsets([bytes(61)], 0, 0)
