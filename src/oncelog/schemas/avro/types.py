"""The named and logical types of an Avro schema. Pure."""

from __future__ import annotations

import copy
from typing import Any

NULL = {"type": "null"}
MICROSECONDS = 1_000_000
UNITS = {
    "timestamp-millis": 1_000,
    "timestamp-micros": 1_000_000,
    "timestamp-nanos": 1_000_000_000,
    "local-timestamp-millis": 1_000,
    "local-timestamp-micros": 1_000_000,
    "local-timestamp-nanos": 1_000_000_000,
}
"""The units per second of the logical types for points in time."""
_TIMES_OF_DAY = {"time-millis": 1_000, "time-micros": 1_000_000}
_LOGICAL = {
    "int": {"date", "time-millis"},
    "long": {"time-micros", *UNITS},
    "bytes": {"decimal"},
    "fixed": {"decimal", "uuid"},
    "string": {"uuid"},
}
"""The logical types that each type may have; on other types a logical type is ignored, as in Avro's specification."""
_UUID_BYTES = 16


def named_types(parsed: Any) -> dict[str, Any]:
    """The named types of a schema that fastavro has parsed, by full name."""
    found: dict[str, Any] = {}
    left = [parsed]
    while left:
        schema = left.pop()
        if isinstance(schema, list):
            left.extend(schema)
        elif isinstance(schema, dict):
            if isinstance(schema.get("name"), str):
                found[schema["name"]] = schema
            left.extend(schema[name] for name in ("items", "values", "type") if name in schema)
            left.extend(one["type"] for one in schema.get("fields", ()))
    return found


class NamedTypes:
    """The types of one schema.

    :param parsed: the schema, parsed by fastavro.
    """

    def __init__(self, parsed: Any) -> None:
        self.root = parsed
        self._named = named_types(parsed)
        self._primitives: dict[str, dict[str, Any]] = {}
        self._kinds: dict[int, list[Any]] = {}
        """Results by the ``id()`` of a union, which lives as long as the schema."""

    def known(self, schema: Any) -> Any:
        """The definition of a type that is given by name or as ``{"type": ...}``. A primitive type becomes a
        dictionary."""
        while True:
            if isinstance(schema, str):
                if schema not in self._named:
                    return self._primitives.setdefault(schema, {"type": schema})
                schema = self._named[schema]
            elif isinstance(schema, dict) and not isinstance(schema["type"], str):
                schema = schema["type"]
            elif isinstance(schema, dict) and schema["type"] in self._named:
                schema = self._named[schema["type"]]
            else:
                return schema

    def of(self, schema: Any) -> NamedTypes:
        """A copy of these types with another root."""
        made = copy.copy(self)
        made.root = schema
        return made

    def has_unions(self) -> bool:
        """Whether the schema has a union of several types besides null, whose values alone may be ambiguous."""
        return any(len(self.kinds(union)) > 1 for union in _unions(self.root))

    def fields_with_unions(self, record: Any) -> dict[str, Any]:
        """By name, the types of a record's fields whose values may contain a union of several types
        (:meth:`has_unions`)."""
        return {one["name"]: one["type"] for one in record["fields"] if self._holds_unions(one["type"], set())}

    def _holds_unions(self, schema: Any, seen: set[int]) -> bool:
        known = self.known(schema)
        if id(known) in seen:  # a recursive type, which is already being searched
            return False
        seen.add(id(known))
        if isinstance(known, list):
            kinds = self.kinds(known)
            return len(kinds) > 1 or any(self._holds_unions(kind, seen) for kind in kinds)
        inner = [known[name] for name in ("items", "values") if name in known]
        inner += [one["type"] for one in known.get("fields", ())]
        return any(self._holds_unions(one, seen) for one in inner)

    def kinds(self, union: list[Any]) -> list[Any]:
        """The types of a union, without null."""
        found = self._kinds.get(id(union))
        if found is None:
            found = self._kinds[id(union)] = [known for known in map(self.known, union) if known != NULL]
        return found


def _unions(schema: Any) -> Any:
    if isinstance(schema, list):
        yield schema
        for branch in schema:
            yield from _unions(branch)
    elif isinstance(schema, dict):
        inner = [schema.get("items"), schema.get("values"), *(one["type"] for one in schema.get("fields", ()))]
        for one in [*inner, schema.get("type")]:
            if isinstance(one, list | dict):
                yield from _unions(one)


def logical_type(known: Any) -> str | None:
    """The logical type, if the type may have it; otherwise None, and the value is read as the type itself."""
    logical, kind = known.get("logicalType"), known["type"]
    if not isinstance(logical, str) or logical not in _LOGICAL.get(kind, ()):
        return None
    return None if logical == "uuid" and kind == "fixed" and known["size"] != _UUID_BYTES else logical


def scale_between(writer: Any, reader: Any) -> tuple[int, int]:
    """The factor and divisor that convert a time between units.

    Timestamps become microseconds, unless the reader has nanoseconds.
    """
    read_as, written_as = logical_type(reader), logical_type(writer)
    if read_as in _TIMES_OF_DAY:
        unit = _TIMES_OF_DAY[read_as]
        return unit // _TIMES_OF_DAY.get(written_as or "", unit) or 1, 1
    if read_as not in UNITS:
        return 1, 1
    wrote = UNITS.get(written_as or "", UNITS[read_as])
    kept = max(UNITS[read_as], MICROSECONDS)
    return (kept // wrote, 1) if kept >= wrote else (1, wrote // kept)


def branch_name(known: Any) -> str:
    """The name of a union's type in Avro's JSON encoding: a named type's full name, otherwise the type."""
    return str(known.get("name", known["type"]))


def last_name(name: str) -> str:
    return name.rpartition(".")[2]
