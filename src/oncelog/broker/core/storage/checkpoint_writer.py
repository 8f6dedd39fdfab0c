"""Writes the checkpoint files of a data folder, on a worker thread if the server has one.

Called by the log manager, and when a topic is created: the creation waits until no checkpoint on disk has an older
topic of that name. Invariant: one write at a time, so that a file never replaces a newer version.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from oncelog.broker.core.requests.tasks import Tasks
from oncelog.broker.core.requests.work import Work, finished
from oncelog.errors import StorageError
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.ports import Background, Disk

logger = logging.getLogger(__name__)


class CheckpointWriter:
    """Writes all checkpoint files of one data folder.

    :param content: returns the current names and contents of the files.
    """

    def __init__(self, disk: Disk, tasks: Tasks, content: Callable[[], Work[list[tuple[str, bytes]]]]) -> None:
        self._disk = disk
        self._tasks = tasks
        self._content = content
        self.background: Background | None = None
        """The thread that writes; without a thread the files are written in the current iteration."""
        self.is_writing = False
        """Whether that thread is writing."""
        self.is_stuck = False
        """Whether the broker stops while the thread is still writing; callers must then not wait for the write."""
        self._next_write: Deferred[None] | None = None
        """Resolves when the next write, which has not begun yet, is done."""
        self._deleted: dict[str, int] = {}
        """Topics whose deleted partitions the files may still contain, each with the number of its latest deletion."""
        self._deletions = 0

    def deleted(self, topic: str) -> None:
        """Note that a partition of the topic was deleted: the files on disk may still contain it."""
        self._deletions += 1
        self._deleted[topic] = self._deletions

    def forgetting(self, topic: str) -> Work[None]:
        """Wait until no file has deleted partitions of this name, which a new topic must not inherit.

        If a caller runs this to its end in one iteration, the files are written in that iteration.
        """
        if topic in self._deleted:
            yield self.write_soon()
        if topic in self._deleted:
            self.write_now()

    def nobody_reports(self) -> None:
        """Called when the broker stops, and no thread can report to it any more: from now on the files are written in
        the current iteration."""
        self.is_stuck = self.is_writing
        if not self.is_stuck:
            self.background = None

    def write_soon(self) -> Deferred[None]:
        """Write the current state on the thread; resolves when the write is over, successful or not."""
        if self.background is None:
            self.write_now()
            return Deferred.of(None)
        if self._next_write is None:
            self._next_write = Deferred()
        written = self._next_write
        if not self.is_writing:
            self._begin(self.background, written)
        return written

    def write_now(self) -> None:
        """Write the current state in the current iteration."""
        deleted, failure = dict(self._deleted), None
        try:
            self._write(finished(self._content()))
        except StorageError as error:
            failure = error
        self._written(deleted, failure)

    def _begin(self, background: Background, over: Deferred[None]) -> None:
        self.is_writing, self._next_write = True, None
        deleted = dict(self._deleted)

        def done(error: Exception | None) -> None:
            self.is_writing = False
            self._written(deleted, error)
            over.resolve(None)
            if self._next_write is not None and not self.is_writing:
                self._begin(background, self._next_write)

        self._tasks.begin(self._content()).then(
            lambda content: background.run(partial(self._write, content), done), done
        )

    def _write(self, content: Sequence[tuple[str, bytes]]) -> None:
        for name, data in content:
            self._disk.write_atomic(name, data)

    def _written(self, deleted: Mapping[str, int], error: Exception | None) -> None:
        if error is not None:
            logger.error("checkpoints cannot be written, the next start will check more of the logs: %s", error)
            return
        self._deleted = {topic: number for topic, number in self._deleted.items() if deleted.get(topic) != number}
