"""Validates on a worker thread the batches that take long to decompress or recompress, so that the event loop is not
blocked.

Called by ``pipeline``, for the batches that ``validation_cost`` selects. Codecs and CRC run without the interpreter's
lock (GIL), so another core can execute them; the loop then only decides about the validated batch and appends it.
Batches that arrive while much is waiting for validation are validated on the loop: that slows down reading, but no
batch waits long for the thread.

Invariants
- Batches of a connection do not overtake each other: the request is parked until its batch has been validated.
- Validation is a pure function of the batch and of the topic's settings when it arrived: the worker thread reads no
  state of the broker.
- The memory of a waiting request is counted. A request that was received completely is carried out even if its
  connection ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from oncelog.broker.core.requests.parking import Park, ParkReason
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.appending.batch import PendingBatch
    from oncelog.broker.core.limits.request_memory import RequestMemory
    from oncelog.records.validation import Checked
    from oncelog.runtime.ports import Background

MAX_IN_VALIDATION_BYTES: Final = 1024 * 1024 * 1024
"""Limit in bytes on the batches being validated at once, by their maximum decompressed size: about a second's work.
With the default ``max.message.bytes`` that is 63 batches stored as they are, or seven that are recompressed."""


class ValidationThread:
    """Validates batches of one broker on a worker thread."""

    def __init__(self, memory: RequestMemory, work_clock: Callable[[], int]) -> None:
        """:param work_clock: returns the CPU time of the event loop's thread in nanoseconds."""
        self._memory = memory
        self._work_clock = work_clock
        self.worker: Background | None = None
        """The thread, set by the server if it has one; without it batches are validated on the event loop."""
        self._in_validation_bytes = 0

    def has_capacity(self, max_bytes: int) -> bool:
        """Whether the thread can now take a batch with a cost of ``max_bytes`` (``validation_cost``)."""
        in_validation = self._in_validation_bytes
        return not in_validation or in_validation + max_bytes <= MAX_IN_VALIDATION_BYTES

    def validate(self, worker: Background, batch: PendingBatch, now_ms: int, max_bytes: int) -> Park[Checked]:
        """Validate a batch on ``worker``; resolves to the result of ``validate_append``.

        :param max_bytes: the maximum cost of the batch (``validation_cost``).
        """
        validate = batch.partition.log.validation(batch.records, now_ms)
        found: list[Checked] = []
        answer: Deferred[Checked] = Deferred()
        size_bytes, worked_ns = len(batch.records), 0
        park = Park(batch.context, ParkReason.VALIDATION, answer)
        self._memory.estimate(size_bytes)
        self._in_validation_bytes += max_bytes

        def work() -> None:
            nonlocal worked_ns
            begun_ns = self._work_clock()
            found.append(validate())
            worked_ns = self._work_clock() - begun_ns

        def done(error: Exception | None) -> None:
            batch.context.work_ns += worked_ns
            self._memory.estimate(-size_bytes)
            self._in_validation_bytes -= max_bytes
            if error is not None:
                answer.fail(error)
            else:
                answer.resolve(found[0])

        worker.run(work, done)
        return park
