"""Keys and values in the wire format as an Arrow array of one reader's schema, each read with its own writer's.

Called in Spark's workers with a batch at a time, and on the driver for the columns' types. A value that cannot be read
is null, with the reason; a registry that cannot be asked raises: nothing is wrong with the value then.
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
from oncelog.schemas.arrow.decoder import ColumnDecoder, array_of
from oncelog.schemas.arrow.json_columns import JsonColumns
from oncelog.schemas.arrow.layout import ReadStep
from oncelog.schemas.arrow.named_in_headers import with_ids
from oncelog.schemas.arrow.protobuf_columns import ProtobufColumns
from oncelog.schemas.arrow.resolution import mismatches, resolve
from oncelog.schemas.avro_codec import AvroCodec
from oncelog.schemas.codecs import SERIALIZED, Codec, Codecs
from oncelog.schemas.framing import HEADER_BYTES, indexes_of, schema_id_of
from oncelog.schemas.protobuf_codec import ProtobufCodec, read_message
from oncelog.schemas.registry import LATEST
from oncelog.schemas.schema_errors import SchemaError, SchemaMismatch, SchemaRegistryError, reason_of
from oncelog.schemas.structs import PROTOBUF, Schema

if TYPE_CHECKING:
    from oncelog.schemas.registry import SchemaRegistry

UNKNOWN = "unknown"
"""The verdict on an id that the registry does not have."""


@dataclass(frozen=True, slots=True)
class ReaderSchema:
    """The version of a subject that values are read into, with all that it needs; it can be pickled.

    :param schema: of Protobuf in its form ``serialized``.
    :param needs: what it refers to, by name.
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
    """The version of a subject to read into, asked for now.

    :param text: as :func:`parse_version` takes it.
    :raises SchemaRegistryError: it is not there, or the registry cannot be asked.
    """
    subject, version = parse_version(text)
    found = registry.version(subject, version)
    form = SERIALIZED if found.schema.schema_type == PROTOBUF else ""
    if form:
        found = registry.version(subject, found.version, form)
    needs = tuple(registry.dependencies(found.schema, form).items())
    return ReaderSchema(found.subject, found.version, found.schema_id, found.schema, needs, message)


class ReadValues(NamedTuple):
    """What was read.

    :param problems: why a row is null though it has a value.
    :param verdicts: what the ids of the values stand for: a digest of the schema, or :data:`UNKNOWN`.
    """

    values: pa.Array
    problems: dict[int, str]
    verdicts: dict[int, str]


class _Format(Protocol):
    arrow_type: pa.DataType

    def read(self, rows: list[bytes | None], writers: Mapping[bytes, Any]) -> tuple[pa.Array, dict[int, str]]: ...


def columns_of(reader: ReaderSchema) -> pa.StructType:
    """The columns of a schema. A schema that is not a record has one column, ``value``.

    :raises SchemaError: the schema has no columns in Spark.
    """
    kind = _format(reader).arrow_type
    return kind if pa.types.is_struct(kind) else pa.struct([pa.field("value", kind)])


def _format(reader: ReaderSchema) -> _Format:
    needs = dict(reader.needs)
    match reader.schema.schema_type:
        case structs.PROTOBUF:
            return _Protobuf(ProtobufCodec(reader.schema, needs), reader.message)
        case structs.JSON:
            return _Json(reader.schema, needs)
        case structs.AVRO:
            return _Avro(AvroCodec(reader.schema, needs))
    raise SchemaError(f"schemas of type {reader.schema.schema_type} are not known here")


class ColumnReader:
    """Reads values into the columns of one reader's schema.

    :raises SchemaError: the schema has no columns in Spark.
    """

    def __init__(self, reader: ReaderSchema, codecs: Codecs) -> None:
        self._codecs = codecs
        self._type = reader.schema.schema_type
        self._format = _format(reader)
        self.arrow_type = self._format.arrow_type

    def read(self, values: pa.Array, headers: pa.Array | None = None, *, is_key: bool = False) -> ReadValues:
        """:param headers: the records', which may name the schemas of their keys or values.
        :raises SchemaRegistryError: the registry cannot be asked.
        """
        values, unnamed = with_ids(values, headers, self._codecs, is_key=is_key)
        writers: dict[bytes, Codec | str] = {}
        verdicts = {}
        for head in compute.unique(compute.binary_slice(values, 0, HEADER_BYTES)).drop_null().to_pylist():
            try:
                schema_id = schema_id_of(head)
            except SchemaError as error:
                writers[head] = str(error)
            else:
                writers[head], verdicts[schema_id] = self._writer(schema_id)
        found, problems = self._format.read(values.to_pylist(), writers)
        return ReadValues(found, problems | unnamed, verdicts)

    def _writer(self, schema_id: int) -> tuple[Codec | str, str]:
        """The codec of what was written with an id, or why there is none; and the verdict on the id."""
        try:
            codec = self._codecs.of(schema_id)
            text = self._codecs.registry.schema(schema_id).text
        except SchemaRegistryError as error:
            if not error.is_not_found:
                raise
            return f"schema id {schema_id} is not known to {self._codecs.registry.url}", UNKNOWN
        except SchemaError as error:
            return reason_of(error), str(error)
        verdict = hashlib.sha256(text.encode()).hexdigest()
        if codec.schema_type != self._type:
            why = f"it was written with schema {schema_id} of type {codec.schema_type}, not {self._type}"
            return reason_of(SchemaMismatch(why)), verdict
        return codec, verdict


class _Avro:
    def __init__(self, reader: AvroCodec) -> None:
        self._types = AvroTypes(reader.parsed)
        self._column = self._types.column()
        self.arrow_type = self._column.arrow_type
        self._steps: dict[bytes, ReadStep | str] = {}
        self._mismatches: set[str] = set()
        """What steps say where nothing is wrong with the bytes."""

    def read(self, rows: list[bytes | None], writers: Mapping[bytes, Any]) -> tuple[pa.Array, dict[int, str]]:
        decoder = ColumnDecoder(self._column)
        reads: dict[bytes, Any] = {}
        for head, writer in writers.items():
            step = writer if isinstance(writer, str) else self._step(head, writer)
            reads[head] = step if isinstance(step, str) else decoder.compiled(step)
        problems = decoder.read_rows(rows, reads)
        return array_of(self._column, decoder.cells()), {
            number: problem if isinstance(reads[_head(rows[number])], str) else self._reason(rows[number], problem)
            for number, problem in problems.items()
        }

    def _reason(self, row: bytes | None, problem: str) -> str:
        if problem in self._mismatches:
            return reason_of(SchemaMismatch(f"schema {schema_id_of(row or b'')}: {problem}"))
        return f"the bytes do not fit schema {schema_id_of(row or b'')}: {problem}"

    def _step(self, head: bytes, writer: AvroCodec) -> ReadStep | str:
        """How a writer's values are read, or why they cannot be read."""
        found = self._steps.get(head)
        if found is None:
            try:
                found = resolve(AvroTypes(writer.parsed), self._types, self._column)
                self._mismatches |= mismatches(found)
            except SchemaError as error:
                found = reason_of(error)
            self._steps[head] = found
        return found


def _head(row: bytes | None) -> bytes:
    return b"" if row is None else row[:HEADER_BYTES]


class _Json:
    def __init__(self, schema: Schema, needs: Mapping[str, Schema]) -> None:
        self._columns = JsonColumns(schema, needs)
        self.arrow_type = self._columns.arrow_type

    def read(self, rows: list[bytes | None], writers: Mapping[bytes, Any]) -> tuple[pa.Array, dict[int, str]]:
        return self._columns.array([None if row is None else (writers[_head(row)], row) for row in rows])


class _Protobuf:
    def __init__(self, reader: ProtobufCodec, message: str) -> None:
        if message:
            reader.choose(message)
        self._class = reader.message_class(reader.path)
        self._columns = ProtobufColumns(self._class.DESCRIPTOR)
        self.arrow_type = self._columns.arrow_type

    def read(self, rows: list[bytes | None], writers: Mapping[bytes, Any]) -> tuple[pa.Array, dict[int, str]]:
        messages, problems = [], {}
        for number, row in enumerate(rows):
            message = None
            if row is not None:
                try:
                    message = self._message(row, writers[_head(row)])
                except SchemaError as error:
                    problems[number] = reason_of(error)
            messages.append(message)
        found, more = self._columns.array(messages)
        return found, problems | more

    def _message(self, row: bytes, writer: ProtobufCodec | str) -> Any:
        if isinstance(writer, str):
            raise SchemaError(writer)
        path, position = indexes_of(row, HEADER_BYTES)
        wrote = writer.message_class(path).DESCRIPTOR.full_name
        if wrote != self._columns.name:
            raise SchemaMismatch(f"the message is a {wrote}, not a {self._columns.name}")
        return read_message(self._class, row[position:])
