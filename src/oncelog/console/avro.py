"""Decodes Avro values with a schema that a visitor has entered. Pure; needs fastavro, from the extra ``console``."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from oncelog.errors import ConfigError

_MAGIC = b"\x00"
_WIRE_HEADER_BYTES = 5
"""The prefix written by serializers of schema registries: a zero byte and the schema's id."""

MOST_NESTED_BYTES = 2000
"""The reader does not check the depth of its stack, and each byte of a value may nest one level deeper."""
MOST_NESTED_TYPES = 1000
"""Limit for a schema whose values may have any size: each type may be nested in another one."""
MOST_IDLE = 10_000
"""Limit for records and nulls of a value that take no bytes: a few lines of schema can double them repeatedly."""
MOST_IDLE_PER_BYTE = 16
"""The same limit for an item that a value may contain many times."""


class NotAvro(ValueError):
    """The bytes do not fit the schema."""


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """A schema, as text and parsed; ``most_bytes`` is set if values may nest deeper than the reader can follow."""

    text: str
    parsed: Any
    most_bytes: int | None = None

    @classmethod
    def parse(cls, text: str) -> AvroSchema:
        """:raises ConfigError: it is not an Avro schema, or its values could be endless."""
        import fastavro
        from fastavro.schema import SchemaParseException, UnknownType

        try:
            given = json.loads(text)
            parsed = fastavro.parse_schema(given)
            shape = _Shape(parsed)
        except ConfigError:
            raise
        except json.JSONDecodeError as error:
            raise ConfigError(f"an Avro schema must be JSON; this is not: {error}") from error
        except RecursionError as error:
            raise ConfigError("the schema nests too deeply to be read") from error
        except (SchemaParseException, UnknownType, TypeError, KeyError, ValueError, AttributeError) as error:
            raise ConfigError(f"this is not an Avro schema: {type(error).__name__}: {error}") from error
        return cls(text, parsed, shape.most_bytes)

    def read(self, data: bytes) -> Any:
        """The value as JSON types.

        :raises NotAvro: the bytes do not fit.
        """
        import fastavro

        if self.most_bytes is not None and len(data) > self.most_bytes:
            raise NotAvro(f"with a schema whose types nest like this one's, values are read to {self.most_bytes} bytes")
        bare = data[_WIRE_HEADER_BYTES:] if data[:1] == _MAGIC and len(data) > _WIRE_HEADER_BYTES else None
        for candidate in (bare, data):
            if candidate is None:
                continue
            source = io.BytesIO(candidate)
            try:
                value = fastavro.schemaless_reader(source, self.parsed, None)
            except Exception as error:  # noqa: BLE001 - a value that does not fit the schema may fail in any way
                failure: Exception = error
                continue
            if source.tell() == len(candidate):
                return value
            failure = ValueError(f"{len(candidate) - source.tell()} bytes are left over")
        raise NotAvro(f"{type(failure).__name__}: {failure}") from failure


class _Weight(NamedTuple):
    """The least that a value of a type contains: items that take no bytes, bytes, and nested records."""

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
        self._depth = self._check(schema, MOST_IDLE // MOST_IDLE_PER_BYTE)
        self._parts(schema)

    @property
    def most_bytes(self) -> int | None:
        if self._names_itself or len(self._named) > MOST_NESTED_TYPES:
            return MOST_NESTED_BYTES // max(1, self._depth)
        return None

    def _look(self, schema: Any, around: tuple[str, ...]) -> None:
        """Note the named types, and whether one contains itself."""
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
        """Check the content of arrays, maps and unions: an item takes its own bytes, the others one more."""
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
        if idle > MOST_IDLE_PER_BYTE * (size + more):
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
