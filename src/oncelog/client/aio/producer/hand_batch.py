"""A batch filled by the program, for ``Producer.send_batch``."""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.client.core import arguments
from oncelog.client.core.batches.accumulator import WholeBatch
from oncelog.client.core.batches.record_sizes import largest_size
from oncelog.client.core.structs import RecordMetadata
from oncelog.records.batch import BatchBuilder
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time

RecordHeaders = Sequence[tuple[str, bytes | None]]


class Batch:
    """Records collected by the program, for :meth:`Producer.send_batch`."""

    def __init__(self, max_size_bytes: int) -> None:
        self._builder = BatchBuilder()
        self._max_size_bytes = max_size_bytes
        self._closed = False

    def append(
        self,
        *,
        key: bytes | None = None,
        value: bytes | None = None,
        timestamp: int | None = None,
        headers: RecordHeaders = (),
    ) -> int | None:
        """Add a record; returns its position in the batch, or None when the batch is full or closed."""
        size = largest_size(key, value, headers)
        if self._closed or (self._builder.count and self._builder.size_bytes + size > self._max_size_bytes):
            return None
        timestamp = real_time.time_ms() if timestamp is None else arguments.whole(timestamp, "timestamp")
        self._builder.append(timestamp, key, value, headers)
        return self._builder.count - 1

    def close(self) -> None:
        """Accept no more records."""
        self._closed = True

    def size(self) -> int:
        """The size of the batch so far in bytes, without compression."""
        return self._builder.size_bytes

    def record_count(self) -> int:
        return self._builder.count

    @property
    def builder(self) -> BatchBuilder:
        return self._builder


class HandBatchOutcome(WholeBatch):
    """Resolves a future with the metadata of the batch's first record once all parts are stored; a batch is sent in
    parts if the broker finds it too large."""

    def __init__(self, future: asyncio.Future[RecordMetadata | None]) -> None:
        self._future = future
        self._missing = 1
        self._first: RecordMetadata | None = None

    def halves(self, low: int, high: int) -> tuple[WholeBatch, WholeBatch]:
        return _Part(self, True).halves(low, high)

    def stored(self, metadata: RecordMetadata | None, *, first: bool) -> None:
        """Called when a part of the batch was stored."""
        if first:
            self._first = metadata
        self._missing -= 1
        if not self._missing and not self._future.done():
            self._future.set_result(self._first)

    def divided(self) -> None:
        """Count one more part, because a part of the batch was split into two."""
        self._missing += 1

    def done(self) -> bool:
        return self._future.done()

    def set_result(self, metadata: RecordMetadata | None) -> None:
        self.stored(metadata, first=True)

    def set_exception(self, error: BaseException) -> None:
        self._future.set_exception(error)

    def exception(self) -> BaseException | None:
        return self._future.exception()


class _Part(WholeBatch):
    """The handle of one part of a batch that was split."""

    def __init__(self, whole: HandBatchOutcome, first: bool) -> None:
        self._whole = whole
        self._first = first
        self.done, self.set_exception, self.exception = whole.done, whole.set_exception, whole.exception

    def halves(self, low: int, high: int) -> tuple[WholeBatch, WholeBatch]:
        self._whole.divided()
        return _Part(self._whole, self._first), _Part(self._whole, False)

    def set_result(self, metadata: RecordMetadata | None) -> None:
        self._whole.stored(metadata, first=self._first)


__all__ = ["Batch", "HandBatchOutcome", "RecordHeaders"]
