"""Arguments and results of the admin client.

Called by the admin client, the command line and the console. Names are aiokafka's where it has one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple

from oncelog.client.core.structs import TopicPartition


class ConfigResourceType(IntEnum):
    """The kind of resource that has a configuration."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class NewTopic(NamedTuple):
    """A topic to create; -1 leaves partitions or replication to the broker's defaults."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    replica_assignments: Mapping[int, Sequence[int]] = MappingProxyType({})
    topic_configs: Mapping[str, str] = MappingProxyType({})


class RecordsToDelete(NamedTuple):
    """The new first offset of a partition; -1 deletes all records."""

    before_offset: int


class PartitionDescription(NamedTuple):
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class TopicDescription(NamedTuple):
    name: str
    topic_id: bytes
    internal: bool
    partitions: tuple[PartitionDescription, ...]


class PartitionReassignment(NamedTuple):
    """A move that is under way: the current replicas, those being added and those being removed."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class Node(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None


class ClusterDescription(NamedTuple):
    cluster_id: str | None
    controller_id: int
    nodes: tuple[Node, ...]


class FeatureLevel(NamedTuple):
    """A feature of the cluster (KIP-584): the level in force (0: none), and the levels supported by the node that
    answered."""

    level: int
    lowest: int
    highest: int


class ConfigResource(NamedTuple):
    """A topic (by name), a broker (by number) or a group."""

    type: ConfigResourceType
    name: str


CONFIG_SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}


class ConfigEntry(NamedTuple):
    """One property of a resource. ``value`` is None if it is secret or not set; ``source`` has Kafka's name for the
    origin of the value."""

    name: str
    value: str | None
    source: str
    read_only: bool
    sensitive: bool
    documentation: str | None

    @property
    def is_default(self) -> bool:
        return self.source == "DEFAULT_CONFIG"


class GroupListing(NamedTuple):
    """One group in a listing. ``state`` and ``type`` are empty if the broker is too old to report them."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class MemberDescription(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    assignment: tuple[TopicPartition, ...]


class GroupDescription(NamedTuple):
    """A group with its members. ``type`` is ``classic``, ``consumer`` (KIP-848) or ``share`` (KIP-932); ``assignor`` is
    the assignor in use.

    In a share group, several members may have the same partition.
    """

    group_id: str
    type: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: int
    members: tuple[MemberDescription, ...]


class ShareGroupOffset(NamedTuple):
    """The position of a share group in a partition: everything before ``start_offset`` is delivered for good.

    :ivar start_offset: None as long as no member has fetched from the partition.
    :ivar lag: how many records up to the high watermark are not delivered for good; None without a start, and from
        brokers before Apache Kafka 4.2.
    """

    start_offset: int | None
    lag: int | None


class TransactionListing(NamedTuple):
    transactional_id: str
    producer_id: int
    state: str


NO_TIME_LIMIT = 2**31 - 1
"""The transaction timeout in ms that stands for none: that of producers with two-phase commit."""


class TransactionDescription(NamedTuple):
    """A transactional id with its producer and its current transaction. ``start_time_ms`` is -1 while no transaction is
    open."""

    transactional_id: str
    coordinator: int
    state: str
    timeout_ms: int
    start_time_ms: int
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]

    @property
    def two_phase_commit(self) -> bool:
        """Whether a database decides the outcome of this producer's transactions, which then have no timeout
        (KIP-939)."""
        return self.timeout_ms == NO_TIME_LIMIT


class ProducerState(NamedTuple):
    """The state of a producer in one partition; ``transaction_start_offset`` is -1 if no transaction of the producer is
    open there."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    transaction_start_offset: int
