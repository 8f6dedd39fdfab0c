"""Token buckets, one for each owner: an owner that exceeds its rate waits (client quotas, connection rates).

Called by ``throttle`` and ``broker.server.connections.connection_limits``. A bucket stores the time from which its
owner need not wait; usage moves this time forward, according to the owner's rate. Unused capacity is kept for a limited
time.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from typing import Generic, TypeVar

MAX_BUCKETS = 10_000
LONGEST_WAIT_MS = 2**31 - 1
LONGEST_NAME = 256
"""Maximum length of an owner's name. Longer names with the same prefix share a bucket, so that a client cannot exhaust
the memory with invented names."""

Owner = TypeVar("Owner")


class Bucket:
    """The usage of one owner.

    ``last_wait_ms`` and ``used`` are for metrics. :ivar used: the sum of all amounts counted.
    """

    __slots__ = ("free_at_ms", "last_wait_ms", "used")

    def __init__(self) -> None:
        self.free_at_ms = 0.0
        self.used = 0.0
        self.last_wait_ms = 0


class Buckets(Generic[Owner]):
    """The buckets of all owners, at most ``MAX_BUCKETS``: beyond that, the buckets with the shortest waits are
    dropped."""

    def __init__(self, most: int = MAX_BUCKETS) -> None:
        self._most = most
        self._by_owner: dict[Owner, Bucket] = {}

    def __len__(self) -> int:
        return len(self._by_owner)

    def items(self) -> Iterator[tuple[Owner, Bucket]]:
        return iter(list(self._by_owner.items()))

    def use(self, owner: Owner, amount: float, rate: float, saved_ms: int, now_ms: int) -> int:
        """Count ``amount`` against ``rate`` per second, with a burst of up to ``saved_ms``; returns the wait in ms."""
        bucket = self._by_owner.get(owner)
        if bucket is None:
            bucket = self._opened(owner)
        begin = max(bucket.free_at_ms, now_ms - saved_ms)
        bucket.free_at_ms = min(begin + amount / rate * 1000, now_ms + LONGEST_WAIT_MS)
        bucket.used += amount
        bucket.last_wait_ms = wait_ms = max(0, round(bucket.free_at_ms - now_ms))
        return wait_ms

    def wait_ms(self, owner: Owner, now_ms: int) -> int:
        """How long in ms the owner still has to wait because of earlier usage."""
        bucket = self._by_owner.get(owner)
        return 0 if bucket is None else max(0, round(bucket.free_at_ms - now_ms))

    def clock_was_set(self, step_ms: int) -> None:
        for bucket in self._by_owner.values():
            bucket.free_at_ms += step_ms

    def _opened(self, owner: Owner) -> Bucket:
        if len(self._by_owner) >= self._most:  # dropping half of the buckets at once makes this expensive step rare
            kept = nlargest(self._most // 2, self._by_owner.items(), key=_free_at_ms)
            self._by_owner = dict(kept)
        bucket = self._by_owner[owner] = Bucket()
        return bucket


def _free_at_ms(item: tuple[object, Bucket]) -> float:
    return item[1].free_at_ms
