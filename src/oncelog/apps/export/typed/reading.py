"""Keys and values as columns by the schemas of a registry.

Each is read with the schema that it was written with. The columns are those of the newest version of the subject when
the export began: Avro resolves into it by its own rules, Protobuf by the numbers of fields, JSON by names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from oncelog.apps.export.target import ExportError
from oncelog.apps.export.typed.avro import avro_shape
from oncelog.apps.export.typed.protobuf import protobuf_shape
from oncelog.apps.export.typed.shape import Shape
from oncelog.schemas.arrow.json_columns import JsonColumns
from oncelog.schemas.arrow.named_in_headers import with_ids
from oncelog.schemas.avro.values import EXACT
from oncelog.schemas.avro_codec import UNFIT, AvroCodec
from oncelog.schemas.codecs import Codecs
from oncelog.schemas.framing import HEADER_BYTES, indexes_of, schema_id_of
from oncelog.schemas.protobuf_codec import ProtobufCodec, read_message
from oncelog.schemas.schema_errors import SchemaError, SchemaMismatch, SchemaRegistryError

_UNFIT = (*UNFIT, pa.ArrowException)


class TypedColumn:
    """Reads one of key and value.

    :param schema_id: the schema whose columns they get.
    :param nulls: what cannot be read is null, and counted, instead of refused.
    """

    def __init__(self, codecs: Codecs, schema_id: int, part: str, *, nulls: bool) -> None:
        self._codecs = codecs
        self._part = part
        self._nulls = nulls
        self.unread = 0
        self._reader = codecs.of(schema_id)
        self._shape = self._of_schema(schema_id)
        self.type: pa.DataType = self._shape.type

    def _of_schema(self, schema_id: int) -> Shape:
        reader = self._reader
        if isinstance(reader, AvroCodec):
            return avro_shape(reader.types)
        if isinstance(reader, ProtobufCodec):
            return protobuf_shape(reader.first_message())
        schema = self._codecs.registry.schema(schema_id)
        columns = JsonColumns(schema, self._codecs.registry.dependencies(schema))
        return Shape(columns.arrow_type, columns.take)

    def __call__(self, data: pa.ChunkedArray, headers: pa.ChunkedArray, place: Callable[[int], str]) -> pa.Array:
        """The column's values.

        :param headers: the records' headers, which may name their schemas.
        :param place: names the record of a row.
        :raises ExportError: one cannot be read.
        """
        values: list[Any] = []
        named, problems = with_ids(
            data.combine_chunks(), headers.combine_chunks(), self._codecs, is_key=self._part == "key"
        )
        for row, one in enumerate(named.to_pylist()):
            try:
                if row in problems:
                    raise SchemaError(problems[row])
                value = None if one is None else self._shape(self._read(one))
                if self._nulls:
                    pa.array([value], self.type)
            except (SchemaError, SchemaRegistryError, *_UNFIT) as error:
                self._count_or_refuse(error, place(row))
                value = None
            values.append(value)
        try:
            return pa.array(values, self.type)
        except _UNFIT:
            for row, value in enumerate(values):  # find which
                try:
                    pa.array([value], self.type)
                except _UNFIT as error:
                    self._count_or_refuse(error, place(row))
            raise

    def _read(self, data: bytes) -> Any:
        codec = self._codecs.of(schema_id_of(data))
        if codec.schema_type != self._reader.schema_type:
            raise _OtherMessage(f"it was written with {codec.schema_type}, and the columns are of another kind")
        if isinstance(codec, AvroCodec) and isinstance(self._reader, AvroCodec):
            return codec.decode(data, self._reader, form=EXACT)
        if isinstance(codec, ProtobufCodec) and isinstance(self._reader, ProtobufCodec):
            path, position = indexes_of(data, HEADER_BYTES)
            wrote = codec.message_class(path).DESCRIPTOR.full_name
            if wrote != self._reader.name:
                raise _OtherMessage(f"it is a {wrote}, and the columns are those of {self._reader.name}")
            return read_message(self._reader.message_class(self._reader.path), data[position:])
        return codec.decode(data)

    def _count_or_refuse(self, error: Exception, where: str) -> None:
        if isinstance(error, SchemaRegistryError) and not error.is_not_found:
            raise error
        if isinstance(error, SchemaMismatch):
            raise ExportError(
                f"The {self._part} of record {where} cannot be read into the columns: {error}; nothing is wrong with "
                "the record: register a version that can take it, such as with a default, and export to another name; "
                "without --schema-registry all stay as they are"
            ) from error
        if self._nulls:
            self.unread += 1
            return
        advice = "without --schema-registry all stay as they are"
        if not isinstance(error, _OtherMessage):
            advice = f"--malformed null exports null in its place, and {advice}"
        raise ExportError(f"The {self._part} of record {where} cannot be read: {error}; {advice}") from error


class _OtherMessage(SchemaError):
    """A good record, of a message that the columns are not for."""
