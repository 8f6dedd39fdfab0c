"""Who has used more of a rate than is there waits: one bucket for each owner (quotas of clients, rates of connections).

Called by ``broker.throttle`` and ``server.connection_limits``. What is used moves the time from which its owner has
nothing to wait for, at the owner's rate; what was left unused counts for a while and no longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from typing import Generic, TypeVar

MOST_BUCKETS = 10_000
LONGEST_WAIT_MS = 2**31 - 1
LONGEST_NAME = 256
"""Longer names share what those have that begin alike: who makes names up is not to fill the memory with them."""

Owner = TypeVar("Owner")


class Bucket:
    """:ivar used: everything that was counted; for metrics, as is ``last_wait_ms``."""

    __slots__ = ("free_at_ms", "last_wait_ms", "used")

    def __init__(self) -> None:
        self.free_at_ms = 0.0
        self.used = 0.0
        self.last_wait_ms = 0


class Buckets(Generic[Owner]):
    """Buckets of owners, at most ``MOST_BUCKETS``: past that those go that have the least to wait for."""

    def __init__(self, most: int = MOST_BUCKETS) -> None:
        self._most = most
        self._by_owner: dict[Owner, Bucket] = {}

    def __len__(self) -> int:
        return len(self._by_owner)

    def items(self) -> Iterator[tuple[Owner, Bucket]]:
        return iter(list(self._by_owner.items()))

    def use(self, owner: Owner, amount: float, rate: float, saved_ms: int, now_ms: int) -> int:
        """Count ``amount`` at ``rate`` a second, of which ``saved_ms`` may be saved up; how long the owner waits."""
        bucket = self._by_owner.get(owner)
        if bucket is None:
            bucket = self._opened(owner)
        begin = max(bucket.free_at_ms, now_ms - saved_ms)
        bucket.free_at_ms = min(begin + amount / rate * 1000, now_ms + LONGEST_WAIT_MS)
        bucket.used += amount
        bucket.last_wait_ms = wait_ms = max(0, round(bucket.free_at_ms - now_ms))
        return wait_ms

    def wait_ms(self, owner: Owner, now_ms: int) -> int:
        """How long the owner waits for what it has used so far."""
        bucket = self._by_owner.get(owner)
        return 0 if bucket is None else max(0, round(bucket.free_at_ms - now_ms))

    def clock_was_set(self, step_ms: int) -> None:
        for bucket in self._by_owner.values():
            bucket.free_at_ms += step_ms

    def _opened(self, owner: Owner) -> Bucket:
        if len(self._by_owner) >= self._most:  # half of them go, so that this is rare
            kept = nlargest(self._most // 2, self._by_owner.items(), key=_free_at_ms)
            self._by_owner = dict(kept)
        bucket = self._by_owner[owner] = Bucket()
        return bucket


def _free_at_ms(item: tuple[object, Bucket]) -> float:
    return item[1].free_at_ms
