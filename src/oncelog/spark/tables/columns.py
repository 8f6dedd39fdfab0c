"""Spark's types in tables: what each becomes in a format, and how rows are cast before tasks write them.

Called on the driver by :mod:`oncelog.spark.tables.sink` and the stores. Pure, except for :func:`prepared`, which
builds a
Spark plan. A type that a format cannot hold is refused with the column's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from oncelog.errors import ConfigError
from oncelog.spark.tables.options import TableFormat, TableOptions
from oncelog.spark.tables.store import Conflict

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

JSON_OPTIONS = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
    "ignoreNullFields": "false",
}
"""How rows, arrays, maps and structs become JSON. Without these options, Spark truncates microseconds, omits nulls, and
truncates time zone offsets with seconds, such as those of the nineteenth century."""

MAX_COPIES = 500
"""The maximum number of tasks that copy into PostgreSQL. Each task creates a table, and one transaction locks all of
them; PostgreSQL allows 6,400 locks by default."""
MAX_COLUMNS = {TableFormat.POSTGRESQL: 1600, TableFormat.SQLITE: 2000}
"""The maximum number of a table's columns: ``MaxHeapAttributeNumber`` of PostgreSQL, and SQLite's default limit."""
_NESTED = (ArrayType, MapType, StructType)
_FLOATING = (FloatType, DoubleType)
"""Types that cannot be keys: the formats disagree on whether 0.0 equals -0.0, and whether NaN equals NaN."""
_PLAIN: tuple[type[DataType], ...] = (
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DecimalType,
    StringType,
    BinaryType,
    DateType,
    TimestampType,
    TimestampNTZType,
)

SQL_TYPES: dict[TableFormat, dict[type[DataType], str]] = {
    TableFormat.POSTGRESQL: {
        BooleanType: "boolean",
        ByteType: "smallint",
        ShortType: "smallint",
        IntegerType: "integer",
        LongType: "bigint",
        FloatType: "real",
        DoubleType: "double precision",
        DecimalType: "numeric",
        StringType: "text",
        BinaryType: "bytea",
        DateType: "date",
        TimestampType: "timestamp with time zone",
        TimestampNTZType: "timestamp without time zone",
        ArrayType: "jsonb",
        MapType: "jsonb",
        StructType: "jsonb",
    },
    TableFormat.SQLITE: {
        BooleanType: "INTEGER",
        ByteType: "INTEGER",
        ShortType: "INTEGER",
        IntegerType: "INTEGER",
        LongType: "INTEGER",
        FloatType: "REAL",
        DoubleType: "REAL",
        DecimalType: "TEXT",
        StringType: "TEXT",
        BinaryType: "BLOB",
        DateType: "TEXT",
        TimestampType: "TEXT",
        TimestampNTZType: "TEXT",
        ArrayType: "TEXT",
        MapType: "TEXT",
        StructType: "TEXT",
    },
}
"""The SQL type for each Spark type; a decimal's precision and scale are appended."""


def sql_type(kind: DataType, form: TableFormat) -> str:
    """The name of a column's type in a database."""
    name = next(text for of, text in SQL_TYPES[form].items() if isinstance(kind, of))
    if isinstance(kind, DecimalType) and form is TableFormat.POSTGRESQL:
        return f"{name}({kind.precision},{kind.scale})"
    return name


def check_columns(schema: StructType, options: TableOptions) -> None:
    """Refuse rows that no table of this format can hold, and keys and partitions that are not columns of the rows."""
    lowered = [name.lower() for name in schema.names]
    twice = sorted({name for name in lowered if lowered.count(name) > 1})
    if twice:
        raise ConfigError(f"The rows for {options} have two columns named {twice[0]}: give one another name")
    if not schema.names:
        raise ConfigError(f"The rows for {options} have no columns")
    _check_number(len(schema), f"The rows for {options} have {len(schema)} columns", options)
    given = (("key", options.key), ("latestBy", options.latest_by), ("partitionBy", options.partition_by))
    for option, names in given:
        for name in names:
            if name not in schema.names:
                raise ConfigError(
                    f"Option {option} of {options} names {name!r}, but the columns are {', '.join(schema.names)}"
                )
            refused = (*_NESTED, BinaryType, *(() if option == "partitionBy" else _FLOATING))
            if isinstance(schema[name].dataType, refused):
                raise ConfigError(
                    f"Column {name} cannot be in option {option}: it is {_ddl(schema[name].dataType)}, cast it"
                )
            if schema[name].dataType.simpleString().startswith("string collate"):
                raise ConfigError(
                    f"Column {name} cannot be in option {option}: it is {schema[name].dataType.simpleString()}, and "
                    f"tables compare texts by their bytes: write cast({name} as string) in the query"
                )
    if set(options.partition_by) == set(schema.names):
        raise ConfigError(f"Option partitionBy of {options} names all columns: leave one for the files")
    for field in schema.fields:
        _check_type(field.dataType, field.name, options)


def _as_plain(kind: DataType, x: str, form: TableFormat) -> str:
    """An expression that converts a value of a type that no table supports. PostgreSQL accepts the text of an interval,
    also of a negative one, in this form but not in Spark's own form.
    """
    match kind.typeName():
        case "variant":
            return f"to_json({x})"
        case "geometry" | "geography":
            return f"st_asbinary({x})"
        case "daytimeinterval" if form is TableFormat.POSTGRESQL:
            return f"concat(unix_micros(timestamp_micros(0) + {x}), ' microseconds')"
        case "yearmonthinterval" if form is TableFormat.POSTGRESQL:
            return f"concat(cast(cast({x} as interval month) as int), ' months')"
    return f"cast({x} as string)"


def _check_type(kind: DataType, where: str, options: TableOptions) -> None:
    match kind:
        case ArrayType():
            _check_type(kind.elementType, f"{where}[]", options)
        case MapType():
            _check_type(kind.keyType, f"{where}.key", options)
            _check_type(kind.valueType, f"{where}.value", options)
        case StructType():
            if not kind.fields:
                raise ConfigError(f"Column {where} cannot be written to {options}: it is a struct without fields")
            for field in kind.fields:
                _check_type(field.dataType, f"{where}.{field.name}", options)
        case _ if not isinstance(kind, _PLAIN):
            name, each = (where, "") if re.fullmatch(r"\w+", where) else ("x", " for each x of it")
            raise ConfigError(
                f"Column {where} is {_ddl(kind)}, for which {options} has no type: write "
                f"{_as_plain(kind, name, options.format)} in the query{each}"
            )
        case _:
            return


def stored(kind: DataType, form: TableFormat) -> DataType:
    """The type to which a column is cast before it is written, nested types included. Every part is nullable, as in
    tables that Spark creates, because rows of a later batch may have NULL there.
    """
    match kind:
        case ArrayType():
            return ArrayType(stored(kind.elementType, form), True)
        case MapType():
            return MapType(stored(kind.keyType, form), stored(kind.valueType, form), True)
        case StructType():
            return StructType([StructField(f.name, stored(f.dataType, form), True) for f in kind.fields])
        case ByteType() | ShortType() if form is TableFormat.ICEBERG:
            return IntegerType()
        case StringType():  # CHAR, VARCHAR and collations are stored as strings: only readers apply them
            return StringType()
        case _:
            return kind


def stored_schema(schema: StructType, form: TableFormat) -> StructType:
    """The columns, with the types in which tasks write them."""
    return StructType([StructField(f.name, stored(f.dataType, form), True) for f in schema.fields])


def prepared(rows: DataFrame, options: TableOptions) -> DataFrame:
    """The rows in the types that tasks write. Partitioned files get the rows of each partition together."""
    from pyspark.sql.functions import col

    schema = rows.schema
    chosen = []
    for field in schema.fields:
        column, kind = col(escaped(field.name)), stored(field.dataType, options.format)
        if kind != field.dataType:
            column = column.cast(kind)
        chosen.append(column.alias(field.name))
    rows = rows.select(*chosen)
    columns = [col(escaped(name)) for name in options.partition_by if name in rows.columns]
    if columns:
        rows = rows.repartition(*columns).sortWithinPartitions(*columns)
    if options.format is TableFormat.POSTGRESQL:
        rows = rows.coalesce(MAX_COPIES)
    return rows


def with_json(rows: DataFrame, as_they_are: Collection[str] = ()) -> DataFrame:
    """The rows for a database, with arrays, maps and structs as JSON.

    :param as_they_are: columns whose arrays and maps the database accepts; values inside them may still become JSON.
    """
    from pyspark.sql.functions import col, to_json

    chosen = []
    for field in rows.schema.fields:
        column = col(escaped(field.name))
        if field.name in as_they_are:
            column = _with_json_inside(column, field.dataType)
        elif isinstance(field.dataType, _NESTED):
            column = to_json(column, JSON_OPTIONS)
        chosen.append(column.alias(field.name))
    return rows.select(*chosen)


def _with_json_inside(column: Column, kind: DataType) -> Column:
    """A column of arrays, nested to any depth, whose structs and maps become JSON."""
    from pyspark.sql.functions import to_json, transform

    if not isinstance(kind, ArrayType):
        return column
    inner = kind.elementType
    if isinstance(inner, ArrayType):
        return transform(column, lambda element: _with_json_inside(element, inner))
    return transform(column, lambda element: to_json(element, JSON_OPTIONS)) if isinstance(inner, _NESTED) else column


def check_required(required: Collection[str], given: Collection[str], options: TableOptions) -> None:
    """Refuse rows that lack a column that is NOT NULL in the table."""
    for name in required:
        if name not in given:
            raise ConfigError(
                f"Column {name} of {options} is NOT NULL, and the rows have no such column: add it in the query"
            )


def null_refusal(column: str, table: object) -> str:
    """The error message for a row with NULL in a column that is NOT NULL in the table."""
    return f"A row for {table} has NULL in column {column}, which is NOT NULL there: leave such rows out in the query"


def escaped(name: str) -> str:
    """A column's name, quoted for Spark, whatever characters it contains."""
    return "`" + name.replace("`", "``") + "`"


_WHOLE = ("tinyint", "smallint", "int", "bigint", "int32", "int64")
_LOCAL = "timestamp_ntz'1970-01-01' + {} * interval '0.000001' second"
COUNTED = {
    "date": "date_from_unix_date({})",
    "date32[day]": "date_from_unix_date({})",
    "timestamp": "timestamp_micros({})",
    "timestamptz": "timestamp_micros({})",
    "timestamp_ntz": _LOCAL,
    "time": f"date_format({_LOCAL}, 'HH:mm:ss.SSSSSS')",
    "interval": "concat({}, ' microseconds')",
    "boolean": "cast({} as boolean)",
}
"""What to write for whole numbers that count days or microseconds, as Debezium's do, by the column's type: a cast is
refused, or assumes seconds.
"""


def counted(name: str, kind: str) -> str:
    """The advice for writing whole numbers to a column of a type in :data:`COUNTED`."""
    counts = {"date": "days", "date32[day]": "days", "boolean": ""}.get(kind, "microseconds")
    written = COUNTED[kind].format(name if re.fullmatch(r"\w+", name) else escaped(name))
    return f"write {written} in the query" + (f", if it counts {counts}" if counts else "")


def missing_columns(
    wanted: Sequence[tuple[str, str]],
    found: Sequence[tuple[str, str]],
    options: TableOptions,
    rearranged: Callable[[str], str] = lambda _: "",
) -> list[tuple[str, str]]:
    """The columns that the table lacks. Raises ConfigError if a column has another type, or if they may not be added.

    :param wanted: names and types that the rows need.
    :param found: names and types that the table has.
    :param rearranged: the expression to write in the query for a column of structs; empty if unknown.
    """
    types = dict(found)
    for name, kind in wanted:
        if name in types and types[name] != kind:
            raise ConfigError(
                f"Column {name} of {options} is {types[name]}, while the rows need {kind}: "
                f"{_other_type(name, kind, types[name], rearranged(name))}"
            )
    return missing_names(wanted, types, options)


def _other_type(name: str, wanted: str, found: str, rearranged: str) -> str:
    """The advice for a column whose type differs in the table, so that no value is lost or moved to another field."""
    if wanted in _WHOLE and found in COUNTED:
        return counted(name, found)
    if rearranged:
        return f"write {rearranged} in the query (a cast would take the fields by their places)"
    if "struct<" in wanted and "struct<" in found:
        return (
            "give the rows the fields of the table, by their names and not with a cast, which takes them by their "
            "places, or write to another table"
        )
    return f"cast it in the query, if {found} holds each of its values, or write to a column that is {wanted}"


def missing_names(
    wanted: Sequence[tuple[str, str]], found: Collection[str], options: TableOptions
) -> list[tuple[str, str]]:
    """The columns that the table lacks. Raises ConfigError if they may not be added, and Conflict if the case of a name
    in the table has changed since the table was read."""
    lowered = {name.lower() for name in found}
    missing = [(name, kind) for name, kind in wanted if name not in found]
    for name, _ in missing:
        if name.lower() in lowered:
            raise Conflict(f"column {name} of {options} changed its case after the table was read")
    if missing and not options.evolve:
        names = ", ".join(name for name, _ in missing)
        raise ConfigError(f"{options} has no column {names}: set evolve to true to have it added, or leave it out")
    total = len(found) + len(missing)
    _check_number(total, f"{options} has {len(found)} columns, and the rows add {len(missing)}", options)
    return missing


def _check_number(columns: int, what: str, options: TableOptions) -> None:
    """Raises ConfigError for more columns than a table may have.

    :param what: what leads to this number, for the message.
    """
    most = MAX_COLUMNS.get(options.format)
    if most is not None and columns > most:
        raise ConfigError(
            f"{what}, while a {options.format.value} table may have {most}: put several columns into one in the query, "
            "with struct(...), which is stored as JSON, or write them to several tables"
        )


def _ddl(kind: DataType) -> str:
    return kind.simpleString()
