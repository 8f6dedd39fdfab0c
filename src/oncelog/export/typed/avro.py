"""The shape of an Avro schema, for values as fastavro reads them. Pure."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from oncelog.export.typed.shape import AS_JSON, Shape, listed, mapped, plain, struct

_PRIMITIVES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL = {
    ("int", "date"): plain(pa.date32()),
    ("long", "timestamp-millis"): plain(pa.timestamp("us", "UTC")),
    ("long", "timestamp-micros"): plain(pa.timestamp("us", "UTC")),
    ("long", "local-timestamp-millis"): plain(pa.timestamp("us")),
    ("long", "local-timestamp-micros"): plain(pa.timestamp("us")),
    ("int", "time-millis"): Shape(pa.string(), lambda value: value.isoformat()),
    ("long", "time-micros"): Shape(pa.string(), lambda value: value.isoformat()),
    ("string", "uuid"): Shape(pa.string(), str),
}
_MAX_DIGITS = 38


def avro_shape(parsed: Any) -> Shape:
    """:param parsed: a schema as fastavro has parsed it."""
    return _Shapes().of(parsed, ())


class _Shapes:
    """Named types are learned as they are met."""

    def __init__(self) -> None:
        self._named: dict[str, Any] = {}

    def of(self, schema: Any, around: tuple[str, ...]) -> Shape:
        if isinstance(schema, list):
            kinds = [one for one in schema if one != "null"]
            return self.of(kinds[0], around) if len(kinds) == 1 else AS_JSON
        if isinstance(schema, str):
            if schema in _PRIMITIVES:
                return plain(_PRIMITIVES[schema])
            return AS_JSON if schema in around or schema not in self._named else self.of(self._named[schema], around)
        name, kind = schema.get("name"), schema["type"]
        if name is not None:
            self._named[name] = schema
            around = (*around, name)
        return self._of_kind(kind, schema, around)

    def _of_kind(self, kind: Any, schema: Any, around: tuple[str, ...]) -> Shape:
        logical = schema.get("logicalType")
        if logical == "decimal" and schema.get("precision", _MAX_DIGITS + 1) <= _MAX_DIGITS:
            return plain(pa.decimal128(schema["precision"], schema.get("scale", 0)))
        if logical == "decimal":
            return Shape(pa.string(), str)
        if isinstance(kind, str) and (kind, logical) in _LOGICAL:
            return _LOGICAL[kind, logical]
        match kind:
            case "record" | "error":
                return struct({one["name"]: self.of(one["type"], around) for one in schema["fields"]})
            case "array":
                return listed(self.of(schema["items"], around))
            case "map":
                return mapped(self.of(schema["values"], around))
            case "enum":
                return plain(pa.string())
            case "fixed":
                return plain(pa.binary())
            case _:
                return self.of(kind, around)
