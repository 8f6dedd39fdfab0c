"""Histograms of durations in nanoseconds, for metrics: of requests, syncs and iterations of the event loop."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator

SUB_BUCKETS = 8
"""The number of buckets for each power of two: a quantile is accurate to an eighth."""
_BUCKETS = 48 * SUB_BUCKETS


class Durations:
    """A histogram: ``count`` and ``sum_ns`` since the start, and quantiles over the last one or two minutes."""

    __slots__ = ("_before", "count", "now", "sum_ns")

    def __init__(self) -> None:
        self.count = 0
        self.sum_ns = 0
        self.now = [0] * _BUCKETS
        self._before = [0] * _BUCKETS

    def record(self, duration_ns: int, count: int = 1) -> None:
        self.count += count
        self.sum_ns += duration_ns * count
        shift = duration_ns.bit_length() - 4
        self.now[(shift << 3) + (duration_ns >> shift) if shift > 0 else max(duration_ns, 0)] += count

    def add(self, other: Durations, *, as_zero: bool = False) -> None:
        """Add the values of another histogram; with ``as_zero``, count each of its values as a duration of 0."""
        self.count += other.count
        self.sum_ns += 0 if as_zero else other.sum_ns
        if as_zero:
            self.now[0] += sum(other.now)
            self._before[0] += sum(other._before)
            return
        self.now = [*map(operator.add, self.now, other.now)]
        self._before = [*map(operator.add, self._before, other._before)]

    def rotate(self) -> None:
        """Called every minute: quantiles then include only the minute that has just ended, and later values."""
        self._before, self.now = self.now, [0] * _BUCKETS

    def quantiles_ms(self, wanted: Iterable[float]) -> Iterator[float]:
        """The quantiles in ms for ``wanted``, numbers from 0 to 1 in ascending order; 0 if nothing was recorded."""
        buckets = [now + before for now, before in zip(self.now, self._before, strict=True)]
        total, seen, index = sum(buckets), 0, -1
        for quantile in wanted:
            while index + 1 < _BUCKETS and (seen < quantile * total or index < 0):
                index += 1
                seen += buckets[index]
            yield _upper_ns(index) / 1e6 if total else 0.0


def _upper_ns(index: int) -> int:
    """The upper bound of a bucket in ns."""
    if index < 2 * SUB_BUCKETS:
        return index
    shift = index // SUB_BUCKETS - 1
    return ((index - (shift << 3)) + 1) << shift
