"""The steps of one transaction against a Kafka cluster, each a blocking call.

Implements :class:`oncelog.spark.kafka.interface.ProducerTransaction` with the client's transactions of encoded batches
(:mod:`oncelog.client.aio.transactions.batch_transaction`). Its errors also say which permission is missing, or what
else a user can do.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from oncelog.client.aio.connection.cluster_access import ClusterAccess
from oncelog.client.aio.offset_lookups import OffsetLookups
from oncelog.client.aio.transactions.batch_transaction import BatchTransactions, ReadyBatch
from oncelog.client.core.client_errors import error_for
from oncelog.client.core.connection.coordinator_lookup import CoordinatorType
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.client.core.transactions.two_phase import refusal
from oncelog.errors import KafkaError
from oncelog.spark.kafka.advice import with_advice
from oncelog.spark.kafka.interface import PartitionBatch
from oncelog.spark.kafka.lanes import send_in_lanes
from oncelog.spark.kafka.rights import naming_the_right
from oncelog.spark.options import ClusterOptions
from oncelog.types import ProducerIdAndEpoch, TopicPartition

T = TypeVar("T")


class Connected(Protocol):
    """The part of a cluster's client that a transaction uses."""

    @property
    def aio(self) -> ClusterAccess: ...
    @property
    def options(self) -> ClusterOptions: ...

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` on the client's loop, and wait for its result."""
        ...

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start ``work`` on the client's loop; returns a future of its result."""
        ...


class KafkaTransaction:
    """The transactions of one transactional id; the consumer group of the marker has the same name."""

    def __init__(self, cluster: Connected, transactional_id: str, timeout_ms: int) -> None:
        self._run = cluster.run
        self._submit = cluster.submit
        self._options = cluster.options
        group = cluster.aio.finder(CoordinatorType.GROUP, transactional_id)
        self._offsets = OffsetLookups(cluster.aio, group, transactional_id)
        self._id = transactional_id
        self._timeout_ms = timeout_ms
        self._transaction = BatchTransactions(
            cluster.aio,
            transactional_id,
            timeout_ms,
            two_phase_commit=cluster.options.two_phase_commit,
            delivery_ms=cluster.options.delivery_ms,
            delivery_setting="kafka.delivery.timeout.ms",
            max_request_bytes=cluster.options.max_request_bytes,
        )

    def init_producer_id(self) -> None:
        try:
            with with_advice(self._timeout_ms), naming_the_right(self._id):
                self._run(self._transaction.init())
        except KafkaError as error:
            why = refusal(error.error) if self._options.two_phase_commit else None
            if why is None:
                raise
            raise error_for(error.error, f"kafka.transaction.two.phase.commit.enable=true was refused{why}") from error

    def producer(self) -> ProducerIdAndEpoch:
        return self._transaction.producer

    def join(self, producer: ProducerIdAndEpoch) -> None:
        self._transaction.join(producer)

    def committed_offsets(
        self, expected: TopicPartition, *, require_stable: bool = True
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        with naming_the_right(self._id, _marker_right(expected)):
            found = self._run(self._offsets.fetch(None, require_stable=require_stable, negative=True))
            if expected in found or not require_stable:
                return found
            return found | self._run(self._offsets.fetch([expected], require_stable=True, negative=True))

    def produce(self, batches: Iterable[PartitionBatch]) -> None:
        async def append(lane: int, batch_each: Mapping[TopicPartition, ReadyBatch]) -> None:
            topics = ", ".join(sorted({partition.topic for partition in batch_each}))
            with with_advice(self._timeout_ms), naming_the_right(self._id, f"WRITE on the topic {topics}"):
                await self._transaction.append(batch_each, channel=lane)

        send_in_lanes(batches, lambda lane, batch_each: self._submit(append(lane, batch_each)))

    def add_offset(self, partition: TopicPartition, offset: int, metadata: str) -> None:
        with with_advice(self._timeout_ms), naming_the_right(self._id, _marker_right(partition)):
            self._run(self._transaction.add_offsets(self._id, {partition: OffsetAndMetadata(offset, metadata)}))

    def end(self, *, commit: bool) -> None:
        with with_advice(self._timeout_ms):
            self._run(self._transaction.end(commit=commit))


def _marker_right(partition: TopicPartition) -> str:
    """The permission for a marker: it is an offset of a partition, and a commit of the offset requires READ on the
    topic.
    """
    return f"READ on the topic {partition.topic}, or name another one for the marker in the option markerTopic"
