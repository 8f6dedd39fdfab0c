"""Which twin is chosen, and that the compiled one checks the bounds of the buffers it is given."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from oncelog.records import _pure, native

CHOICE = "from oncelog.records import native; print(native.compiled is None, native.RecordArea.__module__)"


def chosen(environment: dict[str, str], code: str = CHOICE) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def test_the_environment_chooses_compiled_or_pure_code() -> None:
    assert chosen({"ONCELOG_PURE": "1"}) == "True oncelog.records._pure"
    assert chosen({"ONCELOG_PURE": "0"}) == "False oncelog.records._native"
    assert chosen({}) == "False oncelog.records._native"


def test_without_the_compiled_module_the_pure_code_is_used() -> None:
    assert (
        chosen({}, "import sys; sys.modules['oncelog.records._native'] = None; " + CHOICE)
        == "True oncelog.records._pure"
    )


@pytest.fixture
def module() -> Any:
    assert native.compiled is not None, "the compiled module is missing: pip install -e . --no-build-isolation"
    return native.compiled


def column(module: Any, offsets: list[int], data: bytes | None, rows: int | None = None, **settings: Any) -> Any:
    array = np.array(offsets, np.int32)
    count = len(offsets) - 1 if rows is None else rows
    return module.Column(
        array, data, settings.get("validity"), settings.get("wide", False), settings.get("first", 0), count
    )


def test_columns_shorter_than_their_rows_are_refused(module: Any) -> None:
    for wrong in (
        {"rows": 3},
        {"rows": -1},
        {"wide": True},
        {"first": 1},
        {"first": -1},
        {"first": 2**62},
        {"validity": b""},
    ):
        with pytest.raises(ValueError):
            column(module, [0, 1, 2], b"ab", **wrong)


@pytest.mark.parametrize("offsets", [[0, 3], [1, 0], [-1, 1], [2, 3], [0, 2**31 - 1], [-(2**31), 2**31 - 1]])
def test_offsets_outside_the_data_are_refused(module: Any, offsets: list[int]) -> None:
    bad = column(module, offsets, b"ab")
    with pytest.raises(ValueError):
        module.murmur2_rows(bad, np.empty(1, np.int32))
    encoder = module.RowEncoder(None, bad, np.zeros(1, np.int64), np.zeros(1, np.int64))
    with pytest.raises(ValueError):
        encoder.encode(0, 1, 100)


def test_rows_outside_a_column_are_refused(module: Any) -> None:
    value = column(module, [0, 1, 2], b"ab")
    short = column(module, [0, 1], b"a")
    for row in (-1, 2, 2**62):
        with pytest.raises(ValueError):
            module.RowEncoder(None, value, np.zeros(2, np.int64), np.array([row])).encode(0, 1, 100)
    with pytest.raises(ValueError):
        module.RowEncoder(short, value, np.zeros(2, np.int64), np.array([1])).encode(0, 1, 100)
    with pytest.raises(ValueError):
        module.RowEncoder(None, value, np.zeros(1, np.int64), np.array([0]))
    encoder = module.RowEncoder(None, value, np.zeros(2, np.int64), np.array([0, 1]))
    for start, stop in [(0, 3), (-1, 1), (1, 1), (2, 1)]:
        with pytest.raises(ValueError):
            encoder.encode(start, stop, 100)
    lists = column(module, [0, 1, 9], None)
    with pytest.raises(ValueError):
        module.RowEncoder(None, value, np.zeros(2, np.int64), np.array([1]), (lists, value, value)).encode(0, 1, 100)
    with pytest.raises(ValueError):
        module.murmur2_rows(value, np.empty(1, np.int32))


@pytest.mark.parametrize("wide", [False, True])
def test_invalid_prefetched_rows_are_refused_when_reached(module: Any, wide: bool) -> None:
    rows = 100
    offsets = np.arange(rows + 1, dtype=np.int64 if wide else np.int32)
    most = np.iinfo(np.int64 if wide else np.int32).max
    for bad in (-1, most, -most):
        for spoiled in (offsets.copy(), offsets.copy()[::-1].copy()):
            spoiled[rows // 2] = bad
            column = module.Column(spoiled, b"x" * rows, None, wide, 0, rows)
            for key in (None, column):
                encoder = module.RowEncoder(key, column, np.zeros(rows, np.int64), np.arange(rows))
                with pytest.raises(ValueError):
                    encoder.encode(0, rows, 1 << 20)
    good = module.Column(offsets, b"x" * rows, None, wide, 0, rows)
    for row in (-1, rows, 2**62, -(2**63)):
        order = np.arange(rows)
        order[-1] = row
        encoder = module.RowEncoder(good, good, np.zeros(rows, np.int64), order)
        with pytest.raises(ValueError, match=f"row {row} "):
            encoder.encode(0, rows, 1 << 20)


def outputs(module: Any, rows: int, size_bytes: int) -> tuple[Any, Any]:
    def one() -> Any:
        return module.BytesOutput(
            np.empty(rows + 1, np.int32), np.empty(size_bytes, np.uint8), np.zeros((rows + 7) // 8, np.uint8), False
        )

    return one(), one()


def test_outputs_without_room_are_refused(module: Any) -> None:
    area = native.RecordArea()
    for _ in range(20):
        area.append(0, b"key", b"value", [("h", b"x")])
    data = area.to_bytes()

    def decode(rows: int, size_bytes: int, fixed: int, headers: Any = None) -> None:
        keys, values = outputs(module, rows, size_bytes)
        columns = np.empty(fixed, np.int64), np.empty(fixed, np.int64)
        decoder = module.ColumnsDecoder(keys, values, *columns, headers, 0, 2**63 - 1)
        decoder.add(data, 20, 0, 19, 0, None)

    decode(24, 100, 20)
    for rows, size_bytes, fixed in [(16, 100, 20), (24, 99, 20), (24, 100, 19), (0, 0, 0)]:
        with pytest.raises(native.compiled.CorruptBatch, match="no room"):
            decode(rows, size_bytes, fixed)
    for lists, items, size_bytes in [(16, 24, 100), (24, 16, 100), (24, 24, 19)]:
        keys, values = outputs(module, items, size_bytes)
        headers = module.HeadersOutput(
            np.empty(lists + 1, np.int32), np.zeros((lists + 7) // 8, np.uint8), keys, values
        )
        with pytest.raises(native.compiled.CorruptBatch, match="no room"):
            decode(24, 100, 20, headers)
    with pytest.raises(ValueError):
        module.BytesOutput(np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0, np.uint8), False)
    with pytest.raises((ValueError, BufferError)):
        module.BytesOutput(b"read only", b"", b"", False)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_view_of_larger_elements_is_counted_by_its_bytes(module: Any, compiled: bool) -> None:
    area = (module if compiled else _pure).RecordArea()
    wide = memoryview(np.zeros(100, np.int64).data)
    assert area.append_rows(1000, 0, None, [b"first", wide, wide], None, 0) == 2
    assert area.append_rows(1000, 0, None, [wide], None, 0) == 0
    assert 800 < area.size_bytes < 1000
