"""Checks which rows a table of SQLite accepts, and converts values to the form that its columns store.

Called by :mod:`oncelog.spark.tables.databases.sqlite`. A column has an affinity, by which SQLite changes values, or in
a STRICT table a type (https://sqlite.org/datatype3.html, https://sqlite.org/stricttables.html). Values that SQLite
stores unchanged, as a number or as text, are accepted. Unsuitable types are refused before rows are computed, and a
value that SQLite would change is refused when it is written. An EXPLAIN of the INSERT checks everything else: views,
unique indexes, foreign keys.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from oncelog.errors import ConfigError
from oncelog.records.arrow_moments import moment_texts
from oncelog.spark.tables.columns import check_required
from oncelog.spark.tables.databases.sql_names import quoted
from oncelog.spark.tables.databases.texts import first_invalid, row_of, shown
from oncelog.spark.tables.latest import compared, unlike_order
from oncelog.spark.tables.options import Mode, TableOptions
from oncelog.spark.tables.store import TableRefused

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBERS = ("INTEGER", "REAL", "NUMERIC")
_MOMENTS = (DateType, TimestampType, TimestampNTZType)
_JSON = (ArrayType, MapType, StructType)
_INT64 = range(-(2**63), 2**63)
_WHOLE_DOUBLES = range(-(2**53), 2**53 + 1)
"""The limit of whole numbers that a REAL stores exactly."""
_NUMBER = re.compile(r"[ \t\n\v\f\r]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t\n\v\f\r]*")
"""Matches a text that SQLite stores as a number in a column of numeric affinity."""
_MAX_DIGITS = 400
_ZEROS = re.compile(r"\s*[+-]?0[0-9]")


@dataclass(frozen=True, slots=True)
class SqliteColumn:
    """A column of a table.

    :param declared: the column's type in the table's definition.
    :param affinity: ``INTEGER``, ``REAL``, ``NUMERIC``, ``TEXT``, or ``BLOB``, which changes nothing.
    :param strict: whether only values of the declared type are stored.
    :param generated: whether the table computes the column.
    :param required: whether a row must have a value.
    """

    name: str
    declared: str
    affinity: str
    strict: bool
    generated: bool
    required: bool


def columns_of(connection: sqlite3.Connection, table: str) -> list[SqliteColumn]:
    """The columns of a table; none if there is no such table."""
    strict = without_rowid = False
    if sqlite3.sqlite_version_info >= (3, 37):
        row = connection.execute(
            "SELECT strict, wr FROM pragma_table_list(?) WHERE schema = 'main'", (table,)
        ).fetchone()
        strict, without_rowid = map(bool, row or (False, False))
    found = connection.execute(
        'SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?)', (table,)
    )
    rows = found.fetchall()
    keys = [kind.upper() for _, kind, _, _, pk, _ in rows if pk]
    numbered = keys == ["INTEGER"] and not without_rowid
    return [
        SqliteColumn(
            name,
            kind,
            ("BLOB" if kind.upper() == "ANY" else affinity_of(kind)) if strict else affinity_of(kind),
            strict and kind.upper() != "ANY",
            hidden in (2, 3),
            bool(not_null or (pk and (without_rowid or strict))) and default is None and not (pk and numbered),
        )
        for name, kind, not_null, default, pk, hidden in rows
    ]


def affinity_of(kind: str) -> str:
    """The affinity that SQLite derives from a column's declared type (https://sqlite.org/datatype3.html, 3.1)."""
    upper = kind.upper()
    rules = (
        (("INT",), "INTEGER"),
        (("CHAR", "CLOB", "TEXT"), "TEXT"),
        (("BLOB",), "BLOB"),
        (("REAL", "FLOA", "DOUB"), "REAL"),
    )
    for words, affinity in rules:
        if any(word in upper for word in words):
            return affinity
    return "NUMERIC" if upper else "BLOB"


def check_taken(
    connection: sqlite3.Connection,
    table: str,
    insert: str,
    columns: Sequence[SqliteColumn],
    schema: StructType,
    options: TableOptions,
) -> None:
    """Raises ConfigError if rows with these columns cannot be written to the table. Columns that the table lacks are
    ignored.

    :param table: the table's name, quoted.
    :param insert: the statement for the columns that it has.
    """
    found = {column.name: column for column in columns}
    fields = [field for field in schema.fields if field.name in found]
    for field in fields:
        column = found[field.name]
        if column.generated:
            raise ConfigError(
                f"Column {field.name} of {options} is generated from other columns: leave it out of the rows in the "
                "query"
            )
        advice = _advice(field.dataType, column)
        if advice:
            raise ConfigError(
                f"Column {field.name} of {options} is {column.declared or 'of no type'}, which does not store "
                f"{field.dataType.simpleString()} as it is: {advice.format(field.name)}"
            )
    for name in compared(list(found), options):
        _check_order(schema[name].dataType, found[name], options)
    check_required([column.name for column in columns if column.required], schema.names, options)
    try:
        connection.execute(f"EXPLAIN {insert}", [None] * len(fields))
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
        if options.mode is Mode.UPSERT and "ON CONFLICT" in str(error):
            keys = ", ".join(map(quoted, options.key))
            raise ConfigError(
                f"Option key of {options} names {', '.join(options.key)}, and no unique index of the table is on just "
                f"these columns, without WHERE: make one, CREATE UNIQUE INDEX one_row_per_key ON "
                f"{table} ({keys}), or name the columns of another"
            ) from error
        raise ConfigError(f"{options} does not accept such rows: {error}") from error


def _check_order(kind: DataType, column: SqliteColumn, options: TableOptions) -> None:
    """Raises ConfigError for a column of ``latestBy`` that stores texts as numbers, or numbers as texts. A column of
    affinity NUMERIC, such as DATETIME, stores most texts as they are: :func:`_text_in_order` checks each text.
    """
    if isinstance(kind, StringType) and column.affinity in ("INTEGER", "REAL"):
        advice = f"write cast({column.name} as bigint) in the query, or another type of numbers"
    elif isinstance(kind, NumericType) and column.affinity == "TEXT":
        advice = "make a table in which the column is INTEGER"
    else:
        return
    raise ConfigError(unlike_order(column.name, column.declared, kind, options, advice))


def _advice(kind: DataType, column: SqliteColumn) -> str:
    """The advice for a column that does not store values of this type unchanged; empty if it does, or if each value is
    checked."""
    affinity = column.affinity
    numeric = affinity in ("INTEGER", "REAL")
    match kind:
        case BinaryType() if affinity != "BLOB":
            return "write cast({} as string) in the query"
        case BooleanType() if affinity == "TEXT":
            return "write cast({} as string) in the query"
        case DateType() if numeric:
            return "write unix_date({}) in the query"
        case TimestampType() if numeric:
            return "write unix_micros({}) in the query"
        case TimestampNTZType() if numeric:
            return "write unix_micros(cast({} as timestamp)) in the query"
        case _ if isinstance(kind, _JSON) and numeric:
            return "it takes numbers; JSON needs a column of type TEXT"
        case _ if column.strict and affinity == "BLOB" and not isinstance(kind, BinaryType):
            return "write cast(cast({} as string) as binary) in the query"
        case _:
            return ""


# --- values


class _Changed(Exception):
    """SQLite would store a value other than the given one.

    :param why: how SQLite would change the value.
    :param advice: the expression to write in the query.
    """

    def __init__(self, why: str, advice: str) -> None:
        super().__init__(why, advice)
        self.why, self.advice = why, advice


def bound(batch: pa.RecordBatch, columns: Mapping[str, SqliteColumn], options: TableOptions) -> list[list[Any]]:
    """The columns of a batch as Python values for SQLite. Raises TableRefused for a value that SQLite would change."""
    return [_column(batch, number, columns[name], options) for number, name in enumerate(batch.schema.names)]


def _column(batch: pa.RecordBatch, number: int, column: SqliteColumn, options: TableOptions) -> list[Any]:
    import pyarrow as pa

    values = batch.column(number)

    def refused(index: int, value: Any, changed: _Changed) -> TableRefused:
        return TableRefused(
            f"A row for {options} ({row_of(batch, index)}) has {shown(value)} in column {column.name}, which is "
            f"{column.declared or 'of no type'} and {changed.why}: {changed.advice.format(column.name)}"
        )

    if pa.types.is_string(values.type):
        index = first_invalid(values)
        if index is not None:
            raw = values.cast(pa.binary())[index].as_py().decode(errors="backslashreplace")
            raise refused(index, raw, _Changed("takes no bytes that are not UTF-8", "decode them in the query"))
    change = _change(values.type, column)
    if pa.types.is_string(values.type) and column.affinity == "NUMERIC" and column.name in options.latest_by:
        change = _text_in_order
    if pa.types.is_timestamp(values.type) or pa.types.is_date32(values.type):
        values = moment_texts(values)
    given = values.to_pylist()
    if change is None:
        return list(given)
    made = []
    for index, value in enumerate(given):
        try:
            made.append(None if value is None else change(value))
        except _Changed as changed:
            raise refused(index, value, changed) from None
    return made


def _change(kind: pa.DataType, column: SqliteColumn) -> Callable[[Any], Any] | None:
    """The function that converts a value to the form that SQLite stores, and refuses one that SQLite would change; None
    if no conversion is needed."""
    import pyarrow as pa

    affinity = column.affinity
    if pa.types.is_boolean(kind):
        return int
    if pa.types.is_floating(kind):
        return _float_text if affinity == "TEXT" else _float
    if pa.types.is_decimal(kind):
        return _decimal_text if affinity in ("TEXT", "BLOB") else _real if affinity == "REAL" else _number
    if pa.types.is_integer(kind) and affinity == "REAL":
        return _real
    if pa.types.is_string(kind) and affinity in _NUMBERS:
        return _text_real if affinity == "REAL" else _text_number
    return None


def _float(value: float) -> float:
    if value != value:
        raise _Changed("would hold NULL for NaN", "replace it in the query, nanvl({}, null)")
    return value


def _float_text(value: float) -> str:
    return repr(_float(value))


def _decimal_text(value: Decimal) -> str:
    return format(value, "f")


def _real(value: int | Decimal) -> float:
    made = float(value)
    if Decimal(repr(made)) != value or (value == int(value) and int(value) not in _WHOLE_DOUBLES):
        raise _Changed(f"would hold {made!r}", "change the column to TEXT, and cast({} as string) in the query")
    return made


def _number(value: Decimal) -> int | float:
    if value == value.to_integral_value() and int(value) in _INT64:
        return int(value)
    return _real(value)


def _text_number(value: str) -> str:
    """A text for a column of numeric affinity, unchanged. Raises _Changed for a numeric text that SQLite would store as
    a different number or without its leading zeros."""
    if _NUMBER.fullmatch(value):
        number = Decimal(value.strip())
        if abs(number.adjusted()) > _MAX_DIGITS:
            raise _Changed("would hold another number", "change the column to TEXT")
        if _ZEROS.match(value):
            raise _Changed("would drop its leading zeros", "change the column to TEXT")
        _number(number)
    return value


def _text_in_order(value: str) -> str:
    """A text for a column of ``latestBy`` with affinity NUMERIC, unchanged. Raises _Changed for a numeric text, which
    SQLite would compare as a number."""
    if _NUMBER.fullmatch(value):
        raise _Changed(
            "would sort it as a number, while latestBy sorts texts by their bytes",
            "write cast({} as bigint) in the query, or another type of numbers",
        )
    return value


def _text_real(value: str) -> str:
    if _NUMBER.fullmatch(value):
        _text_number(value)
        _real(Decimal(value.strip()))
    return value
