"""Append, apply, release: how the coordinators make their decisions durable.

A coordinator's state follows from the records of its internal topic. ``write`` appends the decided records, applies
them with the same function that replays them at start, and resolves only when they are committed (below the high
watermark, which under the flush policy ``commit`` means on stable storage). A failed append applies nothing. A caller
that already has the new state passes ``apply`` (Kafka's ``replayRecords``). There are three cases: a transaction, whose
record does not contain its whole state; a classic group, whose members in memory are newer than the log; and committed
offsets, because they are many.

Callers: ``broker.coordinator.transaction`` and ``broker.coordinator.group``. The broker implements
:class:`CoordinatorHost` and calls ``load``/``unload`` when it gains or loses the leadership of an internal partition.
Source: Kafka's ``CoordinatorRuntime`` (KIP-848) and ``TransactionStateManager``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Protocol, TypeVar

from oncelog.errors import NONE, Error
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.timers import Timers
from oncelog.types import (
    NO_PRODUCER,
    ProducerIdAndEpoch,
    TopicPartition,
    java_hash_partition,
    java_hash_partition_of_parts,
)

if TYPE_CHECKING:
    from oncelog.broker.log.producers.verification_state import VerificationGuard

logger = logging.getLogger(__name__)

LOG_ERRORS: Final[Mapping[Error, Error]] = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.COORDINATOR_NOT_AVAILABLE,
    Error.REQUEST_TIMED_OUT: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_LEADER_OR_FOLLOWER: Error.NOT_COORDINATOR,
    Error.KAFKA_STORAGE_ERROR: Error.NOT_COORDINATOR,
    Error.NETWORK_EXCEPTION: Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.MESSAGE_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
    Error.RECORD_LIST_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
    Error.INVALID_FETCH_SIZE: Error.UNKNOWN_SERVER_ERROR,
}
"""Errors that clients get if the record of their request could not be written
(``CoordinatorOperationExceptionHelper``), by the log's error."""


def client_error(error: Error) -> Error:
    """The error that a coordinator returns to clients for an error of the log."""
    return LOG_ERRORS.get(error, error)


class CoordinatorRecord(NamedTuple):
    """A record of an internal topic; a value of None removes the key (tombstone)."""

    key: bytes
    value: bytes | None


class LoggedRecord(NamedTuple):
    """A record as stored in the log; ``producer`` is ``NO_PRODUCER`` outside a transaction."""

    offset: int
    timestamp_ms: int
    producer: ProducerIdAndEpoch
    key: bytes
    value: bytes | None


class LoggedMarker(NamedTuple):
    """The marker of a producer's transaction in this internal partition."""

    offset: int
    producer: ProducerIdAndEpoch
    commit: bool


class Appended(NamedTuple):
    """Outcome of an append: the offset of the first record, and a deferred that resolves once all are committed. If
    ``error`` is not NONE, nothing was written and ``committed`` has resolved with ``error``."""

    error: Error
    base_offset: int
    committed: Deferred[Error]


class CoordinatorHost(Protocol):
    """The interface that a coordinator needs from its broker."""

    timers: Timers

    def append_records(
        self,
        partition: TopicPartition,
        records: Sequence[CoordinatorRecord],
        now_ms: int,
        producer: ProducerIdAndEpoch = NO_PRODUCER,
        guard: VerificationGuard | None = None,
    ) -> Appended:
        """Append one batch with acks=all; with a ``producer`` the batch is transactional, without a sequence
        (TxnOffsetCommit).

        :param guard: from the verification of the producer's transaction (KIP-890).
        """
        ...

    def begin_task(self, work: Generator[None, None, None]) -> None:
        """Do work that grows with the amount of state: little work at once, more work in chunks between which other
        callbacks run."""
        ...


class Shard(Protocol):
    """The state of one partition of an internal topic."""

    def replay(self, record: LoggedRecord) -> None:
        """Apply one record; called when it is written, and at load."""
        ...

    def replay_marker(self, marker: LoggedMarker) -> None: ...

    def loaded(self, now_ms: int) -> None:
        """Called when the whole log is replayed and this broker coordinates the partition: start timers, complete
        unfinished work."""
        ...

    def unloaded(self) -> None:
        """Called when this broker no longer coordinates the partition: cancel timers, answer all waiting requests with
        NOT_COORDINATOR."""
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
        """:param new_shard: creates a partition's empty state from the leader epoch, which is the coordinator epoch."""
        self.host = host
        self.topic = topic
        self.partitions = partitions
        self._new_shard = new_shard
        self._shards: dict[int, S] = {}
        self._unreadable: set[int] = set()
        self.leads: Callable[[int, int | None], bool] | None = None
        """With several nodes, returns whether a node (None: any node) coordinates a partition."""

    def partition_for(self, key: str) -> TopicPartition:
        """The partition of the internal topic that owns a transactional id or group id."""
        return TopicPartition(self.topic, java_hash_partition(key, self.partitions))

    def shard_for(self, key: str, node_id: int | None, beginning: str = "") -> S | Error:
        """The shard that owns ``key``; NOT_COORDINATOR if another node has it; COORDINATOR_NOT_AVAILABLE if its log
        cannot be read.

        It never returns COORDINATOR_LOAD_IN_PROGRESS: everything is loaded before any request is served.

        :param node_id: the node to which the request was sent; None: the request comes from the cluster itself, and any
            node may coordinate.
        :param beginning: what precedes ``key`` in this key and in many others.
        """
        if beginning:
            partition = java_hash_partition_of_parts(beginning, key, self.partitions)
        else:
            partition = java_hash_partition(key, self.partitions)
        if self.leads is not None and not self.leads(partition, node_id):
            return Error.NOT_COORDINATOR
        shard = self._shards.get(partition)
        if shard is not None:
            return shard
        return Error.COORDINATOR_NOT_AVAILABLE if partition in self._unreadable else Error.NOT_COORDINATOR

    @property
    def unreadable(self) -> int:
        """The number of partitions whose log could not be read."""
        return len(self._unreadable)

    def shard(self, partition: int) -> S | None:
        return self._shards.get(partition)

    def shards(self) -> Iterator[S]:
        """Every loaded shard, in partition order."""
        for partition in sorted(self._shards):
            yield self._shards[partition]

    def shards_of(self, node_id: int | None) -> Iterator[S]:
        """The shards that a node coordinates (None: any node)."""
        for partition in sorted(self._shards):
            if self.leads is None or self.leads(partition, node_id):
                yield self._shards[partition]

    def load(self, partition: int, epoch: int, log: Iterable[LoggedRecord | LoggedMarker], now_ms: int) -> None:
        """Become the coordinator of a partition: replay its log, then start timers and complete unfinished work."""
        if self.replay(partition, epoch, log):
            self.begin(partition, now_ms)

    def replay(self, partition: int, epoch: int, log: Iterable[LoggedRecord | LoggedMarker]) -> bool:
        """The first half of :meth:`load`: replay the log.

        Returns False if the log cannot be read: requests for keys of this partition then get COORDINATOR_NOT_AVAILABLE,
        all others are served.
        """
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
        except Exception:  # a damaged record can make its decoder raise any exception
            logger.exception(
                "%s cannot be read at or after offset %d: its groups or transactional ids have no coordinator until "
                "the broker is started again with its folder restored from a copy (dump-log shows what is whole)",
                topic_partition,
                offset,
            )
            self._unreadable.add(partition)
            return False
        self._shards[partition] = shard
        return True

    def begin(self, partition: int, now_ms: int) -> None:
        """The second half of :meth:`load`: start timers, complete unfinished work."""
        self._shards[partition].loaded(now_ms)

    def unload(self, partition: int) -> None:
        self._unreadable.discard(partition)
        shard = self._shards.pop(partition, None)
        if shard is not None:
            shard.unloaded()

    def write(
        self,
        partition: TopicPartition,
        records: Sequence[CoordinatorRecord],
        now_ms: int,
        producer: ProducerIdAndEpoch = NO_PRODUCER,
        guard: VerificationGuard | None = None,
        apply: Callable[[int], None] | None = None,
    ) -> Deferred[Error]:
        """Append records and apply them; resolves with NONE once they are committed, or with the error if nothing was
        written.

        Without records nothing is appended and the result is NONE at once. Errors are those of the log; coordinators
        return them to clients by way of :func:`client_error`.

        :param apply: called with the first record's offset once they are appended, instead of replaying them.
        """
        shard = self._shards.get(partition.partition)
        if shard is None:
            return Deferred.of(Error.NOT_COORDINATOR)
        if not records:
            return Deferred.of(NONE)
        error, base_offset, committed = self.host.append_records(partition, records, now_ms, producer, guard)
        if error is not NONE:
            return committed
        if apply is not None:
            apply(base_offset)
        else:
            for delta, (key, value) in enumerate(records):
                shard.replay(LoggedRecord(base_offset + delta, now_ms, producer, key, value))
        return committed

    def complete_transaction(self, partition: int, marker: LoggedMarker) -> None:
        """Apply a transaction's marker, which was appended to an internal partition (``__consumer_offsets``)."""
        shard = self._shards.get(partition)
        if shard is not None:
            shard.replay_marker(marker)
