"""Decodes Avro values to an Arrow array: with the compiled module, or row by row in Python. Called by
:mod:`oncelog.schemas.arrow.value_reading`.

Python decodes the values where the compiled module is missing, and where columns hold texts that only Python makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from oncelog.runtime.compiled import import_compiled
from oncelog.schemas.arrow.avro_types import AvroColumns, AvroTypes
from oncelog.schemas.arrow.fitting import Problems, fitting
from oncelog.schemas.arrow.layout import CellKind, Column, ReadStep, column_of
from oncelog.schemas.arrow.resolution import mismatches, resolve
from oncelog.schemas.avro import resolution
from oncelog.schemas.avro.values import ValueReader
from oncelog.schemas.framing import HEADER_BYTES
from oncelog.schemas.schema_errors import SchemaError, SchemaMismatch

compiled, _ = import_compiled("oncelog.schemas.arrow._columns")
"""The compiled module; None if it is not installed or ``ONCELOG_PURE`` is set."""


def decoder_of(types: AvroTypes, *, texts: bool = False) -> CompiledDecoder | RowDecoder:
    """The decoder to the columns of a reader's schema; ``texts`` as in :class:`AvroColumns`.

    :raises SchemaError: the schema has no columns.
    """
    columns = AvroColumns(types, texts=texts)
    return RowDecoder(types, columns) if compiled is None or columns.has_texts else CompiledDecoder(types, columns)


class RowDecoder:
    """Decodes values row by row in Python."""

    def __init__(self, types: AvroTypes, columns: AvroColumns) -> None:
        self._types, self._columns = types, columns
        self.arrow_type = columns.arrow_type

    def reading(self, writer: AvroTypes) -> ValueReader:
        """The entry of ``readings`` in :meth:`read` for values written with ``writer``.

        :raises SchemaMismatch: the schemas together are too large.
        """
        return ValueReader(resolution.resolve(writer, self._types), self._types, self._columns.form)

    def read(self, rows: list[bytes | None], readings: Mapping[bytes, Any]) -> tuple[pa.Array, Problems]:
        """Decode the values after the schema ids. The first five bytes of a value select its entry of ``readings``."""
        values: list[Any] = []
        problems: Problems = {}
        for number, row in enumerate(rows):
            value = None
            if row is not None:
                try:
                    value = self._columns.cell(readings[row[:HEADER_BYTES]].read(row[HEADER_BYTES:]))
                except SchemaError as error:
                    problems[number] = error
            values.append(value)
        found, unfit = fitting(values, lambda some: pa.array(some, self.arrow_type))
        return found, problems | unfit


class CompiledDecoder:
    """Reads with the compiled module, without an object for each value."""

    def __init__(self, types: AvroTypes, columns: AvroColumns) -> None:
        self._types, self._column = types, column_of(columns.arrow_type)
        self.arrow_type = columns.arrow_type
        self._mismatches: set[str] = set()
        """The messages of errors that mean that the reader's schema does not fit, rather than that bytes are
        malformed."""

    def reading(self, writer: AvroTypes) -> ReadStep:
        """The entry of ``readings`` in :meth:`read` for values written with ``writer``.

        :raises SchemaMismatch: the schemas together are too large.
        """
        found = resolve(writer, self._types, self._column)
        self._mismatches |= mismatches(found)
        return found

    def read(self, rows: list[bytes | None], readings: Mapping[bytes, Any]) -> tuple[pa.Array, Problems]:
        """Decode the values after the schema ids. The first five bytes of a value select its entry of ``readings``."""
        decoder = compiled.ColumnDecoder(self._column)
        steps = {head: decoder.compiled(step) for head, step in readings.items()}
        problems = decoder.read_rows(rows, steps)
        return array_of(self._column, decoder.cells()), {
            number: (SchemaMismatch if text in self._mismatches else SchemaError)(text)
            for number, text in problems.items()
        }


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
    """A bitmap of bytes that are each 0 or 1."""
    bytes_ = pa.Array.from_buffers(pa.int8(), len(memoryview(flags)), [None, pa.py_buffer(flags)])
    return bytes_.cast(pa.bool_()).buffers()[1]
