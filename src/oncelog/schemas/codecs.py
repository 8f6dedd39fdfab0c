"""The codecs of a registry's schemas, and the decoding of records with them. Called by serializers, commands, the
console and Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from oncelog.runtime.packages import need_packages
from oncelog.schemas.avro_codec import AvroCodec
from oncelog.schemas.framing import header_of, prefixed, schema_id_of
from oncelog.schemas.json_codec import JsonCodec
from oncelog.schemas.protobuf_codec import ProtobufCodec
from oncelog.schemas.registry import MAX_KEPT, SchemaRegistry
from oncelog.schemas.schema_errors import SchemaError, SchemaMismatch
from oncelog.schemas.structs import AVRO, JSON, PROTOBUF, Schema

SERIALIZED = "serialized"
Headers = Iterable[Any] | Mapping[str, Any] | None
"""A record's headers: pairs of a name and a value, or a dictionary."""
KINDS = {AVRO: AvroCodec, JSON: JsonCodec, PROTOBUF: ProtobufCodec}


class Codec(Protocol):
    """Reads and writes the payloads of one schema."""

    schema_type: str

    @property
    def name(self) -> str | None:
        """The full name of the record or message, or the title of the JSON Schema."""

    def encode(self, value: Any, *, strict: bool = False) -> bytes: ...
    def decode(self, data: bytes) -> Any: ...
    def decode_json(self, data: bytes) -> tuple[Any, str | None]: ...
    def from_json(self, value: Any) -> Any: ...


class Decoded(NamedTuple):
    """A key or value converted to JSON types, and the schema that it was written with."""

    value: Any
    schema_id: int
    schema_type: str
    name: str | None


def need_schema_packages() -> None:
    """Check that the extra's packages are installed.

    :raises OncelogError: one is missing.
    """
    need_packages("schemas need", ("fastavro", "jsonschema", "google.protobuf"), "schemas")


class Codecs:
    """Caches a registry's codecs by schema id, and the errors of schemas that cannot be used."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self.registry = registry
        self._made: dict[int, Codec | str] = {}
        self._lock = threading.Lock()

    def of(self, schema_id: int) -> Codec:
        """The codec of the schema with this id.

        :raises SchemaRegistryError: the registry does not know the id, or cannot be asked.
        :raises SchemaMismatch: the schema cannot be used here.
        """
        with self._lock:
            found = self._made.get(schema_id)
        if found is None:
            schema = self.registry.schema(schema_id)
            if schema.schema_type == PROTOBUF:
                schema = self.registry.schema(schema_id, SERIALIZED)
            try:
                found = self.make(schema)
            except SchemaError as error:
                found = str(error)
            with self._lock:
                if len(self._made) >= MAX_KEPT:
                    self._made.clear()
                self._made[schema_id] = found
        if isinstance(found, str):
            raise SchemaMismatch(f"schema {schema_id} cannot be used: {found}")
        return found

    def make(self, schema: Schema) -> Codec:
        """The codec of a schema that need not be registered; a Protobuf schema in its form ``serialized``.

        :raises SchemaMismatch: the schema cannot be used here.
        """
        need_schema_packages()
        kind: Any = KINDS.get(schema.schema_type)
        if kind is None:
            raise SchemaMismatch(f"schemas of type {schema.schema_type} are not known here; known: {', '.join(KINDS)}")
        form = SERIALIZED if schema.schema_type == PROTOBUF else ""
        made: Codec = kind(schema, self.registry.dependencies(schema, form))
        return made

    def prefixed(self, data: bytes, headers: Headers, *, is_key: bool) -> bytes:
        """A key or value with its schema's id at the front, even if a header of the record names the schema. Without
        such a header it stays unchanged.

        :raises SchemaError: there is such a header, but it names no schema.
        :raises SchemaRegistryError: the registry does not know the GUID, or cannot be asked.
        """
        return prefixed(data, header_of(headers, is_key), self.registry.id_of)

    def decoded(self, data: bytes, headers: Headers = (), *, is_key: bool = False) -> Decoded:
        """Decode a key or value with the schema that the record's header names, or else the prefix of the bytes.

        :raises SchemaError: neither names a schema, or the bytes do not fit it.
        :raises SchemaRegistryError: the registry does not know the id, or cannot be asked.
        """
        data = self.prefixed(data, headers, is_key=is_key)
        schema_id = schema_id_of(data)
        codec = self.of(schema_id)
        value, name = codec.decode_json(data)
        return Decoded(value, schema_id, codec.schema_type, name)
