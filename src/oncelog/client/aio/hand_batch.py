"""A batch that the program fills itself, for ``Producer.send_batch``."""

from __future__ import annotations

import time
from collections.abc import Sequence

from oncelog.client.core.accumulator import largest_size
from oncelog.records.batch import BatchBuilder

RecordHeaders = Sequence[tuple[str, bytes | None]]


class Batch:
    """Records that the program gathers itself, for :meth:`Producer.send_batch`."""

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
        """Add a record; its position in the batch, or None when the batch is full or closed."""
        size = largest_size(key, value, headers)
        if self._closed or (self._builder.count and self._builder.size_bytes + size > self._max_size_bytes):
            return None
        stamp = int(time.time() * 1000) if timestamp is None else timestamp
        self._builder.append(stamp, key, value, headers)
        return self._builder.count - 1

    def close(self) -> None:
        """No records may be added any more."""
        self._closed = True

    def size(self) -> int:
        """Bytes so far, before packing."""
        return self._builder.size_bytes

    def record_count(self) -> int:
        return self._builder.count

    @property
    def builder(self) -> BatchBuilder:
        return self._builder


__all__ = ["Batch", "RecordHeaders"]
