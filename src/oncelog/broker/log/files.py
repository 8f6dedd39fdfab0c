"""Manages the files of one partition's log: begins segments, removes old ones, and determines which files have to be
synced.

Called by the log's writer and trimmer, by the flush job and the log manager. Everything below ``flushed_offset`` is on
stable storage. Source: Kafka's ``LocalLog.roll``, ``LogManager.flushDirtyLogs``.
"""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.broker.log.checkpoints import LEADER_EPOCH_CHECKPOINT, encode_leader_epochs
from oncelog.broker.log.results import FlushTicket
from oncelog.broker.log.segments.segment import Segment
from oncelog.broker.log.state import LogPart, LogState
from oncelog.errors import StorageError
from oncelog.runtime.ports import File


class LogFiles(LogPart):
    """The files of a log that have to be synced, and those that have to be removed."""

    def __init__(self, log: LogState, unsynced: Sequence[File]) -> None:
        super().__init__(log)
        self._closed_since_flush: list[int] = []
        """Base offsets of closed segments whose index files have not been synced yet."""
        self._unsynced_files: dict[str, File] = {file.path: file for file in unsynced}
        self._folder_unsynced = True
        self._name_unsynced = True
        self.flush_begun_bytes = 0
        """The value of ``activity.bytes_in`` when the last flush began."""
        self._removals: list[tuple[int, list[str]]] = []
        self._closed = False

    def roll(self, base_offset: int, now_ms: int) -> Segment:
        """Begin a new segment. The last step makes the new segment active, and all earlier steps can be repeated: after
        a failure the old segment is still active.
        """
        log = self._log()
        active = log.segment_list.active
        if active.base_offset == base_offset:
            return active
        self._write_indexes_of(active, final=True)
        self._closed_since_flush.append(active.base_offset)
        log.producers.skip_to(base_offset)
        self.take_snapshot()
        self.write_leader_epochs()
        segment = Segment.create(log.disk, log.folder, base_offset, now_ms)
        log.segment_list.append(segment)
        self._folder_unsynced = True
        return segment

    def take_snapshot(self) -> None:
        file = self._log().snapshots.take(self._log().producers)
        if file is not None:
            self._unsynced_files[file.path] = file
            self._folder_unsynced = True

    def write_leader_epochs(self) -> None:
        log = self._log()
        cache = log.leader_epoch_cache
        entries = cache.unsaved(log.log_end_offset)
        if entries is not None:
            path = f"{log.folder}/{LEADER_EPOCH_CHECKPOINT}"
            log.disk.write_atomic(path, encode_leader_epochs(entries), sync=False)
            cache.saved(entries)
            self.sync_later(path)

    def begin_flush(self) -> FlushTicket | None:
        """The files to sync so that everything appended so far is on stable storage; None if it already is.

        Call the ticket's ``sync`` in any thread, and then :meth:`flushed`; the log's ``fail`` if the disk failed; or
        :meth:`not_flushed` if no sync was tried.
        """
        log = self._log()
        end = log.log_end_offset
        if log.flushed_offset >= end and not self._unsynced_files:
            return None
        self.write_leader_epochs()
        files = list(self._unsynced_files.values())
        self._unsynced_files.clear()
        files += [segment.file for segment in log.segment_list.from_offset(log.flushed_offset) if segment.size_bytes]
        folders: tuple[str, ...] = (log.folder,) if self._folder_unsynced else ()
        if self._name_unsynced:
            folders += (log.folder.rpartition("/")[0],)
        self._folder_unsynced = self._name_unsynced = False
        size_bytes, self.flush_begun_bytes = log.activity.bytes_in - self.flush_begun_bytes, log.activity.bytes_in
        return FlushTicket(tuple(files), folders, end, size_bytes, tuple(self._closed_since_flush))

    def flushed(self, ticket: FlushTicket) -> None:
        """Called when everything in ``ticket`` is on stable storage."""
        log = self._log()
        log.flushed_offset = max(log.flushed_offset, min(ticket.end_offset, log.log_end_offset))
        self._closed_since_flush = [base for base in self._closed_since_flush if base not in ticket.closed]

    def not_flushed(self, ticket: FlushTicket) -> None:
        """Called when the files in ``ticket`` could not be synced because no file descriptor was free: the next flush
        syncs them."""
        self._unsynced_files = {file.path: file for file in ticket.files} | self._unsynced_files
        self._folder_unsynced = self._name_unsynced = True
        self.flush_begun_bytes -= ticket.size_bytes

    def sync_later(self, path: str) -> None:
        """Let the next flush sync a file in the log's folder that was written."""
        self._unsynced_files[path] = self._log().disk.open(path)
        self._folder_unsynced = True

    def write_indexes(self) -> None:
        """Write the index files, for tools that read them while the log is open."""
        for segment in self._log().segment_list:
            self._write_indexes_of(segment)

    def _write_indexes_of(self, segment: Segment, *, final: bool = False) -> None:
        for file in segment.write_indexes(final=final):
            self._unsynced_files[file.path] = file
            self._folder_unsynced = True

    @property
    def has_unflushed_segments(self) -> bool:
        """Whether a closed segment is not yet on stable storage."""
        return self.recovery_point < self._log().segment_list.active.base_offset

    @property
    def recovery_point(self) -> int:
        """The offset for the recovery point checkpoint: segments that end below it are not examined after a crash.

        It is never beyond the start of the last segment, whose indexes are in memory and are not synced when it is
        closed.
        """
        log = self._log()
        if self._closed:
            return log.flushed_offset
        return min([log.flushed_offset, log.segment_list.active.base_offset, *self._closed_since_flush])

    def remove_deleted_files(self, now_ms: int) -> StorageError | None:
        """Remove files that are due; returns the error if a file could not be removed, which the next call tries
        again."""
        refused: StorageError | None = None
        due = [entry for entry in self._removals if entry[0] <= now_ms]
        self._removals = [entry for entry in self._removals if entry[0] > now_ms]
        for at_ms, paths in due:
            left = []
            for path in paths:
                try:
                    self._log().disk.remove(path)
                except StorageError as error:
                    refused = refused or error
                    left.append(path)
            if left:
                self._removals.append((at_ms, left))
        return refused

    def has_deleted_files(self, now_ms: int) -> bool:
        """Whether :meth:`remove_deleted_files` would remove any file."""
        return any(at_ms <= now_ms for at_ms, _ in self._removals)

    def drop(self, segments: Sequence[Segment], now_ms: int, *, instead: Sequence[Segment] = ()) -> None:
        """Replace ``segments`` with ``instead``; the old files and snapshots are removed later."""
        log = self._log()
        paths = []
        for segment in segments:
            paths += segment.mark_deleted()
            paths += log.snapshots.mark_deleted(segment.base_offset, segment.base_offset)
        for segment in instead:
            segment.rename("")
        log.segment_list.replace(segments, instead)
        self._folder_unsynced = True
        self._removals.append((now_ms + log.config.file_delete_delay_ms, paths))

    def begin_close(self) -> FlushTicket | None:
        """Write everything that has to be synced before the log is closed; returns the files to sync, None if there are
        none."""
        for segment in self._log().segment_list:
            self._write_indexes_of(segment, final=True)
        self.take_snapshot()
        self.write_leader_epochs()
        return self.begin_flush()

    def closed(self) -> None:
        """Called when the log was closed cleanly, so that the next opening need not examine it."""
        self._closed = True

    def folder_changed(self) -> None:
        """Called when files were created, renamed or removed: the next flush syncs the folder."""
        self._folder_unsynced = True

    def remove_at(self, at_ms: int, paths: list[str]) -> None:
        """Let :meth:`remove_deleted_files` remove ``paths`` from ``at_ms`` on."""
        self._removals.append((at_ms, paths))
