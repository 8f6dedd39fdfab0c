"""Enforces requirements of a Delta table on rows and files that the library does not ensure.

A table's conditions are Spark SQL texts (CHECK, invariants, generated columns), or follow Spark's semantics (lengths,
NOT NULL inside structs). Spark evaluates them with the rows, so they hold as in Delta-Spark: a condition that is NULL
is violated. No other code checks the files that tasks have written.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    StructField,
    StructType,
    TimestampType,
)

from oncelog.errors import ConfigError
from oncelog.runtime import real_json as json
from oncelog.spark.tables.columns import escaped, null_refusal
from oncelog.spark.tables.lake.delta_features import check_features, sql_name
from oncelog.spark.tables.lake.parquet import DataFile
from oncelog.spark.tables.lake.row_conditions import Condition, cast_wider, fulfilling, resolved
from oncelog.spark.tables.options import Mode, TableOptions
from oncelog.spark.tables.store import TableRefused

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame

_CHECK = "delta.constraints."
_MAPPING = "delta.columnMapping.mode"
_APPEND_ONLY = "delta.appendOnly"
_INVARIANTS = "delta.invariants"
_GENERATED = "delta.generationExpression"
_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"
_FILLED = ("delta.identity.start", "CURRENT_DEFAULT")
"""Metadata entries of a column whose values an engine generates."""
_FORBIDDEN = re.compile(r"[ ,;{}()\n\t=]")


@dataclass(frozen=True, slots=True)
class Demands:
    """The expressions that Spark evaluates with the rows of a batch for a Delta table.

    :param generated: the expressions of columns that the rows may lack.
    :param padded: the lengths of CHAR columns.
    """

    conditions: tuple[Condition, ...] = ()
    generated: tuple[tuple[str, str], ...] = ()
    padded: tuple[tuple[str, int], ...] = ()


def demands_of(table: DeltaTable, columns: StructType) -> Demands:
    """The requirements on the rows of a table that :func:`check_writable` has accepted."""
    configuration = table.metadata().configuration
    conditions = [
        Condition(f"CHECK constraint {name.removeprefix(_CHECK)} ({text})", text)
        for name, text in sorted(configuration.items())
        if name.startswith(_CHECK)
    ]
    generated, padded = [], []
    for field in columns.fields:
        name, metadata = escaped(field.name), field.metadata or {}
        if _INVARIANTS in metadata:
            text = json.loads(metadata[_INVARIANTS])["expression"]["expression"]
            conditions.append(Condition(f"invariant of column {field.name} ({text})", text))
        if _GENERATED in metadata:
            generated.append((field.name, metadata[_GENERATED]))
            text = f"{name} <=> ({metadata[_GENERATED]})"
            conditions.append(Condition(f"generated column {field.name} ({metadata[_GENERATED]})", text))
        if _LENGTH in metadata:
            kind, length = metadata[_LENGTH].rstrip(")").split("(")
            text = f"{name} IS NULL OR length({name}) <= {length}"
            conditions.append(Condition(f"length of column {field.name} ({metadata[_LENGTH]})", text))
            padded += [(field.name, int(length))] if kind == "char" else []
        for path in _not_null(field):
            text = ".".join(path)
            conditions.append(Condition(f"NOT NULL of {text}", f"{'.'.join(map(escaped, path))} IS NOT NULL"))
    return Demands(tuple(conditions), tuple(generated), tuple(padded))


def _not_null(field: StructField) -> Iterator[tuple[str, ...]]:
    """The paths of fields that are NOT NULL and whose NULLs are not counted in a file's statistics."""
    uncounted = isinstance(field.dataType, (ArrayType, MapType, StructType)) or "." in field.name
    if not field.nullable and uncounted:
        yield (field.name,)
    if isinstance(field.dataType, StructType):
        for inner in field.dataType.fields:
            for path in _inside(inner):
                yield field.name, *path


def _inside(field: StructField) -> Iterator[tuple[str, ...]]:
    if not field.nullable:
        yield (field.name,)
    if isinstance(field.dataType, StructType):
        for inner in field.dataType.fields:
            for path in _inside(inner):
                yield field.name, *path


def required(table: DeltaTable) -> list[str]:
    """The columns that are NOT NULL and not generated, so that the rows must have them."""
    return [f.name for f in table.schema().fields if not f.nullable and _GENERATED not in f.metadata]


def check_nulls(files: Sequence[DataFile], required: Sequence[str], options: TableOptions) -> None:
    """Refuse files with NULL in a column that is NOT NULL in the table, because the library does not check the files'
    content."""
    for file in files:
        nulls = json.loads(file.statistics)["nullCount"]
        nulls |= {name: int(value is None) for name, value in file.partition_values.items()}
        for name in required:
            if nulls.get(name):
                raise TableRefused(null_refusal(name, options))


def check_writable(table: DeltaTable, columns: StructType, options: TableOptions) -> None:
    """Refuse columns that the library cannot write, or would write in a way that other readers do not understand."""
    check_features(table, options)
    configuration = table.metadata().configuration
    mapping = configuration.get(_MAPPING, "none")
    if mapping != "none":
        raise ConfigError(
            f"{options} has {_MAPPING} = {mapping}, and delta-rs names columns in files by their plain names, which "
            f"others would read as NULL: copy the rows in Spark (CREATE TABLE ... AS SELECT * FROM {sql_name(options)})"
            " into a table without column mapping, or write to another table"
        )
    if configuration.get(_APPEND_ONLY, "").lower() == "true" and options.mode is not Mode.APPEND:
        raise ConfigError(
            f"{options} has {_APPEND_ONLY} = true, and mode {options.mode.value} replaces rows: use mode append, or "
            f"ALTER TABLE {sql_name(options)} SET TBLPROPERTIES ('{_APPEND_ONLY}' = 'false')"
        )
    for field in columns.fields:
        _check_column(field, options)
    check_partitions(columns, table.metadata().partition_columns, options)
    if options.mode is Mode.UPSERT and any(_ELSEWHERE.match(str(path)) for path in _paths(table)):
        raise ConfigError(
            f"{options} has files of another table, as a shallow clone does, and delta-rs replaces none of them: use "
            f"mode append, or copy the rows in Spark (CREATE TABLE ... AS SELECT * FROM {sql_name(options)})"
        )


def check_partitions(columns: StructType, partition_by: Collection[str], options: TableOptions) -> None:
    """Refuse partition columns whose values delta-rs cannot write, or would write in a way that others read as other
    values."""
    for field in (one for one in columns.fields if one.name in partition_by):
        if isinstance(field.dataType, BinaryType):
            raise ConfigError(
                f"{options} is partitioned by the binary column {field.name}, and Delta's log keeps partitions as "
                "text, which not all bytes are: write to a table that is partitioned by a string"
            )
        why = next((why for kind, why in _MERGED.items() if isinstance(field.dataType, kind)), "")
        if why and options.mode is Mode.UPSERT:
            raise ConfigError(
                f"{options} is partitioned by {field.name}, a {field.dataType.simpleString()}, {why}: use mode "
                "append, or a table that is partitioned by a date, a string or a whole number"
            )


_MERGED: Mapping[type[DataType], str] = {
    TimestampType: (
        "which delta-rs writes without its zone when it merges, so that Delta-Spark reads it as a time of its "
        "session's zone"
    ),
    DecimalType: (
        "whose negative values delta-rs writes as no numbers when it merges, after which nobody can read the table"
    ),
    FloatType: "whose infinities delta-rs writes as Java does not read them when it merges",
    DoubleType: "whose infinities delta-rs writes as Java does not read them when it merges",
}
"""For each type of a partition column, why the table does not accept upserts."""
_ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:/|/")
"""Matches a path that does not begin at the table's folder."""


def _paths(table: DeltaTable) -> list[str]:
    """The paths of the table's files, from its log."""
    import pyarrow as pa

    return [str(path) for path in pa.table(table.get_add_actions())["path"].to_pylist()]


def _check_column(field: StructField, options: TableOptions) -> None:
    if _requires(field.dataType):
        raise ConfigError(
            f"Column {field.name} of {options} has NOT NULL inside an array or a map, which Delta-Spark does not "
            "check either: write to a table without it"
        )
    metadata = field.metadata or {}
    if not re.fullmatch(r"(char|varchar)\(\d+\)|", metadata.get(_LENGTH, "")):
        raise ConfigError(
            f"Column {field.name} of {options} is {metadata[_LENGTH]}, and lengths inside arrays, maps and structs "
            "are not checked here: change the column to string in the table, or write to another table"
        )
    found = [name for name in _FILLED if name in metadata]
    if found:
        raise ConfigError(
            f"Column {field.name} of {options} has {found[0]}, which files that are added to a table do not follow: "
            "write to a table without it"
        )


def _requires(kind: DataType) -> bool:
    """Whether an array or a map in this type contains a NOT NULL part, apart from the keys of maps."""
    match kind:
        case StructType():
            return any(_requires(field.dataType) for field in kind.fields)
        case ArrayType():
            return not kind.containsNull or _demanding(kind.elementType)
        case MapType():
            return not kind.valueContainsNull or _demanding(kind.keyType) or _demanding(kind.valueType)
        case _:
            return False


def _demanding(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(not field.nullable or _demanding(field.dataType) for field in kind.fields)
    return _requires(kind)


def check_understood(table: DeltaTable, demands: Demands, options: TableOptions) -> None:
    """Refuse an upsert into a table with a condition that the library cannot compute, because it checks the merged
    rows."""
    from deltalake import QueryBuilder
    from deltalake.exceptions import DeltaError

    texts = [one.sql for one in demands.conditions if one.name.startswith(("CHECK", "invariant"))]
    for text in [*texts, *(f"({expression}) IS NULL" for _, expression in demands.generated)]:
        try:
            list(QueryBuilder().register("t", table).execute(f"SELECT 1 FROM (SELECT * FROM t LIMIT 0) t WHERE {text}"))
        except (DeltaError, ValueError) as error:
            raise ConfigError(
                f"{options} has the condition {text}, which deltalake cannot compute when it merges rows "
                f"({str(error).strip().partition(chr(10))[0][:200]}): use mode append, or drop the condition"
            ) from error


def arranged(rows: DataFrame, demands: Demands, columns: StructType, options: TableOptions) -> DataFrame:
    """The rows with wider types, with generated, padded and partition columns, and checked by the table's conditions.

    Raises ConfigError if Spark cannot compute a condition. Conditions on columns that an upsert's rows lack are left to
    the library, which checks the merged rows.
    """
    from pyspark.sql.functions import col, expr, lit, rpad, when
    from pyspark.sql.functions import length as length_of

    rows = cast_wider(rows, {f.name: f.dataType for f in columns.fields})
    given, partitions = rows.columns, set(options.partition_by)
    if demands == Demands() and partitions < set(given):
        return rows
    if options.mode is not Mode.UPSERT:
        absent = [f for f in columns.fields if f.name not in given and _GENERATED not in (f.metadata or {})]
        rows = rows.select("*", *(lit(None).cast(f.dataType).alias(f.name) for f in absent))
        given = [*given, *(f.name for f in absent if f.name in partitions)]
    for name, expression in demands.generated:
        if name not in given:
            computed = resolved(rows, expr(expression), f"generated column {name} ({expression})", options)
            if computed is None:
                raise ConfigError(
                    f"Column {name} of {options} is generated ({expression}) from columns that the rows lack: add them "
                    "in the query"
                )
            rows = rows.withColumn(name, computed.cast(columns[name].dataType))
            given = [*given, name]
    for name, length in demands.padded:
        if name in given:
            text = col(escaped(name))
            rows = rows.withColumn(name, when(length_of(text) < length, rpad(text, length, " ")).otherwise(text))
    given = rows.columns if set(given) <= partitions else given
    return fulfilling(rows, given, demands.conditions, options)


def check_names(schema: StructType, options: TableOptions) -> None:
    for field in schema.fields:
        check_name(field.name, options)


def check_name(name: str, options: TableOptions) -> None:
    """Refuse a column's name that Delta does not allow."""
    if _FORBIDDEN.search(name):
        raise ConfigError(
            f"Column {name!r} cannot be in {options}: Delta allows no space and none of ,;{{}}()= in names"
        )
