"""Finds the batches of a partition that belong to aborted transactions, from the partition's own markers.

Called by the checks of readers (:mod:`oncelog.apps.verify.isolation`) and of ``.txnindex`` files. Memory: 24 bytes for
each aborted transaction.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator


class AbortedOffsets:
    """The aborted transactions of a partition: first offsets, marker offsets and producer ids. Queries must come in
    ascending order of offsets."""

    def __init__(self, first: array[int], marker: array[int], producer: array[int]) -> None:
        self._order = sorted(range(len(first)), key=first.__getitem__)
        self._first, self._marker, self._producer = first, marker, producer
        self._next = 0
        self._open: dict[int, int] = {}

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        """Iterate over first offset, marker offset and producer id, in the order of the markers."""
        return zip(self._first, self._marker, self._producer, strict=True)

    def is_aborted(self, producer_id: int, offset: int) -> bool:
        """Whether the producer's transactional batch at ``offset`` was aborted; ``offset`` must not be smaller than in
        earlier calls."""
        while self._next < len(self._order) and self._first[self._order[self._next]] <= offset:
            at = self._order[self._next]
            self._open[self._producer[at]] = self._marker[at]
            self._next += 1
        return self._open.get(producer_id, -1) > offset
