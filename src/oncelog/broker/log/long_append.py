"""An append so large that a worker thread writes it; until it is done, readers see the log as it was before.

Made by ``LogWriter.begin_append``. Invariants
- The batch becomes part of the log only when its bytes are in the file: until then neither offsets nor the state of
  producers nor the size of a segment include it.
- One at a time for each log, and nothing else changes the log meanwhile: ``PartitionLog`` returns ``writer()`` and
  ``trimmer()`` only after ``settle``, which waits for the worker thread, or does the write itself if it has not begun.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from oncelog.broker.log.results import AppendResult
from oncelog.broker.log.segments.segment import Segment
from oncelog.errors import StorageError
from oncelog.records.batch import BatchHeader
from oncelog.runtime.ports import Buffer


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
        """Set when the batch is part of the log, or the disk has refused it."""
        self._buffers: Sequence[Buffer] | None = buffers
        self._file = segment.file
        self.alone: AbstractContextManager[object] = nullcontext()
        """Held while writing; a real lock only if a worker thread writes."""

    def write(self) -> None:
        """Return when the bytes are in the file, or have been refused; on any thread, and more than once."""
        with self.alone:
            if self._buffers is not None:
                try:
                    self._file.append(self._buffers)
                except StorageError as error:
                    self.refused = error
                self._buffers = None
