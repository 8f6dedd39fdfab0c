"""The bytes of a field's default. Pure; called by readers and writers of records without the field.

A default is written in Avro's JSON encoding: bytes are ISO-8859-1 text, and a logical type appears as its underlying
type. The encoded bytes are read like any other value, so a default is equal in all readers.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from oncelog.schemas.avro.types import NamedTypes
from oncelog.schemas.schema_errors import SchemaMismatch

_BITS = {"int": 32, "long": 64}
_NO_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "INF": math.inf, "-INF": -math.inf}


def default_bytes(types: NamedTypes, field: Any, where: str) -> bytes:
    """The encoded default of a record's field, as a writer would have written it.

    :raises SchemaMismatch: the default does not fit the field's type.
    """
    try:
        return b"".join(_Encoding(types).value(field["type"], field["default"]))
    except _NoDefault as error:
        raise SchemaMismatch(f"the default of {where} does not fit its type: {error}") from None
    except RecursionError:
        raise SchemaMismatch(f"the default of {where} is infinite: its record contains itself") from None


class _NoDefault(Exception):
    pass


class _Encoding:
    def __init__(self, types: NamedTypes) -> None:
        self._types = types

    def value(self, schema: Any, value: Any) -> list[bytes]:
        known = self._types.known(schema)
        if isinstance(known, list):
            return self._union(known, value)
        match known["type"]:
            case "record" | "error":
                return self._record(known, value)
            case "array" if isinstance(value, list):
                return _block([self.value(known["items"], one) for one in value])
            case "map" if isinstance(value, dict):
                entries = value.items()
                return _block([[_sized(name.encode()), *self.value(known["values"], one)] for name, one in entries])
            case "enum" if value in known["symbols"]:
                return [whole_bytes(known["symbols"].index(value))]
            case "fixed" if isinstance(value, str) and len(value) == known["size"]:
                return [_latin(value)]
            case kind if kind in _PLAIN and (found := _PLAIN[kind](value)) is not None:
                return [found]
        raise _NoDefault(f"{repr(value)[:80]} is no {known.get('name', known['type'])}")

    def _record(self, known: Any, value: Any) -> list[bytes]:
        if not isinstance(value, dict):
            raise _NoDefault(f"{repr(value)[:80]} is no {known['name']}")
        written = []
        for field in known["fields"]:
            name = field["name"]
            if name not in value and "default" not in field:
                raise _NoDefault(f"{name} of {known['name']} is missing, and has no default")
            written.extend(self.value(field["type"], value[name] if name in value else field["default"]))
        return written

    def _union(self, branches: list[Any], value: Any) -> list[bytes]:
        """The first type of the union that the default fits: Avro 1.12 allows any type, earlier releases only the
        first.
        """
        for index, branch in enumerate(branches):
            try:
                return [whole_bytes(index), *self.value(branch, value)]
            except _NoDefault:
                continue
        raise _NoDefault(f"{repr(value)[:80]} is none of the union's types")


def whole_bytes(value: int) -> bytes:
    """An integer in Avro's zigzag encoding."""
    left = (value << 1) ^ (value >> 63)
    written = bytearray()
    while left > 0x7F:
        written.append(left & 0x7F | 0x80)
        left >>= 7
    written.append(left)
    return bytes(written)


def _block(items: list[list[bytes]]) -> list[bytes]:
    if not items:
        return [b"\0"]
    return [whole_bytes(len(items)), *(part for item in items for part in item), b"\0"]


def _sized(data: bytes) -> bytes:
    return whole_bytes(len(data)) + data


def _latin(text: str) -> bytes:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise _NoDefault(f"{text[:80]!r} has characters beyond \\u00ff, which are no bytes") from None


def _whole(kind: str) -> Callable[[Any], bytes | None]:
    limit = 2 ** (_BITS[kind] - 1)
    return lambda value: whole_bytes(value) if type(value) is int and -limit <= value < limit else None


def _floating(form: str) -> Callable[[Any], bytes | None]:
    def floating(value: Any) -> bytes | None:
        number = _NO_NUMBERS.get(value) if isinstance(value, str) else value
        if not isinstance(number, int | float) or isinstance(number, bool):
            return None
        try:
            return struct.pack(form, number)
        except (OverflowError, struct.error):
            return None

    return floating


_PLAIN: dict[str, Callable[[Any], bytes | None]] = {
    "null": lambda value: b"" if value is None else None,
    "boolean": lambda value: bytes([value]) if isinstance(value, bool) else None,
    "int": _whole("int"),
    "long": _whole("long"),
    "float": _floating("<f"),
    "double": _floating("<d"),
    "string": lambda value: _sized(value.encode()) if isinstance(value, str) else None,
    "bytes": lambda value: _sized(_latin(value)) if isinstance(value, str) else None,
}
