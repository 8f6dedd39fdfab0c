"""A whole producer core on a fake wire: metadata of one topic, accumulator, transaction manager, sender."""

from __future__ import annotations

from typing import Any, NamedTuple

from oncelog.client.core.batches.accumulator import Accumulator, ProducerBatch
from oncelog.client.core.batches.record_sizes import largest_size
from oncelog.client.core.config import ProducerConfig
from oncelog.client.core.connection.metadata import ClusterMetadata
from oncelog.client.core.connection.wire import (
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    METADATA,
    PRODUCE,
)
from oncelog.client.core.metrics import NetworkMetrics
from oncelog.client.core.producer.producer_metrics import ProducerMetrics
from oncelog.client.core.producer.sender import Sender
from oncelog.client.core.transactions.transaction_manager import TransactionManager
from oncelog.client.core.transactions.two_phase import TwoPhaseTransactions
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.find_coordinator_response import Coordinator, FindCoordinatorResponse
from oncelog.protocol.generated.init_producer_id_response import InitProducerIdResponse
from oncelog.protocol.generated.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from oncelog.protocol.generated.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from oncelog.records.batch import BatchHeader, read_header
from oncelog.types import TopicPartition
from tests.unit.client.core.wires import FakeWire, Sent

TOPIC = "t"
P0, P1 = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)


class Outcome(NamedTuple):
    handles: tuple[object, ...]
    offset: int
    error: KafkaError | None


class ProducerCore:
    def __init__(self, wire: FakeWire | None = None, **settings: Any) -> None:
        self.wire = wire or FakeWire()
        self.config = ProducerConfig.from_keywords(**settings)
        self.outcomes: list[Outcome] = []
        self.metadata = ClusterMetadata(self.wire, max_age_ms=300_000, retry_backoff_ms=100, retry_backoff_max_ms=1000)
        self.accumulator = Accumulator(
            batch_size_bytes=self.config.max_batch_size,
            buffer_memory_bytes=self.config.buffer_memory,
            compression=self.config.compression,
            on_done=self._done,
            on_space=lambda: None,
        )
        self.transactions: TransactionManager | None = None
        if self.config.enable_idempotence:
            manager = TwoPhaseTransactions if self.config.two_phase_commit else TransactionManager
            self.transactions = manager(
                self.wire,
                self.metadata,
                self.accumulator,
                transactional_id=self.config.transactional_id,
                transaction_timeout_ms=self.config.transaction_timeout_ms,
                retry_backoff_ms=100,
                retry_backoff_max_ms=1000,
                on_change=self.poll,
            )
        self.network_metrics = NetworkMetrics(self.wire.now_ms())
        self.metrics = ProducerMetrics(self.network_metrics)
        self.sender = Sender(self.config, self.wire, self.metadata, self.accumulator, self.transactions, self.metrics)
        self.metadata.want([TOPIC])
        self.metadata.refresh()
        self.wire.pass_time(1)
        self.wire.take(METADATA).answer(metadata_answer())

    def _done(self, batch: ProducerBatch, offset: int, time: int, start: int, error: KafkaError | None) -> None:
        if error is not None:
            self.metrics.failed(batch)
        self.outcomes.append(Outcome(tuple(batch.handles), offset, error))

    def poll(self) -> None:
        self.sender.poll(self.wire.now_ms())

    @property
    def txn(self) -> TransactionManager:
        assert self.transactions is not None
        return self.transactions

    def start(self, producer_id: int = 7, epoch: int = 0) -> ProducerCore:
        """With a producer id."""
        self.txn.initialize()
        self.poll()
        if self.txn.transactional:
            self.wire.take(FIND_COORDINATOR).answer(coordinator(self.config.transactional_id or ""))
        self.wire.take(INIT_PRODUCER_ID).answer(InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch))
        return self

    def meet(self) -> ProducerCore:
        """The leader of P0 acknowledges a first record, at sequence 0: after that, several batches are in flight."""
        self.send(b"first")
        stored(self.produced())
        self.outcomes.clear()
        return self

    def append(self, value: bytes, partition: TopicPartition = P0) -> None:
        if self.transactions is not None and self.transactions.transactional:
            self.transactions.check_send()
            self.transactions.add_partition(partition)
        size = largest_size(None, value, ())
        batch = self.accumulator.append(partition, 5, None, value, (), size, self.wire.now_ms())
        assert batch is not None
        batch.handles.append(value)

    def send(self, value: bytes, partition: TopicPartition = P0) -> None:
        """A record in a batch of its own."""
        self.append(value, partition)
        self.accumulator.queues[partition][-1].closed = True
        self.poll()

    def produced(self) -> Sent:
        return self.wire.take(PRODUCE)


def header(sent: Sent, index: int = 0) -> BatchHeader:
    """Header of the batch for the request's ``index``-th partition."""
    return read_header(sent.message.topic_data[0].partition_data[index].records)


def sequence(sent: Sent) -> tuple[int, int, int]:
    """Producer id, epoch and base sequence of a request's batch."""
    found = header(sent)
    return found.producer_id, found.producer_epoch, found.base_sequence


def stored(sent: Sent, offset: int = 0) -> None:
    """The broker has stored what was sent."""
    refuse(sent, Error.NONE, offset)


def refuse(sent: Sent, error: Error, offset: int = -1, log_start_offset: int = 0) -> None:
    partitions = [
        PartitionProduceResponse(item.index, error, offset, -1, log_start_offset)
        for item in sent.message.topic_data[0].partition_data
    ]
    sent.answer(ProduceResponse([TopicProduceResponse(name=TOPIC, partition_responses=partitions)]))


def metadata_answer(
    leader: int = 1, epoch: int = 0, partitions: int = 2, topic_id: bytes = bytes(16)
) -> MetadataResponse:
    return MetadataResponse(
        brokers=[MetadataResponseBroker(1, "a", 1), MetadataResponseBroker(2, "b", 2)],
        topics=[
            MetadataResponseTopic(
                name=TOPIC,
                topic_id=topic_id,
                partitions=[
                    MetadataResponsePartition(partition_index=n, leader_id=leader, leader_epoch=epoch)
                    for n in range(partitions)
                ],
            )
        ],
    )


def coordinator(key: str, node: int = 2) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(coordinators=[Coordinator(key, node, "b", 2)])
