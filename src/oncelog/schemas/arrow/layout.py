"""The plan that the decoder of Avro columns follows: the next bytes' type, and the column that receives the value.
Pure.

Built here from a column's type and by :mod:`oncelog.schemas.arrow.resolution`; the compiled decoder follows it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import pyarrow as pa

MAX_DEPTH = 200
"""The maximum nesting of a value that is skipped; the nesting of values that are read is that of the reader's schema.
"""
MAX_COLUMN_BYTES = 2**31 - 1
"""The maximum size of a text column, or of a list column's items: Arrow's offsets have 32 bits."""


class CellKind(IntEnum):
    """The memory layout of a column's cells."""

    BOOL = 0
    INT32 = 1
    INT64 = 2
    FLOAT32 = 3
    FLOAT64 = 4
    BYTES = 5
    DECIMAL = 6
    LIST = 7
    MAP = 8
    STRUCT = 9


@dataclass(eq=False, slots=True)
class Column:
    """A column of the reader's schema.

    :param children: the items of a list, key and value of a map, the fields of a struct.
    """

    kind: CellKind
    arrow_type: pa.DataType
    children: tuple[Column, ...] = ()


_KINDS = {
    pa.bool_(): CellKind.BOOL,
    pa.int32(): CellKind.INT32,
    pa.date32(): CellKind.INT32,
    pa.int64(): CellKind.INT64,
    pa.float32(): CellKind.FLOAT32,
    pa.float64(): CellKind.FLOAT64,
    pa.string(): CellKind.BYTES,
    pa.binary(): CellKind.BYTES,
}


def column_of(kind: pa.DataType) -> Column:
    """The column for an Arrow type that an Avro schema can map to."""
    if pa.types.is_struct(kind):
        return Column(CellKind.STRUCT, kind, tuple(column_of(one.type) for one in kind))
    if pa.types.is_list(kind):
        return Column(CellKind.LIST, kind, (column_of(kind.value_type),))
    if pa.types.is_map(kind):
        return Column(CellKind.MAP, kind, (column_of(kind.key_type), column_of(kind.item_type)))
    if pa.types.is_timestamp(kind):
        return Column(CellKind.INT64, kind)
    return Column(CellKind.DECIMAL if pa.types.is_decimal(kind) else _KINDS[kind], kind)


class ReadOp(IntEnum):
    """The operation of the decoder on the next bytes."""

    NULL = 0
    BOOL = 1
    INT = 2
    LONG = 3
    """``extra``: factor and divisor, and the width in bits of the writer's type."""
    WHOLE_TO_FLOAT = 4
    FLOAT = 5
    DOUBLE = 6
    BYTES = 7
    """``extra``: whether the bytes must be UTF-8."""
    FIXED = 8
    """``extra``: the number of bytes of the value."""
    REST = 9
    """All remaining bytes; ``extra``: whether they must be UTF-8."""
    ENUM = 10
    """``extra``: for each of the writer's symbols, the reader's symbol in UTF-8, or None if the reader has none."""
    DECIMAL = 11
    """``extra``: the number of bytes (-1: a length precedes them), and the reader's precision."""
    LIST = 12
    MAP = 13
    RECORD = 14
    UNION = 15
    MEMBER = 16
    """``extra``: the field of the column that receives the value; the other fields are null."""
    DEFAULT = 17
    """``extra``: the encoded default, which is read in place of a field that the writer lacks."""
    FAIL = 18
    """``extra``: why the value cannot be read."""
    SKIP_FIXED = 19
    SKIP_WHOLE = 20
    SKIP_BYTES = 21
    SKIP_RECORD = 22
    SKIP_LIST = 23
    SKIP_MAP = 24
    SKIP_UNION = 25


@dataclass(eq=False, slots=True)
class ReadStep:
    """One step of the decoder; the value goes to ``column``. The steps of a recursive type are recursive."""

    operation: ReadOp
    column: Column | None = None
    steps: list[ReadStep] = field(default_factory=list)
    extra: Any = None
