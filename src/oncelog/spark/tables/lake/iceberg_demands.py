"""Checks requirements of an Iceberg table that pyiceberg checks too late or not at all; called before rows are
computed.

The library is tested: it writes a row and a manifest with the table's own schema, partitions and properties into a
temporary folder. Requirements that it would silently ignore are checked here.
"""

from __future__ import annotations

import itertools
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.exceptions import NotInstalledError
from pyiceberg.io.pyarrow import PyArrowFileIO, _dataframe_to_data_files
from pyiceberg.manifest import ManifestEntry, ManifestEntryStatus, write_manifest
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from pyspark.sql import types as spark

from oncelog.errors import ConfigError
from oncelog.spark.tables.columns import escaped
from oncelog.spark.tables.lake.row_conditions import Condition
from oncelog.spark.tables.options import Mode, TableOptions
from oncelog.spark.tables.store import TableRefused

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFile
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

_FORMAT_VERSION = 2
_EQUALITY_DELETES = "total-equality-deletes"
_PLACES = ("write.data.path", "write.metadata.path", "write.object-storage.enabled")
"""Properties that determine where files are: a trial commit omits them, because it uses a folder of its own."""
_REFUSALS = (ValueError, TypeError, KeyError, NotImplementedError, ImportError, NotInstalledError, pa.ArrowException)
"""The exceptions that pyiceberg raises for operations that it does not support."""
_METRICS = "write.metadata.metrics."
_UNHELD = (TimeType, TimestampNanoType, TimestamptzNanoType)
"""Types whose values no Spark type can represent."""


def check_writable(table: Table, options: TableOptions) -> None:
    """Refuse a table that pyiceberg cannot write, or whose properties it ignores. Raises ConfigError with the
    remedy."""
    library = f"pyiceberg {version('pyiceberg')}"
    properties = table.properties
    if table.format_version > _FORMAT_VERSION:
        raise ConfigError(
            f"{options} has format-version {table.format_version}, and {library} writes 1 and 2: no engine takes a "
            "table back to a lower version, so copy the rows in Spark (CREATE TABLE ... USING iceberg TBLPROPERTIES "
            f"('format-version' = '2') AS SELECT * FROM {options.table}), or write to another table"
        )
    written = properties.get("write.format.default", "parquet").lower()
    if written != "parquet":
        raise ConfigError(
            f"{options} has write.format.default = {written}, and {library} writes only parquet: ALTER TABLE "
            f"{options.table} SET TBLPROPERTIES ('write.format.default' = 'parquet'); all readers read both formats"
        )
    for name in ("write.location-provider.impl", "encryption.key-id"):
        if name in properties and "write.py-location-provider.impl" not in properties:
            raise ConfigError(
                f"{options} has {name} = {properties[name]}, which {library} does not follow: unset it (ALTER TABLE "
                f"{options.table} UNSET TBLPROPERTIES ('{name}')), or write to another table"
            )
    try:
        _try(table.metadata)
    except _REFUSALS as error:
        reason = str(error).strip().partition("\n")[0]
        raise ConfigError(
            f"{options} cannot be written by {library} ({reason}), with its partitions {one_line(table.spec())}: "
            "change what it names in the table, or write to another table"
        ) from error


def data_files(metadata: TableMetadata, rows: pa.Table, io: FileIO) -> list[DataFile]:
    """Write the rows to files. A partition column that the rows lack is added as NULL, because pyiceberg requires
    it."""
    schema = metadata.schema()
    for field in metadata.spec().fields:
        column = _path(schema, field)[0]
        if column not in rows.column_names:
            rows = rows.append_column(column, pa.nulls(rows.num_rows, schema.as_arrow().field(column).type))
    try:
        return list(_dataframe_to_data_files(table_metadata=metadata, df=rows, io=io))
    except UnicodeEncodeError:
        # pyiceberg's upper bound for a string with U+D7FF is a lone surrogate: write counts instead of bounds
        properties = {name: value for name, value in metadata.properties.items() if not name.startswith(_METRICS)}
        counting = metadata.model_copy(update={"properties": properties | {f"{_METRICS}default": "counts"}})
        return list(_dataframe_to_data_files(table_metadata=counting, df=rows, io=io))


def check_partitions(rows: pa.Table, metadata: TableMetadata, table: object) -> None:
    """Raises TableRefused for a value in a partition column that the library cannot write."""
    schema = metadata.schema()
    for field in metadata.spec().fields:
        column, *inside = _path(schema, field)
        if column not in rows.column_names or not isinstance(field.transform, IdentityTransform):
            continue
        values = rows.column(column)
        for name in inside:
            values = pc.struct_field(values, name)
        if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
            name = ".".join([column, *inside])
            raise TableRefused(
                f"A row for {table} has NaN in column {name}, by which it is partitioned, and pyiceberg writes no such "
                f"partition: replace it in the query, nanvl({name}, null)"
            )


def _path(schema: Schema, field: PartitionField) -> list[str]:
    """The path of the field whose values partition the table: a column, and the names of fields inside it, whatever
    characters they have."""
    source = str(schema.find_column_name(field.source_id))
    found: list[str] = []
    fields: Sequence[NestedField] = schema.fields
    while source:
        one = next(one for one in fields if source == one.name or source.startswith(f"{one.name}."))
        found.append(one.name)
        source = source[len(one.name) + 1 :]
        fields = one.field_type.fields if isinstance(one.field_type, StructType) else ()
    return found


def one_line(spec: PartitionSpec) -> str:
    """A table's partition spec in one line, for messages."""
    return " ".join(str(spec).split())


def summary_of(table: Table) -> Mapping[str, str]:
    """The totals in the summary of the current snapshot."""
    snapshot = table.current_snapshot()
    return {} if snapshot is None or snapshot.summary is None else snapshot.summary.additional_properties


def check_deletes(summary: Mapping[str, str], options: TableOptions) -> None:
    """Refuse an upsert into rows that another engine has deleted in a way that pyiceberg does not read."""
    if options.mode is Mode.UPSERT and int(summary.get(_EQUALITY_DELETES, 0)):
        raise ConfigError(
            f"{options} has equality deletes, as Flink writes them, and pyiceberg does not read them, which an upsert "
            f"needs: rewrite the files in Spark (CALL system.rewrite_data_files('{options.table}', options => "
            "map('delete-file-threshold', '1'))), or use mode append"
        )


MADE_OF = {"uuid": "string", "fixed": "binary"}
"""Types without a Spark type, and the types that :func:`made_of` converts to them."""


def _try(metadata: TableMetadata) -> None:
    """Write one row and a manifest, as a commit would. Raises one of ``_REFUSALS`` if pyiceberg does not support
    this."""
    with tempfile.TemporaryDirectory(prefix="oncelog-iceberg-") as folder:
        properties = {name: value for name, value in metadata.properties.items() if name not in _PLACES}
        changed: dict[str, Any] = {"location": f"file://{folder}", "properties": properties}
        trial = metadata.model_copy(update=changed | {"snapshots": [], "snapshot_log": [], "metadata_log": []})
        schema, spec, io = trial.schema(), trial.spec(), PyArrowFileIO()
        rows = pa.Table.from_pylist([_row(schema)], schema=schema.as_arrow())
        files = data_files(trial, rows, io)
        output = io.new_output(f"file://{folder}/manifest.avro")
        with write_manifest(trial.format_version, spec, schema, output, 1, "null") as writer:
            for file in files:
                entry = ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=1, data_file=file)
                writer.add_entry(entry)


def _row(schema: Schema) -> dict[str, Any]:
    """A sample row with values in the required fields."""
    return {field.name: _value(field.field_type) for field in schema.fields if field.required}


def _value(kind: IcebergType) -> Any:
    if isinstance(kind, StructType):
        return {field.name: _value(field.field_type) for field in kind.fields if field.required}
    if isinstance(kind, ListType):
        return []
    if isinstance(kind, MapType):
        return []
    if isinstance(kind, FixedType):
        return bytes(len(kind))
    if isinstance(kind, UUIDType):
        return bytes(16)
    return _ZEROS.get(str(kind).partition("(")[0], 0)


_ZEROS: dict[str, Any] = {"string": "", "binary": b"", "boolean": False}
"""Sample values of non-numeric types; for numbers, dates and times it is 0."""


def spark_types(schema: Schema) -> dict[str, spark.DataType]:
    """By name, the Spark types of the columns that have one: rows may have a narrower type, or nested names that differ
    in case."""
    found = {field.name: _spark_type(field.field_type) for field in schema.fields}
    return {name: kind for name, kind in found.items() if kind is not None}


def _spark_type(kind: IcebergType) -> spark.DataType | None:
    match kind:
        case DecimalType():
            return spark.DecimalType(kind.precision, kind.scale)
        case StructType():
            fields = [(field.name, _spark_type(field.field_type)) for field in kind.fields]
            known = [spark.StructField(name, one) for name, one in fields if one is not None]
            return spark.StructType(known) if len(known) == len(fields) else None
        case ListType():
            element = _spark_type(kind.element_type)
            return None if element is None else spark.ArrayType(element)
        case MapType():
            key, value = _spark_type(kind.key_type), _spark_type(kind.value_type)
            return None if key is None or value is None else spark.MapType(key, value)
        case _:
            return _SPARK_TYPES.get(type(kind))


_SPARK_TYPES: Mapping[type[IcebergType], spark.DataType] = {
    IntegerType: spark.IntegerType(),
    LongType: spark.LongType(),
    FloatType: spark.FloatType(),
    DoubleType: spark.DoubleType(),
    BooleanType: spark.BooleanType(),
    StringType: spark.StringType(),
    BinaryType: spark.BinaryType(),
    DateType: spark.DateType(),
    TimestampType: spark.TimestampNTZType(),
    TimestamptzType: spark.TimestampType(),
}


def check_types(schema: Schema, names: list[str], options: TableOptions) -> None:
    """Refuse rows with a column that has no Spark type in the table."""
    for name in names:
        field = next((one for one in schema.fields if one.name == name), None)
        if field is not None and isinstance(field.field_type, _UNHELD):
            raise ConfigError(
                f"Column {name} of {options} is {field.field_type}, which no type of Spark's holds: leave the column "
                "out of the rows, or write to a table with another type"
            )


def made_of(rows: pa.Table, schema: Schema, table: object) -> pa.Table:
    """The rows with texts converted to UUIDs, and with binary values of the table's fixed length. Raises
    TableRefused."""
    for number, column in enumerate(rows.schema):
        field = next((one for one in schema.fields if one.name == column.name), None)
        kind = None if field is None else field.field_type
        try:
            if isinstance(kind, UUIDType) and pa.types.is_string(column.type):
                values = [None if text is None else uuid.UUID(text).bytes for text in rows[column.name].to_pylist()]
                stored = pa.array(values, pa.binary(16))
                rows = rows.set_column(number, column.name, pa.ExtensionArray.from_storage(pa.uuid(), stored))
            elif isinstance(kind, FixedType) and pa.types.is_binary(column.type):
                rows = rows.set_column(number, column.name, rows[column.name].cast(pa.binary(len(kind))))
        except ValueError as error:
            raise TableRefused(
                f"A row for {table} has a value in column {column.name} that is no {kind} ({error}): correct or leave "
                "out such rows in the query"
            ) from error
    return rows


def conditions(schema: Schema) -> list[Condition]:
    """The conditions for NOT NULL fields inside structs. A struct with such a field must not be NULL, because pyiceberg
    cannot write it."""
    return [
        Condition(f"NOT NULL inside column {field.name}", text)
        for field in schema.fields
        for text in _inside(field, escaped(field.name), itertools.count())
    ]


def _inside(field: NestedField, sql: str, names: Iterator[int]) -> Iterator[str]:
    match field.field_type:
        case StructType() as struct:
            for one in struct.fields:
                inner = f"{sql}.{escaped(one.name)}"
                yield from _demanded(one, inner, names)
        case ListType() as many:
            yield from _each(sql, many.element_field, names)
        case MapType() as pairs:
            yield from _each(f"map_values({sql})", pairs.value_field, names)


def _demanded(field: NestedField, sql: str, names: Iterator[int]) -> list[str]:
    return [*([f"{sql} IS NOT NULL"] if field.required else []), *_inside(field, sql, names)]


def _each(sql: str, field: NestedField, names: Iterator[int]) -> Iterator[str]:
    name = f"value{next(names)}"
    found = _demanded(field, name, names)
    if found:
        yield from _if_there(sql, [f"forall({sql}, {name} -> {' AND '.join(f'({one})' for one in found)})"])


def _if_there(sql: str, found: list[str]) -> list[str]:
    return [f"{sql} IS NULL OR ({one})" for one in found]
