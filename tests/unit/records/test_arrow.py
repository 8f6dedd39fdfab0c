"""Batches to and from Arrow, with the compiled module and with its twin; both must give the same."""

from __future__ import annotations

import datetime
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from oncelog.records import arrow, native
from oncelog.records.arrow import (
    EncodedBatch,
    decode_to_arrow,
    encode_from_arrow,
    in_microseconds,
    partitions_of_keys,
    schema,
)
from oncelog.records.arrow_bounds import longest_bytes, longest_headers_bytes
from oncelog.records.batch import (
    BatchHeader,
    Compression,
    CorruptBatch,
    Record,
    TimestampType,
    decode_records,
    encode_batch,
    encode_empty_batch,
    header_bytes,
    read_header,
    set_timestamps,
    verify_crc,
)
from oncelog.records.control import encode_end_txn_marker
from oncelog.records.partitioner import partition_for_key
from tests.support.batches import stored_batches

T = 1_700_000_000_000


@pytest.fixture(autouse=True, params=["compiled", "twin"])
def implementation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    chosen: str = request.param
    if chosen == "twin":
        monkeypatch.setattr(arrow, "compiled", None)
    else:
        assert native.compiled is not None, "the compiled module is missing: pip install -e . --no-build-isolation"
    return chosen


def some_records(count: int, first_offset: int = 0, seed: int = 1) -> list[Record]:
    source = random.Random(seed)
    return [
        Record(
            first_offset + index,
            T + source.randint(-1000, 1000),
            None if source.random() < 0.3 else source.randbytes(source.choice([0, 5, 40])),
            None if source.random() < 0.3 else source.randbytes(source.choice([0, 9, 300])),
            tuple(
                (source.choice(["a", "größe"]), source.choice([None, b"", b"x"]))
                for _ in range(source.choice([0, 0, 2]))
            ),
        )
        for index in range(count)
    ]


def rows_of(table: pa.RecordBatch) -> list[tuple[Any, ...]]:
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    rows = []
    for row in table.to_pylist():
        headers = tuple((item["key"], item["value"]) for item in row.get("headers") or ())
        milliseconds = (row["timestamp"] - epoch) // datetime.timedelta(milliseconds=1)
        rows.append((row["offset"], milliseconds, row["key"], row["value"], headers))
    return rows


# --- to Arrow


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("codec", list(Compression))
def test_the_rows_of_an_arrow_table_equal_the_records(codec: Compression, large: bool) -> None:
    data, records = b"", []
    for number in range(4):
        part = [record._replace(headers=()) for record in some_records(50, 100 * number, number)]
        data += encode_batch(part, base_offset=100 * number, compression=codec)
        records += part
    table = decode_to_arrow(stored_batches(data), large=large)
    table.validate(full=True)
    assert table.schema == schema(large=large)
    assert rows_of(table) == [record[:5] for record in records]


def test_an_arrow_row_has_a_list_of_headers_or_null_without_headers() -> None:
    records = some_records(200)
    table = decode_to_arrow(stored_batches(encode_batch(records)), headers=True)
    table.validate(full=True)
    assert table.schema == schema(headers=True)
    assert rows_of(table) == [record[:5] for record in records]
    nulls = [row is None for row in table.column("headers").to_pylist()]
    assert nulls == [not record.headers for record in records]


def test_invalid_utf8_in_header_keys_is_replaced() -> None:
    area = bytes([20, 0, 0, 0, 1, 1, 2, 4, 0xFF, 0x41, 1])
    header = BatchHeader(records_count=1, base_timestamp=T)
    data = bytes(header_bytes(header, area)) + area
    table = decode_to_arrow(stored_batches(data), headers=True)
    assert table.column("headers").to_pylist() == [[{"key": "\ufffdA", "value": None}]]


def test_an_arrow_table_contains_only_offsets_in_the_requested_range() -> None:
    data = encode_batch(some_records(10)) + encode_batch(some_records(10, 10), base_offset=10)
    for start, end in [(0, 20), (3, 4), (5, 15), (10, 10), (19, 99), (50, 60)]:
        for headers in (False, True):
            table = decode_to_arrow(stored_batches(data), start_offset=start, end_offset=end, headers=headers)
            table.validate(full=True)
            assert table.column("offset").to_pylist() == [offset for offset in range(20) if start <= offset < end]


def test_control_batches_and_emptied_batches_become_no_rows() -> None:
    first, third = encode_batch(some_records(5)), encode_batch(some_records(5, 20), base_offset=20)
    emptied = encode_empty_batch(read_header(encode_batch(some_records(3, 10), base_offset=10)))
    data = first + encode_end_txn_marker(1, 0, 0, True, T, base_offset=5) + emptied + third
    batches = list(stored_batches(data))
    assert decode_to_arrow(batches).column("offset").to_pylist() == [0, 1, 2, 3, 4, 20, 21, 22, 23, 24]
    assert decode_to_arrow(batches[1:]).column("offset").to_pylist() == [20, 21, 22, 23, 24]
    nothing = decode_to_arrow([], headers=True)
    assert nothing.num_rows == 0
    assert nothing.schema == schema(headers=True)


def test_each_row_has_the_timestamp_type_of_its_batch() -> None:
    dated = bytearray(encode_batch(some_records(2)))
    set_timestamps(dated, 0, TimestampType.LOG_APPEND_TIME, T + 77)
    table = decode_to_arrow(stored_batches(bytes(dated) + encode_batch(some_records(1, 2), base_offset=2)))
    assert table.column("timestampType").to_pylist() == [1, 1, 0]
    assert [row[1] for row in rows_of(table)][:2] == [T + 77] * 2


def test_any_64_bit_timestamp_is_decoded_unchanged() -> None:
    largest = 2**63 - 1
    given = [largest, -largest - 1, largest // 1000, largest // 1000 + 1, -(largest // 1000), -1, 0, 1, T]
    records = [Record(offset, given_ms, None, None) for offset, given_ms in enumerate(given)]
    for some in (records, records[4:]):
        table = decode_to_arrow(stored_batches(encode_batch(some, base_offset=some[0].offset)))
        assert table.column("timestamp").cast(pa.int64()).to_pylist() == given[some[0].offset :]


def test_timestamps_that_do_not_fit_into_microseconds_become_null() -> None:
    held = [0, -1, T, 9_223_372_036_854_775, -9_223_372_036_854_775]
    beyond = [9_223_372_036_854_776, -9_223_372_036_854_776, T * 1_000_000, 2**63 - 1, -(2**63)]
    for given in ([], held, [*held, *beyond], beyond):
        column = pa.array([7, *given, 8], pa.timestamp("ms", "UTC")).slice(1, len(given))
        found = in_microseconds(column)
        assert found.type == pa.timestamp("us", "UTC")
        assert found.cast(pa.int64()).to_pylist() == [None if ms in beyond else ms * 1000 for ms in given]


def test_seconds_that_do_not_fit_into_kafkas_milliseconds_are_refused() -> None:
    value, destinations = pa.array([b"x", b"y"]), np.zeros(2, np.int64)
    for given, fits in (([2**63 // 1000 + 1, 0], False), ([-(2**62), None], False), ([2**63 // 1000, None], True)):
        timestamps = pa.array(given, pa.timestamp("s"))
        if not fits:
            with pytest.raises(ValueError, match="beyond 9223372036854775 s"):
                encode_from_arrow(value, destinations, timestamp=timestamps, default_timestamp_ms=0)
        else:
            (batch,) = encode_from_arrow(value, destinations, timestamp=timestamps, default_timestamp_ms=0)
            assert batch.max_timestamp == 9_223_372_036_854_775_000


def test_corrupt_batches_are_refused() -> None:
    data = bytearray(encode_batch(some_records(20)))
    data[-1] ^= 1
    with pytest.raises(CorruptBatch, match="CRC"):
        decode_to_arrow(stored_batches(data))
    area = bytes([14, 0, 0, 0, 8, 65, 1, 0])
    for count in (1, 2, 1000, 2**31 - 1, -5):
        hostile = header_bytes(BatchHeader(records_count=count, last_offset_delta=max(count - 1, 0)), area) + area
        with pytest.raises(CorruptBatch):
            decode_to_arrow(stored_batches(hostile))


# --- from Arrow


def decoded(batches: list[EncodedBatch]) -> dict[int, list[Record]]:
    found: dict[int, list[Record]] = {}
    for batch in batches:
        assert verify_crc(batch.data)
        header = read_header(batch.data)
        records = decode_records(batch.data)
        assert len(records) == header.records_count == batch.records_count
        assert header.max_timestamp == batch.max_timestamp == max(record.timestamp for record in records)
        assert (header.base_offset, header.producer_id, header.last_offset_delta) == (0, -1, len(records) - 1)
        found.setdefault(batch.destination, []).extend(records)
    return found


def test_an_arrow_column_keeps_no_more_memory_than_it_fills() -> None:
    """Keys are far smaller than the batches that they come in."""
    before = pa.total_allocated_bytes()
    table = decode_to_arrow(stored_batches(encode_batch([Record(0, T, b"key", b"x" * 1_000_000, (), -1)])))
    assert table["key"].to_pylist() == [b"key"]
    assert pa.total_allocated_bytes() - before < 1_100_000


def columns_of(records: list[Record]) -> dict[str, pa.Array]:
    lists = [[{"key": name, "value": content} for name, content in record.headers] or None for record in records]
    return {
        "key": pa.array([record.key for record in records], pa.binary()),
        "value": pa.array([record.value for record in records], pa.binary()),
        "timestamp": pa.array([record.timestamp for record in records], pa.timestamp("ms")),
        "headers": pa.array(lists, arrow.HEADERS_TYPE),
    }


def _encoded(value: pa.Array, destinations: Any, **settings: Any) -> list[arrow.EncodedBatch]:
    return list(encode_from_arrow(value, destinations, **settings))


@pytest.mark.parametrize("codec", list(Compression))
def test_each_partition_gets_its_rows_in_order(codec: Compression) -> None:
    records = some_records(500)
    destinations = np.array([index * 7 % 5 * 3 for index in range(500)])
    batches = _encoded(
        destinations=destinations,
        default_timestamp_ms=0,
        compression=codec,
        batch_size_bytes=5000,
        **columns_of(records),
    )
    found = decoded(batches)
    assert [batch.destination for batch in batches] == sorted(batch.destination for batch in batches)
    assert len(batches) > 5
    assert set(found) == {0, 3, 6, 9, 12}
    for destination, got in found.items():
        wanted = [record for record, number in zip(records, destinations, strict=True) if number == destination]
        assert [record[1:5] for record in got] == [record[1:5] for record in wanted]


def test_batches_respect_their_size_limit_but_hold_at_least_one_record() -> None:
    values = pa.array([b"x" * size for size in (100, 100, 100, 900, 10, 10)], pa.binary())
    batches = _encoded(values, np.zeros(6, np.int32), default_timestamp_ms=T, batch_size_bytes=330)
    assert [batch.records_count for batch in batches] == [3, 1, 2]
    assert all(len(batch.data) - 61 <= 330 for batch in batches if batch.records_count > 1)


def slices(make: Callable[[], pa.Array]) -> list[pa.Array]:
    whole = make()
    return [whole, whole[3:], whole[2:11], pa.concat_arrays([whole, whole])[13:]]


TEXTS = [None, "", "a", "größe", None, "bb" * 50, "c", "dd", "", "e", None, "f", "g" * 3, "h", "i"]
RAW = [None if word is None else word.encode() for word in TEXTS]
LAYOUTS: dict[str, Callable[[], pa.Array]] = {
    "binary": lambda: pa.array(RAW, pa.binary()),
    "large_binary": lambda: pa.array(RAW, pa.large_binary()),
    "string": lambda: pa.array(TEXTS, pa.string()),
    "large_string": lambda: pa.array(TEXTS, pa.large_string()),
    "binary_view": lambda: pa.array(RAW, pa.binary_view()),
    "string_view": lambda: pa.array(TEXTS, pa.string_view()),
    "dictionary": lambda: pa.array(TEXTS, pa.string()).dictionary_encode(),
    "fixed": lambda: pa.array([None, b"abcd"] * 8, pa.binary(4)),
    "null": lambda: pa.nulls(15),
    "no nulls": lambda: pa.array([b"x"] * 15, pa.binary()),
    "empty strings": lambda: pa.array([b""] * 15, pa.binary()),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_byte_columns_of_every_arrow_layout_and_slice_are_read(layout: str) -> None:
    for array in slices(LAYOUTS[layout]):
        wanted = [word.encode() if isinstance(word, str) else word for word in array.to_pylist()]
        batches = _encoded(array, np.zeros(len(array), np.int64), key=array, default_timestamp_ms=T)
        assert [(record.key, record.value) for record in decoded(batches)[0]] == [(word, word) for word in wanted]
        partitions = [-1 if word is None else partition_for_key(word, 11) for word in wanted]
        assert partitions_of_keys(array, 11).tolist() == partitions


def test_a_slice_of_a_headers_column_is_read() -> None:
    lists = [[{"key": f"k{i}", "value": None if i % 3 else b"v%d" % i}] * (i % 4) or None for i in range(20)]
    whole = pa.array(lists, arrow.HEADERS_TYPE)
    wide = whole.cast(pa.large_list(pa.struct([("key", pa.large_string()), ("value", pa.large_binary())])))
    texts = whole.cast(pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())])))
    values = pa.array([b"v"] * 20, pa.binary())
    for array in (whole, wide, texts):
        for start, stop in [(0, 20), (3, 20), (5, 9), (7, 7)]:
            part = array[start:stop]
            batches = _encoded(
                values[start:stop], np.zeros(stop - start, np.int64), headers=part, default_timestamp_ms=T
            )
            wanted = [
                tuple((item["key"], item["value"]) for item in row or ()) for row in whole[start:stop].to_pylist()
            ]
            assert [record.headers for record in decoded(batches).get(0, [])] == wanted


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.large_string()])
def test_headers_of_rows_may_be_maps(kind: pa.DataType, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiled:
        monkeypatch.setattr(arrow, "compiled", None)
    rows = [[("a", b"1"), ("größe", None)], None, [], [("", b"")], [(f"k{n}", b"%d" % n) for n in range(50)]]
    maps = pa.array(rows, pa.map_(pa.string(), pa.binary())).cast(pa.map_(pa.string(), kind))
    values = pa.array([b"v"] * len(rows), pa.binary())
    for start, stop in [(0, 5), (1, 5), (3, 4), (2, 2)]:
        part, zeros = maps[start:stop], np.zeros(stop - start, np.int64)
        batches = encode_from_arrow(values[start:stop], zeros, headers=part, default_timestamp_ms=T)
        found = [record.headers for batch in batches for record in decode_records(batch.data)]
        assert found == [tuple(row or ()) for row in rows[start:stop]]


def test_a_headers_key_and_value_are_found_by_name_and_not_by_order() -> None:
    kind = pa.list_(pa.struct([("value", pa.binary()), ("key", pa.string())]))
    array = pa.array([[{"key": "name", "value": b"content"}]], kind)
    batches = _encoded(pa.array([b"v"]), np.zeros(1, np.int64), headers=array, default_timestamp_ms=T)
    assert [record.headers for record in decoded(batches)[0]] == [(("name", b"content"),)]
    other = pa.array([[{"name": "n", "value": b"c"}]])
    with pytest.raises(ValueError, match="structs of key and value"):
        _encoded(pa.array([b"v"]), np.zeros(1, np.int64), headers=other, default_timestamp_ms=T)


def test_encoding_a_slice_checks_only_the_nulls_of_that_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large table is sent slice by slice: otherwise each slice would cost as much as the whole."""
    keys = pa.array([None, b"a", b"b"] * 100_000, pa.binary())
    looked_at: list[int] = []
    unpackbits = np.unpackbits

    def counted(bits: Any, **settings: Any) -> Any:
        looked_at.append(len(bits))
        return unpackbits(bits, **settings)

    monkeypatch.setattr(np, "unpackbits", counted)
    assert (partitions_of_keys(keys[150_001:150_011], 7) == -1).tolist() == [n % 3 == 2 for n in range(10)]
    assert looked_at == [2]


@pytest.mark.parametrize(("unit", "scale"), [("s", 0.001), ("ms", 1), ("us", 1000), ("ns", 1_000_000)])
def test_timestamps_of_every_unit_become_milliseconds_rounded_down(unit: str, scale: float) -> None:
    raw = [int(T * scale), None, int(-5000 * scale), int(T * scale) - (1 if scale > 1 else 0)]
    array = pa.array(raw, pa.timestamp(unit, tz="UTC" if unit == "us" else None))
    batches = _encoded(pa.nulls(4, pa.binary()), np.zeros(4, np.int8), timestamp=array, default_timestamp_ms=7)
    last = T - 1 if scale > 1 else T
    assert [record.timestamp for record in decoded(batches)[0]] == [T, 7, -5000, last]


def test_wrong_arguments_are_refused() -> None:
    values = pa.array([b"a", b"b"])
    zeros = np.zeros(2, np.int64)
    assert list(encode_from_arrow(values[:0], zeros[:0], default_timestamp_ms=T)) == []
    with pytest.raises(ValueError, match="1 rows"):
        encode_from_arrow(values, zeros[:1], default_timestamp_ms=T)
    with pytest.raises(ValueError, match="1 rows"):
        encode_from_arrow(values, zeros, key=values[:1], default_timestamp_ms=T)
    with pytest.raises(ValueError, match="destination"):
        encode_from_arrow(values, np.array([0, -1]), default_timestamp_ms=T)
    with pytest.raises(ValueError, match="int64"):
        encode_from_arrow(pa.array([1, 2]), zeros, default_timestamp_ms=T)
    with pytest.raises(ValueError, match="timestamp"):
        encode_from_arrow(values, zeros, timestamp=pa.array([1, 2]), default_timestamp_ms=T)
    with pytest.raises(ValueError, match="must be maps, or lists of structs"):
        encode_from_arrow(values, zeros, headers=values, default_timestamp_ms=T)
    keyless = pa.array([[{"key": None, "value": b"x"}], None], arrow.HEADERS_TYPE)
    with pytest.raises(ValueError, match="needs a key"):
        encode_from_arrow(values, zeros, headers=keyless, default_timestamp_ms=T)
    missing = pa.array([[None], None], arrow.HEADERS_TYPE)
    with pytest.raises(ValueError, match="needs a key"):
        encode_from_arrow(values, zeros, headers=missing, default_timestamp_ms=T)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_size_of_the_longest_row_is_never_underestimated(layout: str) -> None:
    for array in slices(LAYOUTS[layout]):
        bound = longest_bytes(pa.chunked_array([array, array[:1]]))
        longest = max((len(word) for word in array.cast(pa.binary()).to_pylist() if word is not None), default=0)
        assert bound is not None
        assert bound == longest if layout not in ("fixed", "dictionary") else bound >= longest
    assert longest_bytes(pa.array([1, 2])) is longest_bytes(pa.array([1, 2]).dictionary_encode()) is None


def test_the_size_of_the_longest_headers_is_never_underestimated() -> None:
    lists = [[{"key": "k" * i, "value": b"v" * (9 - i)}] * (i % 4) or None for i in range(9)]
    whole = pa.array(lists, arrow.HEADERS_TYPE)
    for array in (whole, whole[3:], whole[8:], whole[9:]):
        records = decoded(
            _encoded(pa.nulls(len(array)), np.zeros(len(array), np.int8), headers=array, default_timestamp_ms=T)
        )
        sizes = [len(name) + len(content or b"") for found in records.get(0, ()) for name, content in found.headers]
        bound = longest_headers_bytes(pa.chunked_array([array]))
        assert bound is not None
        assert bound >= max(sizes, default=0) * 3 * bool(len(array) > 8)


def test_rows_survive_encoding_and_decoding() -> None:
    records = some_records(300, seed=9)
    batches = _encoded(
        destinations=np.zeros(300, np.int64), default_timestamp_ms=0, compression=Compression.LZ4, **columns_of(records)
    )
    table = decode_to_arrow(stored_batches(b"".join(batch.data for batch in batches)), headers=True)
    assert rows_of(table) == [record[:5] for record in records]


WITHOUT_PANDAS = """
import sys
import numpy as np
import pyarrow as pa
from oncelog.records.arrow import BatchBytes, decode_to_arrow, encode_from_arrow, partitions_of_keys
from oncelog.records.batch import iter_headers

def column(kind, *buffers):
    return pa.Array.from_buffers(kind, 2, [None if item is None else pa.py_buffer(item) for item in buffers])

value = column(pa.binary(), None, np.array([0, 1, 2], np.int32), b"ab")
key = column(pa.binary(), b"\\x01", np.array([0, 1, 1], np.int32), b"k")
times = column(pa.timestamp("us"), b"\\x01", np.array([5000, 0], np.int64))
destinations = partitions_of_keys(key, 3) % 1
encoded = encode_from_arrow(value, destinations, key=key, timestamp=times, default_timestamp_ms=7)
(batch,) = [BatchBytes(item.data, *found) for item in encoded for found in iter_headers(item.data)]
table = decode_to_arrow([batch])
assert table["value"].to_pylist() == [b"a", b"b"]
assert table["key"].to_pylist() == [b"k", None]
assert table["timestamp"].cast(pa.int64()).to_pylist() == [5, 7]
sys.exit("pandas" in sys.modules)
"""


def test_encoding_and_decoding_arrow_does_not_import_pandas() -> None:
    """pyarrow imports it if it can, which takes as long as two million records."""
    pytest.importorskip("pandas")
    subprocess.run([sys.executable, "-c", WITHOUT_PANDAS], check=True, timeout=60)
