"""Run a program in a simulation: one seed (:func:`simulate`), or many until one fails (:func:`explore`)."""

from __future__ import annotations

import asyncio
import gc
import math
import tempfile
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from oncelog.server.embedded import MOST_NODES
from oncelog.settings import nearest
from oncelog.testing.simulation.culprits import watched
from oncelog.testing.simulation.errors import Nondeterministic, SimulationError
from oncelog.testing.simulation.faults import KINDS, SEVERAL_NODES, Trouble, Troubles, plan
from oncelog.testing.simulation.guards import guarded
from oncelog.testing.simulation.network import Habits
from oncelog.testing.simulation.timeline import Timeline, first_difference
from oncelog.testing.simulation.world import Simulation, context_of_main

T = TypeVar("T")
Main = Callable[[Simulation], Awaitable[T]]
_MEMORY = Path("/dev/shm")
MOST_FINALLYS = 100
LAST_LINES = 40
"""Of the timeline, in the report of a failure."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Everything but the seed and the program.

    :param nodes: how many the simulated broker has.
    :param settings: the broker's, by Kafka's names; over those of ``simulation.broker.QUICK``.
    :param troubles: kinds of trouble that may happen, by name (``faults.KINDS``), or a ready plan.
    :param calm_s: when troubles end and everything is whole again; ``await world.calm()`` waits for it.
    :param limit_s: so many simulated seconds at most.
    """

    nodes: int = 1
    settings: Mapping[str, object] | None = None
    troubles: Iterable[str | Trouble] = ()
    calm_s: float = 60.0
    limit_s: float = 3600.0
    habits: Habits | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.nodes, int) or not 1 <= self.nodes <= MOST_NODES:
            raise SimulationError(f"nodes={self.nodes!r}: a simulated broker has from 1 to {MOST_NODES} nodes")
        for name in ("calm_s", "limit_s"):
            seconds = getattr(self, name)
            if not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
                raise SimulationError(f"{name} is a number of simulated seconds above 0, not {seconds!r}")
        if isinstance(self.troubles, str):
            raise SimulationError(f"troubles are a list, such as [{self.troubles!r}], not a text")
        object.__setattr__(self, "troubles", tuple(self.troubles))
        for trouble in self.troubles:
            self._check(trouble)

    def _check(self, trouble: object) -> None:
        """Refuse what could never come."""
        kind = trouble.kind if isinstance(trouble, Trouble) else trouble
        if not isinstance(kind, str) or kind not in KINDS:
            raise SimulationError(
                f"there is no trouble {kind!r}{nearest(str(kind), KINDS)}; there are {', '.join(sorted(KINDS))}"
            )
        if self.nodes < 2 and kind in SEVERAL_NODES:
            raise SimulationError(f"the trouble {kind!r} needs several nodes, and nodes is {self.nodes}: say nodes=3")
        if isinstance(trouble, Trouble) and not (0 <= trouble.at_s < self.calm_s and trouble.for_s >= 0):
            raise SimulationError(
                f"a trouble comes between 0 and calm_s={self.calm_s}, for 0 seconds or more: not {trouble}"
            )

    def planned(self, seed: int) -> Sequence[Trouble]:
        """What goes wrong in a seed."""
        if not isinstance(seed, int):
            raise SimulationError(f"a seed is a whole number, not {seed!r}")
        ready = [trouble for trouble in self.troubles if isinstance(trouble, Trouble)]
        kinds = [trouble for trouble in self.troubles if isinstance(trouble, str)]
        return ready + plan(seed, kinds=kinds, begin_s=0.0, end_s=self.calm_s * 0.9)


def run_simulation(simulation: Simulation, main: Main[T]) -> T:
    """Run ``main`` to its end in a simulation that was not run yet.

    :raises SimulationError: it did not come to an end, or asked for something real.
    """
    loop, context = simulation.loop, context_of_main()
    collects = gc.isenabled()
    gc.disable()  # what is collected when is no part of a seed
    try:
        with guarded(loop, simulation.network, simulation.rng("chance")), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)

            async def whole() -> T:
                simulation.broker.start()
                return await main(simulation)

            asyncio.events.set_event_loop(None)
            try:
                return context.run(loop.run_until_complete, whole())
            finally:
                _end(simulation)
    finally:
        if collects:
            gc.enable()


def _end(simulation: Simulation) -> None:
    """Leave nothing behind: what still waits is dropped, not continued."""
    loop = simulation.loop
    if simulation.broker.is_running:
        simulation.broker.server.broker.metadata.close()
    loop.is_over = True
    for handle in [*loop._ready, *loop._scheduled]:  # type: ignore[attr-defined]
        handle.cancel()
    for task in asyncio.all_tasks(loop):
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        _drop(task.get_coro())
    loop.close()
    simulation.forget()


def _drop(coroutine: Any) -> None:
    """End a coroutine where it waits, however often its ``finally`` waits again."""
    for _ in range(MOST_FINALLYS):
        try:
            coroutine.close()
        except RuntimeError:  # it "ignored GeneratorExit": it waits somewhere else now
            continue
        except Exception:  # noqa: BLE001 - what it meets after the end of its world concerns nobody
            return
        return


def simulation_folder() -> tempfile.TemporaryDirectory[str]:
    """For the metadata: in memory, where there is such a place."""
    return tempfile.TemporaryDirectory(prefix="oncelog-simulation-", dir=_MEMORY if _MEMORY.is_dir() else None)


def simulate(
    main: Main[T],
    *,
    seed: int = 0,
    nodes: int = 1,
    settings: Mapping[str, object] | None = None,
    troubles: Iterable[str | Trouble] = (),
    calm_s: float = 60.0,
    limit_s: float = 3600.0,
    habits: Habits | None = None,
) -> T:
    """Run ``main`` in virtual time against a simulated broker; its result. The parameters are those of ``Setting``.

    :raises SimulationError: it did not come to an end, or asked for something real.
    """
    setting = Setting(nodes=nodes, settings=settings, troubles=troubles, calm_s=calm_s, limit_s=limit_s, habits=habits)
    result, _ = _run(main, seed, setting, setting.planned(seed))
    return result


def _run(
    main: Main[T],
    seed: int,
    setting: Setting,
    planned: Sequence[Trouble],
    timeline: Timeline | None = None,
) -> tuple[T, Timeline]:
    with simulation_folder() as folder:
        world = Simulation(
            seed,
            Path(folder),
            nodes=setting.nodes,
            settings=setting.settings,
            limit_s=setting.limit_s,
            habits=setting.habits,
            timeline=timeline or Timeline(keep=False),
        )

        async def whole(world: Simulation) -> T:
            if setting.troubles:
                world.begin_troubles(Troubles(world, planned).run(setting.calm_s))
            return await main(world)

        return run_simulation(world, whole), world.timeline


@dataclass(frozen=True)
class Failure:
    """A seed in which the program failed, with no more trouble than it takes."""

    seed: int
    error: Exception
    troubles: Sequence[Trouble]
    timeline: Timeline

    def __str__(self) -> str:
        told = "\n".join(f"  {trouble}" for trouble in self.troubles) or "  none"
        return (
            f"seed {self.seed} fails with {type(self.error).__name__}: {self.error}\ntroubles that it takes:\n{told}\n"
            f"the last of {self.timeline.count} lines of what happened (simulated seconds, who, what):\n"
            f"{self.timeline.text(LAST_LINES)}"
        )


def explore(main: Main[object], seeds: Iterable[int], setting: Setting | None = None) -> Failure | None:
    """Run seeds until one fails, and shrink it; None if all of them hold.

    The first seed is run twice: a program that does not take the same course twice cannot be replayed.

    :raises Nondeterministic: two runs of a seed differ; the message names what was called past the simulation.
    """
    setting = setting or Setting()
    for number, seed in enumerate(seeds):
        error = _failure(main, seed, setting, setting.planned(seed))
        if error is not None:
            return _shrunk(main, seed, setting, error)
        if not number:
            check_deterministic(main, seed, setting)
    return None


def _failure(
    main: Main[object], seed: int, setting: Setting, planned: Sequence[Trouble], timeline: Timeline | None = None
) -> Exception | None:
    try:
        _run(main, seed, setting, planned, timeline)
    except Exception as error:  # noqa: BLE001 - whatever the program's own checks raise
        return error
    return None


def _shrunk(main: Main[object], seed: int, setting: Setting, error: Exception) -> Failure:
    """Leave out every trouble without which the same kind of error comes, too."""
    left = list(setting.planned(seed))
    for trouble in list(left):
        fewer = [other for other in left if other is not trouble]
        if type(_failure(main, seed, setting, fewer)) is type(error):
            left = fewer
    timeline = Timeline()
    again = _failure(main, seed, setting, left, timeline)
    if again is None:
        check_deterministic(main, seed, setting)
        raise Nondeterministic(f"seed {seed} failed with {error!r}, and does not when it is run again")
    return Failure(seed, again, left, timeline)


def check_deterministic(main: Main[object], seed: int, setting: Setting | None = None) -> None:
    """Run a seed twice.

    :raises Nondeterministic: they differ.
    """
    setting = setting or Setting()
    one, other = Timeline(), Timeline()
    for timeline in (one, other):
        _failure(main, seed, setting, setting.planned(seed), timeline)
    if one.fingerprint == other.fingerprint:
        return
    with watched() as names:
        _failure(main, seed, setting, setting.planned(seed))
    mine, others = first_difference(one, other) or (None, None)
    who = "; ".join(names) or (
        "no call of a real clock or of chance was seen: look for the order of a set, for id() and for addresses in text"
    )
    raise Nondeterministic(
        f"seed {seed} goes two ways, so that it cannot be replayed. Called past the simulation: {who}. "
        f"They part at: {mine}  |  {others}"
    )


__all__ = [
    "Failure",
    "Setting",
    "check_deterministic",
    "explore",
    "run_simulation",
    "simulate",
    "simulation_folder",
]
