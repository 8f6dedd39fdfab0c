"""Removes records from one partition's log: retention, DeleteRecords, truncation, and segments replaced by compaction.

It is ``PartitionLog.trimmer``. Invariant: ``log_start_offset <= high_watermark <= log_end_offset``. Source: Kafka's
``UnifiedLog`` (KIP-101, KIP-107).
"""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.broker.log import recovery, retention
from oncelog.broker.log.file_names import SWAP_SUFFIX
from oncelog.broker.log.files import LogFiles
from oncelog.broker.log.segments.segment import Segment
from oncelog.broker.log.state import LogPart, LogState
from oncelog.errors import NONE, Error, StorageError

RESTING_MS = 60_000
"""The time in ms without an append after which a log releases the disk space reserved for appends."""


class LogTrimmer(LogPart):
    """Removes records from the start or the end of a log."""

    def __init__(self, log: LogState, files: LogFiles) -> None:
        super().__init__(log)
        self._files = files

    def apply_retention(self, now_ms: int) -> int:
        """Drop the oldest segments that the topic's settings no longer retain; returns how many.

        Also removes files dropped at least ``file.delete.delay.ms`` ago, and lets batches be read again that the disk
        failed to read.

        :raises StorageError: some files could not be removed; the next call tries again.
        """
        log = self._log()
        log.segment_list.forgive()
        refused = self._files.remove_deleted_files(now_ms)
        if now_ms - log.segment_list.active.last_append_ms >= RESTING_MS:
            log.segment_list.active.release_reserved_space()
        count = retention.segments_to_drop(list(log.segment_list), log.config, self._log(), now_ms)
        if count == len(log.segment_list):
            self._files.roll(log.log_end_offset, now_ms)
        if count:
            self._files.drop(log.segment_list.oldest(count), now_ms)
            self._set_log_start(max(log.log_start_offset, log.segment_list.first_offset))
        if refused is not None:
            raise refused
        return count

    def has_expired(self, now_ms: int) -> bool:
        """Whether :meth:`apply_retention` would remove any segment or file."""
        log = self._log()
        segments = list(log.segment_list)
        return (
            self._files.has_deleted_files(now_ms) or retention.segments_to_drop(segments, log.config, log, now_ms) > 0
        )

    def replace_segments(self, old: Sequence[Segment], new: Segment, now_ms: int) -> None:
        """Replace the neighbouring segments ``old`` with a compacted segment, whose files have the suffix ``.cleaned``.

        After a crash before the first rename the old segments remain; after a later crash the next start completes the
        replacement. Snapshots below the end of ``old`` are removed first: they may contain an open transaction whose
        marker was compacted away. A start that needs producer state below that end replays the compacted batches, in
        which no such transaction appears.

        :raises StorageError: the same applies as after a crash; once a file has been renamed, the log is offline until
            the next start.
        """
        end = old[-1].next_offset()
        try:
            self._files.remove_at(now_ms, self._log().snapshots.mark_deleted(0, end - 1))
            new.rename(SWAP_SUFFIX)
            self._files.drop(old, now_ms, instead=[new])
        except StorageError as error:
            self._log().fail(str(error))
            raise

    def delete_records_before(self, offset: int) -> Error:
        """Advance the start of the log to ``offset`` (-1: the high watermark), as DeleteRecords does.

        Whole segments below that offset are removed by the next :meth:`apply_retention`. Producer state stays
        (KIP-360).
        """
        if offset == -1:
            offset = self._log().high_watermark
        if not 0 <= offset <= self._log().high_watermark:
            return Error.OFFSET_OUT_OF_RANGE
        self._set_log_start(offset)
        return NONE

    def _set_log_start(self, offset: int) -> None:
        log = self._log()
        if offset <= log.log_start_offset:
            return
        log.log_start_offset = offset
        log.high_watermark = max(log.high_watermark, offset)
        log.flushed_offset = max(log.flushed_offset, offset)
        log.leader_epoch_cache.truncate_from_start(offset)
        log.producers.replicated_to(offset)

    def truncate_to(self, offset: int) -> None:
        """Remove the batch that contains ``offset`` and everything after it (for a follower whose log is longer than
        its leader's)."""
        log = self._log()
        if offset >= log.log_end_offset:
            log.leader_epoch_cache.truncate_from_end(log.log_end_offset)
            return
        if offset < log.segment_list.first_offset:
            self.truncate_fully_and_start_at(offset)
            return
        beyond = log.segment_list.from_offset(offset)[1:]
        if beyond:
            self._files.drop(beyond, log.written_ms)
        log.segment_list.truncate_active_to(offset)
        log.log_end_offset = log.segment_list.active.next_offset()
        self._after_truncation()

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Remove the whole log; it continues, empty, at ``offset``."""
        log = self._log()
        old = list(log.segment_list)
        paths = [path for segment in old for path in segment.mark_deleted()]
        self._files.remove_at(log.written_ms + log.config.file_delete_delay_ms, paths)
        log.snapshots.keep_between(1, 0)
        log.segment_list.replace(old, [Segment.create(log.disk, log.folder, offset, log.written_ms)])
        log.log_start_offset = log.log_end_offset = log.high_watermark = offset
        log.leader_epoch_cache.clear()
        self._after_truncation()

    def _after_truncation(self) -> None:
        log = self._log()
        end = log.log_end_offset
        log.log_start_offset = min(log.log_start_offset, end)
        log.flushed_offset = min(log.flushed_offset, end)
        log.high_watermark = min(log.high_watermark, end)
        log.leader_epoch_cache.truncate_from_end(end)
        log.snapshots.keep_between(0, end)
        unreplicated = log.producers.unreplicated_before(end)
        recovery.reload_state(
            list(log.segment_list),
            log.snapshots,
            log.producers,
            log.disk,
            log.folder,
            log.config,
            log.log_start_offset,
            end,
            log.written_ms,
        )
        log.producers.restore_unreplicated(unreplicated)
        log.producers.replicated_to(log.high_watermark)
        self._files.folder_changed()
