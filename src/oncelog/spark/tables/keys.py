"""Checks that the keys of a batch identify its rows, for upserts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oncelog.errors import OncelogError
from oncelog.spark.tables.options import TableOptions

if TYPE_CHECKING:
    import pyarrow as pa


UNKNOWN = (
    "which of them is the last is not known: name the columns that say it in latestBy (latest_by in a pipeline's file)"
    ", or keep the source's topic, partition and offset among the columns, and the highest offset counts"
)
"""The end of messages that refuse two rows with one key: why, and what to do."""


class KeyRefused(OncelogError):
    """Two rows of a batch have one key, or a row has none."""


def check_keys(batches: Sequence[pa.RecordBatch], options: TableOptions) -> None:
    """Raises KeyRefused for NULL in a key, which databases compare in different ways, and for a key that two rows of
    the batch have, because the later row is unknown.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not batches:
        return
    table = pa.Table.from_batches(batches).select(list(options.key))
    for name in options.key:
        if table.column(name).null_count:
            raise KeyRefused(null_key(name, options))
    counted = table.group_by(list(options.key)).aggregate([([], "count_all")])
    twice = counted.filter(pc.greater(counted.column("count_all"), 1))
    if twice.num_rows:
        key = ", ".join(f"{name} = {twice.column(name)[0].as_py()}" for name in options.key)
        raise KeyRefused(
            f"A batch for {options} has {twice.column('count_all')[0].as_py()} rows with the key {key}, and {UNKNOWN}"
        )


def keys_alike(options: TableOptions, database: str, stored: Sequence[object] = ()) -> str:
    """The error message for two rows whose keys differ in Spark but are equal in the table."""
    key = ", ".join(f"{name} = {value}" for name, value in zip(options.key, stored, strict=False))
    return (
        f"A batch for {options} has two rows with one key ({key or ', '.join(options.key)}) as {database} compares "
        "it, where letters of another case, spaces at the end, or 1 and 1.0 may be the same: write the key in one way "
        f"in the query, such as lower({options.key[0]}), before rows are chosen by it"
    )


def null_key(name: str, options: TableOptions) -> str:
    """The error message for a row with NULL in a column of the key."""
    return f"A row for {options} has NULL in its key {name}: leave such rows out in the query"
