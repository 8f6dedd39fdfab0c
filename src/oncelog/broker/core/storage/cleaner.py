"""Compaction of compacted topics in the background, one log at a time (Kafka's ``LogCleaner``).

Called by the log manager on a timer. A worker thread rewrites closed segments only; the event loop's thread replaces
them by the new segments. Progress is stored in ``cleaner-offset-checkpoint``: if this file is lost, logs are compacted
again from their start.

Invariant: a failure of one log does not keep the others from being compacted. If the disk fails (it is full, or no file
descriptor is free), the log is tried again later, each time after twice the delay; a damaged log is left unchanged.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from oncelog.broker.log import checkpoints
from oncelog.errors import CorruptLogError, StorageError
from oncelog.runtime.ports import Background, Disk
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.log.compaction import Compaction
    from oncelog.broker.log.partition_log import PartitionLog

logger = logging.getLogger(__name__)

FIRST_PAUSE = 4
LONGEST_PAUSE = 240
"""How many calls of ``clean`` pass, at first and at most, before a log is tried again whose compaction failed because
of the disk: by default those of a minute and of an hour. The files of a failed compaction are removed, but until then
other logs cannot use the space."""


class _Pause(NamedTuple):
    """The pause of a log after a failure: it lasts ``whole`` calls of ``clean``, of which ``left`` are left."""

    left: int
    whole: int


class Cleaner:
    """Compacts the logs of one data folder, one after another."""

    def __init__(
        self,
        disk: Disk,
        background: Background,
        logs: Mapping[TopicPartition, PartitionLog],
        progressed: Callable[[], None],
    ) -> None:
        """:param logs: the open logs; the mapping changes as logs are opened and closed.

        :param progressed: called when the checkpoint should be written.
        """
        self._progressed = progressed
        self._disk = disk
        self._background = background
        self._logs = logs
        self._first_dirty: dict[TopicPartition, int] = {}
        self._refused: set[TopicPartition] = set()
        self._pauses: dict[TopicPartition, _Pause] = {}
        self._compacting: TopicPartition | None = None
        self._cut = False
        """Whether the log being compacted was truncated since the compaction began."""
        self._last: TopicPartition | None = None
        self._stopped = False

    def load(self) -> None:
        """Read the checkpoint, to continue where the last run stopped; a damaged checkpoint costs time, not data."""
        try:
            self._first_dirty = checkpoints.read_offset_checkpoint(self._disk, checkpoints.CLEANER_OFFSET_CHECKPOINT)
        except CorruptLogError as error:
            logger.warning("%s; compacted topics are compacted from their start", error)

    def stop(self) -> None:
        """Stop replacing segments: the logs are closed, and another broker may soon use the folder."""
        self._stopped = True

    def forget(self, topic_partition: TopicPartition) -> None:
        """Called when the log was deleted; a new log of the same name is compacted from its start."""
        self._refused.discard(topic_partition)
        self._pauses.pop(topic_partition, None)
        self._first_dirty.pop(topic_partition, None)

    def truncated(self, topic_partition: TopicPartition, end_offset: int) -> bool:
        """Called when the log was truncated to ``end_offset``: later records are dirty again, and a running compaction
        is abandoned.

        Otherwise a tombstone below the old checkpoint could be removed before the record that it deletes. Returns
        whether the checkpoint must be written.
        """
        self._cut |= topic_partition == self._compacting
        lost = self._first_dirty.get(topic_partition, 0) > end_offset
        if lost:
            self._first_dirty[topic_partition] = end_offset
        return lost

    def clean(self, now_ms: int) -> None:
        """Start compacting the next log, in order of names, that is worth compacting; does nothing while a compaction
        is running.

        Logs take turns, so that a log that is always worth compacting does not keep the others waiting.
        """
        self._pauses = {tp: _Pause(max(left - 1, 0), whole) for tp, (left, whole) in self._pauses.items()}
        self._begin_next(now_ms)

    def is_idle(self, now_ms: int) -> bool:
        """Whether :meth:`clean` would do nothing. A compaction that is running does not need the call."""
        if self._compacting is not None or self._stopped:
            return True
        from oncelog.broker.log.compaction import plan

        if any(pause.left for pause in self._pauses.values()):
            return False
        return not any(
            log.config.compacted
            and log.failed is None
            and topic_partition not in self._refused
            and plan(log, self._first_dirty.get(topic_partition, 0), now_ms) is not None
            for topic_partition, log in self._logs.items()
        )

    def _begin_next(self, now_ms: int) -> None:
        if self._compacting is not None or self._stopped:
            return
        from oncelog.broker.log.compaction import plan  # imported here, because a start of the broker does not need it

        names = sorted(self._logs)
        begin = 0 if self._last is None else bisect_right(names, self._last)
        for topic_partition in names[begin:] + names[:begin]:
            log = self._logs[topic_partition]
            if not log.config.compacted or log.failed is not None or self._passes_over(topic_partition):
                continue
            try:
                job = plan(log, self._first_dirty.get(topic_partition, 0), now_ms)
            except Exception as error:  # noqa: BLE001 - logged; other logs must still be cleaned
                self._failed(topic_partition, error)
                continue
            if job is not None:
                self._last = topic_partition
                self._start(topic_partition, log, job, now_ms)
                return

    def _passes_over(self, topic_partition: TopicPartition) -> bool:
        pause = self._pauses.get(topic_partition)
        return topic_partition in self._refused or (pause is not None and pause.left > 0)

    def _start(self, topic_partition: TopicPartition, log: PartitionLog, job: Compaction, now_ms: int) -> None:
        self._compacting, self._cut = topic_partition, False

        def is_there() -> bool:
            here = self._logs.get(topic_partition) is log and log.failed is None
            return here and not self._cut and not self._stopped

        def rewritten(error: Exception | None) -> None:
            if not is_there():
                # logs are compared by identity, because a new log may have the same name
                self._discard(topic_partition, job)
            elif error is not None:
                self._give_up(topic_partition, job, error)
            else:
                try:
                    first_dirty = job.finish(log, now_ms)
                except Exception as refusal:  # noqa: BLE001 - logged; other logs must still be cleaned
                    self._give_up(topic_partition, job, refusal)
                else:
                    put_in_place(first_dirty)
                    return
            self._next(now_ms)

        def put_in_place(first_dirty: int) -> None:
            def synced(error: Exception | None) -> None:
                if is_there():
                    if error is None:
                        self._cleaned(topic_partition, job, first_dirty)
                    else:
                        self._give_up(topic_partition, job, error)
                self._next(now_ms)

            # The new segments' names must be durable before the checkpoint: a power loss would bring the old ones back.
            self._background.run(lambda: self._disk.sync_folder(log.folder), synced)

        self._background.run(job.run, rewritten)

    def _next(self, now_ms: int) -> None:
        """Called when a compaction is over: begin with the next log that is worth compacting and is not paused."""
        self._compacting = None
        self._begin_next(now_ms)

    def _cleaned(self, topic_partition: TopicPartition, job: Compaction, first_dirty: int) -> None:
        self._first_dirty[topic_partition] = first_dirty
        self._pauses.pop(topic_partition, None)
        self._progressed()
        logger.info("compacted %s: %d to %d bytes", topic_partition, job.bytes_before, job.bytes_after)

    def _give_up(self, topic_partition: TopicPartition, job: Compaction, error: Exception) -> None:
        self._failed(topic_partition, error)
        self._discard(topic_partition, job)

    def _failed(self, topic_partition: TopicPartition, error: Exception) -> None:
        """Called when a compaction failed: because of the disk, the log is tried again later; for any other reason it
        is left until the next start (``uncleanable-partitions``)."""
        if isinstance(error, StorageError):
            before = self._pauses.get(topic_partition)
            whole = FIRST_PAUSE if before is None else min(2 * before.whole, LONGEST_PAUSE)
            self._pauses[topic_partition] = _Pause(whole, whole)
            logger.error("%s cannot be compacted now and will be tried again later: %s", topic_partition, error)
            return
        logger.error(
            "%s cannot be compacted and keeps growing until a restart: %s",
            topic_partition,
            error,
            exc_info=None if isinstance(error, CorruptLogError) else error,
        )
        self._refused.add(topic_partition)

    @staticmethod
    def _discard(topic_partition: TopicPartition, job: Compaction) -> None:
        try:
            job.discard()
        except StorageError as error:
            logger.error("files of a failed compaction of %s stay until a restart: %s", topic_partition, error)

    def known(self) -> dict[TopicPartition, int]:
        """The checkpoint's contents: for each log the first offset that is not yet compacted."""
        return {tp: offset for tp, offset in self._first_dirty.items() if tp in self._logs}

    def write_checkpoint(self) -> None:
        try:
            checkpoints.write_offset_checkpoint(self._disk, checkpoints.CLEANER_OFFSET_CHECKPOINT, self.known())
        except StorageError as error:
            logger.error("the cleaner's checkpoint cannot be written: %s", error)
