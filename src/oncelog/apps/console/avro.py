"""Decodes Avro values with a schema that a visitor has entered. Pure; needs fastavro, from the extra ``console``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oncelog.errors import ConfigError
from oncelog.runtime import real_json as json
from oncelog.schemas.avro_codec import AvroCodec
from oncelog.schemas.framing import HEADER_BYTES, MAGIC
from oncelog.schemas.schema_errors import SchemaError
from oncelog.schemas.structs import Schema


class NotAvro(ValueError):
    """The bytes do not fit the schema."""


@dataclass(frozen=True, slots=True)
class PastedSchema:
    """An Avro schema that a visitor has pasted: its text, and the codec that decodes values with it."""

    text: str
    codec: AvroCodec

    @classmethod
    def parse(cls, text: str) -> PastedSchema:
        """Parse the text of a schema.

        :raises ConfigError: the text is not an Avro schema, or its values could be endless.
        """
        try:
            json.loads(text)
        except RecursionError as error:
            raise ConfigError("the schema nests too deeply to be read") from error
        except ValueError as error:
            raise ConfigError(f"an Avro schema must be JSON; this is not: {error}") from error
        try:
            return cls(text, AvroCodec(Schema(text), {}))
        except SchemaError as error:
            raise ConfigError(str(error)) from error

    def read(self, data: bytes) -> Any:
        """Decode bytes to JSON types, with or without a schema id before the value.

        :raises NotAvro: the bytes do not fit the schema.
        """
        try:
            if data[:1] == bytes([MAGIC]) and len(data) > HEADER_BYTES:
                return self.codec.decode_json(data)[0]
        except SchemaError:
            pass
        try:
            return self.codec.decode_json(data, position=0)[0]
        except SchemaError as error:
            raise NotAvro(str(error)) from error
