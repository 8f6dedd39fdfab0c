"""Results that a partition's log returns to the broker and the server. Times are in ms."""

from __future__ import annotations

from typing import NamedTuple, final

from oncelog.errors import Error
from oncelog.runtime.ports import Disk, File


class AppendResult(NamedTuple):
    """Outcome of an append. If the error is not NONE, nothing was written, and ``message`` says why.

    ``log_append_time_ms`` is -1 unless the topic uses LogAppendTime. ``duplicate``: the batch was in the log already,
    at these offsets and with this largest timestamp; nothing was written. ``record_errors``: for each invalid record
    its index in the batch and a message.
    """

    error: Error
    base_offset: int = -1
    last_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    duplicate: bool = False
    message: str = ""
    record_errors: tuple[tuple[int, str], ...] = ()


@final
class FileSlice(NamedTuple):
    """A range of a file, which is sent with ``sendfile`` or read."""

    file: File
    position: int
    size_bytes: int

    def read_bytes(self) -> bytes:
        return self.file.read_at(self.position, self.size_bytes)


class LogRead(NamedTuple):
    """Whole batches, the first of which ends at or after ``first_offset``; empty if there is nothing to read.

    ``upper_bound_offset`` is at or after the end of the batches; it limits the search for aborted transactions.
    """

    slices: tuple[FileSlice, ...]
    size_bytes: int
    first_offset: int
    upper_bound_offset: int


class FlushTicket(NamedTuple):
    """The files and folders to sync, in this order, so that everything below ``end_offset`` is on stable storage.
    ``size_bytes`` were appended since the previous ticket; ``closed`` are the base offsets of segments closed since
    then."""

    files: tuple[File, ...]
    folders: tuple[str, ...]
    end_offset: int
    size_bytes: int
    closed: tuple[int, ...] = ()

    def sync(self, disk: Disk, synced: set[str]) -> None:
        """Sync the files and folders; may be called on any thread.

        :param synced: folders that need no further sync; the folders of this ticket are added. Tickets may share this
            set if no file is created in, or removed from, a folder after its first sync.
        :raises StorageError: the disk failed.
        """
        for file in self.files:
            file.sync()
        for folder in self.folders:
            if folder not in synced:
                disk.sync_folder(folder)
                synced.add(folder)


class TimestampOffset(NamedTuple):
    """A record that was found by its timestamp."""

    timestamp: int
    offset: int
    leader_epoch: int


class SegmentInfo(NamedTuple):
    """A segment as the log reports it to tools."""

    base_offset: int
    size_bytes: int
    max_timestamp: int
