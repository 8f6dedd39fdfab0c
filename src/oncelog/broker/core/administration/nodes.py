"""The broker's nodes: their addresses for clients, their partitions, and how changes affect logs and coordinators.

With one node, the usual case, ``cluster`` is None. With several nodes, :class:`BrokerNodes` implements
:class:`oncelog.broker.core.cluster.cluster.ClusterHost`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from oncelog.broker.core.cluster.node import NO_LEADER, SimulatedNode
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.metadata.store import ResourceType, TopicInfo
from oncelog.settings.config import BrokerConfig, TopicConfig, parse
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.core.cluster.cluster import Cluster, Replicas
    from oncelog.broker.core.coordination.coordinators import Coordinators
    from oncelog.broker.core.storage.log_manager import LogManager
    from oncelog.broker.core.storage.metadata_sync import MetadataSync
    from oncelog.broker.core.storage.partition import Partition
    from oncelog.broker.metadata.store import MetadataStore


class NodePorts(Protocol):
    """The interface that nodes need from their broker."""

    node: SimulatedNode
    config: BrokerConfig
    metadata: MetadataStore
    metadata_sync: MetadataSync
    logs: LogManager

    def partition(self, topic_partition: TopicPartition) -> Partition | None: ...


class BrokerNodes:
    """The nodes of one broker. ``now_ms`` is the time of the next change, set by the caller before the change."""

    def __init__(self, ports: NodePorts, node_ids: Sequence[int], coordinators: Coordinators) -> None:
        """:param node_ids: the ids of several nodes, the broker's own id first; empty if there is only one node."""
        self._ports = ports
        self._coordinators = coordinators
        self.cluster = self._cluster_of(node_ids) if node_ids else None
        self._configs: dict[int, BrokerConfig] = {}
        self.now_ms = 0

    def _cluster_of(self, node_ids: Sequence[int]) -> Cluster:
        from oncelog.broker.core.cluster.cluster import Cluster

        return Cluster(node_ids, self)

    # --- as clients see them

    @property
    def ids(self) -> Sequence[int]:
        """The ids of all nodes, whether they are up or not."""
        return self.cluster.node_ids if self.cluster is not None else (self._ports.node.node_id,)

    def seen_by(self, context: RequestContext) -> tuple[list[SimulatedNode], int]:
        """The nodes that are up, with the addresses of the caller's listener, and the id of the controller."""
        if self.cluster is None:
            node = context.session.node or self._ports.node
            return [node], node.node_id
        return self.cluster.nodes(context.session.listener), self.cluster.controller_id

    def coordinator_of(self, context: RequestContext, topic: str, key: str) -> SimulatedNode | None:
        """The node that coordinates a group or transactional id; None if no node does at present."""
        if self.cluster is None:
            return context.session.node or self._ports.node
        partition = self.coordinator_partition(topic, key)
        return self.cluster.node(self.cluster.replicas(partition).leader, context.session.listener)

    def crash_coordinator(self, partition: TopicPartition, now_ms: int) -> None:
        """Let another coordinator take over an internal partition: another node or, if there is only one node, the same
        node, which reads the state again."""
        target = self._ports.partition(partition)
        if target is None:
            return
        if self.cluster is None:
            self._lead(partition, target)
            self._coordinators.moved(partition, has_leader=True, now_ms=now_ms)
            return
        self.now_ms = now_ms
        replicas = self.cluster.replicas(partition)
        others = [node_id for node_id in replicas.in_sync if node_id != replicas.leader]
        if others:
            self.cluster.move_leader(partition, others[0])

    def _lead(self, topic_partition: TopicPartition, partition: Partition) -> None:
        """Begin the next leader epoch of a partition; the epoch is stored first, so that later ones are greater even
        after a restart."""
        epoch = partition.leader_epoch + 1
        self._ports.metadata.leads_with(*topic_partition, epoch)
        self._ports.metadata_sync.sync_now()
        partition.lead(epoch)

    def coordinator_partition(self, topic: str, key: str) -> TopicPartition:
        """The internal partition that a group id or transactional id belongs to."""
        return self._coordinators.partition_for(topic, key)

    # --- settings

    def config_of(self, node_id: int | None) -> BrokerConfig:
        """The settings in force on a node: those set for the node take precedence over those set for all nodes. None
        means the broker's own node."""
        own = self._ports.node.node_id
        if self.cluster is None or node_id in (None, own, NO_LEADER):
            return self._ports.config
        if node_id not in self._configs:
            store = self._ports.metadata
            every, mine = (store.dynamic_config(ResourceType.BROKER, name) for name in ("", str(node_id)))
            self._configs[node_id] = self._ports.config.with_dynamic({**every, **mine})
        return self._configs[node_id]

    def config_of_leader(self, topic_partition: TopicPartition) -> BrokerConfig:
        """The settings in force on the node that leads a partition."""
        return self.config_of(None if self.cluster is None else self.cluster.replicas(topic_partition).leader)

    def settings_changed(self) -> None:
        """Called when settings of a node, or of all nodes, have changed."""
        self._configs.clear()

    def log_config(self, info: TopicInfo, partition: int) -> TopicConfig:
        """The settings of a partition's log: those set for the topic, completed by the defaults of the partition's
        leader."""
        if self.cluster is None:
            return info.config
        defaults = self.config_of_leader(TopicPartition(info.name, partition)).topic_defaults
        if defaults == self._ports.metadata.topic_defaults:
            return info.config
        return parse(TopicConfig, info.overrides, defaults)

    # --- where partitions are

    def place(self, info: TopicInfo, replicas: Sequence[Sequence[int]] | int = -1) -> TopicInfo:
        """Assign new partitions of a topic to the nodes in ``replicas``, or to nodes chosen here."""
        if self.cluster is None:
            return info
        known = [nodes for nodes in info.replicas if set(nodes) <= set(self.cluster.node_ids)]
        if len(known) < len(info.replicas):  # an earlier start with this folder had more nodes
            known = []
        if len(known) == info.partitions:
            return info
        if isinstance(replicas, int):
            factor = replicas if replicas > 0 else self._coordinators.replication_factor(info.name)
            replicas = self.cluster.place(info.name, range(len(known), info.partitions), factor)
        return self._ports.metadata.set_replicas(info.name, [*known, *replicas])

    def reassign(self, topic_partition: TopicPartition, replicas: Sequence[int], now_ms: int) -> None:
        """Move a partition to other nodes; with one node nothing changes.

        :raises KafkaError: the partition cannot be assigned to these nodes.
        """
        info = self._ports.metadata.topic(topic_partition.topic)
        if self.cluster is None or info is None:
            return
        self.now_ms = now_ms
        self.cluster.reassign(topic_partition, replicas)
        changed = [list(nodes) for nodes in info.replicas]
        changed[topic_partition.partition] = list(replicas)
        self._ports.metadata.set_replicas(info.name, changed)

    def elect_unclean(self, info: TopicInfo) -> None:
        """Called when a topic's settings have changed: hold an unclean election for each partition without a leader, if
        the settings allow it."""
        if self.cluster is None or not info.config.unclean_leader_election_enable:
            return
        for index in range(info.partitions):
            self.cluster.elect(TopicPartition(info.name, index), unclean=True)

    # --- ClusterHost

    def end_offset(self, topic_partition: TopicPartition) -> int:
        partition = self._ports.partition(topic_partition)
        return partition.log.log_end_offset if partition is not None else 0

    def allows_unclean(self, topic: str) -> bool:
        info = self._ports.metadata.topic(topic)
        return info is not None and info.config.unclean_leader_election_enable

    def leader_changed(self, topic_partition: TopicPartition, replicas: Replicas, truncate_to: int | None) -> None:
        partition = self._ports.partition(topic_partition)
        info = self._ports.metadata.topic(topic_partition.topic)
        if partition is None or info is None:
            return
        partition.log.update_config(self.log_config(info, topic_partition.partition))
        partition.log.update_producer_settings(self.config_of(replicas.leader))
        if truncate_to is not None:
            self._ports.logs.truncate_to(topic_partition, truncate_to)
        if replicas.leader == NO_LEADER:
            partition.leader_left()
        else:
            self._lead(topic_partition, partition)
            partition.in_sync_changed()
        self._coordinators.moved(topic_partition, has_leader=replicas.leader != NO_LEADER, now_ms=self.now_ms)

    def in_sync_changed(self, topic_partition: TopicPartition) -> None:
        partition = self._ports.partition(topic_partition)
        if partition is not None:
            partition.in_sync_changed()
