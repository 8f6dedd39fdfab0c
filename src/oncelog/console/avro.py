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


class NotAvro(ValueError):
    """The bytes do not fit the schema."""


@dataclass(frozen=True, slots=True)
class AvroSchema:
    """A schema, as text and ready to read with."""

    text: str
    parsed: Any

    @classmethod
    def parse(cls, text: str) -> AvroSchema:
        """:raises ConfigError: it is no Avro schema, or one whose values could be endless."""
        import fastavro
        from fastavro.schema import SchemaParseException, UnknownType

        try:
            given = json.loads(text)
            parsed = fastavro.parse_schema(given)
        except json.JSONDecodeError as error:
            raise ConfigError(f"an Avro schema is JSON; this is not: {error}") from error
        except (SchemaParseException, UnknownType, TypeError, KeyError, ValueError, AttributeError) as error:
            raise ConfigError(f"this is no Avro schema: {type(error).__name__}: {error}") from error
        if _has_empty_items(parsed):
            raise ConfigError(
                "an array whose items take no bytes (null, or a record without fields) is not read: a few bytes could "
                "claim any number of them; give the items a type"
            )
        return cls(text, parsed)

    def read(self, data: bytes) -> Any:
        """The value as JSON has it.

        :raises NotAvro: the bytes do not fit.
        """
        import fastavro

        bare = data[_WIRE_HEADER_BYTES:] if data[:1] == _MAGIC and len(data) > _WIRE_HEADER_BYTES else None
        for candidate in (bare, data):
            if candidate is None:
                continue
            source = io.BytesIO(candidate)
            try:
                value = fastavro.schemaless_reader(source, self.parsed, None)
            except (EOFError, ValueError, IndexError, KeyError, TypeError, OverflowError, MemoryError) as error:
                failure: Exception = error
                continue
            if source.tell() == len(candidate):
                return value
            failure = ValueError(f"{len(candidate) - source.tell()} bytes are left over")
        raise NotAvro(f"{type(failure).__name__}: {failure}") from failure


def _has_empty_items(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(_has_empty_items(one) for one in schema)
    if not isinstance(schema, dict):
        return False
    kind = schema.get("type")
    if kind == "array" and _is_empty(schema.get("items")):
        return True
    inner = [schema.get("items"), schema.get("values"), *(field.get("type") for field in schema.get("fields", []))]
    return any(_has_empty_items(one) for one in inner) or (isinstance(kind, dict | list) and _has_empty_items(kind))


def _is_empty(schema: Any) -> bool:
    if isinstance(schema, dict):
        kind = schema.get("type")
        if kind in ("record", "error"):
            return all(_is_empty(field.get("type")) for field in schema.get("fields", []))
        return kind == "null" or (kind == "fixed" and schema.get("size") == 0)
    return bool(schema == "null")
