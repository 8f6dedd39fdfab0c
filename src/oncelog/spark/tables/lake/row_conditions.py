"""Makes Spark convert and check the rows of a batch for a table of files: it casts columns to wider types, and checks
conditions that each row must fulfil.

No other code checks the files that tasks have written. A row that breaks a condition ends the job with a sentence,
before anything is committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql.types import (
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StructField,
    StructType,
)

from oncelog.errors import ConfigError
from oncelog.spark.tables.columns import escaped, stored
from oncelog.spark.tables.options import Mode, TableFormat, TableOptions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ROW_CHARS = 300
_DIGITS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
"""The number of digits of the largest number of each type, from the narrowest type to the widest."""


class Condition(NamedTuple):
    """A condition that each row must fulfil: a Spark SQL text, and its name in messages."""

    name: str
    sql: str


def widens(given: DataType, found: DataType) -> bool:
    """Whether a type is wider than the other one, so that it represents each of its values; or whether the types differ
    only in the case of nested names.
    """
    whole = list(_DIGITS)
    if type(given) in whole:
        if isinstance(found, DecimalType):
            return found.precision - found.scale >= _DIGITS[type(given)]
        if isinstance(found, DoubleType):
            return not isinstance(given, LongType)
        return type(found) in whole[whole.index(type(given)) :]
    if isinstance(given, DecimalType) and isinstance(found, DecimalType):
        return found.scale >= given.scale and found.precision - found.scale >= given.precision - given.scale
    if isinstance(given, FloatType):
        return isinstance(found, DoubleType)
    texts = given.simpleString(), found.simpleString()
    return texts[0] != texts[1] and texts[0].lower() == texts[1].lower()


def widened(schema: StructType, found: Mapping[str, DataType]) -> StructType:
    """The columns, with the table's types where these are wider."""
    return StructType([StructField(f.name, _wider(f.dataType, found.get(f.name)), f.nullable) for f in schema.fields])


def _wider(given: DataType, found: DataType | None) -> DataType:
    return stored(found, TableFormat.DELTA) if found is not None and widens(given, found) else given


def cast_wider(rows: DataFrame, found: Mapping[str, DataType]) -> DataFrame:
    """The rows with the types of :func:`widened`."""
    from pyspark.sql.functions import col

    schema = rows.schema
    wide = widened(schema, found)
    if wide == schema:
        return rows
    pairs = zip(schema.fields, wide.fields, strict=True)
    return rows.select(
        *(col(escaped(a.name)).cast(b.dataType).alias(a.name) if a != b else col(escaped(a.name)) for a, b in pairs)
    )


def fulfilling(
    rows: DataFrame, given: Sequence[str], conditions: Sequence[Condition], options: TableOptions
) -> DataFrame:
    """The columns ``given``; a row for which a condition is false or NULL ends the job.

    Raises ConfigError if Spark cannot compute a condition. Conditions on columns that an upsert's rows lack are left
    out.
    """
    from pyspark.sql.functions import coalesce, col, concat, expr, lit, raise_error, struct, substring, to_json, when

    chosen = [col(escaped(name)) for name in given]
    row = substring(to_json(struct(*chosen)), 1, _ROW_CHARS)
    first = chosen[0]
    for one in conditions:
        condition = resolved(rows, expr(one.sql), one.name, options)
        if condition is not None:
            why = f"A row for {options} breaks its {one.name}, leave such rows out in the query: "
            first = when(coalesce(condition, lit(False)), first).otherwise(raise_error(concat(lit(why), row)))
    return rows.select(first.alias(given[0]), *chosen[1:])


def resolved(rows: DataFrame, column: Column, name: str, options: TableOptions) -> Column | None:
    """A condition that Spark can compute; None if an upsert's rows lack columns that it needs. Raises ConfigError if
    Spark cannot compute it."""
    from pyspark.errors import AnalysisException

    try:
        rows.select(column)
    except AnalysisException as error:
        if options.mode is Mode.UPSERT and "UNRESOLVED_COLUMN" in str(error):
            return None
        reason = str(error).strip().partition("\n")[0]
        raise ConfigError(f"Spark cannot compute the {name} of {options}: {reason}") from error
    return column
