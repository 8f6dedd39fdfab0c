"""Avro values as an Arrow array: chooses the compiled decoder or its twin in Python, and makes arrays of its cells."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import pyarrow as pa

from oncelog.schemas.arrow import _python
from oncelog.schemas.arrow.layout import CellKind, Column


def _compiled() -> Any:
    if os.environ.get("ONCELOG_PURE", "") not in ("", "0"):
        return None
    try:
        return import_module("oncelog.schemas.arrow._columns")
    except ImportError:
        return None


compiled: Any = _compiled()
"""The compiled module, or None if it is not there or ``ONCELOG_PURE`` is set."""
ColumnDecoder: Any = _python.ColumnDecoder if compiled is None else compiled.ColumnDecoder


def array_of(column: Column, cells: dict[int, tuple[Any, Any, Any]]) -> pa.Array:
    """An array of the values that a decoder has read."""
    valid, offsets, data = cells[id(column)]
    length = len(valid)
    bitmap = _bits(valid) if 0 in valid else None
    children = [array_of(child, cells) for child in column.children]
    match column.kind:
        case CellKind.BOOL:
            buffers = [bitmap, _bits(data)]
        case CellKind.BYTES:
            buffers = [bitmap, pa.py_buffer(offsets), pa.py_buffer(data)]
        case CellKind.LIST:
            buffers = [bitmap, pa.py_buffer(offsets)]
        case CellKind.MAP:
            buffers = [bitmap, pa.py_buffer(offsets)]
            entries = column.arrow_type.key_field, column.arrow_type.item_field
            children = [pa.StructArray.from_arrays(children, fields=list(entries))]
        case CellKind.STRUCT:
            buffers = [bitmap]
        case _:
            buffers = [bitmap, pa.py_buffer(data)]
    return pa.Array.from_buffers(column.arrow_type, length, buffers, children=children)


def _bits(flags: Any) -> pa.Buffer | None:
    """One bit for each byte, which is 0 or 1."""
    bytes_ = pa.Array.from_buffers(pa.int8(), len(memoryview(flags)), [None, pa.py_buffer(flags)])
    return bytes_.cast(pa.bool_()).buffers()[1]
