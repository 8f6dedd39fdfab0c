"""One simulation: event loop, network, brokers and the program's own processes, all from one seed.

``simulate`` (:mod:`~oncelog.testing.simulation.run`) creates a simulation and passes it to the program's ``main``.
"""

from __future__ import annotations

import contextvars
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from oncelog.runtime import real_asyncio as asyncio
from oncelog.testing.simulation.broker import SimulatedBroker, SimulatedMachine
from oncelog.testing.simulation.loop import RUNNING, START_NS, ProcessLife, SimulatedLoop, task_in
from oncelog.testing.simulation.network import NetworkModel, SimulatedNetwork
from oncelog.testing.simulation.simulation_errors import SimulationError
from oncelog.testing.simulation.timeline import Timeline

T = TypeVar("T")


class SimulatedProcess:
    """A program of the simulation that can be killed and started again; made by :meth:`Simulation.process`."""

    def __init__(self, simulation: Simulation, name: str, main: Callable[[], Awaitable[object]]) -> None:
        self._simulation = simulation
        self._main = main
        self.name = name
        self._process = ProcessLife(name)
        self._process.alive = False
        self.lives = 0
        self.killed = False
        self.alone = False
        self.task: asyncio.Task[Any] | None = None

    @property
    def alive(self) -> bool:
        """Whether the program is running and has not finished."""
        return self._process.alive and self.task is not None and not self.task.done()

    @property
    def failure(self) -> BaseException | None:
        """The exception that ended the program's last life; None if the program is running or has finished normally."""
        task = self.task
        return task.exception() if task is not None and task.done() and not task.cancelled() else None

    def start(self) -> None:
        """Start the program, unless it is running, with only what it has stored outside its memory."""
        if self.alive:
            return
        self.kill()  # tasks that a failed ``main`` left running
        self._begin()

    def _begin(self) -> None:
        self.lives += 1
        self.killed = False
        self._process = ProcessLife(self.name)
        self._simulation.note(f"starts, life {self.lives}", self.name)
        self.task = task_in(self._simulation.loop, self._process, self._main(), self.name)
        self._simulation.keep(self.task)

    def double(self) -> None:
        """Start the program a second time while it is running, as if a supervisor had mistaken a slow program for a
        dead one."""
        if self.alive:
            self._simulation.keep((self.task, self._process))
            self._begin()

    def restart(self) -> None:
        """Start the program again if it was killed or failed."""
        if self.killed or self.failure is not None:
            self.start()

    def pause(self) -> None:
        """Pause the program until :meth:`resume`, with its connections open."""
        if self.alive:
            self._simulation.note("is paused", self.name)
            self._simulation.loop.pause(self._process)

    def resume(self) -> None:
        """Let the paused program continue, if it is still alive; it has not noticed the pause."""
        if self._process.held is not None:
            self._simulation.note("is resumed", self.name)
            self._simulation.loop.resume(self._process)

    def kill(self, *, power: bool = False) -> None:
        """Kill the program at once: no ``finally`` runs, nothing is sent.

        :param power: whether its machine fails with it, so that its peers are not notified.
        """
        if not self._process.alive:
            return
        self.killed = not (self.task is not None and self.task.done() and self.failure is None)
        self._simulation.note("is killed", self.name)
        self._simulation.loop.freeze(self._process)
        self._simulation.network.died(self._process, silent=power)


class Simulation:
    """The simulated world, as its programs see it.

    :param seed: decides everything random.
    """

    def __init__(
        self,
        seed: int,
        folder: Path,
        *,
        nodes: int = 1,
        settings: Mapping[str, object] | None = None,
        limit_s: float = 3600.0,
        network: NetworkModel | None = None,
        timeline: Timeline | None = None,
    ) -> None:
        self.seed = seed
        self.timeline = timeline or Timeline()
        self.loop = SimulatedLoop(self.rng("executors"), limit_s)
        self.network = SimulatedNetwork(self.loop, self.rng("network"), self.timeline, network or NetworkModel())
        self.loop.network = self.network
        self.folder = folder
        """A folder for the programs' files, such as an SQLite database; it outlives the programs and is deleted with
        the simulation."""
        self.machine = SimulatedMachine(folder, self.rng("machine"), self.rng("metadata"), self._spend)
        self.broker = SimulatedBroker(self.loop, self.network, self.machine, nodes, settings or {})
        self.processes: dict[str, SimulatedProcess] = {}
        self._kept: list[object] = []
        self._faults: asyncio.Task[None] | None = None
        self.is_calm = False
        """Whether all faults are over and everything has been repaired."""

    def _spend(self, seconds: float) -> None:
        self.loop.spent_ns += int(seconds * 1e9)

    def rng(self, name: str) -> random.Random:
        """A separate random number generator, seeded from the simulation's seed and ``name``."""
        return random.Random(f"{self.seed}/{name}")

    @property
    def bootstrap_servers(self) -> str:
        """``HOST:PORT`` of each node, separated by commas, for clients' ``bootstrap.servers``."""
        return self.broker.bootstrap_servers

    @property
    def now_s(self) -> float:
        """Simulated seconds since the beginning."""
        return (self.loop.now_ns - START_NS) / 1e9

    def note(self, what: str, who: str = "main") -> None:
        """Add a line to the timeline."""
        self.timeline.note(self.loop.now_ns - START_NS, who, what)

    def process(self, name: str, main: Callable[[], Awaitable[object]], *, alone: bool = False) -> SimulatedProcess:
        """Start a program under its own name in the network; faults may kill and restart it.

        :param alone: whether the fault ``double_program`` spares it, because something else ensures that there is never
            a second instance.
        :raises SimulationError: the name is taken.
        """
        if name in self.processes or name in ("broker", "main"):
            raise SimulationError(f"there is already a process {name!r}: give each its own name")
        made = self.processes[name] = SimulatedProcess(self, name, main)
        made.alone = alone
        made.start()
        return made

    def begin_faults(self, faults: Coroutine[Any, Any, None]) -> None:
        """Start the task that injects the faults."""
        self._faults = self.loop.create_task(faults)

    async def calm(self) -> None:
        """Wait until all faults are over. If anything does not finish after that, it is a bug."""
        if self._faults is not None:
            await asyncio.shield(self._faults)

    def keep(self, thing: object) -> None:
        """Keep objects of a dead process alive until the end, because the ``finally`` blocks of its coroutines would
        run when they are garbage-collected."""
        self._kept.append(thing)

    def forget(self) -> None:
        """Drop the objects that :meth:`keep` has kept, once nothing runs any more."""
        self._kept.clear()


def context_of_main() -> contextvars.Context:
    context = contextvars.copy_context()
    context.run(RUNNING.set, ProcessLife("main"))
    return context


__all__ = ["SimulatedProcess", "Simulation"]
