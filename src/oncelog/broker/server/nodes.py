"""Several nodes in one broker: stops and starts them, cuts them off, moves leaders and coordinators.

Runs on the server's event loop; ``embedded.Broker`` calls it from the program's thread. Each node has the broker's
listeners at its own ports. A stopped node closes its sockets; a node that is cut off keeps them open, but neither
receives nor sends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from oncelog.broker.core.cluster.cluster import Cluster, ClusterMember
from oncelog.errors import Error, KafkaError, OncelogError
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.server.server import Server

T = TypeVar("T")


class Nodes:
    """Operations on the nodes of one server.

    :raises OncelogError: by each method, if the node does not exist, or the broker has only one; ``KafkaError`` if
        Kafka would refuse the operation, too.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._broker = server.broker

    @property
    def server(self) -> Server:
        return self._server

    def at_once(self, action: Callable[[], T]) -> T:
        """Call a function of the broker, and send the answers that become ready through it."""
        result = action()
        self._changed()
        return result

    def expire_transaction(self, transactional_id: str) -> bool:
        return self.at_once(lambda: self._broker.transactions.expire(transactional_id, self._server.now_ms()))

    def expire_members(self, group: str, member_id: str | None) -> list[str]:
        return self.at_once(lambda: self._broker.groups.expire_members(group, member_id, self._server.now_ms()))

    def expire_locks(self, group: str) -> int:
        sharing = self._broker.sharing_in_use
        if sharing is None:
            return 0
        return self.at_once(lambda: sharing.expire_locks(group, self._server.now_ms()))

    def forget_producers(self, topic_partition: TopicPartition, producer_id: int | None) -> list[int]:
        partition = self._broker.partition(topic_partition)
        if partition is None:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic_partition}")
        self._broker.forget_patterns()
        return partition.log.writer.forget_producers(producer_id)

    @property
    def cluster(self) -> Cluster:
        if self._broker.cluster is None:
            raise OncelogError("the broker has one node: start it with Broker(nodes=3) or serve --nodes 3")
        self._broker.nodes.now_ms = self._server.now_ms()
        return self._broker.cluster

    def member(self, node_id: int) -> ClusterMember:
        return self.cluster.member(node_id)

    async def stop(self, node_id: int, *, kill: bool) -> None:
        """Stop a node. Its partitions first move to other leaders, as clients then learn; with ``kill`` its connections
        end first."""
        member = self.member(node_id)
        if not member.running:
            return
        if kill:
            self._server.leave(node_id, "the node is killed")
        member.running = False
        self.cluster.leave(node_id)
        if not kill:
            self._server.end_iteration_soon()
            self._server.leave(node_id, "the node stops")
        self._changed()

    async def start(self, node_id: int) -> None:
        """Start a stopped node again, at its address."""
        member = self.member(node_id)
        if member.running:
            return
        await self._server.come_back(node_id)
        member.running = member.reachable = True
        self.cluster.join(node_id)
        self._changed()

    def isolate(self, node_id: int) -> None:
        """Cut a node off: its connections stay open, but nothing is received or sent on them."""
        member = self.member(node_id)
        if not member.reachable:
            return
        member.reachable = False
        self._server.silence(node_id)
        if member.running:
            self.cluster.leave(node_id)
        self._changed()

    def heal(self, node_id: int) -> None:
        """Connect a node again. Its earlier connections are closed, because both ends have given them up."""
        member = self.member(node_id)
        if member.reachable:
            return
        member.reachable = True
        self._server.cut_connections(node_id, "the network is back")
        if member.running:
            self.cluster.join(node_id)
        self._changed()

    def hold_back(self, node_id: int) -> None:
        """Stop the node's replicas from copying; they are out of sync after ``replica.lag.time.max.ms``."""
        self.cluster.hold_back(node_id)
        lag_ms = int(self._broker.config.text("replica.lag.time.max.ms") or 30_000)

        def dropped(now_ms: int) -> None:
            if not self.member(node_id).copying:
                self.cluster.drop_lagging(node_id)

        self._broker.timers.schedule(self._server.now_ms() + lag_ms, dropped)
        self._changed()

    def let_go(self, node_id: int) -> None:
        """Let the node's replicas copy again."""
        self.cluster.let_go(node_id)
        self._changed()

    def set_in_sync(self, topic: str, partition: int, node_id: int, *, in_sync: bool) -> None:
        self.cluster.set_in_sync(TopicPartition(topic, partition), node_id, in_sync=in_sync)
        self._changed()

    def move_leader(self, topic: str, partition: int, to: int) -> None:
        self.cluster.move_leader(TopicPartition(topic, partition), to)
        self._changed()

    def move_coordinator(self, to: int, *, group: str | None, transactional_id: str | None) -> None:
        """Make another node coordinate a group or transactional id, and with it all that belong to the same internal
        partition."""
        self.move_leader(*self.coordinator_partition(group=group, transactional_id=transactional_id), to)

    def coordinator_partition(self, *, group: str | None, transactional_id: str | None) -> TopicPartition:
        """The internal partition of a group or of a transactional id, created if necessary."""
        if (group is None) == (transactional_id is None):
            raise OncelogError("name either a group or a transactional_id")
        topic = CONSUMER_OFFSETS_TOPIC if group is not None else TRANSACTION_STATE_TOPIC
        self._broker.topics.ensure_internal(topic, self._server.now_ms())
        return self._broker.nodes.coordinator_partition(topic, group or transactional_id or "")

    def leader(self, topic_partition: TopicPartition) -> int:
        """The id of the node that leads a partition; -1 if no node does."""
        return self.cluster.replicas(topic_partition).leader

    def _changed(self) -> None:
        """Send the answers that have become ready."""
        self._server.end_iteration_soon()
