"""Decodes Avro values with a schema that a visitor has entered. Pure; needs fastavro, from the extra ``console``."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

from oncelog.errors import ConfigError
from oncelog.schemas.avro_shape import most_bytes

_MAGIC = b"\x00"
_WIRE_HEADER_BYTES = 5
"""The prefix written by serializers of schema registries: a zero byte and the schema's id."""


class NotAvro(ValueError):
    """The bytes do not fit the schema."""


@dataclass(frozen=True, slots=True)
class PastedSchema:
    """A schema, as text and parsed; ``most_bytes`` is set if values may nest deeper than the reader can follow."""

    text: str
    parsed: Any
    most_bytes: int | None = None

    @classmethod
    def parse(cls, text: str) -> PastedSchema:
        """:raises ConfigError: it is not an Avro schema, or its values could be endless."""
        import fastavro
        from fastavro.schema import SchemaParseException, UnknownType

        try:
            given = json.loads(text)
            parsed = fastavro.parse_schema(given)
            readable = most_bytes(parsed)
        except ConfigError:
            raise
        except json.JSONDecodeError as error:
            raise ConfigError(f"an Avro schema must be JSON; this is not: {error}") from error
        except RecursionError as error:
            raise ConfigError("the schema nests too deeply to be read") from error
        except (SchemaParseException, UnknownType, TypeError, KeyError, ValueError, AttributeError) as error:
            raise ConfigError(f"this is not an Avro schema: {type(error).__name__}: {error}") from error
        return cls(text, parsed, readable)

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
