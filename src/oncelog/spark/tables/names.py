"""Matches the columns of rows to those of a table, and finds the table's partitions, by Spark's rules for names. Pure.

Called by :mod:`oncelog.spark.tables.sink` for each batch, and for ``doctor``. Spark treats names that differ only in
case as the same column (``spark.sql.caseSensitive`` is false), and so do its writers of databases, Delta and Iceberg.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from pyspark.sql.types import StructField, StructType

from oncelog.errors import ConfigError
from oncelog.spark.tables.columns import check_columns
from oncelog.spark.tables.latest import written_columns
from oncelog.spark.tables.options import TableOptions
from oncelog.spark.tables.store import TableLayout, TableRefused


class NamedRows(NamedTuple):
    """The columns of rows under the names that a table gives them.

    :param names: the names of all columns of the rows, in their order.
    :param written: the columns that are written.
    :param options: the options with the same names, and with the table's partitions.
    """

    names: Sequence[str]
    written: StructType
    options: TableOptions


def named_rows(schema: StructType, options: TableOptions, layout: TableLayout | None) -> NamedRows:
    """The columns of a batch's rows under the table's names. Raises ConfigError if no table, or not this table, can
    store the rows.

    :param layout: None if there is no table yet, which then gets the rows' names.
    """
    options = _with_names(options, {name: _same(name, schema.names) for name in _mentioned(options)})
    check_columns(schema, options)
    if layout is None:
        return NamedRows(schema.names, written_columns(schema, options, None), options)
    names = {name: _of_table(name, layout.columns, options) for name in schema.names}
    check_partitions(options, layout)
    options = replace(_with_names(options, names), partition_by=layout.partitions if layout.by_columns else ())
    named = StructType([StructField(names[f.name], f.dataType, f.nullable, f.metadata) for f in schema.fields])
    return NamedRows(named.names, written_columns(named, options, layout.columns), options)


class BatchNames:
    """The column names of a batch's rows. They are looked up at each attempt, and must not change once the rows are
    written."""

    def __init__(self, schema: StructType, options: TableOptions) -> None:
        """Raises ConfigError if no table can hold the rows."""
        self._schema, self._options = schema, options
        self._written = False
        self.rows = named_rows(schema, options, None)

    def look(self, layout: TableLayout | None) -> None:
        """Look up the names in the table. Raises ConfigError if the table cannot store the rows, and TableRefused if it
        has changed since rows were written."""
        found = named_rows(self._schema, self._options, layout)
        if self._written and found != self.rows:
            raise TableRefused(
                f"{self._options} changed its columns or partitions while a batch was written, so that its rows do not "
                "fit: nothing was committed, and a new start computes the batch again"
            )
        self.rows = found

    def written(self) -> NamedRows:
        """The names under which rows are written; from this call on they must not change."""
        self._written = True
        return self.rows


def check_partitions(options: TableOptions, layout: TableLayout) -> None:
    """Refuse a ``partitionBy`` that differs from the table's partitions, which are used if the option is not set.
    Raises ConfigError.
    """
    given = [name.lower() for name in options.partition_by]
    own = [name.lower() for name in layout.partitions]
    if given and (given != own or not layout.by_columns):
        found = ", ".join(layout.partitions)
        raise ConfigError(
            f"{options} is partitioned by {found or 'nothing'}, and partitionBy says "
            f"{', '.join(options.partition_by)}: leave it out"
            + (f", or set it to {found}" if found and layout.by_columns else "")
        )


def _mentioned(options: TableOptions) -> Collection[str]:
    return (*options.key, *options.latest_by, *options.partition_by)


def _with_names(options: TableOptions, names: dict[str, str]) -> TableOptions:
    key, latest_by, partition_by = (
        tuple(names[name] for name in given) for given in (options.key, options.latest_by, options.partition_by)
    )
    return replace(options, key=key, latest_by=latest_by, partition_by=partition_by)


def _same(name: str, columns: Collection[str]) -> str:
    """The column of this name; else the first column whose name differs only in case; else the name itself."""
    return name if name in columns else next((one for one in columns if one.lower() == name.lower()), name)


def _of_table(name: str, columns: Collection[str], options: TableOptions) -> str:
    alike = [one for one in columns if one.lower() == name.lower()]
    if len(alike) > 1 and name not in alike:
        raise ConfigError(
            f"The rows have a column {name}, and {options} has {' and '.join(alike)}: name it in the query as one of "
            f"them, with AS {alike[0]}"
        )
    return _same(name, alike)
