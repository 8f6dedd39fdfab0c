"""One simulation: loop, network, brokers and the program's own processes, all from one seed.

``simulate`` (:mod:`~oncelog.testing.simulation.run`) makes one and hands it to the program's ``main``.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from oncelog.testing.simulation.broker import SimulatedBroker, SimulatedMachine
from oncelog.testing.simulation.errors import SimulationError
from oncelog.testing.simulation.loop import RUNNING, START_NS, Process, SimulatedLoop, task_in
from oncelog.testing.simulation.network import Habits, Network
from oncelog.testing.simulation.timeline import Timeline

T = TypeVar("T")


class SimulatedProcess:
    """A program of the simulation that can be killed and started again; made by :meth:`Simulation.process`."""

    def __init__(self, simulation: Simulation, name: str, main: Callable[[], Awaitable[object]]) -> None:
        self._simulation = simulation
        self._main = main
        self.name = name
        self._process = Process(name)
        self._process.alive = False
        self.lives = 0
        self.killed = False
        self.alone = False
        self.task: asyncio.Task[Any] | None = None

    @property
    def alive(self) -> bool:
        """Whether it runs and is not at its end."""
        return self._process.alive and self.task is not None and not self.task.done()

    @property
    def failure(self) -> BaseException | None:
        """What its main raised in its last life; None if it goes on, or came to its end."""
        task = self.task
        return task.exception() if task is not None and task.done() and not task.cancelled() else None

    def start(self) -> None:
        """Begin a new life with nothing but what the program keeps elsewhere."""
        if self.alive:
            return
        self.kill()  # what a main that has failed left running
        self._begin()

    def _begin(self) -> None:
        self.lives += 1
        self.killed = False
        self._process = Process(self.name)
        self._simulation.note(f"starts, life {self.lives}", self.name)
        self.task = task_in(self._simulation.loop, self._process, self._main(), self.name)
        self._simulation.keep(self.task)

    def double(self) -> None:
        """Begin a new life while the old one goes on, as where a supervisor takes a slow program for dead."""
        if self.alive:
            self._simulation.keep((self.task, self._process))
            self._begin()

    def restart(self) -> None:
        """Begin a new life where the last one was cut short."""
        if self.killed or self.failure is not None:
            self.start()

    def pause(self) -> None:
        """It stands still as it is, with its connections open, until :meth:`resume`."""
        if self.alive:
            self._simulation.note("stands still", self.name)
            self._simulation.loop.pause(self._process)

    def resume(self) -> None:
        """It goes on where it stood, if it still lives; it has not noticed anything."""
        if self._process.held is not None:
            self._simulation.note("goes on", self.name)
            self._simulation.loop.resume(self._process)

    def kill(self, *, power: bool = False) -> None:
        """It stops where it stands: no ``finally`` runs, nothing is sent. ``power``: its peers do not hear of it."""
        if not self._process.alive:
            return
        self.killed = not (self.task is not None and self.task.done() and self.failure is None)
        self._simulation.note("is killed", self.name)
        self._simulation.loop.freeze(self._process)
        self._simulation.network.died(self._process, silent=power)


class Simulation:
    """What a simulated program sees of its world.

    :param seed: decides everything that is left to chance.
    """

    def __init__(
        self,
        seed: int,
        folder: Path,
        *,
        nodes: int = 1,
        settings: Mapping[str, object] | None = None,
        limit_s: float = 3600.0,
        habits: Habits | None = None,
        timeline: Timeline | None = None,
    ) -> None:
        self.seed = seed
        self.timeline = timeline or Timeline()
        self.loop = SimulatedLoop(self.rng("executors"), limit_s)
        self.network = Network(self.loop, self.rng("network"), self.timeline, habits or Habits())
        self.loop.network = self.network
        self.machine = SimulatedMachine(folder, self.rng("machine"), self.rng("metadata"), self._spend)
        self.broker = SimulatedBroker(self.loop, self.network, self.machine, nodes, settings or {})
        self.processes: dict[str, SimulatedProcess] = {}
        self._kept: list[object] = []
        self._troubles: asyncio.Task[None] | None = None
        self.is_calm = False
        """Troubles are through."""

    def _spend(self, seconds: float) -> None:
        self.loop.spent_ns += int(seconds * 1e9)

    def rng(self, name: str) -> random.Random:
        """A stream of chance of its own, from the seed."""
        return random.Random(f"{self.seed}/{name}")

    @property
    def bootstrap_servers(self) -> str:
        """What clients want."""
        return self.broker.bootstrap_servers

    @property
    def now_s(self) -> float:
        """Simulated seconds since the beginning."""
        return (self.loop.now_ns - START_NS) / 1e9

    def note(self, what: str, who: str = "main") -> None:
        """Write a line into the timeline."""
        self.timeline.note(self.loop.now_ns - START_NS, who, what)

    def process(self, name: str, main: Callable[[], Awaitable[object]], *, alone: bool = False) -> SimulatedProcess:
        """A program with a name of its own in the network, which faults may kill and start again.

        :param alone: ``double_program`` leaves it out: something else sees to it that there is never a second one.
        :raises SimulationError: there is one of that name.
        """
        if name in self.processes or name in ("broker", "main"):
            raise SimulationError(f"there is a process {name!r} already: give each a name of its own")
        made = self.processes[name] = SimulatedProcess(self, name, main)
        made.alone = alone
        made.start()
        return made

    def begin_troubles(self, troubles: Coroutine[Any, Any, None]) -> None:
        """Have things go wrong, until they are through."""
        self._troubles = self.loop.create_task(troubles)

    async def calm(self) -> None:
        """Wait until nothing is broken any more: whatever does not come to its end from here on is a bug."""
        if self._troubles is not None:
            await asyncio.shield(self._troubles)

    def keep(self, thing: object) -> None:
        """Nothing of a dead process is collected before the end: its coroutines would go on with their ``finally``."""
        self._kept.append(thing)

    def forget(self) -> None:
        """At the end, when nothing runs any more."""
        self._kept.clear()


def context_of_main() -> contextvars.Context:
    context = contextvars.copy_context()
    context.run(RUNNING.set, Process("main"))
    return context


__all__ = ["SimulatedProcess", "Simulation"]
