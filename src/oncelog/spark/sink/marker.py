"""Decides from marker and checkpoint whether a micro-batch is to be written, skipped, or refused because its state is
unknown. Pure.

Called by the write engine (:mod:`oncelog.spark.sink.engine`) on the driver after it has fenced earlier runs, for
batches that the driver writes and for those that executors write. The :class:`BatchPlan` comes from the checkpoint
(:mod:`oncelog.spark.sink.checkpoint`), the :class:`Marker` from the destination.

A marker does not identify "batch N" but "this plan of batch N, into this destination". The plan of a batch is the file
``offsets/<N>`` of the checkpoint: it is written before the batch runs and never again, so a proper restart repeats it
byte for byte. The destination is part of the group's name, so another destination has another marker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from oncelog.runtime import real_json as json
from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.plan_description import bare_offsets, plan_description, time_of

GROUP_WORD = "oncelog-marker-"
"""The part of every marker group's name that follows the user's prefix."""
MIN_RETENTION_MS = 60_000
"""The minimum of ``offsets.retention.minutes``, in ms: assumed if the user may not query the broker's value."""
OFFSETS_IN_MARKER = 3000
"""The maximum length of the offsets in a marker, as JSON. A broker accepts 4096 bytes of metadata
(``offset.metadata.max.bytes``). If a broker accepts less, the marker is written without offsets, which are only shown
to users: the fingerprint decides."""


@dataclass(frozen=True, slots=True)
class OffsetLogEntry:
    """The file ``offsets/<N>`` of a checkpoint.

    :param fingerprint: a hash of the whole file.
    :param planned_at_ms: ``batchTimestampMs``, by the clock of the driver that planned it.
    :param offsets: where the batch ends in each source, one line per source, as Spark wrote it.
    """

    batch_id: int
    fingerprint: str
    planned_at_ms: int
    offsets: str

    def __str__(self) -> str:
        return plan_description(self.planned_at_ms, self.offsets, self.fingerprint)


@dataclass(frozen=True, slots=True)
class Marker:
    """The marker that the transaction of a batch commits: the batch, its plan, and its number of rows."""

    query_id: str
    batch_id: int
    rows: int
    fingerprint: str
    planned_at_ms: int = 0
    offsets: str = ""

    @classmethod
    def of(cls, plan: BatchPlan | NamedWrite, rows: int) -> Marker:
        """The marker of a batch written according to ``plan``."""
        if isinstance(plan, NamedWrite):
            return cls(plan.name, plan.batch_id, rows, "")
        batch = plan.batch
        forms = (batch.offsets, bare_offsets(batch.offsets))
        offsets = next((form for form in forms if len(json.dumps(form)) <= OFFSETS_IN_MARKER), "")
        return cls(plan.query_id, batch.batch_id, rows, batch.fingerprint, batch.planned_at_ms, offsets)

    @classmethod
    def before(cls, plan: BatchPlan) -> Marker:
        """The marker of the previous batch, which proves that the plan's batch is not written; for the first batch, a
        marker of batch -1.
        """
        last = plan.previous.batch if plan.previous is not None else None
        if last is None:
            return cls(plan.query_id, plan.number - 1, 0, "unknown", plan.batch.planned_at_ms)
        return cls(plan.query_id, plan.number - 1, 0, last.fingerprint, last.planned_at_ms)

    def encode(self) -> str:
        fields = {"queryId": self.query_id, "batchId": self.batch_id, "rows": self.rows}
        if self.fingerprint:
            fields |= {"fingerprint": self.fingerprint, "plannedAtMs": self.planned_at_ms, "offsets": self.offsets}
        return json.dumps(fields)

    @classmethod
    def decode(cls, metadata: str) -> Marker | None:
        """The marker in an offset's metadata; None if no sink wrote the metadata, as with an ordinary consumer."""
        try:
            fields = json.loads(metadata)
            return cls(
                query_id=str(fields["queryId"]),
                batch_id=int(fields["batchId"]),
                rows=int(fields["rows"]),
                fingerprint=str(fields.get("fingerprint", "")),
                planned_at_ms=int(fields.get("plannedAtMs", 0)),
                offsets=str(fields.get("offsets", "")),
            )
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return None

    def __str__(self) -> str:
        return f"{self.rows} rows, {plan_description(self.planned_at_ms, self.offsets, self.fingerprint)}"


@dataclass(frozen=True, slots=True)
class PreviousBatch:
    """The previous batch according to the checkpoint.

    :param batch: its plan; None if Spark has removed the file.
    :param ended: whether Spark's commit log says that it was completed.
    """

    batch: OffsetLogEntry | None
    ended: bool


class MarkerTopic(NamedTuple):
    """The topic that the option ``markerTopic`` names, if it is not a destination: a broker deletes a group's offsets
    with their topic."""

    name: str
    id: str


class TopicsSince(NamedTuple):
    """The topics to which a sink has written from a batch on; empty if the rows name their topics."""

    since_batch_id: int
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LastWrite:
    """The sink's last write; stored in the checkpoint before the sink writes.

    :param since_batch_id: the first batch from which on every batch was written to this cluster and group.
    :param marker_topic: the topic of the last write's marker; None if that topic is a destination or is never deleted,
        or if the cluster has no topic ids.
    :param skipping: the fingerprint of the last batch if it counted as written: until its marker is in the log, the
        other fields do not prove that the batch is missing.
    :param table: the table, if the sink is one: ``cluster_id`` is then the table's id.
    :param topics: the topics of the batches, oldest first; none for a table.
    """

    cluster_id: str
    group: str
    since_batch_id: int
    marker_topic: MarkerTopic | None = None
    skipping: str = ""
    table: str = ""
    topics: tuple[TopicsSince, ...] = ()

    @property
    def key(self) -> str:
        """A key that distinguishes the destination from others of the query: see :func:`last_write_key`."""
        return last_write_key(self.group, self.cluster_id if self.table else "")

    def __str__(self) -> str:
        """The destination, for messages."""
        if self.table:
            return f"{self.table} with id {self.cluster_id}, under {self.group}"
        return f"group {self.group}" + (f" ({describe_topics(self.topics)})" if self.topics else "")


def last_write_key(group: str, table_id: str) -> str:
    """The key of a last write: its group; for a table also the table's id, because unnamed sinks of a query share one
    group."""
    return f"{group}@{table_id}" if table_id else group


def describe_topics(topics: Sequence[TopicsSince], until: int | None = None) -> str:
    """A description of which batches went to which topics, such as ``batches 0 to 4 went to topic 'a', those from 5 on
    to topic 'b'``.

    :param until: the last batch; None if it is not known.
    """
    ends = [*(one.since_batch_id - 1 for one in topics[1:]), until]
    parts: list[str] = []
    for (since, names), last in zip(topics, ends, strict=True):
        batches = f"batch {since}" if last is not None and last <= since else f"batches {since} to {last}"
        if last is None:
            batches = f"those from {since} on" if parts else f"batches from {since} on"
        parts.append(f"{batches} {'' if parts else 'went '}to {name_topics(names)}")
    return ", ".join(parts)


def name_topics(names: Sequence[str]) -> str:
    if not names:
        return "the topics that the rows name"
    return f"topic{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Everything that the driver knows about a micro-batch before it reads the marker.

    :param group: the marker's consumer group, also the transactional id: one for each query and destination.
    :param checkpoint: the checkpoint's location, for messages.
    :param previous: None for batch 0.
    :param remembered: the last write to this group; None if the checkpoint has none.
    :param cluster_id: the cluster to be written to.
    :param retention_ms: the broker's ``offsets.retention.minutes``, in ms; None if the user may not query it.
    :param other_write: if ``remembered`` is None: a last write to another destination, which may contain batch 0.
    :param others: if the destination has no marker of the group: its markers of other groups of the query.
    :param topics: the topics to write to, as in :class:`LastWrite`.
    :param marker_topic: the topic of the new marker, as in :class:`LastWrite`.
    :param deleted_topic: the topic of the last marker, if that topic has been deleted since.
    :param table: the table, if the sink is one: ``cluster_id`` is then the table's id, empty if there is no table, and
        ``retention_ms`` is how long the table stores the identities of batches.
    """

    group: str
    query_id: str
    checkpoint: str
    batch: OffsetLogEntry
    previous: PreviousBatch | None
    remembered: LastWrite | None
    cluster_id: str
    retention_ms: int | None
    on_missing: OnMissingMarker
    other_write: LastWrite | None = None
    marker_topic: MarkerTopic | None = None
    deleted_topic: str = ""
    table: str = ""
    others: Mapping[str, Marker] = field(default_factory=dict)
    topics: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        return self.batch.batch_id

    def last_write(self, *, skipped: bool) -> LastWrite:
        """The entry to store in the checkpoint before this batch is written, or counted as written."""
        known, since = self.remembered, self.batch.batch_id
        if known is not None and (known.cluster_id, known.group) == (self.cluster_id, self.group):
            since = known.since_batch_id
        skipping = self.batch.fingerprint if skipped else ""
        before = known.topics if known is not None and known.group == self.group else ()
        is_as_before = before[-1].topics == self.topics if before else not self.topics
        topics = before if is_as_before else (*before, TopicsSince(self.batch.batch_id, self.topics))
        return LastWrite(self.cluster_id, self.group, since, self.marker_topic, skipping, self.table, topics)

    def with_marker_topic(self, topic: str, ask_ids: Callable[[Sequence[str]], Mapping[str, str]]) -> BatchPlan:
        """A copy of this plan with the marker's topic, and with the topic of the last marker if it was deleted.

        :param topic: the marker's topic; empty if the marker's topic is also the destination, or if it is never
            deleted.
        :param ask_ids: looks up the ids of existing topics.
        """
        known = self.remembered
        before = known.marker_topic if known is not None and known.cluster_id == self.cluster_id else None
        names = sorted({name for name in (topic, before.name if before else "") if name})
        ids = dict(ask_ids(names)) if names else {}
        if before is not None and topic == before.name:
            # keep the known id: a single answer without the topic does not prove that the topic was deleted
            ids.setdefault(topic, before.id)
        return replace(
            self,
            marker_topic=MarkerTopic(topic, ids[topic]) if topic in ids else None,
            deleted_topic=before.name if before is not None and ids.get(before.name) != before.id else "",
        )


@dataclass(frozen=True, slots=True)
class NamedWrite:
    """A batch write with an id. Each id has a group of its own, whose marker shows that the batch is written."""

    group: str
    name: str
    batch_id: int
    on_missing: OnMissingMarker = OnMissingMarker.FAIL

    @property
    def number(self) -> int:
        return self.batch_id


@dataclass(frozen=True, slots=True)
class Write:
    """The batch is not written: write records and marker."""

    reason: str
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Skip:
    """The batch is written, or counts as written: write no record; add a marker if ``leave_marker`` is set."""

    reason: str
    warning: str = ""
    leave_marker: bool = False


@dataclass(frozen=True, slots=True)
class Refuse:
    """The batch can be neither written nor skipped without breaking the guarantee; the reason is for the user."""

    reason: str


Decision: TypeAlias = Write | Skip | Refuse


@dataclass(frozen=True, slots=True)
class Overwritten:
    """The marker's group has offsets of other clients in place of a marker.

    :param found: a description of the offsets, for messages.
    """

    found: str


Found: TypeAlias = Marker | Overwritten | None
"""The marker of a destination; None if there is none."""


def is_settled(plan: BatchPlan | NamedWrite, found: Found) -> bool:
    """Whether the destination already has the plan's batch or a later one. Then no run can write the batch, even
    without a fence.
    """
    return isinstance(found, Marker) and found.batch_id >= plan.number


def decide(plan: BatchPlan | NamedWrite, found: Found, now_ms: int, rows: int | None = None) -> Decision:
    """Decide about a plan's batch by the destination's marker, which was read after fencing.

    :param now_ms: the clock of the deciding process.
    :param rows: the number of the batch's rows, if they are counted already.
    """
    if isinstance(found, Overwritten):
        return _decide_overwritten(plan, found.found)
    if isinstance(plan, NamedWrite):
        return _decide_named(plan, found, rows)
    if found is None:
        return _without_marker(plan, now_ms)
    marker, number = found, plan.batch.batch_id
    if marker.query_id != plan.query_id:
        return Refuse(_foreign(plan, marker))
    if marker.batch_id == number and marker.fingerprint == plan.batch.fingerprint:
        return Skip(f"batch {number} is written: the marker holds this very plan", _warn_of_rows(plan, marker, rows))
    if marker.batch_id >= number:
        return Refuse(_older_than_the_log(plan, marker))
    if marker.batch_id < number - 1:
        return Refuse(_lost(plan, marker))
    before = plan.previous.batch if plan.previous is not None else None
    if before is not None and before.fingerprint != marker.fingerprint:
        return Refuse(_another_before(plan, marker, before))
    if why := _why_previous_proves_nothing(plan):
        return _unknown(plan, f"only a marker of batch {marker.batch_id}", why)
    held = f"holds batch {marker.batch_id}, the one before" if marker.batch_id >= 0 else "says that none is written yet"
    return Write(f"the marker {held}")


_LOOK = "look at what the destination holds, then set onMissingMarker to write (it is not there) or skip (it is)"


def _decide_overwritten(plan: BatchPlan | NamedWrite, offsets: str) -> Decision:
    """The decision if the marker's group has other clients' offsets and no marker, so that it is unknown whether the
    batch is written."""
    batch = (
        f"batchId {plan.number} of {plan.name}"
        if isinstance(plan, NamedWrite)
        else f"batch {plan.number} of query {plan.query_id}"
    )
    unknown = (
        f"The group of the marker holds offsets that are no markers ({offsets}), so another client has committed to "
        f"{plan.group}, and it cannot be known whether {batch} is written"
    )
    return _as_chosen(plan.on_missing, unknown, unknown, f"{unknown}: keep that client away, {_LOOK}")


def _as_chosen(choice: OnMissingMarker, reason: str, unknown: str, refusal: str) -> Decision:
    """The decision that the user has chosen for a batch of which it is unknown whether it is written.

    :param unknown: what is unknown, and why; for the warning.
    """
    match choice:
        case OnMissingMarker.FAIL:
            return Refuse(refusal)
        case OnMissingMarker.WRITE:
            return Write(reason, f"{unknown}; the batch is written, as onMissingMarker is write")
        case OnMissingMarker.SKIP:
            return Skip(
                reason, f"{unknown}; the batch counts as written, as onMissingMarker is skip", leave_marker=True
            )


def _decide_named(write: NamedWrite, marker: Marker | None, rows: int | None) -> Decision:
    """The decision about a batch write with an id, which has no plan: only its marker counts."""
    if marker is None:
        return Write(f"no marker of batchId {write.batch_id}")
    warning = ""
    if rows is not None and marker.rows != rows:
        warning = (
            f"batchId {write.batch_id} of {write.name} is already written with {marker.rows} rows and has {rows} now; "
            "nothing is written: give it another batchId if it is another write"
        )
    return Skip(f"batchId {write.batch_id} was already written", warning)


def _warn_of_rows(plan: BatchPlan, marker: Marker, rows: int | None) -> str:
    if rows is None or rows == marker.rows:
        return ""
    return (
        f"Batch {plan.batch.batch_id} of query {plan.query_id} was written with {marker.rows} rows and has {rows} now "
        "that it is repeated: the query is not deterministic; what was written stays"
    )


def could_have_expired(planned_at_ms: int, now_ms: int, retention_ms: int | None) -> bool:
    """Whether a marker committed at any time after the plan may have expired by now.

    A tenth of the retention allows for clock differences; a plan from the future shows such a difference.
    """
    retention = MIN_RETENTION_MS if retention_ms is None else retention_ms
    margin = retention // 10
    return not -margin <= now_ms - planned_at_ms < retention - margin


def _without_marker(plan: BatchPlan, now_ms: int) -> Decision:
    if (elsewhere := _under_another_name(plan)) is not None:
        return elsewhere
    unknown = _why_unknown(plan, now_ms)
    if not unknown:
        return Write("no marker, and a marker of this batch could not have expired yet")
    return _unknown(plan, "no marker", unknown)


def _under_another_name(plan: BatchPlan) -> Decision | None:
    """The decision if the destination has batches of this query under another group, because the sink was renamed or is
    new. None if there are no such batches.
    """
    if not plan.others:
        return None
    group, marker = max(plan.others.items(), key=lambda item: (item[1].batch_id, item[0]))
    number = plan.number
    where, back = f"under {group}", "give the sink the name or transactionalIdPrefix that it had there"
    if plan.table:
        where, back = f"as written by {_sink_named(group)}", "give the sink the name that it had there"
    if marker.query_id != plan.query_id and plan.remembered is None:
        return Refuse(
            f"Batch {number} of query {plan.query_id} is refused: checkpoint {plan.checkpoint} was that of query "
            f"{marker.query_id}, which has written up to batch {marker.batch_id} to {plan.table or 'the topic'}, and "
            f'its file metadata has lost this id: write {{"id":"{marker.query_id}"}} into it, and remove the hidden '
            ".metadata.crc beside it"
        )
    what = f"{plan.table or 'the topic'} holds batch {marker.batch_id} of this query {where} ({marker})"
    why = f"{what}, and none by {_sink_named(plan.group) if plan.table else plan.group}"
    if (marker.batch_id, marker.fingerprint) == (number, plan.batch.fingerprint):
        if plan.on_missing is OnMissingMarker.SKIP:
            return _as_chosen(plan.on_missing, why, why, "")
        return Refuse(
            f"Batch {number} of query {plan.query_id} is refused, as it is written: {why}. If the sink was renamed, "
            f"{back}, or set onMissingMarker to skip until a batch has ended"
        )
    if marker.batch_id >= number:
        return Refuse(f"Batch {number} of query {plan.query_id} is refused: {why}. To continue that, {back}")
    if plan.remembered is not None and plan.remembered.group == plan.group:
        return None  # the query has written under its present name since then
    refusal = (
        f"Batch {number} of query {plan.query_id} is refused: {why}. If the sink was renamed, {back}; if it "
        f"is another sink, or is to keep its new name, set onMissingMarker to write until a batch has ended"
    )
    return _as_chosen(plan.on_missing, why, why, refusal)


def _sink_named(table_group: str) -> str:
    """The name of a group's sink in a table, for messages."""
    name = table_group.partition(":")[2]
    return f"sink {name!r}" if name else "the sink without a name"


def _unknown(plan: BatchPlan, found: str, unknown: str) -> Decision:
    """The decision if neither marker nor checkpoint says whether the batch is written."""
    number = plan.batch.batch_id
    has = f"Batch {number} of query {plan.query_id} has {found} {_place(plan)}, and {unknown}"
    refusal = (
        f"{has}, so it cannot be known whether it is written: look at what the destination holds, then set "
        f"onMissingMarker to write (batch {number} is not there) or skip (it is)"
    )
    return _as_chosen(plan.on_missing, unknown, has, refusal)


def _why_unknown(plan: BatchPlan, now_ms: int) -> str:
    """Why a missing marker does not prove that the batch is not written; empty if it does."""
    known, previous = plan.remembered, plan.previous
    if known is not None and known.cluster_id != plan.cluster_id:
        return (
            f"checkpoint {plan.checkpoint} wrote last to the {'table' if plan.table else 'cluster'} with id "
            f"{known.cluster_id}, while {f'this is {plan.cluster_id}' if plan.cluster_id else 'there is none now'}"
        )
    if why := _why_previous_proves_nothing(plan):
        return why
    if could_have_expired(plan.batch.planned_at_ms, now_ms, plan.retention_ms):
        return f"it was planned at {time_of(plan.batch.planned_at_ms)}, {_expiry(plan)}"
    if previous is None and plan.other_write is None:
        return ""
    if known is None:
        to = f", but to {plan.other_write}" if plan.other_write is not None else ""
        return (
            f"checkpoint {plan.checkpoint} has never written there{to} (it was copied, taken over from another sink, "
            "a function in foreachBatch did not call the sink for the batches before, "
            f"or its {'table' if plan.table else 'topic or transactionalIdPrefix'} has changed)"
        )
    if previous is None:
        return ""
    before = plan.batch.batch_id - 1
    if not previous.ended:
        return f"Spark's commit log in {plan.checkpoint} does not say that batch {before} ended"
    if previous.batch is None:
        return f"{plan.checkpoint} holds no offsets/{before} any more"
    if known.since_batch_id <= before and not could_have_expired(
        previous.batch.planned_at_ms, now_ms, plan.retention_ms
    ):
        return (
            f"that of batch {before}, planned at {time_of(previous.batch.planned_at_ms)}, cannot have expired yet: "
            f"{_log(plan)} lost it ({_losses(plan)}), or {_deleted(plan)} deleted"
        )
    return ""


def _why_previous_proves_nothing(plan: BatchPlan) -> str:
    """Why even the previous batch's marker does not prove that this batch is not written; empty if it does."""
    if plan.deleted_topic:
        return (
            f"topic {plan.deleted_topic}, into which checkpoint {plan.checkpoint} put its last marker, was deleted "
            "since, which deletes the markers too"
        )
    if plan.remembered is not None and plan.remembered.skipping == plan.batch.fingerprint:
        return (
            "an earlier run was to take it as written (onMissingMarker was skip), and ended before its marker was "
            "stored"
        )
    return ""


def _expiry(plan: BatchPlan) -> str:
    if plan.table:
        return "and the table may have lost it since, because its application transactions expire"
    if plan.retention_ms is None:
        return (
            "and how long markers live is not known (grant DESCRIBE_CONFIGS on the cluster, or say it in the option "
            "offsetsRetentionMinutes)"
        )
    return f"and markers may expire after {plan.retention_ms // 60_000} minutes (offsets.retention.minutes)"


NEW_CHECKPOINT = "start with a new checkpoint and, as startingOffsets, the offsets up to which {} is written"
"""The advice for continuing without the old checkpoint; without the offsets, everything would be written again."""
WAY_BACK = f"continue with the checkpoint that wrote last, or {NEW_CHECKPOINT}"
"""Advice for the case that the log, or a table, is ahead of a checkpoint."""


def _log(plan: BatchPlan) -> str:
    """The kind of destination, for messages."""
    return "the table" if plan.table else "the log"


def _place(plan: BatchPlan) -> str:
    return f"in {plan.table} under {plan.group}" if plan.table else f"in group {plan.group}"


def _losses(plan: BatchPlan) -> str:
    return "a restored backup, a rollback, REPLACE TABLE" if plan.table else "a power failure, a restored cluster"


def _deleted(plan: BatchPlan) -> str:
    return "the identities that it kept were" if plan.table else "the group or the marker's topic was"


def _older_than_the_log(plan: BatchPlan, marker: Marker) -> str:
    number = plan.batch.batch_id
    what = "another plan of it" if marker.batch_id == number else f"batch {marker.batch_id} already"
    return (
        f"Batch {number} of query {plan.query_id} is refused, as {_log(plan)} holds {what}: written there is "
        f"{marker}, and that of checkpoint {plan.checkpoint} was {plan.batch}; the checkpoint is older "
        f"than {_log(plan)} (restored or copied), or another run of the query has gone on with it (it is not "
        f"disturbed): leave the query to that run, or {WAY_BACK.format(_log(plan))}"
    )


def _lost(plan: BatchPlan, marker: Marker) -> str:
    first, last = marker.batch_id + 1, plan.batch.batch_id - 1
    missing = f"batch {first} is" if first == last else f"batches {first} to {last} are"
    return (
        f"Batch {plan.batch.batch_id} of query {plan.query_id} is refused, as {missing} not in this "
        f"{_log(plan).removeprefix('the ')}, whose last is "
        f"batch {marker.batch_id} ({marker}): {_log(plan)} lost them ({_losses(plan)}), is another "
        "one, or the query ran without this sink (a function in foreachBatch did not call the sink for them, which it "
        f"must do for empty batches too): restore {_log(plan)}, or, unless another sink of the query has them, remove "
        f"the files above {marker.batch_id}, and the hidden .{first}.crc and so on beside them, from offsets and "
        f"commits of {plan.checkpoint}, so that Spark plans them again "
        "(if the checkpoint has a folder state, start with a new checkpoint instead, because Spark would keep the "
        "state of the removed batches, and lose and repeat results); to go on without them, give the sink another "
        f"{'name' if plan.table else 'transactionalIdPrefix'}, and set onMissingMarker to write until a batch has ended"
    )


def _another_before(plan: BatchPlan, marker: Marker, before: OffsetLogEntry) -> str:
    return (
        f"Batch {plan.batch.batch_id} of query {plan.query_id} is refused, as batch {marker.batch_id} in {_log(plan)} "
        f"is not that of this checkpoint: written there is {marker}, and that of checkpoint {plan.checkpoint} was "
        f"{before}; two copies of a checkpoint have written: {WAY_BACK.format(_log(plan))}"
    )


def _foreign(plan: BatchPlan, marker: Marker) -> str:
    return (
        f"Batch {plan.batch.batch_id} of query {plan.query_id} is refused, as group {plan.group} holds a marker of "
        f"query {marker.query_id} (batch {marker.batch_id}): give this query another transactionalIdPrefix and set "
        f"onMissingMarker to write (batch {plan.batch.batch_id} is not in the destination) or skip (it is)"
    )
