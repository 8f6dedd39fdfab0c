"""Batches as a reader finds them in bytes."""

from __future__ import annotations

from collections.abc import Iterator

from oncelog.records.arrow import BatchBytes
from oncelog.records.batch import iter_headers
from oncelog.runtime.ports import Buffer


def stored_batches(data: Buffer) -> Iterator[BatchBytes]:
    """Every whole batch in ``data``."""
    for position, header in iter_headers(data):
        yield BatchBytes(data, position, header)
