"""The Arrow types of an Avro schema, and the conversion of Python values to cells of these types. Pure.

There are two mappings: to Spark's types, as in ``from_avro``; and to types for files, in which a union of several
types, a recursive type, and others that a file cannot express become text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from oncelog.runtime import real_json as json
from oncelog.schemas.arrow.layout import Column, column_of
from oncelog.schemas.avro.types import UNITS, NamedTypes, branch_name, logical_type
from oncelog.schemas.avro.values import EXACT, RAW, Form, decimal_of, time_of
from oncelog.schemas.avro_json import AvroJson
from oncelog.schemas.schema_errors import SchemaError

MAX_PRECISION = 38
MAX_COLUMNS = 10_000
"""The maximum number of a schema's columns, nested ones included: a few lines of schema can double them repeatedly."""
_PLAIN = {
    "null": pa.bool_(),  # any type will do for nulls: Spark's tables take no column of type void
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "fixed": pa.binary(),
    "enum": pa.string(),
}
_MOMENTS = range(-(2**63), 2**63)


class Shape(NamedTuple):
    """A column's Arrow type, and a function that converts a value other than null to a cell of the column."""

    arrow_type: pa.DataType
    take: Callable[[Any], Any]

    def cell(self, value: Any) -> Any:
        return None if value is None else self.take(value)


class AvroTypes(NamedTypes):
    """The types of one Avro schema, and the column that they map to."""

    def column(self) -> Column:
        """The column that the schema maps to, with Spark's types.

        :raises SchemaError: a type contains itself, which no column can, or there are too many columns.
        """
        return column_of(AvroColumns(self).arrow_type)


class AvroColumns:
    """The columns of an Avro schema.

    :param texts: a type that a file cannot express becomes text, JSON for most; otherwise the types are Spark's.
    :ivar form: the form of the values that :attr:`cell` accepts.
    :ivar has_texts: whether a column contains such text, which only Python can produce.
    :raises SchemaError: there are too many columns, or a type contains itself and ``texts`` is not set.
    """

    def __init__(self, types: AvroTypes, *, texts: bool = False) -> None:
        self._types = types
        self._texts = texts
        self._json = AvroJson(types)
        self._count = 0
        self.has_texts = False
        self.form: Form = EXACT if texts else RAW
        shape = self._of(types.root, ())
        self.arrow_type, self.cell = shape.arrow_type, shape.cell

    def _of(self, schema: Any, around: tuple[str, ...]) -> Shape:
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
                item = self._of(known["items"], around)
                return Shape(pa.list_(item.arrow_type), lambda value: [item.cell(one) for one in value])
            case "map":
                inner = self._of(known["values"], around)
                return Shape(
                    pa.map_(pa.string(), inner.arrow_type),
                    lambda value: [(name, inner.cell(one)) for name, one in value.items()],
                )
        return self._plain(known)

    def _record(self, schema: Mapping[str, Any], around: tuple[str, ...]) -> Shape:
        name = schema["name"]
        if self._texts and (name in around or not schema["fields"]):
            return self._as_json(schema)
        if name in around:
            raise SchemaError(f"the record {name} contains itself: Spark has no type for it")
        fields = {one["name"]: self._of(one["type"], (*around, name)) for one in schema["fields"]}
        return Shape(_struct(fields), lambda value: {name: shape.cell(value[name]) for name, shape in fields.items()})

    def _union(self, branches: list[Any], around: tuple[str, ...]) -> Shape:
        kinds = self._types.kinds(branches)
        if len(kinds) == 1:
            return self._of(kinds[0], around)
        if self._texts:
            return self._as_json(branches)
        plain = joined(self._types, kinds)
        if plain is not None:
            return Shape(_PLAIN[plain], lambda pair: pair[1])
        members = {f"member{i}": self._of(kind, around) for i, kind in enumerate(kinds)}
        of_branch = {branch_name(kind): name for kind, name in zip(kinds, members, strict=True)}
        return Shape(_struct(members), lambda pair: {of_branch[pair[0]]: members[of_branch[pair[0]]].cell(pair[1])})

    def _plain(self, schema: Mapping[str, Any]) -> Shape:
        """The column of a type that contains no other type."""
        kind, logical = schema["type"], logical_type(schema)
        if self._texts and kind == "null":
            return Shape(pa.string(), _unchanged)
        if self._texts and logical in ("time-millis", "time-micros", "uuid"):
            factor = 1000 if logical == "time-millis" else 1
            return self._text(str if logical == "uuid" else lambda value: time_of(value * factor).isoformat())
        if logical == "date":
            return Shape(pa.date32(), _unchanged)
        if logical in UNITS and not logical.endswith("nanos"):  # Spark counts microseconds
            return Shape(pa.timestamp("us", None if logical.startswith("local") else "UTC"), _moment)
        precision = decimal_precision(schema)
        if precision is not None:
            take = _unchanged if self._texts else _decimal(precision, schema.get("scale", 0))
            return Shape(pa.decimal128(precision, schema.get("scale", 0)), take)
        if self._texts and logical == "decimal":
            return self._text(str)
        return Shape(_PLAIN[kind], _moment if kind == "long" else _unchanged)

    def _as_json(self, schema: Any) -> Shape:
        return self._text(lambda value: json.dumps(self._json.shown_as(schema, value), ensure_ascii=False))

    def _text(self, take: Callable[[Any], str]) -> Shape:
        self.has_texts = True
        return Shape(pa.string(), take)


def _unchanged(value: Any) -> Any:
    return value


def _moment(value: int) -> int:
    if value not in _MOMENTS:
        raise SchemaError("a moment is out of range")
    return value


def _decimal(precision: int, scale: int) -> Callable[[bytes], Any]:
    limit, convert = 10**precision, decimal_of(scale)

    def take(data: bytes) -> Any:
        if not -limit < int.from_bytes(data, "big", signed=True) < limit:
            raise SchemaError(f"a decimal number has more than {precision} digits")
        return convert(data)

    return take


def joined(types: AvroTypes, kinds: list[Any]) -> str | None:
    """``long`` if a union consists of integer types only, ``double`` if of floating-point types only; otherwise
    None."""
    plain = {known["type"] if isinstance(known, dict) and len(known) == 1 else "" for known in map(types.known, kinds)}
    return {frozenset(["int", "long"]): "long", frozenset(["float", "double"]): "double"}.get(frozenset(plain))


def _struct(fields: Mapping[str, Shape]) -> pa.StructType:
    return pa.struct([pa.field(name, shape.arrow_type) for name, shape in fields.items()])


def decimal_precision(schema: Mapping[str, Any]) -> int | None:
    """The precision of a decimal number that a column can hold; None for other types, and for longer numbers."""
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if logical_type(schema) != "decimal":
        return None
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 < precision <= MAX_PRECISION:
        return None
    return precision if 0 <= scale <= precision else None
