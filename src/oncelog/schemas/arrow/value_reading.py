"""Reads keys and values in Confluent's wire format into an Arrow array of one reader's schema, each with its writer's
schema.

Called in Spark's workers for one batch at a time, on the driver for the columns' types, and by ``oncelog export``. A
value that cannot be read becomes null, with an error. If the registry cannot be asked, an exception is raised instead,
because nothing is wrong with the value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa
from pyarrow import compute

from oncelog.schemas import structs
from oncelog.schemas.arrow.avro_types import AvroTypes
from oncelog.schemas.arrow.decoder import decoder_of
from oncelog.schemas.arrow.fitting import Problems
from oncelog.schemas.arrow.json_columns import JsonColumns
from oncelog.schemas.arrow.named_in_headers import with_ids
from oncelog.schemas.arrow.protobuf_columns import ProtobufColumns
from oncelog.schemas.avro_codec import AvroCodec
from oncelog.schemas.codecs import SERIALIZED, Codec, Codecs
from oncelog.schemas.framing import HEADER_BYTES, indexes_of, schema_id_of
from oncelog.schemas.protobuf_codec import ProtobufCodec, read_message
from oncelog.schemas.registry import LATEST
from oncelog.schemas.schema_errors import OtherType, SchemaError, SchemaMismatch, SchemaRegistryError
from oncelog.schemas.structs import PROTOBUF, Schema

if TYPE_CHECKING:
    from oncelog.schemas.registry import SchemaRegistry

UNKNOWN = "unknown"
"""The verdict on a schema id that the registry does not know."""


@dataclass(frozen=True, slots=True)
class ReaderSchema:
    """The version of a subject whose schema values are read into, with the referenced schemas; picklable.

    :param schema: the schema's text; a Protobuf schema in its form ``serialized``.
    :param needs: the referenced schemas, by name.
    :param message: the message of a Protobuf file; empty for its first one.
    """

    subject: str
    version: int
    schema_id: int
    schema: Schema
    needs: tuple[tuple[str, Schema], ...] = ()
    message: str = ""

    @property
    def shown(self) -> str:
        return f"{self.subject}:{self.version}"


def parse_version(text: str) -> tuple[str, int | str]:
    """A subject and its version: ``orders-value:3``; without a version, the latest."""
    subject, _, version = text.rpartition(":")
    if subject and version.isascii() and version.isdecimal():
        return subject, int(version)
    return (subject, LATEST) if subject and version == LATEST else (text, LATEST)


def find_reader(registry: SchemaRegistry, text: str, message: str = "") -> ReaderSchema:
    """Ask the registry for the version of a subject into which values are to be read.

    :param text: as :func:`parse_version` takes it.
    :raises SchemaRegistryError: the version does not exist, or the registry cannot be asked.
    """
    subject, version = parse_version(text)
    found = registry.version(subject, version)
    form = SERIALIZED if found.schema.schema_type == PROTOBUF else ""
    if form:
        found = registry.version(subject, found.version, form)
    needs = tuple(registry.dependencies(found.schema, form).items())
    return ReaderSchema(found.subject, found.version, found.schema_id, found.schema, needs, message)


def reader_of_id(registry: SchemaRegistry, schema_id: int, message: str = "") -> ReaderSchema:
    """Ask the registry for a schema by its id, whatever its subject, into which values are to be read.

    :raises SchemaRegistryError: the id does not exist, or the registry cannot be asked.
    """
    schema = registry.schema(schema_id)
    form = SERIALIZED if schema.schema_type == PROTOBUF else ""
    if form:
        schema = registry.schema(schema_id, form)
    return ReaderSchema("", 0, schema_id, schema, tuple(registry.dependencies(schema, form).items()), message)


class ReadValues(NamedTuple):
    """The result of a read.

    :param verdicts: for each schema id among the values, a digest of its schema, or why it has none (:data:`UNKNOWN`).
    """

    values: pa.Array
    problems: Problems
    verdicts: dict[int, str]


class _Format(Protocol):
    arrow_type: pa.DataType

    def reading(self, head: bytes, writer: Any) -> Any:
        """The entry of ``readings`` for values that begin with ``head``; ``writer`` is the codec of their schema.

        :raises SchemaError: the reader's schema cannot accept values of that schema.
        """

    def read(self, rows: list[bytes | None], readings: Mapping[bytes, Any]) -> tuple[pa.Array, Problems]:
        """Read the values. The first five bytes of a value select its entry of ``readings``."""


def columns_of(reader: ReaderSchema) -> pa.StructType:
    """The columns of a schema. A schema that is not a record has one column, ``value``.

    :raises SchemaError: the schema has no columns in Spark.
    """
    kind = _format(reader).arrow_type
    return kind if pa.types.is_struct(kind) else pa.struct([pa.field("value", kind)])


def _format(reader: ReaderSchema, *, texts: bool = False) -> _Format:
    needs, kind = dict(reader.needs), reader.schema.schema_type
    if reader.message and kind != PROTOBUF:
        raise SchemaError(
            f"the schema is of type {kind}, and has no messages to choose from: leave out {reader.message!r}"
        )
    match kind:
        case structs.PROTOBUF:
            return _Protobuf(ProtobufCodec(reader.schema, needs), reader.message, texts=texts)
        case structs.JSON:
            return _Json(reader.schema, needs)
        case structs.AVRO:
            return _Avro(AvroCodec(reader.schema, needs), texts=texts)
    raise SchemaError(f"schemas of type {kind} are not known here")


class ColumnReader:
    """Reads values into the columns of one reader's schema.

    :param texts: a type that a file cannot express becomes text, mostly JSON; otherwise the types are Spark's.
    :raises SchemaError: the schema has no columns.
    """

    def __init__(self, reader: ReaderSchema, codecs: Codecs, *, texts: bool = False) -> None:
        self._codecs = codecs
        self._type = reader.schema.schema_type
        self._format = _format(reader, texts=texts)
        self.arrow_type = self._format.arrow_type

    def read(self, values: pa.Array, headers: pa.Array | None = None, *, is_key: bool = False) -> ReadValues:
        """Read a column of keys or values.

        :param headers: the records' headers, which may name the schemas of their keys or values.
        :raises SchemaRegistryError: the registry cannot be asked.
        """
        values, problems = with_ids(values, headers, self._codecs, is_key=is_key)
        readings: dict[bytes, Any] = {}
        refused: dict[bytes, SchemaError] = {}
        verdicts: dict[int, str] = {}
        for head in compute.unique(compute.binary_slice(values, 0, HEADER_BYTES)).drop_null().to_pylist():
            try:
                codec = self._writer(schema_id_of(head), verdicts)
                readings[head] = self._format.reading(head, codec)
            except SchemaError as error:
                refused[head] = error
        rows: list[bytes | None] = values.to_pylist()
        for number, row in enumerate(rows if refused else ()):
            if row is not None and row[:HEADER_BYTES] in refused:
                rows[number], problems[number] = None, refused[row[:HEADER_BYTES]]
        found, unread = self._format.read(rows, readings)
        return ReadValues(found, problems | unread, verdicts)

    def _writer(self, schema_id: int, verdicts: dict[int, str]) -> Codec:
        """The codec of the schema with this id; the verdict on the id is added to ``verdicts``.

        :raises SchemaError: the id has no usable schema.
        """
        try:
            codec = self._codecs.of(schema_id)
            text = self._codecs.registry.schema(schema_id).text
        except SchemaRegistryError as error:
            if not error.is_not_found:
                raise
            verdicts[schema_id] = UNKNOWN
            raise SchemaError(f"schema id {schema_id} is not known to {self._codecs.registry.url}") from None
        except SchemaError as error:
            verdicts[schema_id] = str(error)
            raise
        verdicts[schema_id] = hashlib.sha256(text.encode()).hexdigest()
        if codec.schema_type != self._type:
            raise OtherType(f"it was written with schema {schema_id} of type {codec.schema_type}, not {self._type}")
        return codec


class _Avro:
    def __init__(self, reader: AvroCodec, *, texts: bool) -> None:
        self._decoder = decoder_of(AvroTypes(reader.parsed), texts=texts)
        self.arrow_type = self._decoder.arrow_type
        self._readings: dict[bytes, Any] = {}

    def reading(self, head: bytes, writer: AvroCodec) -> Any:
        found = self._readings.get(head)
        if found is None:
            found = self._readings[head] = self._decoder.reading(AvroTypes(writer.parsed))
        return found

    def read(self, rows: list[bytes | None], readings: Mapping[bytes, Any]) -> tuple[pa.Array, Problems]:
        found, problems = self._decoder.read(rows, readings)
        return found, {number: _of_schema(rows[number] or b"", problem) for number, problem in problems.items()}


def _of_schema(row: bytes, problem: SchemaError) -> SchemaError:
    if isinstance(problem, SchemaMismatch):
        return SchemaMismatch(f"schema {schema_id_of(row)}: {problem}")
    return SchemaError(f"the bytes do not fit schema {schema_id_of(row)}: {problem}")


class _Json:
    def __init__(self, schema: Schema, needs: Mapping[str, Schema]) -> None:
        self._columns = JsonColumns(schema, needs)
        self.arrow_type = self._columns.arrow_type

    def reading(self, head: bytes, writer: Any) -> Any:
        return writer

    def read(self, rows: list[bytes | None], readings: Mapping[bytes, Any]) -> tuple[pa.Array, Problems]:
        return self._columns.array([None if row is None else (readings[row[:HEADER_BYTES]], row) for row in rows])


class _Protobuf:
    def __init__(self, reader: ProtobufCodec, message: str, *, texts: bool) -> None:
        if message:
            reader.choose(message)
        self._class = reader.message_class(reader.path)
        self._columns = ProtobufColumns(self._class.DESCRIPTOR, texts=texts)
        self.arrow_type = self._columns.arrow_type

    def reading(self, head: bytes, writer: Any) -> Any:
        return writer

    def read(self, rows: list[bytes | None], readings: Mapping[bytes, Any]) -> tuple[pa.Array, Problems]:
        messages: list[Any] = []
        problems: Problems = {}
        for number, row in enumerate(rows):
            message = None
            if row is not None:
                try:
                    message = self._message(row, readings[row[:HEADER_BYTES]])
                except SchemaError as error:
                    problems[number] = error
            messages.append(message)
        found, more = self._columns.array(messages)
        return found, problems | more

    def _message(self, row: bytes, writer: ProtobufCodec) -> Any:
        path, position = indexes_of(row, HEADER_BYTES)
        wrote = writer.message_class(path).DESCRIPTOR.full_name
        if wrote != self._columns.name:
            raise OtherType(f"the message is of type {wrote}, not of {self._columns.name}")
        return read_message(self._class, row[position:])
