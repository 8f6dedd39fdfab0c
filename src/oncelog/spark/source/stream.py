"""The streaming reader: offsets, admission control, AvailableNow, lag.

PySpark keeps one reader for the life of a query in a separate worker of the driver, and calls ``read`` in tasks on a
copy. Offsets in the checkpoint have the form of Spark's own Kafka connector, with topic ids and leader epochs added
(:class:`Place`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from oncelog.errors import KafkaError
from oncelog.records.batch import BatchHeader
from oncelog.runtime import real_time
from oncelog.spark.kafka.connections import cluster_for
from oncelog.spark.kafka.interface import KafkaAccess, LogEnd, OffsetRange, describe_remade
from oncelog.spark.kafka.place import BatchMark, Json, Offsets, Place
from oncelog.spark.options import SourceOptions
from oncelog.spark.source.limits import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from oncelog.spark.source.planned_offsets import (
    describe_beyond,
    describe_cut,
    describe_loss,
    describe_replaced,
    limit_offsets,
    loss_error,
    pending,
    place_given,
    remade_topics,
    replaced_logs,
)
from oncelog.spark.source.reader import (
    earliest_and_latest,
    offsets_at,
    offsets_of_ends,
    plan_tasks,
    read_partition,
    subscribed_partitions,
)
from oncelog.spark.versions import VersionChecked
from oncelog.types import IsolationLevel, TopicPartition

T = TypeVar("T")

logger = logging.getLogger(__name__)

PARTITIONS_KEPT_S = 5.0
"""Seconds for which the list of partitions counts as current. New partitions are read from their beginning."""
MISSING_KEPT_MS = 3_600_000
"""How long the position in a missing partition is kept: perhaps only the permission to see its topic was revoked for a
while.
"""


class StreamReader(VersionChecked, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the range between two offsets of each partition; only the checkpoint decides where the query continues."""

    def __init__(
        self,
        options: SourceOptions,
        connect: Callable[[SourceOptions], KafkaAccess] = cluster_for,
        now_s: Callable[[], float] = real_time.monotonic,
        now_ms: Callable[[], int] = real_time.time_ms,
    ) -> None:
        self._options = options
        self._connect = connect
        self._now_s = now_s
        self._now_ms = now_ms
        self._partitions: list[TopicPartition] = []
        self._partitions_asked_s = -PARTITIONS_KEPT_S
        self._has_begun = False
        self._latest = Place({})
        self._target: Place | None = None
        self._initial: Json = {}
        self._reported: set[str] = set()
        self._last_trigger_s: float | None = None
        self._group_position: Json | None = None
        self._being_read: list[OffsetRange] = []
        self._being_read_ids: Mapping[str, str] = {}
        self._asked_epochs: dict[TopicPartition, tuple[tuple[int, int, int], int]] = {}

    # --- offsets, on the driver

    def initialOffset(self) -> Json:
        """The start offsets of a query without a checkpoint, with the identities of topics and logs that
        ``startingOffsets`` contains."""
        options, cluster = self._options, self._connect(self._options)
        partitions = self._current_partitions()
        offsets = offsets_at(cluster, options, options.starting, partitions, options.by_timestamp)
        given = place_given(options.starting)
        start = Place(offsets, self._topic_ids(offsets))
        latest = self._current_latest(offsets)
        epochs, marks = self._epochs(offsets, start, latest), self._marks(offsets, {}, start, latest)
        self._initial = Place(
            offsets,
            {**start.ids, **given.ids},
            epochs={**epochs, **given.epochs},
            marks={**marks, **given.marks},
        ).as_json()
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:
        """The end of the next batch; ``start`` itself if there should be no batch yet."""
        self._copy_position_to_group(start)
        place = Place.of(start)
        latest = self._target if self._target is not None else self._current_latest(self._read_by(place))
        begin = self._batch_begin(place, latest)
        ends = self._ends(begin, latest.offsets)
        self._report_lost(begin, ends, place)
        self._report_deleted_while_read(latest)
        # If a log is shorter than at the last batch (it lost records), every record from its new end on counts as new
        end = {
            partition: max(offset, min(begin[partition], ends[partition]))
            for partition, offset in latest.offsets.items()
        }
        missing = self._missing_since(begin, latest, place)
        end |= {partition: begin[partition] for partition in missing}
        ids = {**latest.ids, **{partition.topic: place.ids[partition.topic] for partition in missing}}
        moved = any(begin[partition] < offset for partition, offset in place.offsets.items() if partition in begin)
        if not isinstance(limit, ReadAllAvailable):
            shorter = any(end[partition] < begin[partition] for partition in end)
            if not shorter and self._too_few(pending(begin, end)):
                return start
            if isinstance(limit, ReadMaxRows):
                end = limit_offsets(begin, end, limit.max_rows)
        if (end, ids, missing) == (place.offsets, place.ids, place.missing) and not moved:
            return start
        first = begin if start == self._initial else {}
        epochs, marks = self._epochs(end, place, latest), self._marks(end, begin, place, latest)
        return Place(end, ids, first, epochs, marks, missing).as_json()

    def _read_by(self, place: Place) -> Offsets:
        """The position up to which the query has read, for ``settled_ends``; empty if the end offsets must include all
        records.
        """
        return place.offsets

    def _epochs(self, end: Offsets, place: Place, latest: Place) -> dict[TopicPartition, int]:
        """The leader epochs to store for the end offsets: the current ones of logs that reach these offsets, otherwise
        those stored before."""
        remade = remade_topics(place.ids, latest.ids)
        before = {partition: epoch for partition, epoch in place.epochs.items() if partition.topic not in remade}
        return before | {
            partition: epoch
            for partition, epoch in latest.epochs.items()
            if partition in end and end[partition] <= latest.offsets[partition]
        }

    def _marks(self, end: Offsets, begin: Offsets, place: Place, latest: Place) -> dict[TopicPartition, BatchMark]:
        """For topics without an id, the marks of the record batches before the end offsets; a mark is unchanged if its
        offset is.
        """
        unnamed = [name for name in end if name in latest.offsets and name.topic not in latest.ids]
        kept = {
            name: place.marks[name]
            for name in unnamed
            if name in place.marks and begin.get(name) == end[name] == place.offsets[name]
        }
        before = {name: end[name] - 1 for name in unnamed if name not in kept and end[name] > 0}
        return kept | {
            name: BatchMark.of(header)
            for name, header in self._batch_headers(before).items()
            if header.base_offset <= before[name]
        }

    def _replaced_topics(self, place: Place, partitions: Iterable[TopicPartition]) -> Set[str]:
        """Report the topics whose log differs from that of ``place``, and return them. A log differs if its batch
        before the offset does."""
        before = {name: place.offsets[name] - 1 for name in partitions if name in place.marks}
        replaced = replaced_logs(place, self._batch_headers(before))
        self._report(describe_replaced(replaced, place))
        return {partition.topic for partition in replaced}

    def _batch_headers(self, offsets: Offsets) -> Mapping[TopicPartition, BatchHeader]:
        """The headers of the batches at these offsets; missing partitions are left out."""
        return self._ask_existing(offsets, lambda cluster, asked: cluster.batch_headers(asked), {})

    def _ends(self, begin: Offsets, latest: Offsets) -> Offsets:
        """The end offsets of the next batch: ``latest``, but the end of the log for a partition in which the query is
        beyond ``latest``.

        A query can be past ``latest`` because of an open transaction, if its checkpoint is that of a query that read
        uncommitted records, as Spark's own connector does.
        """
        beyond = [partition for partition, end in latest.items() if begin[partition] > end]
        if not beyond:
            return latest
        ends = offsets_of_ends(self._bounds(beyond)[1])
        return {**latest, **{partition: ends.get(partition, begin[partition]) for partition in beyond}}

    def _missing_since(self, begin: Offsets, latest: Place, place: Place) -> dict[TopicPartition, int]:
        """The partitions that are missing now and keep their positions, with the time of the first plan without them:
        if a topic returns with the same id, reading continues instead of starting over.

        The plan contains them, so that the next run knows that their loss was accepted.
        """
        now_ms = self._now_ms()
        found = {
            partition: place.missing.get(partition, now_ms)
            for partition in begin
            if partition not in latest.offsets and partition.topic in place.ids
        }
        return {partition: since_ms for partition, since_ms in found.items() if now_ms - since_ms < MISSING_KEPT_MS}

    def _report_lost(self, begin: Offsets, ends: Offsets, place: Place) -> None:
        """Report lost records between the two positions, except in partitions that an earlier plan left out."""
        known = {name: offset for name, offset in begin.items() if name in ends or name not in place.missing}
        self._report(describe_loss(known, known, ends))

    def _report_deleted_while_read(self, latest: Place) -> None:
        """Report records of the last batch that were deleted while it was read; a task can report them only to its
        executor's log."""
        gone = remade_topics(self._being_read_ids, latest.ids)
        read = [
            item for item in self._being_read if item.partition in latest.offsets and item.partition.topic not in gone
        ]
        self._being_read = []
        if not read:
            return
        first, _ = self._bounds(self._existing([item.partition for item in read]))
        self._report(
            [
                f"records {item.start} to {min(first[item.partition], item.end) - 1} of {item.partition} were deleted "
                "while a batch read them: what its task had not read by then is missing"
                for item in read
                if first.get(item.partition, 0) > item.start
            ]
        )

    def _batch_begin(self, place: Place, end: Place) -> dict[TopicPartition, int]:
        """The offsets at which a batch begins: the end of the last batch, or the first record of a new or recreated
        topic."""
        remade = remade_topics(place.ids, end.ids)
        self._report_remade(remade, place, end.ids)
        begin = {partition: offset for partition, offset in place.offsets.items() if partition.topic not in remade}
        kept = self._divergences(begin, place, end.epochs)
        self._report(describe_cut(place, kept))
        begin |= {partition: offset for partition, offset in kept.items() if offset >= 0}
        grown = [name for name in begin if kept.get(name, -1) < 0 and end.offsets.get(name, 0) > place.offsets[name]]
        other = self._replaced_topics(place, grown)
        begin = {partition: offset for partition, offset in begin.items() if partition.topic not in other}
        first = self._beginnings([partition for partition in sorted(end.offsets) if partition not in begin])
        self._report(self._lost_before_first_read(first, {partition.topic for partition in begin}))
        return begin | first

    def _report_remade(self, topics: Iterable[str], place: Place, ids: Mapping[str, str]) -> None:
        """Report recreated topics, except those whose loss was accepted while they were missing."""
        present = {partition.topic for partition in place.present}
        self._report(describe_remade([topic for topic in topics if topic in present], place.ids, ids))

    def _divergences(
        self, offsets: Offsets, place: Place, epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """For each log that has diverged from the planned one below ``offsets``, the offset of the divergence. Only a
        new leader is asked, because under the old one nothing can have been truncated.

        :param epochs: the current leader epochs.
        """
        looks = {
            partition: (offset, place.epochs[partition], epochs[partition])
            for partition, offset in offsets.items()
            if place.epochs.get(partition, -1) >= 0 and epochs.get(partition, -1) not in (-1, place.epochs[partition])
        }
        new = {
            partition: look[1]
            for partition, look in looks.items()
            if self._asked_epochs.get(partition, (None, 0))[0] != look
        }
        found = self._epoch_ends(new)
        for partition, planned in new.items():
            offset, _, now = looks[partition]
            end = found.get(partition, offset)
            # A newer leader that does not know the epoch's end has records in a format without epochs
            self._asked_epochs[partition] = looks[partition], offset if end < 0 and now > planned else end
        kept = {partition: self._asked_epochs[partition][1] for partition in looks}
        return {partition: offset for partition, offset in kept.items() if offset < offsets[partition]}

    def _epoch_ends(self, epochs: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """The offsets where logs diverge from these epochs. Missing logs, and those whose broker does not know, are
        left out."""
        return self._ask_existing(epochs, lambda cluster, asked: cluster.epoch_ends(asked), {})

    def _lost_before_first_read(self, first: Offsets, known: Set[str]) -> list[str]:
        """One sentence for each new partition of a known topic whose first records were already deleted. With assigned
        partitions there is none: a partition that was just added to the option may be old."""
        if self._options.subscription.assigned:
            return []
        return [
            f"{partition} is new to the query and begins at offset {offset}"
            for partition, offset in first.items()
            if offset > 0 and partition.topic in known
        ]

    def _too_few(self, available: int) -> bool:
        """Whether to wait for more records because of ``minOffsetsPerTrigger``; never if the query's end is fixed.

        As with Spark's own connector, a query does not wait when it starts, and later for ``maxTriggerDelay`` at most.
        """
        least = self._options.min_offsets_per_trigger
        if least is None or self._target is not None:
            return False
        now_s, last_s = self._now_s(), self._last_trigger_s
        due = last_s is None or (now_s - last_s) * 1000 >= self._options.max_trigger_delay_ms
        if not due and available < least:
            return True
        self._last_trigger_s = now_s
        return False

    def prepareForTriggerAvailableNow(self) -> None:
        self._partitions_asked_s = -PARTITIONS_KEPT_S
        self._target = self._current_latest({})

    def reportLatestOffset(self) -> Json | None:
        """The ends of the logs, for the progress report: the lag is their distance from the report's endOffset
        (``spark.lag``)."""
        return Place(self._latest.offsets).as_json() if self._latest.offsets else None

    def _current_partitions(self) -> list[TopicPartition]:
        if self._now_s() - self._partitions_asked_s >= PARTITIONS_KEPT_S:
            # With failOnDataLoss=false, a running query tolerates a topic that is missing for a while
            tolerates = self._has_begun and not self._options.fail_on_data_loss
            self._partitions = subscribed_partitions(self._connect(self._options), self._options, may_miss=tolerates)
            self._partitions_asked_s = self._now_s()
            self._has_begun = True
            self._latest = Place({}, self._latest.ids)
        return self._partitions

    def _current_latest(self, read: Offsets) -> Place:
        """The ends of the logs, with their topic ids and leader epochs.

        They are requested each time, about 90 times a second for an idle query, as by Spark's own connector: a program
        that has sent records and calls ``processAllAvailable`` waits for these records.

        :param read: the query's position. The call waits for markers of acknowledged transactions only if there are no
            other records to read after the position; if the position is empty, the call always waits.
        """
        self._current_partitions()  # drops cached ends after an interval, so that topic ids are looked up again
        known = self._latest
        while True:
            ends = self._asked_latest(read)
            offsets, epochs = offsets_of_ends(ends), {name: end.leader_epoch for name, end in ends.items()}
            if (offsets, epochs) == (known.offsets, known.epochs):
                break
            # Topic ids are never reused: an id that is equal before and after the request belongs to the topic that
            # answered
            before, known = known, Place(offsets, self._topic_ids(offsets), epochs=epochs)
            if known.ids == before.ids:
                break
        self._latest = known
        return self._latest

    def _asked_latest(self, read: Offsets) -> Mapping[TopicPartition, LogEnd]:
        """The ends of the logs. If the request fails, the partitions are looked up again, because a topic may have been
        deleted."""
        partitions = self._current_partitions()
        cluster = self._connect(self._options)
        try:
            return cluster.settled_ends(partitions, self._options.isolation, read or None)
        except KafkaError:
            self._partitions_asked_s = -PARTITIONS_KEPT_S
            if self._current_partitions() == partitions:
                raise
            return self._asked_latest(read)

    def _bounds(
        self, partitions: Sequence[TopicPartition]
    ) -> tuple[dict[TopicPartition, int], dict[TopicPartition, LogEnd]]:
        """The first offset and the end of each partition, including records of open transactions; missing partitions
        are left out."""
        nothing: tuple[dict[TopicPartition, int], dict[TopicPartition, LogEnd]] = ({}, {})
        return self._ask_existing(
            dict.fromkeys(partitions, 0),
            lambda cluster, asked: earliest_and_latest(cluster, list(asked), IsolationLevel.READ_UNCOMMITTED),
            nothing,
        )

    def _ask_existing(
        self,
        questions: Mapping[TopicPartition, int],
        ask: Callable[[KafkaAccess, Mapping[TopicPartition, int]], T],
        nothing: T,
    ) -> T:
        """Call ``ask`` for the partitions that exist, and return its answer; return ``nothing`` if none exists."""
        while questions:
            try:
                return ask(self._connect(self._options), questions)
            except KafkaError:
                there = self._existing(questions)
                if len(there) == len(questions):
                    raise
                questions = {partition: questions[partition] for partition in there}
        return nothing

    def _existing(self, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
        """The partitions that exist now."""
        counts = self._connect(self._options).partition_counts(sorted({partition.topic for partition in partitions}))
        return [item for item in partitions if item.partition < counts.get(item.topic, 0)]

    def _topic_ids(self, partitions: Iterable[TopicPartition]) -> dict[str, str]:
        topics = sorted({partition.topic for partition in partitions})
        return dict(self._connect(self._options).topic_ids(topics)) if topics else {}

    def _beginnings(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offsets of partitions that are not in the checkpoint yet; 0 for a partition that has disappeared,
        whose loss is reported when it is read."""
        if not partitions:
            return {}
        first, _ = self._bounds(partitions)
        return {partition: first.get(partition, 0) for partition in partitions}

    def _report(self, lost: Sequence[str]) -> None:
        """Raise an error about lost records; with ``failOnDataLoss=false`` log each loss once instead."""
        if lost and self._options.fail_on_data_loss:
            raise loss_error(lost)
        new = [text for text in lost if text not in self._reported]
        self._reported.update(new)
        if new:
            logger.warning("%s; continuing, because failOnDataLoss is false", "; ".join(new))

    # --- tasks

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        place, until = Place.of(start), Place.of(end)
        # the start that the batch resolved: resolving "latest" again would give a later offset
        if until.start and start == self._initial:
            place = Place(until.start, until.ids)
        begin = self._batch_begin(place, until)
        ids = self._topic_ids(until.offsets)
        gone = remade_topics(until.ids, ids)
        self._report_remade(gone, until, ids)
        wanted = [
            partition
            for partition in sorted(until.offsets)
            if until.offsets[partition] > begin[partition] and partition.topic not in gone
        ]
        if not wanted:
            return []
        # Tasks wait for records that an open transaction holds back: a batch whose range ended before them would skip
        # them
        seem_gone = any(name.topic in until.ids and name.topic not in ids for name in wanted)
        earliest, ends = self._bounds(self._existing(wanted) if seem_gone else wanted)
        latest = offsets_of_ends(ends)
        lost = describe_loss({partition: begin[partition] for partition in wanted}, earliest, latest)
        wanted = [partition for partition in wanted if partition in latest]
        reached = {partition: until.offsets[partition] for partition in wanted if begin[partition] <= latest[partition]}
        epochs = {partition: end.leader_epoch for partition, end in ends.items()}
        kept = self._divergences({partition: until.offsets[partition] for partition in wanted}, until, epochs)
        self._report([*lost, *describe_beyond(reached, latest), *describe_cut(until, kept)])
        other = self._replaced_topics(until, [name for name in wanted if kept.get(name, -1) < 0])
        ranges = [
            OffsetRange(
                partition,
                max(begin[partition], earliest[partition]),
                min(until.offsets[partition], latest[partition], kept.get(partition, latest[partition])),
                epochs[partition],
                ids.get(partition.topic, ""),
            )
            for partition in wanted
            if partition.topic not in other
        ]
        if not self._options.fail_on_data_loss:
            self._being_read, self._being_read_ids = ranges, until.ids
        return plan_tasks(self._options, ranges)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_partition(self._options, partition)

    # --- after a batch

    def commit(self, end: Json) -> None:
        """Does nothing: Spark calls this for a batch only when it plans the second batch after it, and never for the
        last batch."""

    def _copy_position_to_group(self, reached: Json) -> None:
        """Copy the position to the consumer group of ``commitOffsetsToGroup``, for tools that show lag.

        Spark plans a batch from ``reached`` only once all earlier batches are complete. Only the checkpoint decides
        where a query continues, so it continues even if the group refuses the position, for instance because the group
        has members.
        """
        group = self._options.commit_group
        if not group or reached == self._group_position:
            return
        self._group_position = reached
        try:
            there = set(self._current_partitions())
            known = Place.of(reached).offsets
            offsets = {partition: offset for partition, offset in known.items() if partition in there}
            self._connect(self._options).commit_offsets(group, offsets)
        except KafkaError as error:
            logger.warning("commitOffsetsToGroup: the position was not committed to group %r: %s", group, error)
