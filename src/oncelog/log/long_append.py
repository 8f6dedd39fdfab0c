"""An append of so many bytes that another thread writes them, while the log can be read as it was before.

Made by ``LogWriter.begin_append``. Invariants
- The log takes the batch in only when its bytes are in the file: nothing that reads offsets, the state of producers or
  the size of a segment can meet it before.
- One at a time for each log, and nothing else changes the log meanwhile: ``PartitionLog`` hands out what can
  (``writer()``, ``trimmer()``) only after ``settle``, which waits for the other thread, or writes
  what it has not begun to write.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from oncelog.errors import StorageError
from oncelog.log.results import AppendResult
from oncelog.log.segments.segment import Segment
from oncelog.ports import Buffer
from oncelog.records.batch import BatchHeader


class LongAppend:
    """One batch on its way into the last segment of a log."""

    def __init__(
        self,
        segment: Segment,
        buffers: Sequence[Buffer],
        header: BatchHeader,
        leader_epoch: int,
        now_ms: int,
        append_time_ms: int,
    ) -> None:
        self.segment = segment
        self.header = header
        self.leader_epoch = leader_epoch
        self.now_ms = now_ms
        self.append_time_ms = append_time_ms
        self.refused: StorageError | None = None
        """Why the bytes are not in the file."""
        self.result: AppendResult | None = None
        """Set when the log has taken the batch in, or the disk has refused it."""
        self._buffers: Sequence[Buffer] | None = buffers
        self._file = segment.file
        self.alone: AbstractContextManager[object] = nullcontext()
        """Entered to write; a lock if it is handed to another thread."""

    def write(self) -> None:
        """Return when the bytes are in the file, or have been refused; on any thread, and more than once."""
        with self.alone:
            if self._buffers is not None:
                try:
                    self._file.append(self._buffers)
                except StorageError as error:
                    self.refused = error
                self._buffers = None
