"""The shape of an Avro schema, for values in the form :data:`~oncelog.schemas.avro.values.EXACT`. Pure."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from oncelog.apps.export.typed.shape import AS_JSON, Shape, listed, mapped, plain, struct
from oncelog.schemas.avro.types import NamedTypes, logical_type
from oncelog.schemas.avro.values import time_of
from oncelog.schemas.avro_json import AvroJson

_PRIMITIVES = {
    "null": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "fixed": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
}
_LOGICAL = {
    "date": plain(pa.date32()),
    "timestamp-millis": plain(pa.timestamp("us", "UTC")),
    "timestamp-micros": plain(pa.timestamp("us", "UTC")),
    "local-timestamp-millis": plain(pa.timestamp("us")),
    "local-timestamp-micros": plain(pa.timestamp("us")),
    "time-millis": Shape(pa.string(), lambda value: time_of(value * 1000).isoformat()),
    "time-micros": Shape(pa.string(), lambda value: time_of(value).isoformat()),
    "uuid": Shape(pa.string(), str),
}
_MAX_DIGITS = 38


def avro_shape(types: NamedTypes) -> Shape:
    return _Shapes(types).of(types.root, ())


class _Shapes:
    def __init__(self, types: NamedTypes) -> None:
        self._types = types
        self._json = AvroJson(types)

    def of(self, schema: Any, around: tuple[str, ...]) -> Shape:
        known = self._types.known(schema)
        if isinstance(known, list):
            kinds = self._types.kinds(known)
            return self.of(kinds[0], around) if len(kinds) == 1 else self._as_json(known)
        name, logical = known.get("name"), logical_type(known)
        if logical in _LOGICAL:
            return _LOGICAL[logical]
        if logical == "decimal":
            return _decimal(known)
        match known["type"]:
            case "record" | "error" if name in around:
                return self._as_json(known)
            case "record" | "error":
                return struct({one["name"]: self.of(one["type"], (*around, name)) for one in known["fields"]})
            case "array":
                return listed(self.of(known["items"], around))
            case "map":
                return mapped(self.of(known["values"], around))
            case kind:
                return plain(_PRIMITIVES[kind])

    def _as_json(self, schema: Any) -> Shape:
        return Shape(AS_JSON.type, lambda value: json.dumps(self._json.shown_as(schema, value), ensure_ascii=False))


def _decimal(known: Any) -> Shape:
    if known["precision"] > _MAX_DIGITS:
        return Shape(pa.string(), str)
    return plain(pa.decimal128(known["precision"], known.get("scale", 0)))
