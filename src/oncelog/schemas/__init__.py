"""A client of schema registries, and serializers and deserializers in Confluent's wire format.

``pip install 'oncelog[schemas]'``. The modules of a format are imported at its first use.
"""

from oncelog.schemas.aio import AsyncSchemaRegistry
from oncelog.schemas.codecs import Codecs, Decoded
from oncelog.schemas.deserializers import AvroDeserializer, JsonSchemaDeserializer, ProtobufDeserializer
from oncelog.schemas.registry import SchemaRegistry
from oncelog.schemas.schema_errors import SchemaError, SchemaMismatch, SchemaRegistryError
from oncelog.schemas.serializers import AvroSerializer, JsonSchemaSerializer, ProtobufSerializer
from oncelog.schemas.structs import Reference, RegisteredSchema, Schema
from oncelog.schemas.subjects import SubjectName, record_subject, topic_record_subject, topic_subject

__all__ = [
    "AsyncSchemaRegistry",
    "AvroDeserializer",
    "AvroSerializer",
    "Codecs",
    "Decoded",
    "JsonSchemaDeserializer",
    "JsonSchemaSerializer",
    "ProtobufDeserializer",
    "ProtobufSerializer",
    "Reference",
    "RegisteredSchema",
    "Schema",
    "SchemaError",
    "SchemaMismatch",
    "SchemaRegistry",
    "SchemaRegistryError",
    "SubjectName",
    "record_subject",
    "topic_record_subject",
    "topic_subject",
]
