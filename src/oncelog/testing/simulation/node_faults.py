"""Faults of a single node in a cluster of several; ``faults`` draws them and carries them out."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from oncelog.broker.faults.rules import FaultError
from oncelog.errors import KafkaError
from oncelog.testing.simulation.moments import Undo, in_the_middle, later
from oncelog.testing.simulation.simulation_errors import SimulationError
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.testing.simulation.world import Simulation


def kill_node(world: Simulation, chance: random.Random) -> Undo | None:
    """One of several nodes stops or is killed."""
    node = 1 + chance.randrange(world.broker.node_count)
    _stop_node(world, node, kill=chance.random() < 0.7)
    return lambda: _start_node(world, node)


def isolate_node(world: Simulation, chance: random.Random) -> Undo | None:
    """One of several nodes is cut off from all other nodes and clients."""
    node = 1 + chance.randrange(world.broker.node_count)
    _nodes(world, lambda: world.broker.on_loop(lambda nodes: nodes.isolate(node)), f"node {node} is cut off")
    return lambda: _nodes(
        world, lambda: world.broker.on_loop(lambda nodes: nodes.heal(node)), f"node {node} is reachable"
    )


def pause_replication(world: Simulation, chance: random.Random) -> Undo | None:
    """A node's replicas stop fetching from the leaders."""
    node = 1 + chance.randrange(world.broker.node_count)
    _nodes(world, lambda: world.broker.on_loop(lambda nodes: nodes.hold_back(node)), f"node {node} stops copying")
    return lambda: _nodes(
        world, lambda: world.broker.on_loop(lambda nodes: nodes.let_go(node)), f"node {node} copies again"
    )


def move_leaders(world: Simulation, chance: random.Random) -> Undo | None:
    """The leaders of some partitions, including internal ones, move to other nodes."""
    partitions = _partitions(world)
    for topic, index in chance.sample(partitions, min(len(partitions), 3)):
        node = 1 + chance.randrange(world.broker.node_count)
        _nodes(
            world,
            lambda: world.broker.on_loop(lambda nodes: nodes.move_leader(topic, index, node)),  # noqa: B023
            f"node {node} leads {topic}-{index}",
        )
    return None


def elect_lagging(world: Simulation, chance: random.Random) -> Undo | None:
    """A node's replicas stop fetching during writes; then they become the leaders of another node's partitions."""
    slow, victim = chance.sample(range(1, 1 + world.broker.node_count), 2)
    later_s = chance.choice([0.0, chance.uniform(0.0, 0.05), chance.uniform(0.3, 1.4), chance.uniform(0.0, 4.0)])
    if chance.random() < 0.5:
        return _held_back(world, chance, slow, later_s, [victim], lambda: _stop_node(world, victim, kill=True))
    return _held_back(world, chance, slow, later_s, [], lambda: _lead_all(world, victim, slow))


def lose_majority(world: Simulation, chance: random.Random) -> Undo | None:
    """A node's replicas fall out of sync, and then all other nodes are killed: the node's replicas can become leaders
    only by an unclean election."""
    nodes = range(1, 1 + world.broker.node_count)
    slow = chance.choice(nodes)
    others = [node for node in nodes if node != slow]

    def end() -> None:
        for victim in others:
            _stop_node(world, victim, kill=True)

    return _held_back(world, chance, slow, chance.uniform(2, 5), others, end)


def _held_back(
    world: Simulation, chance: random.Random, slow: int, later_s: float, victims: Sequence[int], end: Undo
) -> Undo | None:
    """Let the replicas of the node ``slow`` stop fetching at some moment, and call ``end`` ``later_s`` seconds later.
    When the fault ends, the nodes ``victims`` are started and ``slow`` fetches again."""

    def hold_back() -> None:
        _nodes(world, lambda: world.broker.on_loop(lambda nodes: nodes.hold_back(slow)), f"node {slow} stops copying")
        later(world, later_s, lambda: None if world.is_calm else end())
        later(world, later_s + 2.0, undo)

    def undo() -> None:
        for victim in victims:
            _start_node(world, victim)
        _nodes(world, lambda: world.broker.on_loop(lambda nodes: nodes.let_go(slow)), f"node {slow} copies again")

    return in_the_middle(world, chance, hold_back, undo)


def _lead_all(world: Simulation, before: int, after: int) -> None:
    """Make the node ``after`` the leader of every partition that the node ``before`` leads and in which ``after`` is in
    sync."""
    for topic, index in _partitions(world):
        where = TopicPartition(topic, index)
        _nodes(
            world,
            lambda: world.broker.on_loop(
                lambda nodes: nodes.move_leader(topic, index, after) if nodes.leader(where) == before else None  # noqa: B023
            ),
            f"node {after} takes over {topic}-{index} if node {before} led it",
        )


def _partitions(world: Simulation) -> list[tuple[str, int]]:
    """All existing partitions, including internal ones; none if the broker is not running."""
    if not world.broker.is_running:
        return []
    return [
        (info.name, index) for info in world.broker.server.broker.metadata.topics() for index in range(info.partitions)
    ]


SEVERAL_NODES: Mapping[str, Callable[[Simulation, random.Random], Undo | None]] = {
    made.__name__: made
    for made in (kill_node, isolate_node, pause_replication, move_leaders, elect_lagging, lose_majority)
}


def _stop_node(world: Simulation, node: int, *, kill: bool) -> None:
    _nodes(world, lambda: world.broker.run_nodes(lambda nodes: nodes.stop(node, kill=kill)), f"node {node} stops")


def make_whole(world: Simulation, node: int) -> None:
    """Start a node if it does not run, connect it to the others again, and let its replicas fetch again."""
    _start_node(world, node)
    _nodes(world, lambda: world.broker.on_loop(lambda nodes: nodes.heal(node)), f"node {node} is reachable")
    _nodes(world, lambda: world.broker.on_loop(lambda nodes: nodes.let_go(node)), f"node {node} copies again")


def _start_node(world: Simulation, node: int) -> None:
    _nodes(world, lambda: world.broker.run_nodes(lambda nodes: nodes.start(node)), f"node {node} is back")


def _nodes(world: Simulation, change: Callable[[], object], what: str) -> None:
    if world.broker.is_running:
        try:
            change()
        except (FaultError, SimulationError, KafkaError) as error:
            what = f"{what}: refused, {error}"
        world.note(what, "fault")


__all__ = ["SEVERAL_NODES", "make_whole"]
