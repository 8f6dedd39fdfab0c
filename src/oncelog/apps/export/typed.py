"""Keys and values as columns by the schemas of a registry: Avro, JSON Schema and Protobuf.

Each value is decoded with the schema that it was written with. The columns are those of the subject's newest version
when the export began: Avro values are resolved by Avro's rules, Protobuf fields are matched by their numbers, JSON
fields by their names. A value without a column type, such as a union of several types or a type that contains itself,
becomes JSON text.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from oncelog.apps.export.target import ExportError
from oncelog.schemas.arrow.value_reading import ColumnReader, reader_of_id
from oncelog.schemas.codecs import Codecs, need_schema_packages
from oncelog.schemas.schema_errors import OtherType, SchemaError, SchemaMismatch

_WITHOUT = "without --schema-registry all stay as they are"


class TypedColumn:
    """Reads the keys or the values of records as a typed column.

    :param schema_id: the schema that defines the column.
    :param message: the message of a Protobuf schema that the values contain; empty for the first one.
    :param nulls: whether a value that cannot be read becomes null and is counted, instead of ending the export.
    :raises SchemaError: the schema cannot be used, or has no such message.
    """

    def __init__(self, codecs: Codecs, schema_id: int, part: str, *, message: str = "", nulls: bool) -> None:
        need_schema_packages()
        self._part = part
        self._nulls = nulls
        self._columns = ColumnReader(reader_of_id(codecs.registry, schema_id, message), codecs, texts=True)
        self.type: pa.DataType = self._columns.arrow_type
        self.unread = 0

    def __call__(self, data: pa.ChunkedArray, headers: pa.ChunkedArray, place: Callable[[int], str]) -> pa.Array:
        """Read the column's values.

        :param headers: the records' headers, which may name their schemas.
        :param place: returns the record of a row, for messages.
        :raises ExportError: a value cannot be read.
        """
        found = self._columns.read(data.combine_chunks(), headers.combine_chunks(), is_key=self._part == "key")
        for row, problem in sorted(found.problems.items()):
            self._count_or_refuse(problem, place(row))
        return found.values

    def _count_or_refuse(self, problem: SchemaError, where: str) -> None:
        is_other = isinstance(problem, OtherType)
        if isinstance(problem, SchemaMismatch) and not is_other:
            raise ExportError(
                f"The {self._part} of record {where} cannot be read into the columns: {problem}; nothing is wrong with "
                "the record: register a version that can read it, for example one with a default, and export to "
                "another name; "
                f"{_WITHOUT}"
            ) from problem
        if self._nulls:
            self.unread += 1
            return
        advice = (
            "--message NAME exports the messages of another type of the file, to another name"
            if is_other
            else "--malformed null exports null in its place"
        )
        raise ExportError(
            f"The {self._part} of record {where} cannot be read: {problem}; {advice}, and {_WITHOUT}"
        ) from problem
