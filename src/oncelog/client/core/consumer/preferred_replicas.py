"""Decides which partitions are read from a follower that is nearer than their leader (KIP-392).

Called by the fetcher. If a leader's broker has a ``replica.selector.class``, it may answer a Fetch that contains a
``client.rack`` with the follower to read from, and without records. The consumer reads from that follower for
``metadata.max.age.ms``, or until the follower refuses; then it asks the leader again. Source:
``SubscriptionState.updatePreferredReadReplica``.
"""

from __future__ import annotations

from collections.abc import Iterable

from oncelog.client.core.connection.metadata import NO_NODE, ClusterMetadata
from oncelog.types import TopicPartition


class PreferredReadReplicas:
    """The followers that leaders have named as preferred read replicas.

    :param kept_ms: how long to read from a follower before asking the leader again.
    """

    def __init__(self, metadata: ClusterMetadata, kept_ms: int) -> None:
        self._metadata = metadata
        self._kept_ms = kept_ms
        self._named: dict[TopicPartition, tuple[int, int]] = {}

    def node_for(self, name: TopicPartition, leader: int, now_ms: int) -> int:
        """The node from which to fetch a partition."""
        node, until_ms = self._named.get(name, (NO_NODE, 0))
        if node == NO_NODE:
            return leader
        if now_ms >= until_ms or node not in self._metadata.nodes:
            del self._named[name]
            return leader
        return node

    def asked_at(self, node: int, names: Iterable[TopicPartition]) -> bool:
        """Whether one of these partitions is fetched from the node only because its leader named the node. Such a Fetch
        is queued even without a connection: if the connection cannot be opened, the Fetch fails, and the leader is
        asked again."""
        return any(self._named.get(name, (NO_NODE, 0))[0] == node for name in names)

    def named(self, name: TopicPartition, node: int, now_ms: int) -> None:
        """Called when the leader named a follower to read from."""
        if node != NO_NODE:
            self._named[name] = (node, now_ms + self._kept_ms)

    def forget(self, name: TopicPartition) -> bool:
        """Return to the leader; returns whether a follower was being read from."""
        return self._named.pop(name, None) is not None

    def forget_all(self, names: Iterable[TopicPartition]) -> None:
        for name in names:
            self.forget(name)


__all__ = ["PreferredReadReplicas"]
