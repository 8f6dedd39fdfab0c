"""Finds the type within a union that a value belongs to. Pure; called by every writer.

Types that a value fits exactly take precedence over those that it fits after a conversion, as an integer fits
``double``. Among several numeric types, the choice is that of Confluent's and fastavro's serializers, which loses no
digits: the first integer type, and ``double`` rather than ``float``. Between other types nothing is guessed.
"""

from __future__ import annotations

import datetime
import struct
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import IntEnum
from typing import Any

from oncelog.schemas.avro.types import NamedTypes, branch_name, logical_type
from oncelog.schemas.schema_errors import SchemaError, inside

BITS = {"int": 32, "long": 64}
TYPE_KEY = "-type"
"""fastavro's key in a record that names its type."""
_RECORDS = ("record", "error")


class Fit(IntEnum):
    """How well a value fits a type."""

    NO = 0
    CHANGED = 1
    EXACT = 2


Leaf = Callable[[Any, Any], Fit]
"""Returns how well a value fits a primitive type."""
Named = Callable[[Any], tuple[str, Any] | None]
"""Returns the type's name and the value if a value names its own type, otherwise None."""


class Unions:
    """Chooses types in the unions of one schema, for values of one form.

    :param leaf: the form's rule for primitive types.
    :param named: returns the type that a value itself names in this form.
    :param example: how a value can name its type, for error messages; ``{}`` stands for the name.
    """

    def __init__(self, types: NamedTypes, leaf: Leaf, named: Named, example: str) -> None:
        self._types, self._leaf, self._named, self._example = types, leaf, named, example

    def chosen(self, union: list[Any], value: Any, where: str) -> tuple[Any, Any]:
        """The type that a value fits, and the value itself.

        :raises SchemaError: it fits no type, or several.
        """
        found = self._by_name(union, value)
        if found is not None:
            return found
        branches = [self._types.known(branch) for branch in union]
        fits = [self.fit(branch, value) for branch in branches]
        best = max(fits, default=Fit.NO)
        if best is Fit.NO:
            names = ", ".join(map(branch_name, branches))
            raise SchemaError(f"{where or 'the value'} fits none of {names}: {repr(value)[:80]}")
        found_alike = [branch for branch, fit in zip(branches, fits, strict=True) if fit is best]
        branch = found_alike[0] if len(found_alike) == 1 else _number(found_alike)
        if branch is None:
            names = " and ".join(map(branch_name, found_alike))
            example = self._example.format(branch_name(found_alike[0]))
            raise SchemaError(f"{where or 'the value'} fits {names} alike: name the type, as in {example}")
        return branch, value

    def _by_name(self, union: list[Any], value: Any) -> tuple[Any, Any] | None:
        named = self._named(value)
        if named is None:
            return None
        for branch in map(self._types.known, union):
            if branch_name(branch) == named[0] and self.fit(branch, named[1]):
                return branch, named[1]
        return None

    def fit(self, schema: Any, value: Any) -> Fit:
        known = self._types.known(schema)
        if isinstance(known, list):
            if self._by_name(known, value) is not None:
                return Fit.EXACT
            return max((self.fit(branch, value) for branch in known), default=Fit.NO)
        match known["type"]:
            case "record" | "error":
                return self._record(known, value)
            case "array":
                return self._all(known["items"], value) if isinstance(value, list) else Fit.NO
            case "map":
                if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
                    return Fit.NO
                return self._all(known["values"], value.values())
            case _:
                return self._leaf(known, value)

    def _all(self, schema: Any, values: Any) -> Fit:
        return min((self.fit(schema, one) for one in values), default=Fit.EXACT)

    def _record(self, known: Any, value: Any) -> Fit:
        if not isinstance(value, Mapping) or value.get(TYPE_KEY, known["name"]) != known["name"]:
            return Fit.NO
        fields = {one["name"]: one for one in known["fields"]}
        worst = Fit.EXACT if set(value) <= {*fields, TYPE_KEY} else Fit.CHANGED
        for name, field in fields.items():
            if name in value:
                worst = min(worst, self.fit(field["type"], value[name]))
            elif "default" not in field:
                return Fit.NO
        return worst


def _number(branches: list[Any]) -> Any:
    """The type for a number; None if not all of the types are numeric."""
    kinds = {branch["type"]: branch for branch in branches if logical_type(branch) is None}
    if len(kinds) == len(branches) and kinds.keys() <= {"float", "double"}:
        return kinds.get("double")
    return branches[0] if len(kinds) == len(branches) and kinds.keys() <= BITS.keys() else None


# --- Python's values


def python_unions(types: NamedTypes) -> Unions:
    """The unions of a schema for values of Python programs; the type is chosen as fastavro and Confluent's serializers
    do."""
    return Unions(types, _python_fit, _named_in_python, '("{}", ...)')


class UnionNaming:
    """Converts values of a union of several types to pairs of a type's name and the value, so that fastavro need not
    guess.

    :param types: the types of the schema.
    """

    def __init__(self, types: NamedTypes) -> None:
        self._types = types
        self._unions = python_unions(types)
        self._fields: dict[int, dict[str, Any]] = {}

    def named(self, value: Any) -> Any:
        """The value with pairs in place of values of ambiguous unions.

        :raises SchemaError: a part fits no type, or several.
        """
        return self._value(self._types.root, value, "")

    def _value(self, schema: Any, value: Any, where: str) -> Any:
        """Convert a part of a value. A part that does not fit its type stays unchanged: the writer's error gives the
        reason."""
        known = self._types.known(schema)
        if isinstance(known, list):
            return self._union(known, value, where)
        kind = known["type"]
        if kind in _RECORDS and isinstance(value, Mapping):
            fields = self._fields.get(id(known))
            if fields is None:
                fields = self._fields[id(known)] = self._types.fields_with_unions(known)
            made = dict(value)
            made.pop(TYPE_KEY, None)
            for name in fields.keys() & made.keys():
                made[name] = self._value(fields[name], made[name], inside(where, name))
            return made
        if kind == "array" and isinstance(value, list | tuple):
            return [self._value(known["items"], one, f"{where}[{i}]") for i, one in enumerate(value)]
        if kind == "map" and isinstance(value, Mapping):
            return {name: self._value(known["values"], one, f"{where}.{name}") for name, one in value.items()}
        return value

    def _union(self, union: list[Any], value: Any, where: str) -> Any:
        if value is None:
            return None
        kinds = self._types.kinds(union)
        if len(kinds) == 1:
            named = _named_in_python(value)
            is_named = named is not None and named[0] == branch_name(kinds[0])
            branch, inner = kinds[0], named[1] if named is not None and is_named else value
        else:
            branch, inner = self._unions.chosen(union, value, where)
        return branch_name(branch), self._value(branch, inner, where)


def _named_in_python(value: Any) -> tuple[str, Any] | None:
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):
        return value
    if isinstance(value, Mapping) and isinstance(value.get(TYPE_KEY), str):
        return value[TYPE_KEY], value
    return None


_TIMES: dict[str, type] = {
    "date": datetime.date, "time-millis": datetime.time, "time-micros": datetime.time,
    "timestamp-millis": datetime.datetime, "timestamp-micros": datetime.datetime,
    "local-timestamp-millis": datetime.datetime, "local-timestamp-micros": datetime.datetime,
}  # fmt: skip


def _python_fit(known: Any, value: Any) -> Fit:
    kind, logical = known["type"], logical_type(known)
    if logical in _TIMES:
        is_time = isinstance(value, _TIMES[logical]) and not (
            logical == "date" and isinstance(value, datetime.datetime)
        )
        return Fit.EXACT if is_time else _changed(is_whole(kind, value))
    match kind:
        case "int" | "long":
            return _exact(is_whole(kind, value))
        case "bytes" | "fixed":
            return _bytes_fit(known, logical, value)
        case "string":
            return _exact(isinstance(value, str) or (logical == "uuid" and isinstance(value, uuid.UUID)))
    return common_fit(known, value)


def _bytes_fit(known: Any, logical: str | None, value: Any) -> Fit:
    is_bytes = isinstance(value, bytes | bytearray) and len(value) == known.get("size", len(value))
    if logical is None:
        return _exact(is_bytes)
    return Fit.EXACT if isinstance(value, Decimal if logical == "decimal" else uuid.UUID) else _changed(is_bytes)


def common_fit(known: Any, value: Any) -> Fit:
    """How well a value fits ``null``, ``boolean``, a floating-point type or an enum, whose values are the same in
    Python and JSON."""
    match known["type"]:
        case "null":
            return _exact(value is None)
        case "boolean":
            return _exact(isinstance(value, bool))
        case "float" | "double":
            if isinstance(value, float):
                return Fit.EXACT
            return _changed(isinstance(value, int) and not isinstance(value, bool) and _is_held(known["type"], value))
        case "enum":
            return _exact(isinstance(value, str) and value in known["symbols"])
    return Fit.NO


def _is_held(kind: str, value: int) -> bool:
    """Whether a floating-point type can represent this integer exactly."""
    form = "<f" if kind == "float" else "<d"
    try:
        return bool(struct.unpack(form, struct.pack(form, value))[0] == value)
    except (OverflowError, struct.error):
        return False


def is_whole(kind: str, value: Any) -> bool:
    limit = 2 ** (BITS[kind] - 1)
    return isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit


def _exact(fits: bool) -> Fit:
    return Fit.EXACT if fits else Fit.NO


def _changed(fits: bool) -> Fit:
    return Fit.CHANGED if fits else Fit.NO
