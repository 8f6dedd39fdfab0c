"""Avro values as JSON and back, for people: dates as texts, bytes as text or base64, unions without wrapping. Pure.

``from_json`` also takes Avro's own JSON encoding of a union, ``{"string": "x"}``.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import uuid
from collections.abc import Mapping
from typing import Any

from oncelog.schemas.schema_errors import SchemaError
from oncelog.shown import json_bytes

_NO_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_PRIMITIVES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "int": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "string": (str,),
}


def to_json(value: Any) -> Any:
    """A value that fastavro has read, with nothing in it that JSON does not have."""
    if isinstance(value, dict):
        return {name: to_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(inner) for inner in value]
    if isinstance(value, bytes):
        return json_bytes(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, datetime.date | datetime.time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID):
        return str(value)
    return value


def from_json(parsed: Any, value: Any) -> Any:
    """A JSON value as fastavro writes it with this schema.

    :raises SchemaError: it does not fit; the text says where.
    """
    try:
        return _Reading().value(parsed, value, "")
    except RecursionError as error:
        raise SchemaError("the value nests too deeply") from error


class _Reading:
    """One value; named types are learned as they are met."""

    def __init__(self) -> None:
        self._named: dict[str, Any] = {}

    def value(self, schema: Any, value: Any, where: str) -> Any:
        if isinstance(schema, list):
            return self._union(schema, value, where)
        if isinstance(schema, str):
            if schema in self._named:
                return self.value(self._named[schema], value, where)
            schema = {"type": schema}
        kind = schema["type"]
        if not isinstance(kind, str):
            return self.value(kind, value, where)
        if "name" in schema:
            self._named[schema["name"]] = schema
        return self._of_kind(kind, schema, value, where)

    def _of_kind(self, kind: str, schema: Mapping[str, Any], value: Any, where: str) -> Any:
        match kind:
            case "record" | "error":
                return self._record(schema, value, where)
            case "array":
                items = _checked(value, list, "an array", where)
                return [self.value(schema["items"], one, f"{where}[{i}]") for i, one in enumerate(items)]
            case "map":
                inner = _checked(value, dict, "an object", where)
                return {name: self.value(schema["values"], one, f"{where}.{name}") for name, one in inner.items()}
            case "enum":
                if value not in schema["symbols"]:
                    raise _unfit(where, f"one of {', '.join(schema['symbols'][:10])}", value)
                return value
            case "bytes" | "fixed":
                return _bytes(schema, value, where)
            case _:
                return _primitive(kind, schema.get("logicalType"), value, where)

    def _record(self, schema: Mapping[str, Any], value: Any, where: str) -> Any:
        given = dict(_checked(value, dict, "an object", where))
        for field in schema["fields"]:
            name = field["name"]
            here = f"{where}.{name}" if where else name
            if name in given:
                given[name] = self.value(field["type"], given[name], here)
            elif "default" not in field:
                raise SchemaError(f"{here} is missing, and has no default")
            else:
                self._learn(field["type"])
        return given

    def _learn(self, schema: Any) -> None:
        """Note the named types of a field that is left out: later ones may refer to them."""
        if isinstance(schema, list):
            for branch in schema:
                self._learn(branch)
        elif isinstance(schema, dict):
            if "name" in schema:
                self._named[schema["name"]] = schema
            for inner in (schema.get("items"), schema.get("values"), schema.get("type")):
                self._learn(inner)
            for field in schema.get("fields", ()):
                self._learn(field["type"])

    def _union(self, branches: list[Any], value: Any, where: str) -> Any:
        for branch in branches:
            self._learn(branch)
        if isinstance(value, dict) and len(value) == 1:
            [(name, inner)] = value.items()
            for branch in branches:
                if name == _branch_name(branch):
                    return name, self.value(branch, inner, where)
        problems = []
        for branch in branches:
            try:
                return self.value(branch, value, where)
            except SchemaError as error:
                problems.append(str(error))
        raise SchemaError(problems[-1] if problems else f"{where or 'the value'} fits no type: the union is empty")


def _branch_name(branch: Any) -> str | None:
    if isinstance(branch, dict):
        kind = branch.get("name", branch.get("type"))
        return kind if isinstance(kind, str) else None
    return branch if isinstance(branch, str) else None


def _checked(value: Any, kind: type, what: str, where: str) -> Any:
    if not isinstance(value, kind):
        raise _unfit(where, what, value)
    return value


def _unfit(where: str, what: str, value: Any) -> SchemaError:
    return SchemaError(f"{where or 'the value'} must be {what}, not {repr(value)[:80]}")


def _bytes(schema: Mapping[str, Any], value: Any, where: str) -> Any:
    if schema.get("logicalType") == "decimal" and isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            number = decimal.Decimal(str(value))
        except decimal.InvalidOperation:
            raise _unfit(where, "a decimal number", value) from None
        if not number.is_finite():
            raise _unfit(where, "a decimal number", value)
        return number
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and value.keys() == {"base64"}:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (ValueError, TypeError):
            raise _unfit(where, "base64", value["base64"]) from None
    raise _unfit(where, 'a text or {"base64": ...}', value)


def _primitive(kind: str, logical: str | None, value: Any, where: str) -> Any:
    kinds: Any = _PRIMITIVES.get(kind, ())
    if isinstance(value, str):
        if kind in ("float", "double") and value in _NO_NUMBERS:
            return _NO_NUMBERS[value]
        if (kind, logical) in _TIMES:
            return _time(str(logical), value, where)
        if (kind, logical) == ("string", "uuid") and not _is_uuid(value):
            raise _unfit(where, "a UUID such as 00000000-0000-4000-8000-000000000000", value)
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind != "boolean"):
        raise _unfit(where, kind, value)
    bits = _BITS.get(kind)
    if bits is not None and not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise _unfit(where, f"{kind} of {bits} bits", value)
    return value


def _is_uuid(text: str) -> bool:
    """Whether the text is a UUID: readers refuse any other text."""
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _time(logical: str, value: str, where: str) -> Any:
    try:
        if logical == "date":
            return datetime.date.fromisoformat(value)
        if logical.startswith("time-"):
            return datetime.time.fromisoformat(value)
        moment = datetime.datetime.fromisoformat(value)
    except ValueError:
        raise _unfit(where, f"a {logical} such as {_EXAMPLES.get(logical, '2026-01-31T12:00:00Z')}", value) from None
    if logical.startswith("timestamp-") and moment.tzinfo is None:
        return moment.replace(tzinfo=datetime.UTC)
    return moment


_TIMES = {("int", "date"), ("int", "time-millis"), ("long", "time-micros")} | {
    ("long", f"{which}-{unit}") for which in ("timestamp", "local-timestamp") for unit in ("millis", "micros")
}
"""What has a text; a timestamp in nanoseconds is the number that it is shown as."""
_BITS = {"int": 32, "long": 64}
_EXAMPLES = {"date": "2026-01-31", "time-millis": "12:00:00", "time-micros": "12:00:00"}
