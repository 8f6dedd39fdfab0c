"""Append, apply, release: how both coordinators turn decisions into durable state.

A coordinator's state is a fold over its internal topic. ``write`` appends the decided records, applies them with
the very function that replays them at start, and resolves only when they are committed (below the high
watermark, which under the flush policy ``commit`` means on stable storage). A failed append applies nothing.

Callers: ``coordinator.transaction`` and ``coordinator.group``. The broker implements :class:`CoordinatorHost`
and calls ``load``/``unload`` when it gains or loses the leadership of an internal partition.
Source: Kafka's ``CoordinatorRuntime`` (KIP-848) and ``TransactionStateManager``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from oncelog.deferred import Deferred
from oncelog.errors import Error
from oncelog.timers import Timers
from oncelog.types import NO_PRODUCER, ProducerStamp, TopicPartition, java_hash_partition

logger = logging.getLogger(__name__)


class CoordinatorRecord(NamedTuple):
    """A record of an internal topic; a value of None removes the key (tombstone)."""

    key: bytes
    value: bytes | None


class LoggedRecord(NamedTuple):
    """A record as the log holds it; ``producer`` is ``NO_PRODUCER`` outside a transaction."""

    offset: int
    timestamp_ms: int
    producer: ProducerStamp
    key: bytes
    value: bytes | None


class LoggedMarker(NamedTuple):
    """The end of a producer's transaction on this internal partition."""

    offset: int
    producer: ProducerStamp
    commit: bool


class Appended(NamedTuple):
    """Outcome of an append: where the records are, and when they are safe.

    ``error`` other than NONE: nothing was written and ``committed`` is already resolved with it.
    """

    error: Error
    base_offset: int
    committed: Deferred[Error]


class CoordinatorHost(Protocol):
    """What a coordinator needs of the broker that it lives in."""

    timers: Timers

    def append_records(
        self,
        partition: TopicPartition,
        records: Sequence[CoordinatorRecord],
        now_ms: int,
        producer: ProducerStamp = NO_PRODUCER,
    ) -> Appended:
        """One batch with acks=all; a ``producer`` makes it transactional (no sequence, TxnOffsetCommit)."""
        ...


class Shard(Protocol):
    """The state of one internal partition."""

    def replay(self, record: LoggedRecord) -> None:
        """Apply one record: the only way in which state changes, live and at load."""
        ...

    def replay_marker(self, marker: LoggedMarker) -> None: ...

    def loaded(self, now_ms: int) -> None:
        """All of the log was replayed and this broker is the coordinator: start timers, finish what is unfinished."""
        ...

    def unloaded(self) -> None:
        """Another broker is the coordinator now: cancel timers, answer what waits with NOT_COORDINATOR."""
        ...


S = TypeVar("S", bound=Shard)


class CoordinatorRuntime(Generic[S]):
    """The shards of one internal topic that this broker leads."""

    def __init__(
        self,
        host: CoordinatorHost,
        topic: str,
        partitions: int,
        new_shard: Callable[[TopicPartition, int], S],
    ) -> None:
        """:param new_shard: makes a partition's empty state from it and its leader epoch (the coordinator epoch)."""
        self.host = host
        self.topic = topic
        self.partitions = partitions
        self._new_shard = new_shard
        self._shards: dict[int, S] = {}
        self._loading: set[int] = set()
        self._unreadable: set[int] = set()

    def partition_for(self, key: str) -> TopicPartition:
        """Owner of a transactional id or group id."""
        return TopicPartition(self.topic, java_hash_partition(key, self.partitions))

    def shard_for(self, key: str) -> S | Error:
        """The shard that owns ``key``, or NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS."""
        partition = self.partition_for(key).partition
        shard = self._shards.get(partition)
        if shard is not None:
            return shard
        if partition in self._unreadable:
            return Error.COORDINATOR_NOT_AVAILABLE
        return Error.COORDINATOR_LOAD_IN_PROGRESS if partition in self._loading else Error.NOT_COORDINATOR

    @property
    def is_whole(self) -> bool:
        """Whether every partition could be read."""
        return not self._unreadable

    def shard(self, partition: int) -> S | None:
        return self._shards.get(partition)

    def shards(self) -> Iterator[S]:
        """Every loaded shard, in the order of partitions."""
        for partition in sorted(self._shards):
            yield self._shards[partition]

    @property
    def loading(self) -> bool:
        return bool(self._loading)

    def load(self, partition: int, epoch: int, log: Iterable[LoggedRecord | LoggedMarker], now_ms: int) -> None:
        """Become the coordinator of a partition: replay its log, then let it act."""
        if self.replay(partition, epoch, log):
            self.begin(partition, now_ms)

    def replay(self, partition: int, epoch: int, log: Iterable[LoggedRecord | LoggedMarker]) -> bool:
        """The first half of :meth:`load`: know what the log knows.

        False where it cannot be read: whom the partition owns is answered COORDINATOR_NOT_AVAILABLE, all others are
        served.
        """
        self._loading.add(partition)
        self._unreadable.discard(partition)
        topic_partition = TopicPartition(self.topic, partition)
        shard = self._new_shard(topic_partition, epoch)
        offset = -1
        try:
            for entry in log:
                offset = entry.offset
                if isinstance(entry, LoggedMarker):
                    shard.replay_marker(entry)
                else:
                    shard.replay(entry)
        except Exception:  # whatever a damaged record makes of its reader
            logger.exception(
                "%s cannot be read at or after offset %d: its groups or transactional ids have no coordinator until "
                "the broker is started on a mended copy",
                topic_partition,
                offset,
            )
            self._unreadable.add(partition)
            return False
        finally:
            self._loading.discard(partition)
        self._shards[partition] = shard
        return True

    def begin(self, partition: int, now_ms: int) -> None:
        """The second half: start timers, finish what is unfinished."""
        self._shards[partition].loaded(now_ms)

    def unload(self, partition: int) -> None:
        shard = self._shards.pop(partition, None)
        if shard is not None:
            shard.unloaded()

    def write(
        self,
        partition: TopicPartition,
        records: Sequence[CoordinatorRecord],
        now_ms: int,
        producer: ProducerStamp = NO_PRODUCER,
    ) -> Deferred[Error]:
        """Append, apply, and resolve with NONE once committed, or with why nothing was written.

        No records: nothing is appended and the answer is NONE at once. Errors are those of the log; the
        coordinators translate them (``Error.NOT_ENOUGH_REPLICAS`` to COORDINATOR_NOT_AVAILABLE, ...).
        """
        shard = self._shards.get(partition.partition)
        if shard is None:
            return Deferred.of(Error.NOT_COORDINATOR)
        if not records:
            return Deferred.of(Error.NONE)
        appended = self.host.append_records(partition, records, now_ms, producer)
        if appended.error is Error.NONE:
            for delta, (key, value) in enumerate(records):
                shard.replay(LoggedRecord(appended.base_offset + delta, now_ms, producer, key, value))
        return appended.committed

    def complete_transaction(self, partition: int, marker: LoggedMarker) -> None:
        """A marker was appended to an internal partition (``__consumer_offsets``)."""
        shard = self._shards.get(partition)
        if shard is not None:
            shard.replay_marker(marker)
