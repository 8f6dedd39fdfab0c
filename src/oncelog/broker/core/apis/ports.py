"""The interfaces that handlers need from the broker, by kind; ``Broker`` implements all of these protocols. A handler
takes the narrowest one, so its unit test builds no broker. Imported for type checkers only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from oncelog.broker.core.administration.config_changes import ConfigChangePorts
from oncelog.broker.core.security.access import AccessPorts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from oncelog.broker.coordinator.group.group_coordinator import GroupCoordinator
    from oncelog.broker.coordinator.transaction.host import TxnMarker
    from oncelog.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator
    from oncelog.broker.core.administration.nodes import BrokerNodes
    from oncelog.broker.core.administration.topics import Topics
    from oncelog.broker.core.appending.pipeline import AppendPipeline
    from oncelog.broker.core.cluster.cluster import Cluster
    from oncelog.broker.core.cluster.node import SimulatedNode
    from oncelog.broker.core.fetching.fetch_sessions import FetchSessionCache
    from oncelog.broker.core.fetching.purgatory import FetchPurgatory
    from oncelog.broker.core.limits.answer_memory import AnswerMemory
    from oncelog.broker.core.limits.long_requests import LongRequests
    from oncelog.broker.core.limits.throttle import Throttle
    from oncelog.broker.core.requests.context import RequestContext
    from oncelog.broker.core.requests.tasks import Tasks
    from oncelog.broker.core.security.authorizer import Authorizer
    from oncelog.broker.core.sharing.share_partitions import SharePartitions
    from oncelog.broker.core.storage.log_manager import LogManager
    from oncelog.broker.core.storage.partition import Partition
    from oncelog.broker.metadata.store import MetadataStore
    from oncelog.errors import Error
    from oncelog.protocol.acls import Acl
    from oncelog.runtime.deferred import Deferred
    from oncelog.settings.config import BrokerConfig
    from oncelog.types import TopicPartition


class LayerPorts(Protocol):
    """The sources of a node's settings."""

    metadata: MetadataStore
    config: BrokerConfig
    cluster: Cluster | None
    nodes: BrokerNodes
    node: SimulatedNode


class WorkPorts(AccessPorts, Protocol):
    """The ports for work that yields to other requests: tasks, topics, and the memory of long answers."""

    tasks: Tasks
    metadata: MetadataStore
    answer_memory: AnswerMemory


class TopicPorts(LayerPorts, WorkPorts, Protocol):
    """The ports for creating, changing, deleting and describing topics."""

    topics: Topics
    throttle: Throttle | None

    def partition(self, topic_partition: TopicPartition) -> Partition | None: ...


class ConfigPorts(ConfigChangePorts, Protocol):
    """The ports for changing and describing settings."""

    answer_memory: AnswerMemory


class PartitionPorts(WorkPorts, Protocol):
    """The ports for partitions and their logs."""

    logs: LogManager

    def partition(self, topic_partition: TopicPartition) -> Partition | None: ...

    def partitions(self) -> Mapping[TopicPartition, Partition]: ...

    def led_partition(self, context: RequestContext, topic_partition: TopicPartition) -> Partition | Error: ...


class FetchPorts(AccessPorts, Protocol):
    """The ports for fetches, including those that wait."""

    tasks: Tasks
    metadata: MetadataStore
    fetches: FetchPurgatory
    config: BrokerConfig
    node: SimulatedNode
    long_requests: LongRequests

    @property
    def fetch_sessions(self) -> FetchSessionCache: ...

    def partition(self, topic_partition: TopicPartition) -> Partition | None: ...


class ProducePorts(AccessPorts, Protocol):
    """The ports for appends of producers."""

    tasks: Tasks

    @property
    def appends(self) -> AppendPipeline: ...


class GroupPorts(WorkPorts, Protocol):
    """The ports for groups and their committed offsets."""

    @property
    def groups(self) -> GroupCoordinator: ...


class SharePorts(GroupPorts, Protocol):
    """The ports for share groups: their members, and the records that they acquire."""

    topics: Topics
    fetches: FetchPurgatory
    nodes: BrokerNodes
    node: SimulatedNode
    now_ms: int

    @property
    def sharing(self) -> SharePartitions: ...

    def partition(self, topic_partition: TopicPartition) -> Partition | None: ...


class TransactionPorts(WorkPorts, Protocol):
    """The ports for transactions."""

    @property
    def groups(self) -> GroupCoordinator: ...

    @property
    def transactions(self) -> TransactionCoordinator: ...

    def write_markers(self, marker: TxnMarker, now_ms: int) -> Deferred[dict[TopicPartition, Error]]: ...


class SecurityPorts(Protocol):
    """The ports for ACLs and SCRAM credentials."""

    authorizer: Authorizer | None
    tasks: Tasks
    metadata: MetadataStore
    answer_memory: AnswerMemory

    def change_acls(self, added: Collection[Acl] = (), removed: Collection[Acl] = ()) -> None: ...


class QuotaPorts(Protocol):
    """The ports for quotas of clients."""

    tasks: Tasks
    metadata: MetadataStore

    def quotas_changed(self) -> None: ...


class ClusterPorts(WorkPorts, Protocol):
    """The ports for nodes and for the cluster as a whole."""

    cluster: Cluster | None
    nodes: BrokerNodes
    topics: Topics

    @property
    def transactions(self) -> TransactionCoordinator: ...

    node: SimulatedNode
