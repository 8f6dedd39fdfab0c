"""What a Delta table demands of its rows and files, as far as the library does not see to it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from oncelog.errors import ConfigError
from oncelog.spark.tables.columns import null_refusal
from oncelog.spark.tables.lake.parquet import DataFile
from oncelog.spark.tables.options import TableOptions
from oncelog.spark.tables.store import TableRefused

if TYPE_CHECKING:
    from deltalake import DeltaTable

_CHECK = "delta.constraints."
_MAPPING = "delta.columnMapping.mode"
_COMPUTED = ("delta.invariants", "delta.generationExpression", "delta.identity.start")
"""Entries of a column by which an engine refuses or makes its values."""
_FORBIDDEN = re.compile(r"[ ,;{}()\n\t=]")


def required(table: DeltaTable) -> list[str]:
    """The columns that are NOT NULL."""
    return [field.name for field in table.schema().fields if not field.nullable]


def check_nulls(files: Sequence[DataFile], required: Sequence[str], options: TableOptions) -> None:
    """Refuse files with NULL where the table has NOT NULL: the library does not look into files."""
    for file in files:
        nulls = json.loads(file.statistics)["nullCount"]
        nulls |= {name: int(value is None) for name, value in file.partition_values.items()}
        for name in required:
            if nulls.get(name):
                raise TableRefused(null_refusal(name, options))


def check_writable(table: DeltaTable, columns: StructType, options: TableOptions) -> None:
    """Refuse what the library would write in a way that other readers do not understand, or not write at all."""
    mapping = table.metadata().configuration.get(_MAPPING, "none")
    if mapping != "none":
        raise ConfigError(
            f"{options} has {_MAPPING} = {mapping}, and delta-rs names columns in files by their plain names, which "
            "others would read as NULL: use a table without column mapping"
        )
    for field in columns.fields:
        if _requires(field.dataType):
            raise ConfigError(f"Column {field.name} of {options} has NOT NULL inside, which delta-rs does not check")


def _requires(kind: DataType) -> bool:
    """Whether a value inside a value of this type may not be NULL; the keys of maps never may."""
    match kind:
        case StructType():
            return any(not field.nullable or _requires(field.dataType) for field in kind.fields)
        case ArrayType():
            return not kind.containsNull or _requires(kind.elementType)
        case MapType():
            return not kind.valueContainsNull or _requires(kind.keyType) or _requires(kind.valueType)
        case _:
            return False


def check_unconstrained(table: DeltaTable, columns: StructType, options: TableOptions) -> None:
    """Refuse a table with conditions that only an engine checks: files of tasks would get around them."""
    checks = [name for name in table.metadata().configuration if name.startswith(_CHECK)]
    if checks:
        raise ConfigError(
            f"{options} has a CHECK constraint ({checks[0].removeprefix(_CHECK)}), and files that are added to a table "
            "are not checked: drop the constraint and filter in the query, or use mode upsert, which checks"
        )
    for column in columns.fields:
        uncounted = isinstance(column.dataType, (ArrayType, MapType, StructType)) or "." in column.name
        if uncounted and not column.nullable:
            raise ConfigError(
                f"Column {column.name} of {options} is NOT NULL, and in files of tasks nobody counts the NULLs of "
                "nested columns and names with dots: drop the condition, or use mode upsert, which checks"
            )
    for field in table.schema().fields:
        conditions = [name for name in field.metadata if name in _COMPUTED]
        if conditions:
            raise ConfigError(
                f"Column {field.name} of {options} has {conditions[0]}, which files that are added to a table do not "
                "follow: use a table without it"
            )


def check_names(schema: StructType, options: TableOptions) -> None:
    for field in schema.fields:
        check_name(field.name, options)


def check_name(name: str, options: TableOptions) -> None:
    """Refuse a column's name that Delta does not allow."""
    if _FORBIDDEN.search(name):
        raise ConfigError(
            f"Column {name!r} cannot be in {options}: Delta allows no space and none of ,;{{}}()= in names"
        )
