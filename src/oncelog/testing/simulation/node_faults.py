"""What goes wrong with one of several nodes; ``faults`` draws it and carries it out."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from oncelog.faults.rules import FaultError
from oncelog.testing.simulation.errors import SimulationError
from oncelog.testing.simulation.moments import Undo, in_the_middle, later
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.testing.simulation.world import Simulation


def kill_node(world: Simulation, chance: random.Random) -> Undo | None:
    """One of several nodes ends."""
    node = 1 + chance.randrange(world.broker.node_count)
    _stop_node(world, node, kill=chance.random() < 0.7)
    return lambda: _start_node(world, node)


def isolate_node(world: Simulation, chance: random.Random) -> Undo | None:
    """One of several nodes is cut off from everybody."""
    node = 1 + chance.randrange(world.broker.node_count)
    _nodes(world, lambda: world.broker.on_loop(lambda nodes: nodes.isolate(node)), f"node {node} is cut off")
    return lambda: _nodes(
        world, lambda: world.broker.on_loop(lambda nodes: nodes.heal(node)), f"node {node} is reached"
    )


def pause_replication(world: Simulation, chance: random.Random) -> Undo | None:
    """The replicas of a node copy nothing."""
    node = 1 + chance.randrange(world.broker.node_count)
    _nodes(world, lambda: world.broker.on_loop(lambda nodes: nodes.hold_back(node)), f"node {node} copies nothing")
    return lambda: _nodes(world, lambda: world.broker.on_loop(lambda nodes: nodes.let_go(node)), f"node {node} copies")


def move_leaders(world: Simulation, chance: random.Random) -> Undo | None:
    """Leaders of some partitions, internal ones too, move to other nodes."""
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
    """A node's replicas stop copying while something is written, and then they lead what another node has led."""
    slow, victim = chance.sample(range(1, 1 + world.broker.node_count), 2)
    later_s = chance.choice([0.0, chance.uniform(0.0, 0.05), chance.uniform(0.3, 1.4), chance.uniform(0.0, 4.0)])
    if chance.random() < 0.5:
        return _held_back(world, chance, slow, later_s, [victim], lambda: _stop_node(world, victim, kill=True))
    return _held_back(world, chance, slow, later_s, [], lambda: _lead_all(world, victim, slow))


def lose_majority(world: Simulation, chance: random.Random) -> Undo | None:
    """A node's replicas fall out of sync, and then all other nodes end: it leads where an unclean election may be."""
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
    """``slow`` copies nothing from some moment on, and ``later_s`` after it there is an ``end`` of ``victims``."""

    def hold_back() -> None:
        _nodes(world, lambda: world.broker.on_loop(lambda nodes: nodes.hold_back(slow)), f"node {slow} copies nothing")
        later(world, later_s, lambda: None if world.is_calm else end())
        later(world, later_s + 2.0, undo)

    def undo() -> None:
        for victim in victims:
            _start_node(world, victim)
        _nodes(world, lambda: world.broker.on_loop(lambda nodes: nodes.let_go(slow)), f"node {slow} copies")

    return in_the_middle(world, chance, hold_back, undo)


def _lead_all(world: Simulation, before: int, after: int) -> None:
    """A node leads all that another one has led, where its replicas are in sync."""
    for topic, index in _partitions(world):
        where = TopicPartition(topic, index)
        _nodes(
            world,
            lambda: world.broker.on_loop(
                lambda nodes: nodes.move_leader(topic, index, after) if nodes.leader(where) == before else None  # noqa: B023
            ),
            f"node {after} leads what node {before} led of {topic}-{index}",
        )


def _partitions(world: Simulation) -> list[tuple[str, int]]:
    """All that there are, internal ones too; none if the broker does not run."""
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
    _nodes(world, lambda: world.broker.run_nodes(lambda nodes: nodes.stop(node, kill=kill)), f"node {node} ends")


def make_whole(world: Simulation, node: int) -> None:
    """A node runs, is reached, and copies."""
    _start_node(world, node)
    _nodes(world, lambda: world.broker.on_loop(lambda nodes: nodes.heal(node)), f"node {node} is reached")
    _nodes(world, lambda: world.broker.on_loop(lambda nodes: nodes.let_go(node)), f"node {node} copies")


def _start_node(world: Simulation, node: int) -> None:
    _nodes(world, lambda: world.broker.run_nodes(lambda nodes: nodes.start(node)), f"node {node} is back")


def _nodes(world: Simulation, change: Callable[[], object], what: str) -> None:
    if world.broker.is_running:
        try:
            change()
        except Exception as error:
            if not isinstance(error, FaultError | SimulationError) and type(error).__name__ != "KafkaError":
                raise
            what = f"{what}: refused, {error}"
        world.note(what, "trouble")


__all__ = ["SEVERAL_NODES", "make_whole"]
