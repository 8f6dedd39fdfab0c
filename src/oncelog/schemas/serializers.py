"""Serializers in Confluent's wire format, for our clients' ``value_serializer`` and for other clients.

A serializer can be called with the value alone (aiokafka), or with the value and a context (``oncelog``,
confluent-kafka); it also has ``serialize`` (kafka-python). Only the first value of a subject causes a request to the
registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from oncelog.errors import ConfigError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_json as json
from oncelog.schemas.aio import AsyncSchemaRegistry
from oncelog.schemas.codecs import Codec, Codecs
from oncelog.schemas.framing import drop_header, framed, guid_header, header_name, with_indexes
from oncelog.schemas.known_protos import is_known
from oncelog.schemas.protobuf_codec import file_text, path_of
from oncelog.schemas.registry import SchemaRegistry
from oncelog.schemas.schema_errors import SchemaError, SchemaRegistryError
from oncelog.schemas.structs import AVRO, JSON, PROTOBUF, Reference, RegisteredSchema, Schema
from oncelog.schemas.subjects import SubjectName, topic_subject

if TYPE_CHECKING:
    from google.protobuf.descriptor import FileDescriptor
    from google.protobuf.message import Message


PREFIX, HEADER = "prefix", "header"


class _Writer(NamedTuple):
    schema_id: int
    guid: str | None
    codec: Codec | None


class Serializer(ABC):
    """The common part of the three serializers.

    :param topic: the topic that the values go to; not needed with clients that pass the topic.
    :param is_key: serialize keys instead of values.
    :param subject: the subject, instead of the one that ``subject_name`` computes.
    :param auto_register: register the schema if necessary; if False, it must be registered already. The default is
        True, unless ``use_latest`` or ``version`` is given.
    :param use_latest: write with the subject's latest version.
    :param version: write with this version of the subject.
    :param normalize: have the registry normalize the schema before it is compared or registered.
    :param schema_id_serializer: how the schema is identified, as in Confluent's ``schema.id.serializer``: ``prefix``,
        its id before the payload, or ``header``, its GUID in the header ``__value_schema_id`` (``__key_schema_id`` for
        a key), for which the producer must pass the headers: those of ``oncelog``, kafka-python and confluent-kafka do.
    """

    schema_type: str
    takes_context = True
    """``oncelog``'s producers call it with the value and a context that has ``topic``, ``field`` and ``headers``."""

    def __init__(
        self,
        registry: SchemaRegistry | AsyncSchemaRegistry,
        *,
        topic: str | None = None,
        is_key: bool = False,
        subject: str | None = None,
        subject_name: SubjectName = topic_subject,
        auto_register: bool | None = None,
        use_latest: bool = False,
        version: int | None = None,
        normalize: bool = False,
        schema_id_serializer: str = PREFIX,
    ) -> None:
        if schema_id_serializer not in (PREFIX, HEADER):
            raise ConfigError(f"schema_id_serializer is {PREFIX!r} or {HEADER!r}, not {schema_id_serializer!r}")
        given = use_latest or version is not None
        if (use_latest and version is not None) or (given and auto_register):
            raise ConfigError(
                "auto_register, use_latest and version exclude each other: each says which schema is used"
            )
        self._registry = registry.blocking if isinstance(registry, AsyncSchemaRegistry) else registry
        self._codecs = Codecs(self._registry)
        self._topic = topic
        self._is_key = is_key
        self._subject = subject
        self._subject_name = subject_name
        self._auto_register = not given if auto_register is None else auto_register
        self._use_latest = use_latest
        self._version = version
        self._normalize = normalize
        self._in_header = schema_id_serializer == HEADER
        self._writers: dict[tuple[str, Schema | None], _Writer] = {}

    def __call__(self, value: Any, context: Any = None) -> bytes | None:
        """Serialize a key or value; None for None.

        :raises SchemaError: the value does not fit the schema.
        :raises SchemaRegistryError: the registry refuses the schema, does not have it or cannot be asked.
        """
        if value is None:
            return None
        if context is None:
            return self._serialized(value, self._topic, self._is_key, None)
        return self._serialized(value, context.topic or self._topic, context.field == "key", context.headers)

    def serialize(self, topic: str, headers: Any, data: Any) -> bytes | None:
        """The method with which kafka-python calls serializers."""
        return None if data is None else self._serialized(data, topic or self._topic, self._is_key, headers)

    async def serialize_async(
        self, value: Any, topic: str | None = None, headers: list[tuple[str, bytes]] | None = None
    ) -> bytes | None:
        """Serialize a key or value without blocking the event loop on the registry.

        :param headers: the record's headers, to which the schema's GUID is added with
            ``schema_id_serializer="header"``.
        """
        if value is None:
            return None
        return await asyncio.to_thread(self._serialized, value, topic or self._topic, self._is_key, headers)

    def _serialized(self, value: Any, topic: str | None, is_key: bool, headers: Any) -> bytes:
        name = self._name(value)
        subject = self._subject if self._subject is not None else self._subject_name(topic, is_key, name)
        writer = self._writer(subject, value)
        payload = self._payload(writer.codec, value)
        if not self._in_header:
            drop_header(headers, is_key)
            return framed(writer.schema_id, payload)
        if writer.guid is None:
            raise SchemaRegistryError(
                f"the schema registry {self._registry.url} gives schemas no GUID, as Confluent's do from 8.0 on: write "
                f"with schema_id_serializer={PREFIX!r}"
            )
        header, payload = guid_header(writer.guid, payload, has_indexes=self.schema_type == PROTOBUF)
        drop_header(headers, is_key)
        if isinstance(headers, dict):
            headers[header_name(is_key)] = header
        elif isinstance(headers, list):
            headers.append((header_name(is_key), header))
        else:
            raise ConfigError(
                f"schema_id_serializer={HEADER!r} needs the record's headers, which this producer does not hand over: "
                "oncelog's producers do, and confluent-kafka's in SerializationContext(topic, field, headers); or "
                f"write with {PREFIX!r}"
            )
        return payload

    def _writer(self, subject: str, value: Any) -> _Writer:
        if self._use_latest:
            return self._checked(self._registry.latest(subject))
        own = self._own(value) if self._version is None else None
        found = self._writers.get((subject, own))
        if found is None:
            found = self._writers[subject, own] = self._found(subject, own, value)
        return found

    def _found(self, subject: str, own: Schema | None, value: Any) -> _Writer:
        if own is None:
            version = self._version
            if version is None:
                raise ConfigError("a serializer needs a schema, or use_latest, or the version of a subject")
            return self._checked(self._registry.version(subject, version))
        schema = self._complete(own, value)
        schema_id, guid = None, None
        if self._auto_register:
            schema_id = self._registry.register(subject, schema, normalize=self._normalize)
        if schema_id is None or self._in_header:
            found = self._registry.lookup(subject, schema, normalize=self._normalize)
            schema_id, guid = found.schema_id, found.guid
        return _Writer(schema_id, guid, self._own_codec())

    def _checked(self, found: RegisteredSchema) -> _Writer:
        found.check_writable()
        codec = self._codecs.of(found.schema_id)
        if codec.schema_type != self.schema_type:
            raise SchemaError(f"schema {found.schema_id} is of type {codec.schema_type}, not {self.schema_type}")
        return _Writer(found.schema_id, found.guid, codec)

    @abstractmethod
    def _name(self, value: Any) -> str | None: ...

    @abstractmethod
    def _own(self, value: Any) -> Schema | None: ...

    @abstractmethod
    def _own_codec(self) -> Codec | None: ...

    def _complete(self, own: Schema, value: Any) -> Schema:
        return own

    @abstractmethod
    def _payload(self, codec: Codec | None, value: Any) -> bytes: ...


class _TextSerializer(Serializer):
    """A serializer whose schema is given as text.

    :param schema: the schema; None with ``use_latest`` or ``version``.
    :param to_dict: converts a value to the form that the schema describes.
    """

    def __init__(
        self,
        registry: SchemaRegistry | AsyncSchemaRegistry,
        schema: str | Mapping[str, Any] | Schema | None = None,
        *,
        to_dict: Callable[[Any], Any] | None = None,
        strict: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(registry, **settings)
        self._to_dict = to_dict
        self._strict = strict
        self._schema: Schema | None = None
        if schema is not None:
            self._schema = schema_of(schema, self.schema_type)
        self._codec: Codec | None = None

    def _name(self, value: Any) -> str | None:
        codec = self._own_codec()
        return None if codec is None else codec.name

    def _own(self, value: Any) -> Schema | None:
        return self._schema

    def _own_codec(self) -> Codec | None:
        if self._codec is None and self._schema is not None:
            self._codec = self._codecs.make(self._schema)
        return self._codec

    def _payload(self, codec: Codec | None, value: Any) -> bytes:
        if codec is None:
            raise ConfigError("a serializer needs a schema, or use_latest, or the version of a subject")
        return codec.encode(value if self._to_dict is None else self._to_dict(value), strict=self._strict)


def schema_of(given: str | Mapping[str, Any] | Schema, schema_type: str) -> Schema:
    """A schema from its text, from its parsed JSON, or from a schema object."""
    if isinstance(given, Schema):
        return given
    return Schema(given if isinstance(given, str) else json.dumps(given), schema_type)


class AvroSerializer(_TextSerializer):
    """Writes Avro.

    A value of a union is written as the type that it fits. A value that fits several types is refused, except for
    numbers: name its type, as in ``("shop.Order", {...})``. Missing fields get their defaults. A ``datetime`` without a
    zone is in the machine's time zone, as for Confluent's serializer, unless its type is a local timestamp.

    :param strict: refuse fields that are not in the schema, which are left out otherwise.
    """

    schema_type = AVRO


class JsonSchemaSerializer(_TextSerializer):
    """Writes JSON that fits a JSON Schema."""

    schema_type = JSON


class ProtobufSerializer(Serializer):
    """Writes messages of one class, and registers its file and the imported files.

    :param message_class: the class generated by protoc.
    """

    schema_type = PROTOBUF

    def __init__(
        self, registry: SchemaRegistry | AsyncSchemaRegistry, message_class: type[Message], **settings: Any
    ) -> None:
        super().__init__(registry, **settings)
        self._class = message_class
        self._own_schema = Schema(file_text(message_class.DESCRIPTOR.file), PROTOBUF)
        self._path = path_of(message_class.DESCRIPTOR)

    def _name(self, value: Any) -> str | None:
        return str(self._class.DESCRIPTOR.full_name)

    def _own(self, value: Any) -> Schema | None:
        return self._own_schema

    def _own_codec(self) -> Codec | None:
        return None

    def _complete(self, own: Schema, value: Any) -> Schema:
        return Schema(own.text, PROTOBUF, self._references(self._class.DESCRIPTOR.file))

    def _references(self, file: FileDescriptor) -> tuple[Reference, ...]:
        """References to the files that a file imports; each file's name is the subject in which it is registered."""
        found = []
        for imported in file.dependencies:
            if is_known(imported.name):
                continue
            schema = Schema(file_text(imported), PROTOBUF, self._references(imported))
            if self._auto_register:
                self._registry.register(imported.name, schema, normalize=self._normalize)
            version = self._registry.lookup(imported.name, schema, normalize=self._normalize).version
            found.append(Reference(imported.name, imported.name, version))
        return tuple(found)

    def _payload(self, codec: Codec | None, value: Any) -> bytes:
        from google.protobuf.message import EncodeError

        if not isinstance(value, self._class):
            raise SchemaError(f"the serializer writes {self._class.__name__}, not {type(value).__name__}")
        try:
            return with_indexes(self._path, value.SerializeToString())
        except (EncodeError, ValueError) as error:
            raise SchemaError(f"the message cannot be written: {error}") from error
