"""The interface that the transaction coordinator needs from its broker."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from oncelog.broker.coordinator.runtime import CoordinatorHost
from oncelog.errors import Error
from oncelog.runtime.deferred import Deferred
from oncelog.types import ProducerIdAndEpoch, TopicPartition


class TxnMarker(NamedTuple):
    """The marker that ends one producer's transaction, to be written to each of ``partitions`` (WriteTxnMarkers)."""

    producer: ProducerIdAndEpoch
    commit: bool
    coordinator_epoch: int
    transaction_version: int
    partitions: tuple[TopicPartition, ...]


class TransactionHost(CoordinatorHost, Protocol):
    @property
    def transaction_version(self) -> int:
        """The current finalized level of ``transaction.version``; it may change while the broker runs."""
        ...

    def allocate_producer_id(self) -> Deferred[int] | int:
        """A producer id that this cluster has never allocated before; -1 if none is available now."""
        ...

    def write_markers(self, marker: TxnMarker, now_ms: int) -> Deferred[dict[TopicPartition, Error]]:
        """Write a marker to its partitions; resolves with the outcome of each partition, where NONE means that the
        marker is committed."""
        ...

    def topic_partitions(self, topic: str) -> int | None:
        """The number of the topic's partitions, or None if the topic does not exist: a deleted partition needs no
        marker."""
        ...
