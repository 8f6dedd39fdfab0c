"""Predicts what the next start of a query will do, and why, from checkpoint, marker and log.

Called by ``oncelog pipeline doctor``. It only reads: it fences nothing, begins no transaction and writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.spark.kafka.interface import ClusterFacts
from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.checkpoint import Checkpoint, CheckpointError, plan_with
from oncelog.spark.sink.marker import (
    GROUP_WORD,
    WAY_BACK,
    BatchPlan,
    Found,
    LastWrite,
    Marker,
    OffsetLogEntry,
    PreviousBatch,
    Refuse,
    Skip,
    Write,
    decide,
)
from oncelog.spark.sink.topic_transaction import found_in, newest_marker
from oncelog.types import TopicPartition


@dataclass(frozen=True, slots=True)
class SinkLogState:
    """What the cluster knows about a marker group: its offsets, its transaction, and the end offsets of the marker's
    topic.

    :param topic_ids: the id of the marker's topic that the checkpoint names; empty if it names none, or the topic does
        not exist.
    """

    facts: ClusterFacts
    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    transaction: str
    ends: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The diagnosis for one destination of a query.

    :param planned: the last batch that Spark planned; None if there is none yet.
    :param ended: the last completed batch by Spark's commit log.
    :param repeats: whether the next start repeats the last planned batch, or plans a new one.
    :param verdict: ``write``, ``skip`` or ``refuse``.
    """

    checkpoint: str
    query_id: str
    group: str
    planned: OffsetLogEntry | None
    ended: int | None
    remembered: LastWrite | None
    cluster_id: str
    marker: Marker | None
    transaction: str
    ends: Mapping[TopicPartition, int]
    next_batch: int
    repeats: bool
    verdict: str
    reason: str

    def as_json(self) -> dict[str, Any]:
        planned, marker, remembered = self.planned, self.marker, self.remembered
        return {
            "checkpoint": self.checkpoint,
            "queryId": self.query_id,
            "group": self.group,
            "planned": None if planned is None else _batch_json(planned),
            "ended": self.ended,
            "remembers": None
            if remembered is None
            else {"clusterId": remembered.cluster_id, "sinceBatchId": remembered.since_batch_id},
            "clusterId": self.cluster_id,
            "marker": None
            if marker is None
            else _batch_json(OffsetLogEntry(marker.batch_id, marker.fingerprint, marker.planned_at_ms, marker.offsets))
            | {"rows": marker.rows},
            "transaction": self.transaction,
            "ends": {str(partition): end for partition, end in sorted(self.ends.items())},
            "next": {
                "batchId": self.next_batch,
                "repeats": self.repeats,
                "verdict": self.verdict,
                "reason": self.reason,
            },
        }

    def lines(self) -> list[tuple[str, str]]:
        """The diagnosis for people: pairs of label and text."""
        remembered = self.remembered
        last_write = "nothing of this group"
        if remembered is not None:
            last_write = f"cluster {remembered.cluster_id}, since batch {remembered.since_batch_id}"
        step = "repeats" if self.repeats else "plans"
        return [
            ("checkpoint", self.checkpoint),
            ("query", self.query_id),
            ("planned", "no batch" if self.planned is None else f"batch {self.planned.batch_id}, {self.planned}"),
            ("ended", "no batch" if self.ended is None else f"batch {self.ended}"),
            ("remembers", last_write),
            ("cluster", self.cluster_id),
            ("group", self.group),
            ("marker", self._marker()),
            ("transaction", self.transaction),
            ("log", self._log_ends()),
            ("next start", f"{step} batch {self.next_batch}: {self.verdict}, {self.reason}"),
        ]

    def _marker(self) -> str:
        if self.marker is None:
            return "none"
        return (
            f"batch {self.marker.batch_id}, {self.marker}" if self.marker.batch_id >= 0 else "no batch is written yet"
        )

    def _log_ends(self) -> str:
        """The end of each partition that has records, and the number of empty partitions."""
        ends = [f"{partition} ends at {end}" for partition, end in sorted(self.ends.items()) if end]
        if empty := len(self.ends) - len(ends):
            ends.append(f"{empty} partition{'s' if empty > 1 else ''} without a record")
        return ", ".join(ends) or "-"


def diagnose(
    checkpoint: Checkpoint,
    group: str,
    log: SinkLogState,
    now_ms: int,
    on_missing: OnMissingMarker = OnMissingMarker.FAIL,
) -> Diagnosis:
    """Predict the next start for ``group``. Raises CheckpointError if the checkpoint cannot be read."""
    coming = next_plan(checkpoint, group, log.facts, now_ms, on_missing)
    plan = coming.plan.with_marker_topic("", lambda names: log.topic_ids)
    marker = newest_marker(log.offsets)
    verdict, reason = predict(replace(coming, plan=plan), marker, found_in(log.offsets), now_ms)
    return Diagnosis(
        checkpoint=checkpoint.location,
        query_id=plan.query_id,
        group=group,
        planned=coming.last,
        ended=coming.ended,
        remembered=plan.remembered,
        cluster_id=log.facts.cluster_id,
        marker=marker,
        transaction=log.transaction,
        ends=log.ends,
        next_batch=plan.number,
        repeats=coming.repeats,
        verdict=verdict,
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class ComingBatch:
    """The batch that the next start will run.

    :param plan: the last planned batch, if it is repeated; otherwise a new plan as Spark would make it now.
    :param last: the last batch that Spark planned; None if there is none yet.
    :param ended: the last completed batch by Spark's commit log.
    """

    plan: BatchPlan
    repeats: bool
    last: OffsetLogEntry | None
    ended: int | None


def next_plan(
    checkpoint: Checkpoint,
    group: str,
    facts: ClusterFacts,
    now_ms: int,
    on_missing: OnMissingMarker,
    table: str = "",
    others: Mapping[str, Marker] | None = None,
) -> ComingBatch:
    """The plan that the next start will run for this destination. Raises CheckpointError for a file that Spark could
    not read.

    :param table: the table's name, if the destination is a table.
    :param others: markers of the query's other groups in the destination.
    """
    offsets, commits = checkpoint.batches("offsets"), checkpoint.batches("commits")
    last = checkpoint.planned(offsets[-1]) if offsets else None
    ended = commits[-1] if commits and checkpoint.ended(commits[-1]) else None
    repeats = last is not None and (ended is None or ended < last.batch_id)
    if last is not None and repeats:
        batch, before = last, last.batch_id - 1
        previous = PreviousBatch(checkpoint.planned(before), checkpoint.ended(before)) if before >= 0 else None
    else:
        batch = OffsetLogEntry(0 if last is None else last.batch_id + 1, "not planned yet", now_ms, "")
        previous = None if last is None else PreviousBatch(last, True)
    plan = plan_with(checkpoint, batch, previous, group, facts, on_missing, table=table, others=others)
    return ComingBatch(plan, repeats, last, ended)


def predict(coming: ComingBatch, marker: Marker | None, found: Found, now_ms: int) -> tuple[str, str]:
    """The verdict on the next start (``write``, ``skip`` or ``refuse``), and the reason."""
    plan = coming.plan
    decision = decide(plan, found, now_ms)
    verdict = {Write: "write", Skip: "skip", Refuse: "refuse"}[type(decision)]
    ahead = marker is not None and marker.batch_id >= plan.number
    if coming.repeats or not isinstance(decision, Refuse) or not ahead:
        return verdict, decision.reason
    what = "table" if plan.table else "log"
    return verdict, (
        f"the {what} holds batch {marker and marker.batch_id} already ({marker}), so the checkpoint is older than the "
        f"{what} (restored or copied): {WAY_BACK.format(f'the {what}')}"
    )


def groups_of(checkpoint: Checkpoint, named: str) -> list[str]:
    """The groups to examine: only the named one, or all groups that the checkpoint contains if none is named. Raises
    CheckpointError if there is none."""
    groups = [named] if named else [one.group for one in checkpoint.last_writes() if not one.table]
    if not groups:
        raise CheckpointError(
            f"Checkpoint {checkpoint.location} remembers no group, as this sink has not written from it yet: name the "
            f"group of its marker with --group. It is PREFIX{GROUP_WORD}{checkpoint.query_id()}-TOPIC, without -TOPIC "
            "if it writes to several, and with ':topics' instead for a pipeline, whose PREFIX is its name and '-'; "
            "that of another query is its transactionalIdPrefix, or nothing"
        )
    return groups


def _batch_json(batch: OffsetLogEntry) -> dict[str, Any]:
    return {
        "batchId": batch.batch_id,
        "plannedAtMs": batch.planned_at_ms,
        "fingerprint": batch.fingerprint,
        "offsets": batch.offsets,
    }
