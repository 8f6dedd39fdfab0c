"""Has batches of many bytes written on another thread, with other turns meanwhile.

Called by ``apis/produce``. The kernel copies a batch into its page cache without the interpreter's lock, and may take
milliseconds for a megabyte if memory is new or much of the disk's work is waiting: that would hold up everybody.
Handing over costs about 100 us of both cores, so smaller batches are written in their own turn.

Invariants
- Batches of a connection do not overtake each other: the connection is held until the batch is in the log.
- What anybody else does to the partition's log waits for the batch (``log.long_append``); reads do not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from oncelog.broker.batch_checks import BatchChecks
from oncelog.deferred import Deferred
from oncelog.errors import InvariantError

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext
    from oncelog.broker.request_memory import RequestMemory
    from oncelog.log.long_append import LongAppend
    from oncelog.ports import Background

LONG_WRITE_BYTES = 256 * 1024
"""Least size of a batch that is worth handing over."""


class LongWrites:
    """The writes of one broker that are under way."""

    def __init__(self, memory: RequestMemory) -> None:
        self._memory = memory
        self._elsewhere: Background | None = None
        self._make_lock: Callable[[], AbstractContextManager[object]] = nullcontext
        self.least_bytes = sys.maxsize
        """Size from which batches are handed over."""

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

    def write(self, context: RequestContext, append: LongAppend) -> Deferred[None]:
        """Resolved when the bytes are in the file or the disk has refused them; the connection is held until then.

        The caller continues at once, and then calls ``BatchChecks.handed_on``.
        """
        elsewhere = self._elsewhere
        if elsewhere is None:
            raise InvariantError("a batch was to be written elsewhere, and there is no such place")
        written: Deferred[None] = Deferred()
        size_bytes = append.header.size_bytes
        append.alone = self._make_lock()
        context.under_check += 1
        context.channel.hold()
        self._memory.estimate(size_bytes)

        def done(error: Exception | None) -> None:
            self._memory.estimate(-size_bytes)
            if error is None:
                written.resolve(None)
            else:
                written.fail(error)
                BatchChecks.handed_on(context)

        elsewhere.run(append.write, done)
        return written
