"""Which nodes hold each partition: replicas spread evenly, with as few moves as possible.

Called by ``oncelog reassign``. Pure. As in Kafka's placer, racks come first, then load; the first replica is the
preferred leader, and these are spread, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from oncelog.errors import ConfigError
from oncelog.types import TopicPartition

Nodes = Mapping[int, str | None]
"""Nodes that may hold replicas, with their racks."""


def spread(
    current: Mapping[TopicPartition, Sequence[int]], nodes: Nodes, replication_factor: int | None = None
) -> dict[TopicPartition, tuple[int, ...]]:
    """The replicas that each partition is to have.

    No node gets over one replica more than another, unless racks require it; a replica stays wherever that is allowed.

    :param replication_factor: None keeps each partition's own.
    :raises ConfigError: there are fewer nodes than replicas.
    """
    factors = {name: replication_factor or len(replicas) for name, replicas in current.items()}
    most = max(factors.values(), default=0)
    if most > len(nodes):
        raise ConfigError(
            f"{most} replicas need as many nodes, and there are {len(nodes)} ({', '.join(map(str, sorted(nodes)))}): "
            f"start more nodes, or ask for fewer replicas"
        )
    load = _Load(sum(factors.values()), len(nodes))
    placed = {name: _kept(current[name], factor, nodes, load) for name, factor in sorted(factors.items())}
    for name, replicas in placed.items():
        while len(replicas) < factors[name]:
            racks = {nodes[node] for node in replicas}
            chosen = min(
                (node for node in nodes if node not in replicas),
                key=lambda node: (nodes[node] is not None and nodes[node] in racks, load.of[node], node),
            )
            replicas.append(chosen)
            load.of[chosen] += 1
    while (step := _levelling_step(placed, current, nodes, load.of)) is not None:
        name, busy, idle = step
        placed[name][placed[name].index(busy)] = idle
        load.of[busy] -= 1
        load.of[idle] += 1
    return _with_leaders_spread(placed)


class _Load:
    """How many replicas each node has, of ``total``."""

    def __init__(self, total: int, nodes: int) -> None:
        self.of: Counter[int] = Counter()
        self._share, self._larger = divmod(total, nodes) if nodes else (0, 0)

    def take(self, node: int) -> bool:
        """Count one more replica for the node if that is within its share; only some nodes get the larger share."""
        if self.of[node] > self._share or (self.of[node] == self._share and not self._larger):
            return False
        if self.of[node] == self._share:
            self._larger -= 1
        self.of[node] += 1
        return True


def _kept(current: Sequence[int], factor: int, nodes: Nodes, load: _Load) -> list[int]:
    """The replicas that stay: no more than wanted, one of each rack first, none above its node's share."""
    kept: list[int] = []
    racks = {node: nodes[node] for node in current if node in nodes}
    firsts = [node for at, node in enumerate(racks) if racks[node] not in [racks[other] for other in list(racks)[:at]]]
    for node in dict.fromkeys([*firsts, *racks]):
        if len(kept) < factor and load.take(node):
            kept.append(node)
    return kept


def _levelling_step(
    placed: Mapping[TopicPartition, Sequence[int]],
    current: Mapping[TopicPartition, Sequence[int]],
    nodes: Nodes,
    load: Mapping[int, int],
) -> tuple[TopicPartition, int, int] | None:
    """A replica to move from a node to one with two fewer and none of the partition; preferably one that moves anyway.

    Such a partition exists for any two such nodes; but a replica that is the only one in its rack stays in that rack.
    """
    ordered = sorted(nodes, key=lambda node: (load[node], node))
    for busy in reversed(ordered):
        for idle in ordered:
            if load[busy] - load[idle] < 2:
                break
            found = [
                name
                for name, replicas in placed.items()
                if busy in replicas and idle not in replicas and _racks_allow(replicas, busy, idle, nodes)
            ]
            if found:
                return min(found, key=lambda name: busy in current[name]), busy, idle
    return None


def _racks_allow(replicas: Sequence[int], busy: int, idle: int, nodes: Nodes) -> bool:
    others = [nodes[node] for node in replicas if node != busy]
    return nodes[idle] is None or nodes[idle] not in others or nodes[busy] in others


def _with_leaders_spread(placed: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, tuple[int, ...]]:
    leads: Counter[int] = Counter()
    found = {}
    for name, replicas in placed.items():
        leader = min(replicas, key=lambda node: (leads[node], node))
        leads[leader] += 1
        found[name] = (leader, *sorted(node for node in replicas if node != leader))
    return found


__all__ = ["Nodes", "spread"]
