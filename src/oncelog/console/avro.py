"""Avro values with a schema that the visitor gave. Pure; needs fastavro, which the extra ``console`` brings."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

from oncelog.errors import ConfigError

_MAGIC = b"\x00"
_WIRE_HEADER_BYTES = 5
"""What registries' serializers put in front: a zero and the schema's id."""

MOST_NESTED_BYTES = 2000
"""The reader's own stack has an end that it does not look for: each byte of a value may nest once more."""


class NotAvro(ValueError):
    """The bytes do not fit the schema."""


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """A schema, as text and ready to read with; ``names_itself`` where values may nest without end."""

    text: str
    parsed: Any
    names_itself: bool = False

    @classmethod
    def parse(cls, text: str) -> AvroSchema:
        """:raises ConfigError: it is no Avro schema, or one whose values could be endless."""
        import fastavro
        from fastavro.schema import SchemaParseException, UnknownType

        try:
            given = json.loads(text)
            parsed = fastavro.parse_schema(given)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ConfigError(f"an Avro schema is JSON; this is not: {error}") from error
        except (SchemaParseException, UnknownType, TypeError, KeyError, ValueError, AttributeError) as error:
            raise ConfigError(f"this is no Avro schema: {type(error).__name__}: {error}") from error
        shape = _Shape(parsed)
        if shape.empty_items:
            raise ConfigError(
                "an array whose items take no bytes (null, or a record without fields) is not read: a few bytes could "
                "claim any number of them; give the items a type"
            )
        return cls(text, parsed, shape.names_itself)

    def read(self, data: bytes) -> Any:
        """The value as JSON has it.

        :raises NotAvro: the bytes do not fit.
        """
        import fastavro

        if self.names_itself and len(data) > MOST_NESTED_BYTES:
            raise NotAvro(f"with a schema that names itself, values are read to {MOST_NESTED_BYTES} bytes")
        bare = data[_WIRE_HEADER_BYTES:] if data[:1] == _MAGIC and len(data) > _WIRE_HEADER_BYTES else None
        for candidate in (bare, data):
            if candidate is None:
                continue
            source = io.BytesIO(candidate)
            try:
                value = fastavro.schemaless_reader(source, self.parsed, None)
            except (
                EOFError,
                ValueError,
                IndexError,
                KeyError,
                TypeError,
                OverflowError,
                MemoryError,
                RecursionError,
            ) as error:
                failure: Exception = error
                continue
            if source.tell() == len(candidate):
                return value
            failure = ValueError(f"{len(candidate) - source.tell()} bytes are left over")
        raise NotAvro(f"{type(failure).__name__}: {failure}") from failure


class _Shape:
    """What a schema allows that few bytes could abuse."""

    def __init__(self, schema: Any) -> None:
        self.empty_items = False
        self.names_itself = False
        self._named: dict[str, Any] = {}
        self._look(schema, ())
        self._arrays(schema)

    def _look(self, schema: Any, around: tuple[str, ...]) -> None:
        """Note the named types, and whether one lies within itself."""
        if isinstance(schema, str):
            self.names_itself |= schema in around
        elif isinstance(schema, dict):
            name = schema.get("name")
            if isinstance(name, str):
                self._named[name] = schema
                around = (*around, name)
        for inner in _inner(schema):
            self._look(inner, around)

    def _arrays(self, schema: Any) -> None:
        if isinstance(schema, dict) and schema.get("type") == "array" and self._is_empty(schema.get("items"), ()):
            self.empty_items = True
        for inner in _inner(schema):
            self._arrays(inner)

    def _is_empty(self, schema: Any, around: tuple[str, ...]) -> bool:
        """Whether a value takes no bytes."""
        if isinstance(schema, str) and schema in self._named and schema not in around:
            return self._is_empty(self._named[schema], (*around, schema))
        if not isinstance(schema, dict):
            return bool(schema == "null")
        kind = schema.get("type")
        if kind in ("record", "error"):
            return all(self._is_empty(field.get("type"), around) for field in schema.get("fields", []))
        return kind == "null" or (kind == "fixed" and schema.get("size") == 0)


def _inner(schema: Any) -> list[Any]:
    if isinstance(schema, list):
        return schema
    if not isinstance(schema, dict):
        return []
    kind = schema.get("type")
    fields = [field.get("type") for field in schema.get("fields", [])]
    return [schema.get("items"), schema.get("values"), *fields, *([kind] if isinstance(kind, dict | list) else [])]
