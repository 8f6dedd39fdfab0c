"""Deserializers of Confluent's wire format: each value is read with the schema that it was written with.

A deserializer can be called with the bytes alone (aiokafka), or with the bytes and a context (``oncelog``,
confluent-kafka); it also has ``deserialize`` (kafka-python). The first value with a schema id causes a request to the
registry, later ones do not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from oncelog.runtime import real_asyncio as asyncio
from oncelog.schemas.aio import AsyncSchemaRegistry
from oncelog.schemas.avro.values import NAMED, PYTHON
from oncelog.schemas.avro_codec import AvroCodec
from oncelog.schemas.codecs import Codecs, Headers, need_schema_packages
from oncelog.schemas.framing import HEADER_BYTES, indexes_of, schema_id_of
from oncelog.schemas.json_codec import JsonCodec
from oncelog.schemas.protobuf_codec import ProtobufCodec, read_message
from oncelog.schemas.schema_errors import SchemaError
from oncelog.schemas.serializers import schema_of
from oncelog.schemas.structs import AVRO, Schema

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from oncelog.schemas.registry import SchemaRegistry


class Deserializer(ABC):
    """The common part of the three deserializers.

    The schema is the one that the record's header ``__value_schema_id`` (``__key_schema_id`` for a key) names by id or
    GUID; without the header, the one whose id precedes the payload. The consumers of ``oncelog``, kafka-python and
    confluent-kafka pass the headers; aiokafka's does not.

    :param from_dict: converts the decoded data to the program's value.
    :param is_key: whether to deserialize keys; the consumers of ``oncelog`` and confluent-kafka pass this themselves.
    """

    takes_context = True
    """``oncelog``'s consumers call it with the bytes and a context that has ``topic``, ``field`` and ``headers``."""

    def __init__(
        self,
        registry: SchemaRegistry | AsyncSchemaRegistry,
        *,
        from_dict: Callable[[Any], Any] | None = None,
        is_key: bool = False,
    ) -> None:
        self._codecs = Codecs(registry.blocking if isinstance(registry, AsyncSchemaRegistry) else registry)
        self._is_key = is_key
        self._from_dict = from_dict

    def __call__(self, data: bytes | None, context: Any = None) -> Any:
        """Deserialize a key or value; None for None.

        :raises SchemaError: no schema is named, or the bytes do not fit their schema.
        :raises SchemaRegistryError: the registry does not know the id, or cannot be asked.
        """
        if context is None:
            return self._deserialized(data, None, self._is_key)
        return self._deserialized(data, context.headers, context.field == "key")

    def deserialize(self, topic: str, headers: Any, data: bytes | None) -> Any:
        """The method with which kafka-python calls deserializers."""
        return self._deserialized(data, headers, self._is_key)

    async def deserialize_async(self, data: bytes | None, headers: Headers = None) -> Any:
        """Deserialize a key or value without blocking the event loop on the registry."""
        return await asyncio.to_thread(self._deserialized, data, headers, self._is_key)

    def _deserialized(self, data: bytes | None, headers: Headers, is_key: bool) -> Any:
        if data is None:
            return None
        value = self._read(self._codecs.prefixed(bytes(data), headers, is_key=is_key))
        return value if self._from_dict is None else self._from_dict(value)

    @abstractmethod
    def _read(self, data: bytes) -> Any: ...


class AvroDeserializer(Deserializer):
    """Reads Avro.

    :param reader_schema: the schema that the program expects: values are resolved to it by Avro's rules.
    :param union_names: return a value of a union of several types as a pair of the type's full name (``"shop.Order"``,
        ``"bytes"``) and the value, as the serializer accepts it; otherwise return the value alone.
    """

    def __init__(
        self,
        registry: SchemaRegistry | AsyncSchemaRegistry,
        reader_schema: str | Mapping[str, Any] | Schema | None = None,
        *,
        union_names: bool = False,
        from_dict: Callable[[Any], Any] | None = None,
        is_key: bool = False,
    ) -> None:
        super().__init__(registry, from_dict=from_dict, is_key=is_key)
        self._form = NAMED if union_names else PYTHON
        self._reader: AvroCodec | None = None
        if reader_schema is not None:
            made = self._codecs.make(schema_of(reader_schema, AVRO))
            self._reader = made if isinstance(made, AvroCodec) else None

    def _read(self, data: bytes) -> Any:
        codec = self._codecs.of(schema_id_of(data))
        if not isinstance(codec, AvroCodec):
            raise _other(data, codec.schema_type, "Avro")
        return codec.decode(data, self._reader, form=self._form)


class JsonSchemaDeserializer(Deserializer):
    """Reads JSON.

    :param validate: check each value against the schema that it was written with.
    """

    def __init__(
        self,
        registry: SchemaRegistry | AsyncSchemaRegistry,
        *,
        validate: bool = True,
        from_dict: Callable[[Any], Any] | None = None,
        is_key: bool = False,
    ) -> None:
        super().__init__(registry, from_dict=from_dict, is_key=is_key)
        self._validate = validate

    def _read(self, data: bytes) -> Any:
        codec = self._codecs.of(schema_id_of(data))
        if not isinstance(codec, JsonCodec):
            raise _other(data, codec.schema_type, "JSON Schema")
        return codec.decode(data, check=self._validate)


class ProtobufDeserializer(Deserializer):
    """Reads Protobuf.

    :param message_class: the class of the returned messages; the registry is then not asked. Without it, a class is
        made from the schema with which a message was written.
    """

    def __init__(
        self,
        registry: SchemaRegistry | AsyncSchemaRegistry,
        message_class: type[Message] | None = None,
        *,
        from_dict: Callable[[Any], Any] | None = None,
        is_key: bool = False,
    ) -> None:
        need_schema_packages()
        super().__init__(registry, from_dict=from_dict, is_key=is_key)
        self._class = message_class

    def _read(self, data: bytes) -> Any:
        schema_id = schema_id_of(data)
        if self._class is not None:
            _, position = indexes_of(data, HEADER_BYTES)
            return read_message(self._class, data[position:])
        codec = self._codecs.of(schema_id)
        if not isinstance(codec, ProtobufCodec):
            raise _other(data, codec.schema_type, "Protobuf")
        return codec.decode(data)


def _other(data: bytes, schema_type: str, wanted: str) -> SchemaError:
    return SchemaError(f"the value was written with schema {schema_id_of(data)} of type {schema_type}, not {wanted}")
