"""Fetches that wait for more records (Kafka's ``DelayedFetch``): woken by a partition's advance or by time.

A parked fetch looks again whenever the high watermark or the last stable offset of one of its partitions moves
or a partition fails; it is answered with what there is when its ``max_wait_ms`` is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from oncelog.broker.context import Channel
from oncelog.timers import Timer, Timers
from oncelog.types import TopicPartition

MOST_WATCHED = 250_000
"""Partitions of all fetches that wait, half a kilobyte each. Beyond that who waits for most is answered at once."""


class ParkedFetch:
    """A fetch that waits.

    ``attempt(final, woken)`` answers the request and returns True when there is enough, or in any case if ``final``;
    ``woken`` is the one partition that is not what it was, None for any.
    """

    __slots__ = ("attempt", "channel", "partitions", "timer")

    def __init__(
        self,
        channel: Channel,
        partitions: tuple[TopicPartition, ...],
        attempt: Callable[[bool, TopicPartition | None], bool],
    ) -> None:
        self.channel = channel
        self.partitions = partitions
        self.attempt = attempt
        self.timer: Timer | None = None


class FetchPurgatory:
    """Parked fetches by the partitions that they watch, in the order of parking."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._watchers: dict[TopicPartition, dict[ParkedFetch, None]] = {}
        self._by_channel: dict[int, dict[ParkedFetch, None]] = {}
        self._watched = 0

    def __len__(self) -> int:
        return sum(len(parked) for parked in self._by_channel.values())

    def park(self, fetch: ParkedFetch, deadline_ms: int) -> None:
        for partition in fetch.partitions:
            self._watchers.setdefault(partition, {})[fetch] = None
        self._by_channel.setdefault(fetch.channel.connection_id, {})[fetch] = None
        fetch.timer = self._timers.schedule(deadline_ms, lambda _: self._expire(fetch))
        self._watched += len(fetch.partitions)
        while self._watched > MOST_WATCHED:
            self._expire(max(self._all(), key=lambda parked: len(parked.partitions)))

    def wake(self, partition: TopicPartition) -> None:
        """``partition`` has more to read, failed, or is gone."""
        watchers = self._watchers.get(partition)
        if not watchers:
            return
        for fetch in list(watchers):
            if fetch in watchers and fetch.attempt(False, partition):
                self._forget(fetch)

    def drop(self, channel: Channel) -> None:
        """The connection ended: nobody wants its answers."""
        for fetch in list(self._by_channel.get(channel.connection_id, ())):
            self._forget(fetch)

    def expire_all(self) -> None:
        """The broker stops: answer everything with what there is."""
        for fetch in self._all():
            self._expire(fetch)

    def _all(self) -> Iterable[ParkedFetch]:
        return [fetch for parked in self._by_channel.values() for fetch in parked]

    def _expire(self, fetch: ParkedFetch) -> None:
        self._forget(fetch)
        fetch.attempt(True, None)

    def _forget(self, fetch: ParkedFetch) -> None:
        if fetch.timer is not None:
            fetch.timer.cancel()
        for partition in fetch.partitions:
            watchers = self._watchers.get(partition)
            if watchers is not None:
                watchers.pop(fetch, None)
                if not watchers:
                    del self._watchers[partition]
        parked = self._by_channel.get(fetch.channel.connection_id)
        if parked is not None and fetch in parked:
            del parked[fetch]
            self._watched -= len(fetch.partitions)
            if not parked:
                del self._by_channel[fetch.channel.connection_id]
