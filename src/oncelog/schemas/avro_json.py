"""Converts Avro values to JSON for people to read, and back: dates as texts, bytes as text or base64. Pure.

Where plain JSON is ambiguous about a union's type, a value is written as ``{"shop.Order": ...}``, as in Avro's JSON
encoding; that form is accepted everywhere. Bytes written as text have one character per byte, as in Avro's JSON
encoding (ISO-8859-1).
"""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import uuid
from collections.abc import Callable
from typing import Any

from oncelog.runtime.shown import json_bytes
from oncelog.schemas.avro.types import NULL, NamedTypes, branch_name, logical_type
from oncelog.schemas.avro.unions import BITS, TYPE_KEY, Fit, Unions, common_fit, is_whole
from oncelog.schemas.avro.values import date_of, local_moment_of, moment_of, time_of
from oncelog.schemas.schema_errors import SchemaError, inside

_NO_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_MAX_SCALE = 1000
"""A decimal of a larger scale is written with an exponent: a schema may define a scale of any size, and each of its
digits would be written as a zero."""
_NUMBER, _TEXT, _OBJECT = "number", "text", "object"


def to_json(value: Any) -> Any:
    """A Python value converted to JSON types."""
    if isinstance(value, dict):
        return {name: to_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(inner) for inner in value]
    if isinstance(value, bytes):
        return json_bytes(value)
    if isinstance(value, float) and not math.isfinite(value):
        return _no_number(value)
    if isinstance(value, datetime.date | datetime.time):  # datetime.datetime is a subclass of date
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID):
        return str(value)
    return value


def _no_number(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


class AvroJson:
    """Converts the values of one schema.

    :param types: the types of the schema.
    """

    def __init__(self, types: NamedTypes) -> None:
        self._types = types
        self._unions = Unions(types, _fit, _named, '{{"{}": ...}}')

    # --- as JSON

    def shown(self, value: Any) -> Any:
        """Convert a value of the form :data:`~oncelog.schemas.avro.values.EXACT` to JSON types."""
        return self.shown_as(self._types.root, value)

    def shown_as(self, schema: Any, value: Any) -> Any:
        """The JSON of a part of a value, by its type in the schema."""
        known = self._types.known(schema)
        if isinstance(known, list):
            return self._union_shown(known, value)
        match known["type"]:
            case "record" | "error":
                return {one["name"]: self.shown_as(one["type"], value[one["name"]]) for one in known["fields"]}
            case "array":
                return [self.shown_as(known["items"], one) for one in value]
            case "map":
                return {name: self.shown_as(known["values"], one) for name, one in value.items()}
            case _:
                return _shown(known, value)

    def _union_shown(self, union: list[Any], value: Any) -> Any:
        if value is None:
            return None
        kinds = self._types.kinds(union)
        branch, inner = kinds[0], value
        if len(kinds) > 1:
            branch, inner = next(one for one in kinds if branch_name(one) == value[0]), value[1]
        shown = self.shown_as(branch, inner)
        return {branch_name(branch): shown} if self._is_unclear(union, branch, shown) else shown

    def _is_unclear(self, union: list[Any], branch: Any, shown: Any) -> bool:
        """Whether plain JSON would be ambiguous. The rule depends on types, so that a field always has the same form,
        and on a single value only if it looks like the name of a type or like NaN or Infinity.
        """
        name = branch_name(branch)
        union_types = [self._types.known(one) for one in union]
        others = [one for one in union_types if branch_name(one) != name]
        if _json_kinds(branch) & {kind for one in others for kind in _json_kinds(one)}:
            return True
        if isinstance(shown, dict):
            if TYPE_KEY in shown:
                return True
            return len(shown) == 1 and next(iter(shown)) in map(branch_name, union_types)
        if not isinstance(shown, str) or shown not in _NO_NUMBERS:
            return False
        return {"float", "double"} & {one["type"] for one in union_types} != set() and any(
            _TEXT in _json_kinds(one) for one in union_types
        )

    # --- from JSON

    def taken(self, value: Any) -> Any:
        """Convert a JSON value to the form that the codec encodes.

        :raises SchemaError: the value does not fit, or fits several types of a union; the message says where.
        """
        try:
            return self._value(self._types.root, value, "")
        except RecursionError as error:
            raise SchemaError("the value nests too deeply") from error

    def _value(self, schema: Any, value: Any, where: str) -> Any:
        known = self._types.known(schema)
        if isinstance(known, list):
            return self._union(known, value, where)
        match known["type"]:
            case "record" | "error":
                return self._record(known, value, where)
            case "array":
                items = _checked(value, list, "an array", where)
                return [self._value(known["items"], one, f"{where}[{i}]") for i, one in enumerate(items)]
            case "map":
                inner = _checked(value, dict, "an object", where)
                return {name: self._value(known["values"], one, f"{where}.{name}") for name, one in inner.items()}
            case _:
                return _taken(known, value, where)

    def _record(self, known: Any, value: Any, where: str) -> Any:
        given = dict(_checked(value, dict, "an object", where))
        for field in known["fields"]:
            name = field["name"]
            here = inside(where, name)
            if name in given:
                given[name] = self._value(field["type"], given[name], here)
            elif "default" not in field:
                raise SchemaError(f"{here} is missing, and has no default")
        return given

    def _union(self, union: list[Any], value: Any, where: str) -> Any:
        if value is None and NULL in map(self._types.known, union):
            return None
        kinds = self._types.kinds(union)
        if len(kinds) == 1 and (_named(value) or ("",))[0] != branch_name(kinds[0]):
            return self._value(kinds[0], value, where)
        branch, inner = self._unions.chosen(union, value, where)
        taken = self._value(branch, inner, where)
        return taken if len(kinds) == 1 else (branch_name(branch), taken)


def _named(value: Any) -> tuple[str, Any] | None:
    """The name of a union's branch and its value, from Avro's form or from a record with fastavro's type key."""
    if isinstance(value, dict) and len(value) == 1:
        [(name, inner)] = value.items()
        return name, inner
    if isinstance(value, dict) and isinstance(value.get(TYPE_KEY), str):
        return value[TYPE_KEY], {name: inner for name, inner in value.items() if name != TYPE_KEY}
    return None


def _json_kinds(known: Any) -> set[str]:
    kind, logical = known["type"], logical_type(known)
    if logical in _SHOWN_TIMES or logical == "decimal":
        return {_TEXT, _NUMBER}
    if logical == "uuid":
        return {_TEXT}
    return {
        "int": {_NUMBER}, "long": {_NUMBER}, "float": {_NUMBER}, "double": {_NUMBER}, "string": {_TEXT},
        "enum": {_TEXT}, "bytes": {_TEXT, _OBJECT}, "fixed": {_TEXT, _OBJECT}, "map": {_OBJECT}, "record": {_OBJECT},
        "error": {_OBJECT},
    }.get(kind, {kind})  # fmt: skip


# --- values that hold no others, as JSON

_SHOWN_TIMES: dict[str, tuple[int, Callable[[int], Any]]] = {
    "date": (1, date_of),
    "time-millis": (1000, time_of),
    "time-micros": (1, time_of),
    "timestamp-millis": (1, moment_of),
    "timestamp-micros": (1, moment_of),
    "local-timestamp-millis": (1, local_moment_of),
    "local-timestamp-micros": (1, local_moment_of),
}


def _shown(known: Any, value: Any) -> Any:
    logical = logical_type(known)
    if logical in _SHOWN_TIMES:
        factor, time = _SHOWN_TIMES[logical]
        try:
            return time(value * factor).isoformat()
        except SchemaError:  # no text can express such a time, so it stays a number
            return value // 1000 if logical.endswith("timestamp-millis") else value
    if logical == "decimal":
        return str(value) if known.get("scale", 0) > _MAX_SCALE else format(value, "f")
    if logical == "uuid":
        return str(value)
    if isinstance(value, bytes):
        return value.decode() if value.isascii() else {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return _no_number(value)
    return value


# --- values that hold no others, from JSON


def _fit(known: Any, value: Any) -> Fit:
    kind, logical = known["type"], logical_type(known)
    if logical in _SHOWN_TIMES or logical == "decimal":
        is_text, is_number = isinstance(value, str), isinstance(value, int | float) and not isinstance(value, bool)
        return _tried(known, value, Fit.EXACT if is_text else Fit.CHANGED) if is_text or is_number else Fit.NO
    if kind in BITS:
        return Fit.EXACT if is_whole(kind, value) else Fit.NO
    if kind in ("string", "bytes", "fixed") or (isinstance(value, str) and kind in ("float", "double")):
        return _tried(known, value, Fit.EXACT)
    return common_fit(known, value)


def _tried(known: Any, value: Any, fit: Fit) -> Fit:
    try:
        _taken(known, value, "")
    except SchemaError:
        return Fit.NO
    return fit


def _checked(value: Any, kind: type, what: str, where: str) -> Any:
    if not isinstance(value, kind):
        raise _unfit(where, what, value)
    return value


def _unfit(where: str, what: str, value: Any) -> SchemaError:
    return SchemaError(f"{where or 'the value'} must be {what}, not {repr(value)[:80]}")


def _taken(known: Any, value: Any, where: str) -> Any:
    kind, logical = known["type"], logical_type(known)
    match kind:
        case "bytes" | "fixed" if logical == "decimal":
            return _decimal(known, value, where)
        case "bytes" | "fixed":
            return _bytes(known, logical, value, where)
        case "enum":
            if value not in known["symbols"]:
                raise _unfit(where, f"one of {', '.join(known['symbols'][:10])}", value)
            return value
        case "float" | "double" if isinstance(value, str) and value in _NO_NUMBERS:
            return _NO_NUMBERS[value]
        case _ if logical in _SHOWN_TIMES and isinstance(value, str):
            return _time(str(logical), value, where)
        case "string" if logical == "uuid":
            return _uuid(value, where)
        case _:
            return _primitive(kind, value, where)


def _decimal(known: Any, value: Any, where: str) -> Any:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise _unfit(where, "a decimal number", value)
    try:
        number = decimal.Decimal(str(value))
    except decimal.InvalidOperation:
        raise _unfit(where, "a decimal number", value) from None
    if not number.is_finite():
        raise _unfit(where, "a decimal number", value)
    return number


def _bytes(known: Any, logical: str | None, value: Any, where: str) -> Any:
    if isinstance(value, dict) and value.keys() == {"base64"}:
        try:
            data = base64.b64decode(value["base64"], validate=True)
        except (ValueError, TypeError):
            raise _unfit(where, "base64", value["base64"]) from None
    elif isinstance(value, str) and logical == "uuid" and len(value) > known["size"]:
        return uuid.UUID(_uuid(value, where))
    else:
        data = _latin(value, where)
    if len(data) != known.get("size", len(data)):
        raise _unfit(where, f"{known['size']} bytes", value)
    return data


def _latin(value: Any, where: str) -> bytes:
    try:
        return str(_checked(value, str, 'a string or {"base64": ...}', where)).encode("latin-1")
    except UnicodeEncodeError:
        what = 'a text with a character for each byte (\\u0000 to \\u00ff) or {"base64": ...}'
        raise _unfit(where, what, value) from None


def _uuid(value: Any, where: str) -> str:
    """Check that a text is a UUID, because readers refuse any other text; returns it unchanged."""
    try:
        uuid.UUID(_checked(value, str, "string", where))
    except ValueError:
        raise _unfit(where, "a UUID such as 00000000-0000-4000-8000-000000000000", value) from None
    return str(value)


_PRIMITIVES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "int": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "string": (str,),
}


def _primitive(kind: str, value: Any, where: str) -> Any:
    kinds = _PRIMITIVES.get(kind, ())
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind != "boolean"):
        raise _unfit(where, kind, value)
    if kind in BITS and not is_whole(kind, value):
        raise _unfit(where, f"{kind} of {BITS[kind]} bits", value)
    return value


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


_EXAMPLES = {"date": "2026-01-31", "time-millis": "12:00:00", "time-micros": "12:00:00"}
