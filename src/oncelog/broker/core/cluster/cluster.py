"""Several nodes in one broker: which nodes are up, which node leads each partition, which replicas are in sync.

For tests and for learning: one process and one copy of each log. A follower has no log, only a log end offset: the
leader's while the follower is up and copying, and a lower one once it is stopped, partitioned off or paused. Everything
that clients can observe follows from that as in Apache Kafka: leaders, leader epochs, replicas in sync, a high
watermark that waits for them, elections, and a log that is truncated when an unclean election chooses a replica without
the last records.

Called by the broker, to decide which node may answer a request, and by code that stops and starts nodes and moves
leaders. Pure: the broker carries out the consequences, through :class:`ClusterHost`. Source: Kafka's
``ReplicationControlManager``, ``PartitionChangeBuilder``, ``StripedReplicaPlacer`` (KIP-101, KIP-320, KIP-497).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from oncelog.broker.core.cluster.node import NO_LEADER, SimulatedNode
from oncelog.errors import Error, KafkaError
from oncelog.types import TopicPartition


class ClusterHost(Protocol):
    """The interface that changes of leaders and in-sync replicas need from the broker that has the logs."""

    def end_offset(self, topic_partition: TopicPartition) -> int:
        """The log end offset of a partition."""
        ...

    def allows_unclean(self, topic: str) -> bool:
        """The topic's setting ``unclean.leader.election.enable``."""
        ...

    def leader_changed(self, topic_partition: TopicPartition, replicas: Replicas, truncate_to: int | None) -> None:
        """Called when the partition has another leader, or none; if ``truncate_to`` is not None, the log is to be
        truncated to that offset."""
        ...

    def in_sync_changed(self, topic_partition: TopicPartition) -> None:
        """Called when the set of in-sync replicas, which the high watermark waits for, has changed."""
        ...


@dataclass(slots=True, eq=False, repr=False)
class ClusterMember:
    """One node of the cluster. ``addresses``: the node's address for clients, by the name of the listener that they
    use."""

    node_id: int
    rack: str | None = None
    running: bool = True
    reachable: bool = True
    copying: bool = True
    addresses: dict[str, SimulatedNode] = field(default_factory=dict)

    @property
    def alive(self) -> bool:
        """Whether the rest of the cluster can reach the node."""
        return self.running and self.reachable


class Replicas:
    """The replicas of one partition. ``assigned`` begins with the preferred leader; ``leader`` is a node id or
    ``NO_LEADER``."""

    __slots__ = ("assigned", "in_sync", "leader", "stalled")

    def __init__(self, assigned: Sequence[int], in_sync: Sequence[int]) -> None:
        self.assigned = list(assigned)
        self.in_sync = list(in_sync)
        self.leader = in_sync[0] if in_sync else NO_LEADER
        self.stalled: dict[int, int] = {}
        """The log end offset of each replica that has stopped copying, by node id."""

    def committed(self, end_offset: int) -> int:
        """The offset up to which all in-sync replicas have the log."""
        if not self.stalled:
            return end_offset
        return min([end_offset, *(self.stalled[node] for node in self.in_sync if node in self.stalled)])

    def is_short(self, min_in_sync: int) -> bool:
        """Whether fewer replicas are in sync than ``acks=all`` needs (Kafka's ``effectiveMinIsr``)."""
        return len(self.in_sync) < min(min_in_sync, len(self.assigned))


class Cluster:
    """The nodes of the cluster, and the replicas of all partitions.

    :param node_ids: node ids in the order of their listeners; the first is the broker's own.
    """

    def __init__(self, node_ids: Sequence[int], host: ClusterHost, racks: Mapping[int, str] | None = None) -> None:
        self._members = {node_id: ClusterMember(node_id, (racks or {}).get(node_id)) for node_id in node_ids}
        self._host = host
        self._replicas: dict[TopicPartition, Replicas] = {}
        self.shrinks = self.expands = self.unclean_elections = 0
        """The number of times since the start that a set of in-sync replicas shrank, that one grew, and that an unclean
        election took place."""

    # --- who is there

    @property
    def node_ids(self) -> tuple[int, ...]:
        return tuple(self._members)

    def member(self, node_id: int) -> ClusterMember:
        """The node with this id.

        :raises KafkaError: the node does not exist.
        """
        found = self._members.get(node_id)
        if found is None:
            raise KafkaError(
                Error.BROKER_ID_NOT_REGISTERED,
                f"there is no node {node_id!r}: the cluster has {', '.join(map(str, self._members))}",
            )
        return found

    def alive(self) -> list[ClusterMember]:
        return [member for member in self._members.values() if member.alive]

    @property
    def controller_id(self) -> int:
        """The id of the node reported to clients as the controller; -1 if no node is up."""
        return min((member.node_id for member in self.alive()), default=-1)

    def node(self, node_id: int, listener: str) -> SimulatedNode | None:
        """A node's address for clients of a listener; None if the node is unknown or not up."""
        member = self._members.get(node_id)
        return member.addresses.get(listener) if member is not None and member.alive else None

    def nodes(self, listener: str) -> list[SimulatedNode]:
        """The nodes that are up, with their addresses for clients of a listener."""
        return [node for member in self.alive() if (node := member.addresses.get(listener)) is not None]

    def leads(self, topic_partition: TopicPartition, node_id: int | None) -> bool:
        """Whether a node (None: any node) leads a partition."""
        replicas = self._replicas.get(topic_partition)
        if replicas is None:
            return False
        return replicas.leader != NO_LEADER and node_id in (None, replicas.leader)

    # --- partitions

    def place(self, topic: str, partitions: range, factor: int) -> list[list[int]]:
        """The replicas of new partitions: each partition has the next node as leader, and the nodes after it as
        followers."""
        ids = sorted(member.node_id for member in self.alive()) or sorted(self._members)
        first = zlib.crc32(topic.encode())
        return [
            [ids[(first + index + step) % len(ids)] for step in range(min(factor, len(ids)))] for index in partitions
        ]

    def add(self, topic_partition: TopicPartition, assigned: Sequence[int]) -> Replicas:
        """Add a partition, new or found at a start; replicas on nodes that are not up are out of sync."""
        up = [node_id for node_id in assigned if self.member(node_id).alive]
        replicas = Replicas(assigned, up or assigned[:1])
        if not up:
            replicas.leader = NO_LEADER
        for node_id in assigned:
            member = self.member(node_id)
            if not member.alive or not member.copying:
                replicas.stalled[node_id] = self._host.end_offset(topic_partition)
        self._replicas[topic_partition] = replicas
        return replicas

    def remove(self, topic_partition: TopicPartition) -> None:
        self._replicas.pop(topic_partition, None)

    def replicas(self, topic_partition: TopicPartition) -> Replicas:
        """The replicas of a partition.

        :raises KafkaError: the partition does not exist.
        """
        found = self._replicas.get(topic_partition)
        if found is None:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic_partition}")
        return found

    def offline(self, replicas: Replicas) -> list[int]:
        return [node_id for node_id in replicas.assigned if not self._members[node_id].alive]

    # --- nodes come and go

    def leave(self, node_id: int) -> None:
        """Called when a node has become unreachable: it leads no partition, and stays in sync only where it is the last
        in-sync replica."""
        for topic_partition, replicas in list(self._replicas.items()):
            if node_id not in replicas.assigned:
                continue
            replicas.stalled.setdefault(node_id, self._host.end_offset(topic_partition))
            if node_id in replicas.in_sync and len(replicas.in_sync) > 1:
                self._shrink(topic_partition, replicas, node_id)
            if replicas.leader == node_id:
                self._elect(topic_partition, replicas)

    def join(self, node_id: int) -> None:
        """Called when a node is reachable again: it leads those of its partitions that have no leader, and catches up
        as a follower of the others."""
        for topic_partition, replicas in list(self._replicas.items()):
            if node_id not in replicas.assigned:
                continue
            if replicas.leader == NO_LEADER:
                self._elect(topic_partition, replicas)
            self._catch_up(topic_partition, replicas, node_id)

    def hold_back(self, node_id: int) -> None:
        """Stop the node from copying; it stays in sync until :meth:`drop_lagging`."""
        self.member(node_id).copying = False
        for topic_partition, replicas in self._replicas.items():
            if node_id in replicas.assigned and node_id != replicas.leader:
                replicas.stalled.setdefault(node_id, self._host.end_offset(topic_partition))

    def let_go(self, node_id: int) -> None:
        """Let the node copy again; it is in sync at once."""
        self.member(node_id).copying = True
        for topic_partition, replicas in list(self._replicas.items()):
            if node_id in replicas.assigned:
                self._catch_up(topic_partition, replicas, node_id)

    def drop_lagging(self, node_id: int) -> None:
        """Remove the node from the in-sync replicas of every partition that it has not copied completely, as if
        ``replica.lag.time.max.ms`` had passed."""
        for topic_partition, replicas in list(self._replicas.items()):
            end = replicas.stalled.get(node_id)
            lags = end is not None and end < self._host.end_offset(topic_partition)
            if lags and node_id in replicas.in_sync and node_id != replicas.leader:
                self._shrink(topic_partition, replicas, node_id)

    def set_in_sync(self, topic_partition: TopicPartition, node_id: int, *, in_sync: bool) -> None:
        """Remove one follower from the in-sync replicas, or let it copy all missing records and add it back.

        :raises KafkaError: the node is not a replica of the partition, leads it, or is not up.
        """
        replicas = self.replicas(topic_partition)
        self._is_follower(topic_partition, replicas, node_id)
        if in_sync:
            if not self.member(node_id).alive:
                raise KafkaError(Error.REPLICA_NOT_AVAILABLE, f"node {node_id} is not up")
            self._catch_up(topic_partition, replicas, node_id)
        elif node_id in replicas.in_sync:
            replicas.stalled.setdefault(node_id, self._host.end_offset(topic_partition))
            self._shrink(topic_partition, replicas, node_id)

    def _shrink(self, topic_partition: TopicPartition, replicas: Replicas, node_id: int) -> None:
        replicas.in_sync.remove(node_id)
        self.shrinks += 1
        self._host.in_sync_changed(topic_partition)

    def _is_follower(self, topic_partition: TopicPartition, replicas: Replicas, node_id: int) -> None:
        self.member(node_id)
        if node_id not in replicas.assigned:
            raise KafkaError(
                Error.INVALID_REPLICA_ASSIGNMENT,
                f"node {node_id} is not a replica of {topic_partition}; its replicas are {replicas.assigned}",
            )
        if node_id == replicas.leader:
            raise KafkaError(Error.INVALID_REQUEST, f"node {node_id} leads {topic_partition}: move the leader first")

    def _catch_up(self, topic_partition: TopicPartition, replicas: Replicas, node_id: int) -> None:
        member = self.member(node_id)
        if not (member.alive and member.copying and replicas.leader != NO_LEADER):
            return
        held_back = replicas.stalled.pop(node_id, None) is not None
        if node_id not in replicas.in_sync:
            replicas.in_sync.append(node_id)
            self.expands += 1
            replicas.in_sync.sort(key=replicas.assigned.index)
        elif not held_back:
            return
        self._host.in_sync_changed(topic_partition)

    # --- leaders

    def move_leader(self, topic_partition: TopicPartition, to: int) -> None:
        """Make another in-sync replica the leader.

        :raises KafkaError: the node cannot lead the partition.
        """
        replicas = self.replicas(topic_partition)
        if to == replicas.leader:
            return
        self._is_follower(topic_partition, replicas, to)
        if not self.member(to).alive or to not in replicas.in_sync:
            raise KafkaError(
                Error.ELIGIBLE_LEADERS_NOT_AVAILABLE,
                f"node {to} cannot lead {topic_partition}; the in-sync replicas are {replicas.in_sync}",
            )
        self._lead(topic_partition, replicas, to)

    def elect(self, topic_partition: TopicPartition, *, unclean: bool) -> Error:
        """Elect the preferred replica as leader; with ``unclean``, any replica that is up, if there is no leader
        (ElectLeaders)."""
        replicas = self.replicas(topic_partition)
        if unclean:
            if replicas.leader != NO_LEADER:
                return Error.ELECTION_NOT_NEEDED
            candidates = self._candidates(replicas, unclean=True)
            if not candidates:
                return Error.ELIGIBLE_LEADERS_NOT_AVAILABLE
            self._lead(topic_partition, replicas, candidates[0])
            return Error.NONE
        preferred = replicas.assigned[0]
        if replicas.leader == preferred:
            return Error.ELECTION_NOT_NEEDED
        if preferred not in replicas.in_sync or not self.member(preferred).alive:
            return Error.PREFERRED_LEADER_NOT_AVAILABLE
        self._lead(topic_partition, replicas, preferred)
        return Error.NONE

    def reassign(self, topic_partition: TopicPartition, assigned: Sequence[int]) -> None:
        """Assign other replicas, which copy the whole log at once; if the leader is not among them, the first replica
        becomes the leader.

        :raises KafkaError: a node is unknown or not up.
        """
        replicas = self.replicas(topic_partition)
        for node_id in assigned:
            if not self.member(node_id).alive:
                raise KafkaError(Error.INVALID_REPLICA_ASSIGNMENT, f"node {node_id} is not up")
        replicas.assigned = list(assigned)
        replicas.stalled = {node: end for node, end in replicas.stalled.items() if node in assigned}
        replicas.in_sync = [node_id for node_id in assigned if node_id not in replicas.stalled]
        if replicas.leader in replicas.assigned:
            self._host.in_sync_changed(topic_partition)
        else:
            self._elect(topic_partition, replicas)

    def _candidates(self, replicas: Replicas, *, unclean: bool) -> list[int]:
        alive = [node_id for node_id in replicas.assigned if self._members[node_id].alive]
        clean = [node_id for node_id in alive if node_id in replicas.in_sync]
        return clean or (alive if unclean else [])

    def _elect(self, topic_partition: TopicPartition, replicas: Replicas) -> None:
        candidates = self._candidates(replicas, unclean=self._host.allows_unclean(topic_partition.topic))
        if candidates:
            self._lead(topic_partition, replicas, candidates[0])
        elif replicas.leader != NO_LEADER:
            replicas.leader = NO_LEADER
            self._host.leader_changed(topic_partition, replicas, None)

    def _lead(self, topic_partition: TopicPartition, replicas: Replicas, node_id: int) -> None:
        """Make a node the leader. Records that the node does not have are lost on the other replicas, too."""
        before, end = replicas.leader, self._host.end_offset(topic_partition)
        own_end = replicas.stalled.pop(node_id, end)
        replicas.leader = node_id
        if node_id not in replicas.in_sync:
            self.unclean_elections += 1
            replicas.in_sync = [node_id]
        replicas.stalled = {node: min(stalled, own_end) for node, stalled in replicas.stalled.items()}
        if before != NO_LEADER and not self.member(before).copying:
            replicas.stalled.setdefault(before, own_end)
        self._host.leader_changed(topic_partition, replicas, own_end if own_end < end else None)
        for other in replicas.assigned:
            if other != node_id:
                self._catch_up(topic_partition, replicas, other)
