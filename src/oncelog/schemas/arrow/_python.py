"""Decodes Avro into columns in plain Python: what the compiled decoder does, where it is not there.

Called by :mod:`oncelog.schemas.arrow.decoder`. A step of the layout becomes a function, a column lists of cells.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from typing import Any

from oncelog.errors import InvariantError
from oncelog.schemas.arrow.layout import MAX_COLUMN_BYTES, MAX_DEPTH, CellKind, Column, ReadOp, ReadStep
from oncelog.schemas.avro.source import AvroSource, check_boolean, check_text
from oncelog.schemas.avro.values import no_symbol
from oncelog.schemas.framing import HEADER_BYTES
from oncelog.schemas.schema_errors import SchemaError

_CODES = {CellKind.BOOL: "b", CellKind.INT32: "i", CellKind.INT64: "q", CellKind.FLOAT32: "f", CellKind.FLOAT64: "d"}
_FLOAT = struct.Struct("<f")
_DOUBLE = struct.Struct("<d")
DECIMAL_BYTES = 16
Read = Callable[["AvroSource"], None]


class _Cells:
    """The cells of one column, and of the columns inside it."""

    def __init__(self, column: Column) -> None:
        self.kind = column.kind
        self.children = [_Cells(child) for child in column.children]
        self.valid = bytearray()
        self.offsets = array("i", [0])
        self.data: Any = array(_CODES[column.kind]) if column.kind in _CODES else bytearray()

    def null(self) -> None:
        self.valid.append(0)
        match self.kind:
            case CellKind.BYTES | CellKind.LIST | CellKind.MAP:
                self.offsets.append(self.offsets[-1])
            case CellKind.STRUCT:
                for child in self.children:
                    child.null()
            case CellKind.DECIMAL:
                self.data.extend(bytes(DECIMAL_BYTES))
            case _:
                self.data.append(0)

    def put(self, value: Any) -> None:
        self.data.append(value)
        self.valid.append(1)

    def put_bytes(self, value: bytes) -> None:
        if len(self.data) + len(value) > MAX_COLUMN_BYTES:
            raise SchemaError("a column has no room for it: read fewer records at a time")
        self.data.extend(value)
        self.offsets.append(len(self.data))
        self.valid.append(1)

    def put_items(self) -> None:
        self.offsets.append(len(self.children[0].valid))
        self.valid.append(1)

    def cut(self, length: int) -> None:
        """Forget all cells but the first ones."""
        del self.valid[length:]
        match self.kind:
            case CellKind.BYTES:
                del self.offsets[length + 1 :]
                del self.data[self.offsets[-1] :]
            case CellKind.LIST | CellKind.MAP:
                del self.offsets[length + 1 :]
                for child in self.children:
                    child.cut(self.offsets[-1])
            case CellKind.STRUCT:
                for child in self.children:
                    child.cut(length)
            case CellKind.DECIMAL:
                del self.data[length * DECIMAL_BYTES :]
            case _:
                del self.data[length:]


class ColumnDecoder:
    """Values of one reader's schema, as they come.

    :param column: of the reader's schema.
    """

    def __init__(self, column: Column) -> None:
        self._column = column
        self._cells = _Cells(column)
        self._of = dict(_pairs(column, self._cells))

    def compiled(self, step: ReadStep) -> Read:
        """What :meth:`read` takes for values of one writer's schema."""
        return _StepFunctions(self._of).function(step)

    def read(self, data: bytes, position: int, read: Read) -> None:
        """Add a value.

        :raises SchemaError: the bytes do not fit; nothing is added.
        """
        length, source = len(self._cells.valid), AvroSource(data, position)
        try:
            read(source)
            if source.position != source.end:
                raise SchemaError(f"{source.end - source.position} bytes are left over")
        except SchemaError:
            self._cells.cut(length)
            raise

    def read_rows(self, rows: list[bytes | None], reads: dict[bytes, Read | str]) -> dict[int, str]:
        """Add values, each read as ``reads`` says for its first five bytes; returns why some are null.

        :param reads: what :meth:`compiled` has made, or why there is none.
        """
        problems = {}
        for number, row in enumerate(rows):
            read = None if row is None else reads[row[:HEADER_BYTES]]
            if row is None or read is None:
                self._cells.null()
                continue
            try:
                if isinstance(read, str):
                    raise SchemaError(read)
                self.read(row, HEADER_BYTES, read)
            except SchemaError as error:
                problems[number] = str(error)
                self._cells.null()
        return problems

    def null(self) -> None:
        """Add a value that is null."""
        self._cells.null()

    def cells(self) -> dict[int, tuple[Any, Any, Any]]:
        """By the id of each column: whether each cell has a value, a byte for each; offsets; values."""
        return {id(column): (cells.valid, cells.offsets, cells.data) for column, cells in self._of.items()}


def _pairs(column: Column, cells: _Cells) -> Any:
    yield column, cells
    for inner, of in zip(column.children, cells.children, strict=True):
        yield from _pairs(inner, of)


class _StepFunctions:
    """The functions for the steps of one writer's schema."""

    def __init__(self, of: dict[Column, _Cells]) -> None:
        self._of = of
        self._made: dict[int, Read] = {}

    def function(self, step: ReadStep) -> Read:
        found = self._made.get(id(step))
        if found is None:
            self._made[id(step)] = self._later(id(step))
            found = self._made[id(step)] = self._new(step)
        return found

    def _later(self, key: int) -> Read:
        """The function of a step that is still being made, because one of its own steps is the step itself."""
        return lambda source: self._made[key](source)

    def _new(self, step: ReadStep) -> Read:
        inner = [self.function(one) for one in step.steps]
        if step.operation is ReadOp.FAIL:
            return _failing(step.extra)
        if step.operation is ReadOp.UNION:
            return _union(inner)
        if step.operation is ReadOp.SKIP_FIXED:
            return _skip_fixed(step.extra)
        if step.operation in _SKIPPING:
            return _SKIPPING[step.operation](inner)
        if step.operation is ReadOp.DEFAULT:
            return lambda source: inner[0](AvroSource(step.extra))
        if step.column is None:
            raise InvariantError(f"the step {step.operation.name} has no column")
        cells = self._of[step.column]
        return (
            _NESTED[step.operation](step, cells, inner)
            if step.operation in _NESTED
            else _PLAIN[step.operation](cells, step.extra)
        )


def _failing(text: str) -> Read:
    def fail(source: AvroSource) -> None:
        raise SchemaError(text)

    return fail


def _union(inner: list[Read]) -> Read:
    def union(source: AvroSource) -> None:
        branch = source.whole()
        if not 0 <= branch < len(inner):
            raise SchemaError(f"a union has no branch {branch}")
        inner[branch](source)

    return union


def _record(step: ReadStep, cells: _Cells, inner: list[Read]) -> Read:
    def record(source: AvroSource) -> None:
        for read in inner:
            read(source)
        cells.valid.append(1)

    return record


def _items(step: ReadStep, cells: _Cells, inner: list[Read]) -> Read:
    def items(source: AvroSource) -> None:
        for count in source.counts():
            for _ in range(count):
                inner[0](source)
        cells.put_items()

    return items


def _entries(step: ReadStep, cells: _Cells, inner: list[Read]) -> Read:
    def entries(source: AvroSource) -> None:
        for count in source.counts():
            for _ in range(count):
                cells.children[0].put_bytes(check_text(source.take(source.whole())))
                inner[0](source)
        cells.put_items()

    return entries


def _member(step: ReadStep, cells: _Cells, inner: list[Read]) -> Read:
    def member(source: AvroSource) -> None:
        for i, child in enumerate(cells.children):
            if i == step.extra:
                inner[0](source)
            else:
                child.null()
        cells.valid.append(1)

    return member


_NESTED = {ReadOp.RECORD: _record, ReadOp.LIST: _items, ReadOp.MAP: _entries, ReadOp.MEMBER: _member}


def _longs(cells: _Cells, factor: int, divisor: int, bits: int) -> Read:
    return lambda source: cells.put(_scaled(source.whole(bits), factor, divisor))


def _bytes(cells: _Cells, is_text: bool) -> Read:
    if is_text:
        return lambda source: cells.put_bytes(check_text(source.take(source.whole())))
    return lambda source: cells.put_bytes(source.take(source.whole()))


def _decimal(cells: _Cells, size: int, precision: int) -> Read:
    limit = 10**precision

    def read(source: AvroSource) -> None:
        value = int.from_bytes(source.take(source.whole() if size < 0 else size), "big", signed=True)
        if not -limit < value < limit:
            raise SchemaError(f"a decimal number has more than {precision} digits")
        cells.data.extend(value.to_bytes(DECIMAL_BYTES, "little", signed=True))
        cells.valid.append(1)

    return read


def _skip_record(inner: list[Read]) -> Read:
    def record(source: AvroSource) -> None:
        source.depth += 1
        if source.depth > MAX_DEPTH:
            raise SchemaError(f"it is nested more than {MAX_DEPTH} levels deep")
        for skip in inner:
            skip(source)
        source.depth -= 1

    return record


def _skip_items(inner: list[Read]) -> Read:
    def items(source: AvroSource) -> None:
        for count in source.counts(sized=True):
            for _ in range(count):
                inner[0](source)

    return items


def _skip_entries(inner: list[Read]) -> Read:
    def entries(source: AvroSource) -> None:
        for count in source.counts(sized=True):
            for _ in range(count):
                source.take(source.whole())
                inner[0](source)

    return entries


def _skip_fixed(size: int) -> Read:
    return lambda source: _nothing(source.take(size))


def _skip_whole(source: AvroSource) -> None:
    source.whole()


def _skip_bytes(source: AvroSource) -> None:
    source.take(source.whole())


_SKIPPING: dict[ReadOp, Callable[[list[Read]], Read]] = {
    ReadOp.SKIP_WHOLE: lambda inner: _skip_whole,
    ReadOp.SKIP_BYTES: lambda inner: _skip_bytes,
    ReadOp.SKIP_RECORD: _skip_record,
    ReadOp.SKIP_LIST: _skip_items,
    ReadOp.SKIP_MAP: _skip_entries,
    ReadOp.SKIP_UNION: _union,
}


def _nothing(value: object) -> None:
    return


def _either(data: bytes, is_text: bool) -> bytes:
    return check_text(data) if is_text else data


def _symbol(symbols: tuple[bytes | None, ...], index: int) -> bytes:
    if not 0 <= index < len(symbols):
        raise SchemaError(f"an enum has no symbol {index}")
    symbol = symbols[index]
    if symbol is None:
        raise SchemaError(no_symbol(index))
    return symbol


def _scaled(value: int, factor: int, divisor: int) -> int:
    scaled = value * factor // divisor
    if not -(2**63) <= scaled < 2**63:
        raise SchemaError("a moment is out of range")
    return scaled


_PLAIN: dict[ReadOp, Callable[[_Cells, Any], Read]] = {
    ReadOp.NULL: lambda cells, extra: lambda source: cells.null(),
    ReadOp.BOOL: lambda cells, extra: lambda source: cells.put(check_boolean(source.take(1)[0])),
    ReadOp.INT: lambda cells, extra: lambda source: cells.put(source.whole(32)),
    ReadOp.LONG: lambda cells, extra: _longs(cells, *extra),
    ReadOp.WHOLE_TO_FLOAT: lambda cells, extra: lambda source: cells.put(source.whole(extra)),
    ReadOp.FLOAT: lambda cells, extra: lambda source: cells.put(_FLOAT.unpack(source.take(4))[0]),
    ReadOp.DOUBLE: lambda cells, extra: lambda source: cells.put(_DOUBLE.unpack(source.take(8))[0]),
    ReadOp.BYTES: _bytes,
    ReadOp.FIXED: lambda cells, extra: lambda source: cells.put_bytes(source.take(extra)),
    ReadOp.REST: lambda cells, extra: (
        lambda source: cells.put_bytes(_either(source.take(source.end - source.position), extra))
    ),
    ReadOp.ENUM: lambda cells, extra: lambda source: cells.put_bytes(_symbol(extra, source.whole(32))),
    ReadOp.DECIMAL: lambda cells, extra: _decimal(cells, *extra),
}
