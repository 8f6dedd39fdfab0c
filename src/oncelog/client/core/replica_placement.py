"""Which nodes hold each partition: replicas spread evenly, moved as little as that allows.

Called by ``oncelog reassign``. Pure. As Kafka's placer: racks first, then load; the first replica is the preferred
leader, and those are spread, too.
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
    """The replicas that each partition shall have.

    No node gets more than its even share where partitions have as many replicas as they shall; a replica that is
    where it may stay stays.

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
    share = -(-sum(factors.values()) // len(nodes)) if nodes else 0
    load: Counter[int] = Counter()
    placed = {name: _kept(current[name], factor, nodes, load, share) for name, factor in sorted(factors.items())}
    for name, replicas in placed.items():
        while len(replicas) < factors[name]:
            racks = {nodes[node] for node in replicas}
            chosen = min(
                (node for node in nodes if node not in replicas),
                key=lambda node: (nodes[node] is not None and nodes[node] in racks, load[node], node),
            )
            replicas.append(chosen)
            load[chosen] += 1
    return _with_leaders_spread(placed)


def _kept(current: Sequence[int], factor: int, nodes: Nodes, load: Counter[int], share: int) -> list[int]:
    """The replicas that stay: no more than wanted, one of each rack first, none over its share."""
    kept: list[int] = []
    racks = {node: nodes[node] for node in current if node in nodes}
    firsts = [node for at, node in enumerate(racks) if racks[node] not in [racks[other] for other in list(racks)[:at]]]
    for node in dict.fromkeys([*firsts, *racks]):
        if len(kept) < factor and load[node] < share:
            kept.append(node)
            load[node] += 1
    return kept


def _with_leaders_spread(placed: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, tuple[int, ...]]:
    leads: Counter[int] = Counter()
    found = {}
    for name, replicas in placed.items():
        leader = min(replicas, key=lambda node: (leads[node], node))
        leads[leader] += 1
        found[name] = (leader, *sorted(node for node in replicas if node != leader))
    return found


__all__ = ["Nodes", "spread"]
