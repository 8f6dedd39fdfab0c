"""Predicts what the next start of a query will do with a table, and finds problems of the table. Changes nothing.

Called by ``oncelog pipeline doctor`` for each table of a pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from oncelog.errors import ConfigError, OncelogError
from oncelog.spark.kafka.interface import ClusterFacts
from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.spark.sink.doctor import next_plan, predict
from oncelog.spark.sink.marker import Marker
from oncelog.spark.tables.options import TableOptions
from oncelog.spark.tables.sink import check_table, open_store
from oncelog.spark.tables.store import Leftover, MaintainedTable, TableLook, table_group

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class TableDiagnosis:
    """What the next start of a query will do with one of its tables, and the problems of the table.

    :param table_id: empty if there is no such table yet.
    :param marker: the last batch of the query that is in the table.
    :param columns: how the table's columns differ from the rows; empty if they do not.
    :param missing_rights: operations that the sink needs and is not permitted.
    :param leftovers: files or tables of tasks that no commit refers to.
    """

    table: str
    table_id: str
    group: str
    marker: Marker | None
    next_batch: int
    repeats: bool
    verdict: str
    reason: str
    columns: str
    missing_rights: Sequence[str]
    leftovers: Sequence[Leftover]

    @property
    def refused(self) -> bool:
        return self.verdict == "refuse" or bool(self.columns or self.missing_rights)

    def as_json(self) -> dict[str, Any]:
        coming = {"batchId": self.next_batch, "repeats": self.repeats, "verdict": self.verdict, "reason": self.reason}
        return {
            "table": self.table,
            "tableId": self.table_id or None,
            "group": self.group,
            "holds": None if self.marker is None else {"batchId": self.marker.batch_id, "rows": self.marker.rows},
            "next": coming,
            "columns": self.columns or None,
            "missingRights": list(self.missing_rights),
            "leftovers": [one._asdict() for one in self.leftovers],
        }

    def lines(self) -> list[tuple[str, str]]:
        """The diagnosis for people: pairs of label and text."""
        step = "repeats" if self.repeats else "plans"
        size = sum(one.size_bytes for one in self.leftovers)
        left = f"{len(self.leftovers)} that no commit names, {size:,} bytes: oncelog pipeline clean deletes them"
        return [
            ("table", self.table),
            ("id", self.table_id or "no such table yet"),
            ("group", self.group or "made at the first start"),
            ("holds", "no batch" if self.marker is None else f"batch {self.marker.batch_id}, {self.marker}"),
            ("columns", self.columns or "as the rows need them"),
            ("rights", "; ".join(self.missing_rights) or "as needed, as far as that can be asked"),
            ("left over", left if self.leftovers else "nothing"),
            ("next start", f"{step} batch {self.next_batch}: {self.verdict}, {self.reason}"),
        ]


FIRST_START = "there is no checkpoint yet, so this is the first start"


def diagnose_table(
    checkpoint: Checkpoint | None,
    options: TableOptions,
    name: str,
    schema: StructType,
    now_ms: int,
    older_than_h: int,
) -> TableDiagnosis:
    """Predict what the next start of a query will do with one of its tables. A table that cannot be read gets the
    verdict ``refuse`` with the reason.

    :param checkpoint: None before the first start.
    :param name: the sink's name, empty if it is the only one.
    :param schema: the columns of the rows.
    """
    try:
        store = open_store(options)
        columns = _difference(store, schema, options)
        missing, leftovers = store.missing_rights(), store.leftovers(older_than_h)
        if checkpoint is None:
            seen = store.look("", ())
            found = _Next("", None, 0, repeats=False, verdict="write", reason=FIRST_START)
        else:
            group = table_group(checkpoint.query_id(), name)
            numbers = checkpoint.batches("offsets")[-2:]
            plans = [found.fingerprint for found in map(checkpoint.planned, reversed(numbers)) if found is not None]
            seen = store.look(group, plans, {one.group for one in checkpoint.last_writes() if one.table})
            found = _next(checkpoint, group, seen, options, now_ms)
    except OncelogError as error:
        refused = _Next("", None, 0, repeats=False, verdict="refuse", reason=str(error))
        return _diagnosis(options, "", refused, "", (), ())
    return _diagnosis(options, seen.table_id, found, columns, missing, leftovers)


class _Next(NamedTuple):
    """The next batch that a query will write to a table, and the verdict on this batch."""

    group: str
    marker: Marker | None
    batch: int
    repeats: bool
    verdict: str
    reason: str


def _next(checkpoint: Checkpoint, group: str, seen: TableLook, options: TableOptions, now_ms: int) -> _Next:
    facts = ClusterFacts(seen.table_id, seen.retention_ms)
    coming = next_plan(checkpoint, group, facts, now_ms, options.on_missing, str(options), seen.others)
    verdict, reason = predict(coming, seen.marker, seen.marker, now_ms)
    return _Next(group, seen.marker, coming.plan.number, coming.repeats, verdict, reason)


def _diagnosis(
    options: TableOptions,
    table_id: str,
    coming: _Next,
    columns: str,
    missing_rights: Sequence[str],
    leftovers: Sequence[Leftover],
) -> TableDiagnosis:
    return TableDiagnosis(
        table=str(options),
        table_id=table_id,
        group=coming.group,
        marker=coming.marker,
        next_batch=coming.batch,
        repeats=coming.repeats,
        verdict=coming.verdict,
        reason=coming.reason,
        columns=columns,
        missing_rights=missing_rights,
        leftovers=leftovers,
    )


def _difference(store: MaintainedTable, schema: StructType, options: TableOptions) -> str:
    try:
        check_table(store, schema, options)
    except ConfigError as error:
        return str(error)
    return ""
