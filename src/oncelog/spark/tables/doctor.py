"""What the next start of a query will do with a table, and what is wrong with the table. It changes nothing.

Called by ``oncelog pipeline doctor`` for each table of a pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oncelog.errors import ConfigError
from oncelog.spark.kafka.interface import ClusterFacts
from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.spark.sink.doctor import next_plan, predict
from oncelog.spark.sink.marker import Marker
from oncelog.spark.tables.columns import check_columns
from oncelog.spark.tables.options import TableOptions
from oncelog.spark.tables.store import Leftover, MaintainedTable, table_group

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class TableDiagnosis:
    """One table of a query.

    :param table_id: empty if there is no such table yet.
    :param marker: the last batch of the query that is in the table.
    :param columns: how the table's columns differ from the rows; empty if they do not.
    :param missing_rights: what the sink needs to do and may not.
    :param leftovers: what tasks have left that no commit names.
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
            ("group", self.group),
            ("holds", "no batch" if self.marker is None else f"batch {self.marker.batch_id}, {self.marker}"),
            ("columns", self.columns or "as the rows need them"),
            ("rights", "; ".join(self.missing_rights) or "as needed, as far as that can be asked"),
            ("left over", left if self.leftovers else "nothing"),
            ("next start", f"{step} batch {self.next_batch}: {self.verdict}, {self.reason}"),
        ]


def diagnose_table(
    checkpoint: Checkpoint,
    options: TableOptions,
    name: str,
    store: MaintainedTable,
    schema: StructType,
    now_ms: int,
    older_than_h: int,
) -> TableDiagnosis:
    """Predict the next start of a query for one of its tables.

    :param name: the sink's name, empty if it is the only one.
    :param schema: the columns of the rows.
    """
    group = table_group(checkpoint.query_id(), name)
    numbers = checkpoint.batches("offsets")[-2:]
    plans = [found.fingerprint for found in map(checkpoint.planned, reversed(numbers)) if found is not None]
    seen = store.look(group, plans, {one.group for one in checkpoint.last_writes() if one.table})
    facts = ClusterFacts(seen.table_id, seen.retention_ms)
    coming = next_plan(checkpoint, group, facts, now_ms, options.on_missing, str(options), seen.others)
    verdict, reason = predict(coming, seen.marker, seen.marker, now_ms)
    return TableDiagnosis(
        table=str(options),
        table_id=seen.table_id,
        group=group,
        marker=seen.marker,
        next_batch=coming.plan.number,
        repeats=coming.repeats,
        verdict=verdict,
        reason=reason,
        columns=_difference(store, schema, options),
        missing_rights=store.missing_rights(),
        leftovers=store.leftovers(older_than_h),
    )


def _difference(store: MaintainedTable, schema: StructType, options: TableOptions) -> str:
    try:
        check_columns(schema, options)
        store.compare(schema)
    except ConfigError as error:
        return str(error)
    return ""
