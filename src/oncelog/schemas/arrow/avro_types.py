"""The columns of an Avro schema: Spark's types for it, as ``from_avro`` has them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from oncelog.schemas.arrow.layout import CellKind, Column
from oncelog.schemas.avro.types import NULL, UNITS, NamedTypes, logical_type
from oncelog.schemas.schema_errors import SchemaError

MAX_PRECISION = 38
MAX_COLUMNS = 10_000
"""Limit for the columns of one schema, nested ones among them: a few lines of schema can double them repeatedly."""
_PLAIN = {
    "boolean": (CellKind.BOOL, pa.bool_()),
    "int": (CellKind.INT32, pa.int32()),
    "long": (CellKind.INT64, pa.int64()),
    "float": (CellKind.FLOAT32, pa.float32()),
    "double": (CellKind.FLOAT64, pa.float64()),
    "string": (CellKind.BYTES, pa.string()),
    "bytes": (CellKind.BYTES, pa.binary()),
    "fixed": (CellKind.BYTES, pa.binary()),
    "enum": (CellKind.BYTES, pa.string()),
}


class AvroTypes(NamedTypes):
    """The types of one schema, and their columns."""

    def column(self) -> Column:
        """The column of the schema.

        :raises SchemaError: a type contains itself, which no column can, or there are too many.
        """
        return _Columns(self).column(self.root, ())


class _Columns:
    def __init__(self, types: AvroTypes) -> None:
        self._types = types
        self._count = 0

    def column(self, schema: Any, around: tuple[str, ...]) -> Column:
        self._count += 1
        if self._count > MAX_COLUMNS:
            raise SchemaError(f"the schema has more than {MAX_COLUMNS} columns, nested ones among them")
        known = self._types.known(schema)
        if isinstance(known, list):
            return self._union(known, around)
        match known["type"]:
            case "record" | "error":
                return self._record(known, around)
            case "array":
                items = self.column(known["items"], around)
                return Column(CellKind.LIST, pa.list_(items.arrow_type), (items,))
            case "map":
                key, value = Column(CellKind.BYTES, pa.string()), self.column(known["values"], around)
                return Column(CellKind.MAP, pa.map_(pa.string(), value.arrow_type), (key, value))
            case "null":
                return Column(CellKind.BOOL, pa.bool_())  # Spark's tables take no column without a type
            case _:
                return Column(*kind_of(known))

    def _record(self, schema: Mapping[str, Any], around: tuple[str, ...]) -> Column:
        name = schema["name"]
        if name in around:
            raise SchemaError(f"the record {name} contains itself: Spark has no type for it")
        fields = [(one["name"], self.column(one["type"], (*around, name))) for one in schema["fields"]]
        return struct_of(fields)

    def _union(self, branches: list[Any], around: tuple[str, ...]) -> Column:
        kinds = [branch for branch in branches if self._types.known(branch) != NULL]
        if len(kinds) == 1:
            return self.column(kinds[0], around)
        plain = joined(self._types, kinds)
        if plain is not None:
            return Column(*_PLAIN[plain])
        return struct_of([(f"member{i}", self.column(kind, around)) for i, kind in enumerate(kinds)])


def joined(types: AvroTypes, kinds: list[Any]) -> str | None:
    """``long`` or ``double``, if a union has only integers, or only floating-point numbers."""
    plain = {known["type"] if isinstance(known, dict) and len(known) == 1 else "" for known in map(types.known, kinds)}
    return {frozenset(["int", "long"]): "long", frozenset(["float", "double"]): "double"}.get(frozenset(plain))


def struct_of(fields: list[tuple[str, Column]]) -> Column:
    kind = pa.struct([pa.field(name, column.arrow_type) for name, column in fields])
    return Column(CellKind.STRUCT, kind, tuple(column for _, column in fields))


def kind_of(schema: Mapping[str, Any]) -> tuple[CellKind, pa.DataType]:
    """The column of a type that contains no other type."""
    kind, logical = schema["type"], logical_type(schema)
    if logical == "date":
        return CellKind.INT32, pa.date32()
    if logical in UNITS and not logical.endswith("nanos"):  # Spark counts microseconds
        return CellKind.INT64, pa.timestamp("us", None if logical.startswith("local") else "UTC")
    precision = decimal_precision(schema)
    if precision is not None:
        return CellKind.DECIMAL, pa.decimal128(precision, schema.get("scale", 0))
    found: tuple[CellKind, pa.DataType] = _PLAIN[kind]
    return found


def decimal_precision(schema: Mapping[str, Any]) -> int | None:
    """The precision of a decimal number that a column can hold; None for other types, and for longer numbers."""
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if logical_type(schema) != "decimal":
        return None
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 < precision <= MAX_PRECISION:
        return None
    return precision if 0 <= scale <= precision else None
