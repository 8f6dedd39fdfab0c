"""Chooses the partition of a record.

Called by the producer for every record. Keyed records go where every Java client would put them (murmur2 over all
partitions). Records without a key go to one partition until a batch is full, then to another (uniform sticky,
KIP-794), or take turns over the available partitions (round robin).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import accumulate

from oncelog.client.core.connection.metadata import TopicImage
from oncelog.records.partitioner import partition_for_key

FULL_ENOUGH = 0.9
"""The fraction of ``batch.size`` that makes a batch count as full: it is closed as soon as the next record might not
fit."""
Dice = Callable[[int], int]
"""A function that returns a random number from 0 up to, but not including, its argument."""


class RoundRobin:
    """Each available partition in turn, separately for each topic (``RoundRobinPartitioner``)."""

    def __init__(self) -> None:
        self._counters: dict[str, int] = {}

    def next(self, topic: TopicImage) -> int:
        count = self._counters.get(topic.name, 0)
        self._counters[topic.name] = count + 1
        available = topic.available
        if available:
            return available[count % len(available)]
        return count % topic.partition_count


class _StickyPartition:
    """The partition of a topic that is being filled, and the bytes that it has received."""

    __slots__ = ("bytes_sent", "partition")

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.bytes_sent = 0


class UniformSticky:
    """Stays with one partition until it has received ``batch.size`` bytes and its batch is complete, which is less than
    twice that size (KIP-794).

    :param queue_lengths: batches waiting for each partition of a topic, for adaptive partitioning.
    :param passed_over: partitions to avoid for new batches, if there are others.
    """

    def __init__(
        self,
        batch_size_bytes: int,
        dice: Dice,
        queue_lengths: Callable[[str], Mapping[int, int]],
        adaptive: bool = True,
        passed_over: Callable[[TopicImage], Collection[int]] = lambda topic: (),
    ) -> None:
        self._batch_size_bytes = max(1, batch_size_bytes)
        self._dice = dice
        self._queue_lengths = queue_lengths
        self._adaptive = adaptive
        self._passed_over = passed_over
        self._stuck: dict[str, _StickyPartition] = {}

    def current(self, topic: TopicImage) -> int:
        """The partition of the topic that is being filled."""
        stuck = self._stuck.get(topic.name)
        if stuck is None or stuck.partition >= topic.partition_count:
            stuck = self._stuck[topic.name] = _StickyPartition(self._choose(topic))
        return stuck.partition

    def batch_ended(self, topic: TopicImage, size_bytes: int) -> None:
        """Count a batch of the current partition that is full or sent; choose another partition if this one has
        received enough."""
        stuck = self._stuck.get(topic.name)
        if stuck is None:
            return
        stuck.bytes_sent += size_bytes
        if stuck.bytes_sent >= self._batch_size_bytes * FULL_ENOUGH:
            self._stuck[topic.name] = _StickyPartition(self._choose(topic))

    def _choose(self, topic: TopicImage) -> int:
        candidates: Sequence[int] = topic.available or range(topic.partition_count)
        unwanted = self._passed_over(topic)
        if unwanted:
            candidates = [partition for partition in candidates if partition not in unwanted] or candidates
        if len(candidates) == 1:
            return candidates[0]
        lengths = self._queue_lengths(topic.name) if self._adaptive else {}
        if not lengths:
            return candidates[self._dice(len(candidates))]
        queued = [lengths.get(partition, 0) for partition in candidates]
        most = max(queued) + 1
        cumulative = list(accumulate(most - length for length in queued))
        return candidates[bisect_right(cumulative, self._dice(cumulative[-1]))]


def partitions_of_keys(keys: Sequence[bytes | None], partition_count: int) -> list[int]:
    """The partition that Java's partitioner chooses for each key; -1 for a null key."""
    return [-1 if key is None else partition_for_key(key, partition_count) for key in keys]


def keyed(key: bytes, topic: TopicImage) -> int:
    """The partition that Java's partitioner chooses for a key, among all partitions, available or not."""
    return partition_for_key(key, topic.partition_count)
