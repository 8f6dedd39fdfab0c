"""``aiokafka.structs``."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from oncelog.aiokafka.errors import KafkaError
from oncelog.client.core.structs import (
    ConsumerRecord,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    RecordMetadata,
    TopicPartition,
)

KT = TypeVar("KT")
VT = TypeVar("VT")


class BrokerMetadata(NamedTuple):
    """A broker of the cluster."""

    nodeId: int | str
    host: str
    port: int
    rack: str | None


class PartitionMetadata(NamedTuple):
    """A partition with the brokers that hold it."""

    topic: str
    partition: int
    leader: int
    replicas: list[int]
    isr: list[int]
    error: KafkaError | None


__all__ = [
    "KT",
    "VT",
    "BrokerMetadata",
    "ConsumerRecord",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "PartitionMetadata",
    "RecordMetadata",
    "TopicPartition",
]
