"""Replaces the rows of an Iceberg table that have the keys of a batch, by rewriting files in one snapshot.

Called by :mod:`oncelog.spark.tables.lake.iceberg`. pyiceberg's own upsert makes an expression for each row, which it
binds, projects and evaluates for each file: its time grows with the square of the rows. Here a filter of a few terms
chooses the files, and a join of the key columns finds the rows.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import AlwaysTrue, And, GreaterThanOrEqual, In, LessThanOrEqual, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.io.pyarrow import ArrowScan

from oncelog.spark.tables.lake.iceberg_demands import data_files

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import FileScanTask, Table, Transaction

MAX_VALUES = 100
"""The maximum number of distinct values of a key column in a filter. With more values, the filter compares only their
minimum and maximum; pyiceberg compares at most 200 values with a file's statistics."""


def upsert(
    transaction: Transaction,
    table: Table,
    source: pa.Table,
    key: Sequence[str],
    properties: Mapping[str, str],
    by: Sequence[str] = (),
) -> None:
    """Put the rows into the transaction's table in place of those with the same keys; others are added.

    A replaced row keeps the columns that the batch lacks. A file without replaced rows is not rewritten.

    :param source: the batch's rows; their keys are unique and not NULL.
    :param properties: the snapshot's properties.
    :param by: the columns that decide which row is later: a table's row that is later than the batch's stays.
    """
    chosen = may_match(source, key)
    replaced: list[pa.Table] = []
    new = pa.array([True] * source.num_rows)
    with transaction.update_snapshot(snapshot_properties=dict(properties)).overwrite() as overwrite:
        overwrite.delete_by_predicate(chosen)
        for task in table.scan(row_filter=chosen).plan_files():
            if not _matches(_read(table, task, key), source, key).num_rows:
                continue
            rows = _read(table, task, table.schema().column_names)
            found = _matches(rows, source, key)
            new = pc.and_(new, _without(source.num_rows, found["source"]))
            found = found.filter(pc.invert(_later(rows, source, found, by)))
            if not found.num_rows:
                continue
            replaced.append(_replaced(rows, source, found))
            kept = rows.filter(_without(rows.num_rows, found["row"]))
            overwrite.delete_data_file(task.file)
            for file in _files(table, kept):
                overwrite.append_data_file(file)
        added = pa.concat_tables([*replaced, source.filter(new)], promote_options="permissive")
        for file in _files(table, added):
            overwrite.append_data_file(file)


def may_match(source: pa.Table, key: Sequence[str]) -> BooleanExpression:
    """A filter that matches each file with one of the keys; its size does not grow with the rows."""
    return functools.reduce(And, [_may_match(source.column(name), name) for name in key])


def _may_match(column: pa.ChunkedArray, name: str) -> BooleanExpression:
    term, values = Reference(name), pc.unique(column)
    if len(values) <= MAX_VALUES:
        return In(term=term, values={literal(value) for value in values.to_pylist()})
    limits = pc.min_max(values).as_py()
    least = GreaterThanOrEqual(term=term, value=literal(limits["min"]))
    return And(least, LessThanOrEqual(term=term, value=literal(limits["max"])))


def _read(table: Table, task: FileScanTask, columns: Sequence[str]) -> pa.Table:
    """All rows of a file that are not deleted."""
    schema = table.schema().select(*columns)
    return ArrowScan(table.metadata, table.io, schema, AlwaysTrue()).to_table([task])


def _matches(rows: pa.Table, source: pa.Table, key: Sequence[str]) -> pa.Table:
    """The row numbers of rows with equal keys in both tables, as the columns ``row`` and ``source``."""
    names = [f"key{number}" for number in range(len(key))]
    found = [rows.column(name) for name in key]
    wanted = [source.column(name).cast(column.type) for name, column in zip(key, found, strict=True)]
    left = pa.table([*found, pa.array(range(rows.num_rows), pa.int64())], [*names, "row"])
    right = pa.table([*wanted, pa.array(range(source.num_rows), pa.int64())], [*names, "source"])
    return left.join(right, names, join_type="inner").select(["row", "source"])


def _later(rows: pa.Table, source: pa.Table, found: pa.Table, by: Sequence[str]) -> pa.ChunkedArray:
    """For each match, whether the table's row is later; NULL is earlier than any value."""
    later = pa.chunked_array([pa.array([False] * found.num_rows, pa.bool_())])
    for name in reversed(by):
        ours = rows[name].take(found["row"])
        theirs = source[name].take(found["source"]).cast(ours.type)
        no_less = pc.is_null(theirs)
        above = pc.and_(pc.is_valid(ours), pc.or_(no_less, pc.fill_null(pc.greater(ours, theirs), False)))
        both_null = pc.and_(pc.is_null(ours), no_less)
        same = pc.or_(both_null, pc.fill_null(pc.equal(ours, theirs), False))
        later = pc.or_(above, pc.and_(same, later))
    return later


def _replaced(rows: pa.Table, source: pa.Table, found: pa.Table) -> pa.Table:
    """The source's rows that replace rows of the table. Columns that the source lacks get the values of the replaced
    rows.
    """
    taken = source.take(found["source"])
    for name in rows.column_names:
        if name not in source.column_names:
            taken = taken.append_column(name, rows.column(name).take(found["row"]))
    return taken


def _without(count: int, numbers: pa.ChunkedArray) -> pa.Array:
    """A mask of this length that excludes these row numbers."""
    return pc.invert(pc.is_in(pa.array(range(count), pa.int64()), value_set=numbers.combine_chunks()))


def _files(table: Table, rows: pa.Table) -> Sequence[DataFile]:
    if not rows.num_rows:
        return []
    return data_files(table.metadata, rows, table.io)
