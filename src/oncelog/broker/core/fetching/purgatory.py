"""Fetches that wait for more records (Kafka's ``DelayedFetch``), until a partition advances or their time is over.

A parked fetch tries again whenever the high watermark or the last stable offset of one of its partitions moves or a
partition fails; when its ``max_wait_ms`` is over it is answered with what is available. A fetch of many partitions is
registered and unregistered in chunks. Fetches that were woken before without being answered are also woken in chunks:
thousands of fetches may wait for one partition to have more records than will ever arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from oncelog.broker.core.requests.session import Channel
from oncelog.broker.core.requests.tasks import Tasks
from oncelog.broker.core.requests.work import Work, in_chunks
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.timers import Timer, Timers
from oncelog.types import TopicPartition

MAX_WATCHED = 250_000
"""Limit on the partitions of all waiting fetches, each of which takes half a kilobyte. Beyond the limit, the fetch with
the most partitions is answered."""
LEFT_IN_A_CHUNK = 200
LOOKED_AT_IN_A_CHUNK = 20

K = TypeVar("K")
T = TypeVar("T")


class ParkedFetch(Deferred[T]):
    """A fetch that waits, and the deferred of its own answer."""

    __slots__ = ("channel", "is_over", "partitions", "timer")

    def __init__(self, channel: Channel) -> None:
        Deferred.__init__(self)
        self.channel = channel
        self.partitions: Sequence[TopicPartition] = ()
        self.timer: Timer | None = None
        self.is_over = False

    def attempt(self, woken: TopicPartition | None) -> bool:
        """Called when the partition ``woken`` has changed: answer the request if there is enough data, and return
        whether it was answered. With None, when the time is over, answer in any case."""
        raise NotImplementedError


class FetchPurgatory:
    """Parked fetches by the partitions that they wait for, in the order of parking."""

    def __init__(self, timers: Timers, tasks: Tasks) -> None:
        self._timers = timers
        self._tasks = tasks
        self._watchers: dict[TopicPartition, dict[ParkedFetch[Any], None]] = {}
        self._waiting: dict[TopicPartition, dict[ParkedFetch[Any], None]] = {}
        """By partition, fetches that were woken before without being answered; ``_watchers`` has those that were not
        woken yet."""
        self._woken: dict[TopicPartition, bool] = {}
        """Partitions whose fetches in ``_waiting`` are being woken, and whether they must be woken once more
        afterwards."""
        self._by_channel: dict[int, dict[ParkedFetch[Any], None]] = {}
        self._watched = 0

    def __len__(self) -> int:
        return sum(len(parked) for parked in self._by_channel.values())

    def park(self, fetch: ParkedFetch[Any], partitions: Sequence[TopicPartition], deadline_ms: int) -> None:
        """Park a fetch until one of ``partitions`` advances, or until the deadline. The fetch may be finished after
        this call."""
        fetch.partitions = partitions
        _add(self._by_channel, fetch.channel.connection_id, fetch)
        for partition in partitions:
            _add(self._watchers, partition, fetch)
        fetch.timer = self._timers.schedule(deadline_ms, partial(self._expire, fetch))
        self._watched += len(partitions)
        while self._watched > MAX_WATCHED:
            self._expire(max(self._all(), key=lambda parked: len(parked.partitions)))

    def wake(self, partition: TopicPartition) -> None:
        """Wake the fetches that wait for ``partition``, because it has more to read, failed, or was deleted."""
        if self._woken and partition in self._woken:  # most often no fetch waits: then no key is hashed
            self._woken[partition] = True
        elif self._waiting and partition in self._waiting:
            self._tasks.begin(self._wake_waiting(partition))
        watching = self._watchers.get(partition) if self._watchers else None
        if watching is None:
            return
        for fetch in list(watching):
            if fetch.is_over:
                continue
            if fetch.attempt(partition):
                self.forget(fetch)
                continue
            if not fetch.is_over:
                _add(self._waiting, partition, fetch)
                _remove(self._watchers, partition, fetch)

    def _wake_waiting(self, partition: TopicPartition) -> Work[None]:
        self._woken[partition] = True
        try:
            while self._woken[partition]:
                self._woken[partition] = False
                for part in in_chunks(list(self._waiting.get(partition, ())), LOOKED_AT_IN_A_CHUNK):
                    for fetch in part:
                        if not fetch.is_over and fetch.attempt(partition):
                            self.forget(fetch)
                    yield
        finally:
            del self._woken[partition]

    def drop(self, channel: Channel) -> None:
        """Drop the fetches of a connection that ended."""
        for fetch in list(self._by_channel.get(channel.connection_id, ())):
            self.forget(fetch)

    def expire_all(self) -> None:
        """Answer every fetch with the data available, because the broker stops."""
        for fetch in self._all():
            self._expire(fetch)

    def _all(self) -> Iterable[ParkedFetch[Any]]:
        return [fetch for parked in self._by_channel.values() for fetch in parked]

    def _expire(self, fetch: ParkedFetch[Any], _now_ms: int = 0) -> None:
        self.forget(fetch)
        fetch.attempt(None)

    def forget(self, fetch: ParkedFetch[Any]) -> None:
        """Unregister a fetch that was answered, or whose answer is no longer needed."""
        if fetch.is_over:
            return
        fetch.is_over = True
        if fetch.timer is not None:
            fetch.timer.cancel()
        partitions = fetch.partitions
        _remove(self._by_channel, fetch.channel.connection_id, fetch)
        self._watched -= len(partitions)
        if len(partitions) <= LEFT_IN_A_CHUNK:
            self._leave(fetch, partitions)
        else:
            self._tasks.begin(self._leaving(fetch))

    def _leaving(self, fetch: ParkedFetch[Any]) -> Work[None]:
        for part in in_chunks(fetch.partitions, LEFT_IN_A_CHUNK):
            self._leave(fetch, part)
            yield

    def _leave(self, fetch: ParkedFetch[Any], partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            _remove(self._watchers, partition, fetch)
            if self._waiting:
                _remove(self._waiting, partition, fetch)


def _add(fetches: dict[K, dict[ParkedFetch[Any], None]], key: K, fetch: ParkedFetch[Any]) -> None:
    there = fetches.get(key)
    if there is None:
        fetches[key] = {fetch: None}
    else:
        there[fetch] = None


def _remove(fetches: dict[K, dict[ParkedFetch[Any], None]], key: K, fetch: ParkedFetch[Any]) -> None:
    there = fetches.get(key)
    if there is not None:
        there.pop(fetch, None)
        if not there:
            del fetches[key]
