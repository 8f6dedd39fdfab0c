"""Arrow in and out gives the same with and without the compiled module, for any records and for changed bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.records import native
from oncelog.records.arrow import HEADERS_TYPE, decode_to_arrow, encode_from_arrow
from oncelog.records.batch import BatchHeader, Compression, CorruptBatch, Record, encode_batch, header_bytes
from tests.support.batches import stored_batches

INT64 = st.integers(-(2**63), 2**63 - 1)
BYTES = st.none() | st.binary(max_size=12) | st.binary(min_size=60, max_size=90)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
HEADERS = st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=6)), max_size=2)
ROWS = st.lists(st.tuples(INT64, BYTES, BYTES, HEADERS), min_size=1, max_size=10)
CHANGES = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=3)


@contextmanager
def twin() -> Iterator[None]:
    assert native.compiled is not None, "the compiled module is missing: pip install -e . --no-build-isolation"
    with mock.patch("oncelog.records.arrow.compiled", None):
        yield


def decoded(data: bytes, **settings: Any) -> pa.RecordBatch | None:
    try:
        table = decode_to_arrow(stored_batches(data), **settings)
    except CorruptBatch:
        return None
    table.validate(full=True)
    return table


@settings(max_examples=400)
@given(st.lists(ROWS, min_size=1, max_size=3), CHANGES, st.integers(0, 40), st.integers(0, 40), st.booleans())
def test_compiled_and_pure_code_decode_the_same_columns(
    batches: list[list[Any]], changes: list[tuple[int, int]], start: int, end: int, headers: bool
) -> None:
    data = b""
    offset = 0
    for rows in batches:
        records = [Record(offset + i, time, k, v, tuple(h)) for i, (time, k, v, h) in enumerate(rows)]
        batch = encode_batch(records, base_offset=offset)
        area = bytearray(batch[61:])
        for position, byte in changes:
            area[position % len(area)] = byte
        header = BatchHeader(
            base_offset=offset,
            records_count=len(rows),
            last_offset_delta=len(rows) - 1,
            base_timestamp=rows[0][0],
            attributes=8 * (offset % 2),
        )
        data += bytes(header_bytes(header, area)) + area
        offset += len(rows)
    arguments = {"start_offset": start, "end_offset": end, "headers": headers}
    compiled = decoded(data, **arguments)
    with twin():
        pure = decoded(data, **arguments)
    assert (compiled is None) == (pure is None)
    if compiled is not None:
        assert compiled.equals(pure)


@settings(max_examples=200)
@given(ROWS, st.data(), st.integers(0, 400), st.sampled_from(Compression))
def test_compiled_and_pure_code_encode_the_same_batches(
    rows: list[Any], data: st.DataObject, limit: int, codec: Compression
) -> None:
    start = data.draw(st.integers(0, len(rows)))
    lists = [[{"key": name, "value": content} for name, content in headers] or None for _, _, _, headers in rows]
    destinations = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))))
    arguments = {
        "key": pa.array([key for _, key, _, _ in rows], pa.binary())[start:],
        "timestamp": pa.array([time for time, _, _, _ in rows], pa.timestamp("ms"))[start:],
        "headers": pa.array(lists, HEADERS_TYPE)[start:],
        "default_timestamp_ms": 5,
        "compression": codec,
        "batch_size_bytes": limit,
    }
    value = pa.array([value for _, _, value, _ in rows], pa.binary())[start:]
    compiled = list(encode_from_arrow(value, destinations[start:], **arguments))
    with twin():
        pure = list(encode_from_arrow(value, destinations[start:], **arguments))
    assert compiled == pure
    assert sum(batch.records_count for batch in compiled) == len(rows) - start
