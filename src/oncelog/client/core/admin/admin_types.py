"""Arguments and results of the admin client.

Called by the admin client, the command line and the console. Names are aiokafka's where it has one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from oncelog.client.core.structs import TopicPartition


class ConfigResourceType(IntEnum):
    """What kind of resource has the configuration."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create; -1 leaves partitions or replication to the broker's defaults."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    replica_assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)
    topic_configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordsToDelete:
    """The new first offset of a partition; -1 deletes all records."""

    before_offset: int


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicDescription:
    name: str
    topic_id: bytes
    internal: bool
    partitions: tuple[PartitionDescription, ...]


@dataclass(frozen=True, slots=True)
class PartitionReassignment:
    """A move that is under way: the current replicas, those being added and those being removed."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Node:
    node_id: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    cluster_id: str | None
    controller_id: int
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class FeatureLevel:
    """A feature of the cluster (KIP-584): the level in force (0: none), and the levels supported by the node that
    answered."""

    level: int
    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class ConfigResource:
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


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One property; ``value`` is None if it is secret. ``source`` under Kafka's name."""

    name: str
    value: str | None
    source: str
    read_only: bool
    sensitive: bool
    documentation: str | None

    @property
    def is_default(self) -> bool:
        return self.source == "DEFAULT_CONFIG"


@dataclass(frozen=True, slots=True)
class GroupListing:
    """``state`` and ``type`` are empty if the broker is too old to report them."""

    group_id: str
    protocol_type: str
    state: str
    type: str


@dataclass(frozen=True, slots=True)
class MemberDescription:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    assignment: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """``type`` is ``classic``, ``consumer`` (KIP-848) or ``share`` (KIP-932); ``assignor`` the one in force.

    Several members of a share group may be assigned one partition.
    """

    group_id: str
    type: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: int
    members: tuple[MemberDescription, ...]


@dataclass(frozen=True, slots=True)
class ShareGroupOffset:
    """Where a share group stands in a partition: everything before ``start_offset`` is delivered for good.

    :ivar start_offset: None as long as no member has fetched from the partition.
    :ivar lag: how many records up to the high watermark are not delivered for good; None without a start, and from
        brokers before Apache Kafka 4.2.
    """

    start_offset: int | None
    lag: int | None


@dataclass(frozen=True, slots=True)
class TransactionListing:
    transactional_id: str
    producer_id: int
    state: str


NO_TIME_LIMIT = 2**31 - 1
"""The transaction timeout in ms of producers in two-phase commit."""


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """``start_time_ms`` is -1 while no transaction is open."""

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
        """Whether a database decides on its transactions, which then have no timeout (KIP-939)."""
        return self.timeout_ms == NO_TIME_LIMIT


@dataclass(frozen=True, slots=True)
class ProducerState:
    """A producer as one partition sees it; ``transaction_start_offset`` is -1 if it has no transaction open there."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    transaction_start_offset: int
