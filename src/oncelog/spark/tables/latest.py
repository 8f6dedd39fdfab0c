"""Decides which row of a key is the latest: among the rows of a batch, and compared with the table's row.

Called by :mod:`oncelog.spark.tables.sink`. The option ``latestBy`` names the columns that decide, the most significant
first. Without it, rows that still have the source's columns ``topic``, ``partition`` and ``offset`` are ordered by
offset; then all rows of a key must come from one partition. NULL is earlier than any value. Rows that are equal in
these columns must be equal in all columns. The table's row stays if it is later; if the columns are equal, the batch's
row replaces it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.types import DataType, DecimalType, IntegerType, LongType, StringType, StructType

from oncelog.errors import ConfigError
from oncelog.spark.tables.columns import JSON_OPTIONS, escaped
from oncelog.spark.tables.keys import null_key
from oncelog.spark.tables.options import Mode, TableFormat, TableOptions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ORIGIN = {"topic": StringType(), "partition": IntegerType(), "offset": LongType()}
"""The source's columns that identify a record, with their types."""
_BEST, _SEVERAL, _TIED, _NUMBER = (f"_oncelog_{name}" for name in ("best", "several", "tied", "number"))


@dataclass(frozen=True, slots=True)
class Order:
    """Determines which of two rows of one key is later.

    :param by: the columns that are compared.
    :param within: the columns that must be equal in all rows of a key.
    """

    by: tuple[str, ...]
    within: tuple[str, ...] = ()


def order_of(schema: StructType, options: TableOptions) -> Order | None:
    """The order for rows with these columns; None if nothing determines one. Raises ConfigError for a column that
    SQLite cannot order."""
    if options.mode is not Mode.UPSERT:
        return None
    if options.latest_by:
        for name in options.latest_by:
            if options.format is TableFormat.SQLITE and isinstance(schema[name].dataType, DecimalType):
                raise ConfigError(
                    f"Column {name} cannot be in option latestBy of {options}: SQLite keeps decimals as text, which "
                    f"sorts differently: cast it to a whole number"
                )
        return Order(options.latest_by)
    origin = {f.name.lower(): f.name for f in schema.fields if ORIGIN.get(f.name.lower()) == f.dataType}
    if len(origin) == len(ORIGIN):
        return Order((origin["offset"],), (origin["topic"], origin["partition"]))
    return None


def written_columns(schema: StructType, options: TableOptions, columns: Collection[str] | None) -> StructType:
    """The columns of the rows that are written: those of the order that the table lacks are left out if they may not be
    added.

    :param columns: the table's columns; None if there is no table yet.
    """
    order = order_of(schema, options)
    if order is None or options.evolve or columns is None:
        return schema
    return StructType(
        [f for f in schema.fields if f.name not in (*order.by, *order.within) or f.name in (*columns, *options.key)]
    )


def latest(rows: DataFrame, options: TableOptions) -> DataFrame:
    """The latest row of each key. If it cannot be determined, the job ends with an error."""
    from pyspark.sql import Window
    from pyspark.sql.functions import col, lit, max, min, row_number, struct, to_json, when

    order = order_of(rows.schema, options)
    if order is None:
        return rows

    def all_of(names: Sequence[str]) -> Column:
        return struct(*(col(escaped(name)) for name in names))

    def differ(value: Column) -> Column:
        return min(value).over(same_key) != max(value).over(same_key)

    chosen = [col(escaped(name)) for name in rows.columns]
    text = to_json(struct(*chosen), JSON_OPTIONS)
    same_key = Window.partitionBy(*(col(escaped(name)) for name in options.key))
    several = differ(all_of(order.within)) if order.within else lit(False)
    best = rows.select("*", max(all_of(order.by)).over(same_key).alias(_BEST), several.alias(_SEVERAL))
    best = best.where(all_of(order.by).eqNullSafe(col(_BEST)))
    number = row_number().over(same_key.orderBy(text))
    one = best.select(*chosen, _SEVERAL, differ(text).alias(_TIED), number.alias(_NUMBER)).where(f"{_NUMBER} = 1")
    first = chosen[0]
    for condition, why in _refusals(order, options):
        first = when(condition, why).otherwise(first)
    return one.select(first.alias(rows.columns[0]), *chosen[1:])


def _refusals(order: Order, options: TableOptions) -> list[tuple[Column, Column]]:
    """The cases in which no row of a key is the latest, with the errors to raise; the last case takes precedence."""
    from pyspark.sql.functions import col, concat, lit, raise_error, struct, to_json

    key = to_json(struct(*(col(escaped(name)) for name in options.key)))
    tied = (
        f"has the same {', '.join(order.by)} as another one and other values: name more columns in latestBy that say "
        "which is later"
    )
    several = (
        "is in several partitions or topics, whose offsets do not say which is later: name the columns that say it in "
        "latestBy"
    )
    found = [
        (col(name), raise_error(concat(lit(f"A row for {options} with the key "), key, lit(f" {why}"))))
        for name, why in ((_TIED, tied), (_SEVERAL, several))
    ]
    nulls = [(col(escaped(name)).isNull(), raise_error(lit(null_key(name, options)))) for name in options.key]
    return found + nulls


def compared(names: Collection[str], options: TableOptions) -> tuple[str, ...]:
    """The columns by which the table's row is compared with the batch's: those of ``latestBy`` that precede the first
    one that is not written.

    Without ``latestBy``, offsets are not compared: a later batch has later offsets.
    """
    if options.mode is not Mode.UPSERT:
        return ()
    return tuple(itertools.takewhile(lambda name: name in names, options.latest_by))


def unlike_order(name: str, declared: str, kind: DataType, options: TableOptions, advice: str) -> str:
    """The error message for a column of ``latestBy`` whose values sort differently in the table and in Spark, so that
    the latest row would depend on how rows are divided into batches.

    :param declared: the column's type in the table.
    :param kind: its type in the rows.
    """
    return (
        f"Column {name} of {options} is {declared}, which sorts differently than {kind.simpleString()} in the rows, "
        f"so option latestBy cannot name this column: {advice}, or name another column"
    )


def later(columns: Sequence[str], value: Callable[[str, str], str], table: str, source: str) -> str:
    """The SQL condition that the table's row is later than the batch's; never NULL.

    :param value: a function from the alias of a table and the name of its column to an expression that the database
        compares in Spark's order.
    """
    text = "FALSE"
    for name in reversed(columns):
        ours, theirs = value(table, name), value(source, name)
        above = f"({ours} IS NOT NULL AND ({theirs} IS NULL OR {ours} > {theirs}))"
        both = f"{ours} IS NOT NULL AND {theirs} IS NOT NULL AND {ours} = {theirs}"
        text = f"({above} OR ((({ours} IS NULL AND {theirs} IS NULL) OR ({both})) AND {text}))"
    return text
