"""The faults of a simulation and their times: a plan is drawn from the seed, and can be repeated without some of its
faults.

A :class:`PlannedFault` has a time, a duration and a kind. A number of its own decides which program, node or connection
it hits, so that leaving out another fault changes as little as possible. At the end of the plan everything is repaired:
the network heals, and nodes, brokers and programs are started. If anything does not finish after that, it is a bug.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oncelog.runtime import real_asyncio as asyncio
from oncelog.testing.simulation.broker import FIRST_PORT, HOST
from oncelog.testing.simulation.moments import MOMENTS, REQUESTS, Undo, in_the_middle, later
from oncelog.testing.simulation.network import MessageTrigger
from oncelog.testing.simulation.node_faults import SEVERAL_NODES, make_whole
from oncelog.testing.simulation.simulation_errors import SimulationError

if TYPE_CHECKING:
    from oncelog.testing.simulation.connections import SimulatedConnection
    from oncelog.testing.simulation.world import Simulation

_ANSWERS = ("Produce", "EndTxn", "AddPartitionsToTxn", "TxnOffsetCommit", "OffsetCommit", "InitProducerId", None)
_NOT_NOW = (
    ("Produce", "NOT_ENOUGH_REPLICAS"),
    ("Produce", "NOT_ENOUGH_REPLICAS"),
    ("Produce", "NOT_LEADER_OR_FOLLOWER"),
    ("EndTxn", "COORDINATOR_NOT_AVAILABLE"),
    ("EndTxn", "CONCURRENT_TRANSACTIONS"),
    ("InitProducerId", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("TxnOffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
)
OTHERS_PAUSE_S = 0.002
"""The interval at which other programs change a full disk: short enough to fall between two writes of a transaction's
end.
"""
_PHASES = ("prepare", "first-marker", "markers")


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """One planned fault.

    :param at_s: when it begins, in simulated seconds from the start.
    :param for_s: how long it lasts.
    :param number: the seed of the fault's own random choices, such as what it hits.
    """

    at_s: float
    kind: str
    for_s: float
    number: int

    def __str__(self) -> str:
        return f"{self.at_s:7.3f} s  {self.kind} for {self.for_s:.3f} s (number {self.number})"


def cut_connection(world: Simulation, chance: random.Random) -> Undo | None:
    """One connection is cut; data in flight may be lost."""

    def cut() -> None:
        there = world.network.connections
        if there:
            world.network.cut(chance.choice(there))

    in_the_middle(world, chance, cut)
    return None


def cut_before_answer(world: Simulation, chance: random.Random) -> Undo | None:
    """Connections are cut when a request of some kind has arrived, or just before the client gets its answer."""
    for _ in range(chance.randint(1, 5)):
        api, lost = chance.choice(REQUESTS), chance.random() < 0.6
        what = f"answer to {api}" if lost else api
        world.network.add_trigger(MessageTrigger(what, chance.randrange(6), world.network.cut, lost=lost))
    return None


def cut_all_connections(world: Simulation, chance: random.Random) -> Undo | None:
    """All connections that exist at the moment are cut."""
    for connection in world.network.connections:
        world.network.cut(connection)
    return None


def part_network(world: Simulation, chance: random.Random) -> Undo | None:
    """A program and a node cannot reach each other, and neither gets an error."""
    clients = sorted(process.name for process in world.processes.values()) or ["main"]
    world.network.part(chance.choice(clients), (HOST, FIRST_PORT + chance.randrange(world.broker.node_count)))
    return world.network.heal


def slow_network(world: Simulation, chance: random.Random) -> Undo | None:
    """Many messages take a long time."""
    model, slow = world.network.model, world.network.model.slow
    model.slow = 0.5

    def undo() -> None:
        model.slow = slow

    return undo


def slow_disk(world: Simulation, chance: random.Random) -> Undo | None:
    """Each sync takes longer, by up to three seconds."""
    world.machine.extra_sync_s = chance.uniform(0.05, 3.0)

    def undo() -> None:
        world.machine.extra_sync_s = 0.0

    return undo


def kill_broker(world: Simulation, chance: random.Random) -> Undo | None:
    """The broker's process is killed; everything it wrote survives."""
    return in_the_middle(
        world, chance, lambda: world.broker.crash() if world.broker.is_running else None, lambda: _start(world)
    )


def power_loss(world: Simulation, chance: random.Random) -> Undo | None:
    """The broker's machine loses power: unsynced data is lost, in part or completely."""
    return in_the_middle(
        world,
        chance,
        lambda: world.broker.crash(power=True) if world.broker.is_running else None,
        lambda: _start(world),
    )


def restart_broker(world: Simulation, chance: random.Random) -> Undo | None:
    """An operator stops the broker and starts it again."""

    async def stop() -> None:
        # checked here, because another fault may have stopped the broker before the task begins
        if world.broker.is_running:
            await world.broker.stop()

    return in_the_middle(world, chance, lambda: world.keep(world.loop.create_task(stop())), lambda: _start(world))


def pause_broker(world: Simulation, chance: random.Random) -> Undo | None:
    """The broker is paused, and continues as if nothing had happened."""
    return in_the_middle(
        world, chance, lambda: world.broker.pause() if world.broker.is_running else None, world.broker.resume
    )


def full_disk(world: Simulation, chance: random.Random) -> Undo | None:
    """The broker's disk is full until an operator frees space and possibly restarts the broker.

    In half of the cases it is full now and then, because other programs write and delete files.
    """
    machine = world.machine  # a power loss may change the file's content
    machine.content.free_bytes = chance.choice([0, chance.randint(0, 300), chance.randint(0, 3000)])
    restarts = chance.random() < 0.5
    others = chance.random() < 0.5
    world.note("the disk is full", "fault")

    def write_and_delete() -> None:
        if machine.content.free_bytes is not None:
            machine.content.free_bytes = chance.choice([0, 3000])
            later(world, chance.expovariate(1 / OTHERS_PAUSE_S), write_and_delete)

    def undo() -> None:
        machine.content.free_bytes = None
        world.note("the disk has space again", "fault")
        if restarts and world.broker.is_running:
            world.broker.resume()
            world.broker.crash()
        _start(world)

    if others:
        write_and_delete()
    return undo


def lose_answers(world: Simulation, chance: random.Random) -> Undo | None:
    """Requests are carried out, but their answers are lost."""
    return _if_running(
        world, lambda: world.broker.faults.lose_answer(chance.choice(_ANSWERS), times=chance.randint(1, 3))
    )


def lose_requests(world: Simulation, chance: random.Random) -> Undo | None:
    """Requests are lost before they are carried out."""
    return _if_running(
        world, lambda: world.broker.faults.lose_request(chance.choice(_ANSWERS), times=chance.randint(1, 3))
    )


def delay_answers(world: Simulation, chance: random.Random) -> Undo | None:
    """Answers come late."""
    ms = chance.randint(50, 5000)
    return _if_running(
        world, lambda: world.broker.faults.delay(ms, chance.choice(_ANSWERS), answer=True, times=chance.randint(1, 4))
    )


def refuse_requests(world: Simulation, chance: random.Random) -> Undo | None:
    """Requests are refused with a retriable error."""
    if world.broker.is_running:
        for _ in range(chance.randint(1, 4)):
            api, error = chance.choice(_NOT_NOW)
            world.broker.faults.answer_error(api, error, times=chance.randint(1, 2), skip=chance.randint(0, 12))
    return None


def crash_coordinator(world: Simulation, chance: random.Random) -> Undo | None:
    """A transaction's coordinator crashes while the transaction ends, and a successor restores its state from the log;
    this may happen to up to three transactions."""
    return _if_running(
        world,
        lambda: world.broker.faults.crash_coordinator(chance.choice(_PHASES), times=chance.choice([1, 1, 3])),
    )


def hold_markers(world: Simulation, chance: random.Random) -> Undo | None:
    """Transaction markers are held back on their way to the partitions."""
    if not world.broker.is_running:
        return None
    fault = world.broker.faults.hold_markers(times=chance.randint(1, 3))
    return lambda: world.broker.faults.remove(fault)


def lose_marker(world: Simulation, chance: random.Random) -> Undo | None:
    """A transaction marker is lost, and the coordinator sends it again."""
    return _if_running(world, lambda: world.broker.faults.lose_marker(times=chance.randint(1, 2)))


def repeat_marker(world: Simulation, chance: random.Random) -> Undo | None:
    """A transaction marker arrives twice."""
    return _if_running(world, lambda: world.broker.faults.repeat_marker(times=chance.randint(1, 2)))


def kill_program(world: Simulation, chance: random.Random) -> Undo | None:
    """A program is killed without warning, and started again later."""
    alive = sorted((process for process in world.processes.values() if process.alive), key=lambda found: found.name)
    if not alive:
        return None
    victim, power = chance.choice(alive), chance.random() < 0.3
    return in_the_middle(world, chance, lambda: victim.kill(power=power) if victim.alive else None, victim.restart)


def pause_program(world: Simulation, chance: random.Random) -> Undo | None:
    """A program is paused just after one of its requests or answers has arrived, and continues later."""
    lasts = chance.choice([min(20.0, chance.expovariate(1 / 3.0)), chance.uniform(6.5, 15.0)])

    def pause(connection: SimulatedConnection) -> None:
        victim = world.processes.get(connection.client)
        if victim is not None and not world.is_calm:
            victim.pause()
            later(world, lasts, victim.resume)

    world.network.add_trigger(MessageTrigger(chance.choice((*REQUESTS, *MOMENTS)), chance.randrange(4), pause))
    return None


def double_program(world: Simulation, chance: random.Random) -> Undo | None:
    """A second instance of a program starts while the first one is still running."""
    alive = [process for name, process in sorted(world.processes.items()) if process.alive and not process.alone]
    if alive:
        chance.choice(alive).double()
    return None


def set_clock(world: Simulation, chance: random.Random) -> Undo | None:
    """The wall clock is set forward or back, by up to ten minutes."""
    world.loop.wall_ahead_ns += int(chance.choice([-1, 1]) * chance.uniform(0.2, 600) * 1e9)
    return None


ONE_BROKER: Mapping[str, Callable[[Simulation, random.Random], Undo | None]] = {
    made.__name__: made
    for made in (
        cut_connection,
        cut_before_answer,
        cut_all_connections,
        part_network,
        slow_network,
        slow_disk,
        kill_broker,
        power_loss,
        restart_broker,
        pause_broker,
        full_disk,
        lose_answers,
        lose_requests,
        delay_answers,
        refuse_requests,
        crash_coordinator,
        hold_markers,
        lose_marker,
        repeat_marker,
        kill_program,
        pause_program,
        double_program,
        set_clock,
    )
}
_DISRUPTIVE = (
    "cut_before_answer",
    "refuse_requests",
    "kill_program",
    "double_program",
    "kill_broker",
    "restart_broker",
)
"""Faults that interrupt work in progress; most plans that allow all of them contain at least one."""
KINDS = {**ONE_BROKER, **SEVERAL_NODES}
"""All kinds of fault, by name."""


def _if_running(world: Simulation, make: Callable[[], object]) -> Undo | None:
    if world.broker.is_running:
        make()
    return None


def _start(world: Simulation) -> None:
    """Start the broker, unless its disk is full; in that case it is started when space is freed."""
    if world.machine.content.free_bytes is None:
        world.broker.start()


def plan(
    seed: int, *, kinds: Iterable[str], begin_s: float, end_s: float, most: int = 8, longest_s: float = 20.0
) -> list[PlannedFault]:
    """Draw up to ``most`` faults between two times.

    Each seed uses only some of the kinds, because one kind of fault can hide a bug that another kind would reveal.

    :raises SimulationError: a kind does not exist.
    """
    names = sorted(kinds)
    unknown = sorted(set(names) - KINDS.keys())
    if unknown:
        raise SimulationError(f"there is no fault {unknown[0]!r}; there are {', '.join(sorted(KINDS))}")
    chance = random.Random(f"{seed}/plan")
    if not names:
        return []
    some = chance.sample(names, chance.randint(1, min(len(names), 4)))
    some += chance.sample(_DISRUPTIVE, 1) if set(_DISRUPTIVE) <= set(names) else []
    found = [
        PlannedFault(
            at_s=round(chance.uniform(begin_s, end_s), 3),
            kind=chance.choice(some),
            for_s=round(min(longest_s, chance.expovariate(1 / 3.0)), 3),
            number=chance.getrandbits(32),
        )
        for _ in range(chance.randint(1, most))
    ]
    return sorted(found, key=lambda fault: (fault.at_s, fault.number))


class FaultInjector:
    """Carries out a plan in one simulation."""

    def __init__(self, world: Simulation, planned: Sequence[PlannedFault]) -> None:
        self._world = world
        self._planned = planned
        self._undo: list[Undo] = []

    async def run(self, calm_s: float) -> None:
        """Carry out the plan; at ``calm_s`` all faults end and everything is repaired."""
        world = self._world
        for fault in self._planned:
            world.loop.call_later(max(0.0, fault.at_s - world.now_s), self._begin, fault)
        await asyncio.sleep(max(0.0, calm_s - world.now_s))
        await self.calm()

    def _begin(self, fault: PlannedFault) -> None:
        world = self._world
        world.note(str(fault), "fault")
        undo = KINDS[fault.kind](world, random.Random(fault.number))
        if undo is not None:
            self._undo.append(undo)
            world.loop.call_later(fault.for_s, self._end, undo)

    def _end(self, undo: Undo) -> None:
        if undo in self._undo:
            self._undo.remove(undo)
            undo()

    async def calm(self) -> None:
        """End all faults, heal the network, and start what the faults have stopped."""
        world = self._world
        world.note("calm", "fault")
        world.is_calm = True
        while self._undo:
            self._undo.pop()()
        world.broker.resume()
        while world.broker.is_stopping:
            await asyncio.sleep(0.01)
        world.broker.start()
        world.broker.faults.clear()
        for node in range(1, 1 + world.broker.node_count) if world.broker.node_count > 1 else ():
            make_whole(world, node)
        world.network.heal()
        for process in world.processes.values():
            process.resume()
            process.restart()


__all__ = ["KINDS", "ONE_BROKER", "SEVERAL_NODES", "FaultInjector", "PlannedFault", "plan"]
