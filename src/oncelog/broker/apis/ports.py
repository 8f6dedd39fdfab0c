"""What handlers need from the broker, by kind; ``Broker`` implements all of these protocols. A handler takes the
narrowest one, so its unit test builds no broker. Imported for type checkers only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from oncelog.broker.administration.config_changes import ConfigChangePorts
from oncelog.broker.security.access import AccessPorts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from oncelog.acls import Acl
    from oncelog.broker.administration.nodes import BrokerNodes
    from oncelog.broker.administration.topics import Topics
    from oncelog.broker.appending.pipeline import AppendPipeline
    from oncelog.broker.cluster.cluster import Cluster
    from oncelog.broker.cluster.node import SimulatedNode
    from oncelog.broker.coordination.commit_order import CommitOrder
    from oncelog.broker.fetching.fetch_sessions import FetchSessionCache
    from oncelog.broker.fetching.purgatory import FetchPurgatory
    from oncelog.broker.limits.answer_memory import AnswerMemory
    from oncelog.broker.limits.long_requests import LongRequests
    from oncelog.broker.limits.throttle import Throttle
    from oncelog.broker.requests.context import RequestContext
    from oncelog.broker.requests.tasks import Tasks
    from oncelog.broker.security.authorizer import Authorizer
    from oncelog.broker.storage.log_manager import LogManager
    from oncelog.broker.storage.partition import Partition
    from oncelog.config import BrokerConfig
    from oncelog.coordinator.group.group_coordinator import GroupCoordinator
    from oncelog.coordinator.transaction.coordinator import TransactionCoordinator
    from oncelog.coordinator.transaction.host import TxnMarker
    from oncelog.deferred import Deferred
    from oncelog.errors import Error
    from oncelog.metadata.store import MetadataStore
    from oncelog.types import TopicPartition


class LayerPorts(Protocol):
    """Where a node's settings come from."""

    @property
    def metadata(self) -> MetadataStore: ...

    @property
    def config(self) -> BrokerConfig: ...

    @property
    def cluster(self) -> Cluster | None: ...

    @property
    def nodes(self) -> BrokerNodes: ...

    @property
    def node(self) -> SimulatedNode: ...


class WorkPorts(AccessPorts, Protocol):
    """Work that gives way to other requests, what is known of topics, and memory for long answers."""

    @property
    def tasks(self) -> Tasks: ...

    @property
    def metadata(self) -> MetadataStore: ...

    @property
    def answer_memory(self) -> AnswerMemory: ...


class TopicPorts(LayerPorts, WorkPorts, Protocol):
    """Topics: what creates, changes, deletes and describes them."""

    @property
    def topics(self) -> Topics: ...

    @property
    def throttle(self) -> Throttle | None: ...

    def partition(self, topic_partition: TopicPartition) -> Partition | None: ...


class ConfigPorts(ConfigChangePorts, Protocol):
    """Settings: what changes and describes them."""

    @property
    def answer_memory(self) -> AnswerMemory: ...


class PartitionPorts(WorkPorts, Protocol):
    """Partitions and their logs."""

    @property
    def logs(self) -> LogManager: ...

    def partition(self, topic_partition: TopicPartition) -> Partition | None: ...

    def partitions(self) -> Mapping[TopicPartition, Partition]: ...

    def led_partition(self, context: RequestContext, topic_partition: TopicPartition) -> Partition | Error: ...


class FetchPorts(AccessPorts, Protocol):
    """Fetches, including those that wait."""

    @property
    def tasks(self) -> Tasks: ...

    @property
    def metadata(self) -> MetadataStore: ...

    @property
    def fetches(self) -> FetchPurgatory: ...

    @property
    def config(self) -> BrokerConfig: ...

    @property
    def node(self) -> SimulatedNode: ...

    @property
    def long_requests(self) -> LongRequests: ...

    @property
    def fetch_sessions(self) -> FetchSessionCache: ...

    def partition(self, topic_partition: TopicPartition) -> Partition | None: ...


class ProducePorts(AccessPorts, Protocol):
    """Appends of producers."""

    @property
    def tasks(self) -> Tasks: ...

    @property
    def appends(self) -> AppendPipeline: ...


class GroupPorts(WorkPorts, Protocol):
    """Groups and their committed offsets."""

    @property
    def groups(self) -> GroupCoordinator: ...

    @property
    def commit_order(self) -> CommitOrder: ...


class TransactionPorts(WorkPorts, Protocol):
    """Transactions."""

    @property
    def groups(self) -> GroupCoordinator: ...

    @property
    def transactions(self) -> TransactionCoordinator: ...

    def write_marker(self, marker: TxnMarker, now_ms: int) -> Deferred[dict[TopicPartition, Error]]: ...


class SecurityPorts(Protocol):
    """ACLs and SCRAM credentials."""

    @property
    def authorizer(self) -> Authorizer | None: ...

    @property
    def tasks(self) -> Tasks: ...

    @property
    def metadata(self) -> MetadataStore: ...

    @property
    def answer_memory(self) -> AnswerMemory: ...

    def change_acls(self, added: Collection[Acl] = (), removed: Collection[Acl] = ()) -> None: ...


class QuotaPorts(Protocol):
    """Quotas of clients."""

    @property
    def tasks(self) -> Tasks: ...

    @property
    def metadata(self) -> MetadataStore: ...

    def quotas_changed(self) -> None: ...


class ClusterPorts(WorkPorts, Protocol):
    """Nodes and the cluster as a whole."""

    @property
    def cluster(self) -> Cluster | None: ...

    @property
    def nodes(self) -> BrokerNodes: ...

    @property
    def topics(self) -> Topics: ...

    @property
    def transactions(self) -> TransactionCoordinator: ...

    @property
    def node(self) -> SimulatedNode: ...
