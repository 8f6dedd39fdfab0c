"""Has batches of many bytes written on another thread, with other turns meanwhile.

Called by ``apis/produce``. The kernel copies a batch into its page cache without the interpreter's lock, and may take
milliseconds for a megabyte if memory is new or much of the disk's work is waiting: that would hold up everybody.
Handing over costs about 100 us of both cores, so smaller batches are written in their own turn.

Invariants
- Batches of a connection do not overtake each other: the connection is held until the batch is in the log. Nor do those
  of one request for the same partition.
- What anybody else does to the partition's log waits for the batch (``log.long_append``); reads do not.
- One batch of a partition is handed over at a time. Further large ones stand in line for the partition, in the order
  of arrival; the loop does not wait for them, and smaller ones of other connections go ahead of those in line.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from oncelog.broker.batch_checks import BatchChecks
from oncelog.deferred import Deferred
from oncelog.errors import InvariantError

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext
    from oncelog.broker.partition import Partition
    from oncelog.broker.request_memory import RequestMemory
    from oncelog.log.long_append import LongAppend
    from oncelog.ports import Background

LONG_WRITE_BYTES = 256 * 1024
"""Least size of a batch that is worth handing over."""


class _Line:
    """The batches of one partition: the one that was handed over, and those behind it, each with its request."""

    __slots__ = ("is_writing", "waiting")

    def __init__(self) -> None:
        self.is_writing = False
        self.waiting: deque[tuple[RequestContext, int, Deferred[None]]] = deque()


class LongWrites:
    """The writes of one broker that are under way."""

    def __init__(self, memory: RequestMemory) -> None:
        self._memory = memory
        self._elsewhere: Background | None = None
        self._make_lock: Callable[[], AbstractContextManager[object]] = nullcontext
        self.least_bytes = sys.maxsize
        """Size from which batches are handed over."""
        self._lines: dict[Partition, _Line] = {}

    def begin(
        self,
        elsewhere: Background,
        make_lock: Callable[[], AbstractContextManager[object]] = nullcontext,
        least_bytes: int = LONG_WRITE_BYTES,
    ) -> None:
        """Hand over from now on; until then every batch is written in its turn.

        :param make_lock: a lock for a batch that ``elsewhere`` writes on another thread.
        """
        self._elsewhere, self._make_lock, self.least_bytes = elsewhere, make_lock, least_bytes

    def end(self) -> None:
        """Hand over nothing more."""
        self._elsewhere, self.least_bytes = None, sys.maxsize

    def has_line(self, context: RequestContext, partition: Partition, size_bytes: int) -> bool:
        """Whether a batch of this size has to wait in line, behind large ones or behind another one of its request."""
        line = self._lines.get(partition)
        if line is None:
            return False
        return size_bytes >= self.least_bytes or any(waiting is context for waiting, _, _ in line.waiting)

    def line_up(self, context: RequestContext, partition: Partition, size_bytes: int) -> Deferred[None]:
        """Resolved when it is the batch's turn; the connection is held until then.

        The caller continues at once, and then calls ``BatchChecks.handed_on``.
        """
        turn: Deferred[None] = Deferred()
        self._hold(context, size_bytes)
        self._lines[partition].waiting.append((context, size_bytes, turn))
        return turn

    def write(self, context: RequestContext, partition: Partition, append: LongAppend) -> Deferred[None]:
        """Resolved when the bytes are in the file or the disk has refused them; the connection is held until then.

        The caller continues at once, and then calls ``BatchChecks.handed_on``.
        """
        elsewhere = self._elsewhere
        if elsewhere is None:
            raise InvariantError("a batch was to be written elsewhere, and there is no such place")
        written: Deferred[None] = Deferred()
        size_bytes = append.header.size_bytes
        append.alone = self._make_lock()
        self._hold(context, size_bytes)
        line = self._lines.get(partition)
        if line is None:
            line = self._lines[partition] = _Line()
        line.is_writing = True

        def done(error: Exception | None) -> None:
            self._memory.estimate(-size_bytes)
            if error is None:
                written.resolve(None)
            else:
                written.fail(error)
                BatchChecks.handed_on(context)
            self._next(partition, line)

        elsewhere.run(append.write, done)
        return written

    def _hold(self, context: RequestContext, size_bytes: int) -> None:
        BatchChecks.hold(context)
        self._memory.estimate(size_bytes)

    def _next(self, partition: Partition, line: _Line) -> None:
        """Give those in line their turn, up to the next one that is handed over: others are refused, or are small."""
        line.is_writing = False
        while line.waiting and not line.is_writing:
            _, size_bytes, turn = line.waiting.popleft()
            self._memory.estimate(-size_bytes)
            turn.resolve(None)
        if not line.is_writing:
            del self._lines[partition]
