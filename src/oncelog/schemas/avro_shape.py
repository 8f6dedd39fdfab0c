"""Checks whether a few bytes could claim a huge or too deeply nested value of an Avro schema, and removes invalid
logical types. Pure.

Called before values are read with a schema from another program.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from oncelog.errors import ConfigError

MAX_NESTED_BYTES = 2000
"""The maximum size of a value that may nest deeply: the reader does not check the depth of its stack, and each byte may
nest one level deeper."""
MAX_NESTED_TYPES = 1000
"""With more named types than this, a schema's values count as deeply nested: each type may contain the next one."""
MAX_IDLE = 10_000
"""The maximum number of records and nulls in a value that take no bytes: a few lines of schema can double them
repeatedly."""
MAX_IDLE_PER_BYTE = 16
"""The maximum number of records and nulls without bytes for each byte of an item, because a value may contain many
items."""


def max_bytes(parsed: Any) -> int | None:
    """The maximum size of values that can be read safely; None if there is no limit.

    :raises ConfigError: the schema allows a few bytes to claim a huge value.
    """
    return _Shape(parsed).max_bytes


class _Weight(NamedTuple):
    """The minimum content of a type's value: items that take no bytes, bytes, and nested records."""

    idle: int
    size: int
    depth: int


class _Shape:
    """Checks that a schema does not allow a few bytes to claim a huge value.

    A value consists of parts: the whole, and the content of arrays, maps and unions. Within a part no byte says whether
    more follows, so each part must have enough bytes for its size, and no part may contain itself.

    :raises ConfigError: the schema allows too much.
    """

    def __init__(self, schema: Any) -> None:
        self._names_itself = False
        self._named: dict[str, Any] = {}
        self._weights: dict[str, _Weight | None] = {}
        self._look(schema, ())
        self._depth = self._check(schema, MAX_IDLE // MAX_IDLE_PER_BYTE)
        self._parts(schema)

    @property
    def max_bytes(self) -> int | None:
        if self._names_itself or len(self._named) > MAX_NESTED_TYPES:
            return MAX_NESTED_BYTES // max(1, self._depth)
        return None

    def _look(self, schema: Any, around: tuple[str, ...]) -> None:
        """Collect the named types, and detect whether one of them is recursive."""
        if isinstance(schema, str):
            self._names_itself |= schema in around
        elif isinstance(schema, dict):
            name = schema.get("name")
            if isinstance(name, str):
                self._named[name] = schema
                around = (*around, name)
        for inner in _inner(schema):
            self._look(inner, around)

    def _parts(self, schema: Any) -> None:
        """Check the content of arrays, maps and unions. An array's item takes only its own bytes; a map's value or a
        union's type takes at least one more, for the key or the index."""
        if isinstance(schema, list):
            held, more = schema, 1
        elif isinstance(schema, dict) and schema.get("type") == "array":
            held, more = [schema.get("items")], 0
        elif isinstance(schema, dict) and schema.get("type") == "map":
            held, more = [schema.get("values")], 1
        else:
            held, more = [], 0
        for part in held:
            self._depth = max(self._depth, self._check(part, more))
        for inner in _inner(schema):
            self._parts(inner)

    def _check(self, part: Any, more: int) -> int:
        idle, size, depth = self._weight(part)
        if idle > MAX_IDLE_PER_BYTE * (size + more):
            raise ConfigError(
                "this schema is refused: its values can hold many parts that take no bytes (arrays of null, or of "
                "records without fields): a few bytes could claim any number of them; give them a type"
            )
        return depth

    def _weight(self, schema: Any) -> _Weight:
        if isinstance(schema, str) and schema not in self._named:
            return _Weight(schema == "null", 0 if schema == "null" else 1, 0)
        if not isinstance(schema, str | dict):
            return _Weight(0, 1, 0)  # a union: a byte says which of its types follows
        given = self._named[schema] if isinstance(schema, str) else schema
        kind, name = given.get("type"), str(given.get("name"))
        if kind in ("record", "error"):
            if name in self._weights:
                known = self._weights[name]
                if known is None:
                    raise ConfigError(f"a {name} always holds a {name}: no value is of that type")
                return known
            self._weights[name] = None
            fields = [self._weight(field.get("type")) for field in given.get("fields", [])]
            self._weights[name] = found = _Weight(
                1 + sum(one.idle for one in fields),
                sum(one.size for one in fields),
                1 + max((one.depth for one in fields), default=0),
            )
            return found
        if kind == "fixed":
            return _Weight(given.get("size") == 0, given.get("size", 0), 0)
        if kind in ("array", "map", "enum"):
            return _Weight(0, 1, 0)
        return self._weight(kind)


def _inner(schema: Any) -> list[Any]:
    if isinstance(schema, list):
        return schema
    if not isinstance(schema, dict):
        return []
    kind = schema.get("type")
    fields = [field.get("type") for field in schema.get("fields", [])]
    return [schema.get("items"), schema.get("values"), *fields, *([kind] if isinstance(kind, dict | list) else [])]


def drop_impossible_decimals(schema: Any) -> None:
    """Turn types with an invalid decimal logical type into plain bytes, as Java does.

    Source: Avro's specification, which says that invalid logical types are ignored, such as a scale above the
    precision.
    """
    if isinstance(schema, dict) and schema.get("logicalType") == "decimal" and not _is_possible(schema):
        del schema["logicalType"]
    for inner in _inner(schema):
        drop_impossible_decimals(inner)


def _is_possible(decimal: dict[str, Any]) -> bool:
    precision, scale, size = decimal.get("precision"), decimal.get("scale", 0), decimal.get("size")
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision or precision == 0:
        return False
    if decimal.get("type") != "fixed":
        return decimal.get("type") == "bytes"
    return type(size) is int and precision <= math.floor(math.log10(2) * (8 * size - 1))
