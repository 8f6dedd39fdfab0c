"""Runs a program in a simulation: with one seed (:func:`simulate`), or with many seeds until one fails
(:func:`explore`)."""

from __future__ import annotations

import gc
import math
import tempfile
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from oncelog.broker.server.embedded import MAX_NODES
from oncelog.runtime import real_asyncio as asyncio
from oncelog.settings.fields import nearest
from oncelog.testing.simulation.culprits import watched
from oncelog.testing.simulation.faults import KINDS, SEVERAL_NODES, FaultInjector, PlannedFault, plan
from oncelog.testing.simulation.guards import guarded
from oncelog.testing.simulation.network import NetworkModel
from oncelog.testing.simulation.simulation_errors import Nondeterministic, SimulationError
from oncelog.testing.simulation.timeline import Timeline, first_difference
from oncelog.testing.simulation.world import Simulation, context_of_main

T = TypeVar("T")
Main = Callable[[Simulation], Awaitable[T]]
_MEMORY = Path("/dev/shm")
MAX_FINALLYS = 100
LAST_LINES = 40
"""The number of lines of the timeline that the report of a failure shows."""


@dataclass(frozen=True, kw_only=True)
class SimulationSettings:
    """The settings of a simulation, apart from the seed and the program.

    :param nodes: the number of nodes of the simulated broker.
    :param settings: the broker's settings by Kafka's names; they override those of ``simulation.broker.QUICK``.
    :param faults: kinds of fault that may happen, by name (``faults.KINDS``), or a ready plan.
    :param calm_s: when faults end and everything is repaired; ``await world.calm()`` waits for that.
    :param limit_s: how many simulated seconds the whole simulation may take.
    """

    nodes: int = 1
    settings: Mapping[str, object] | None = None
    faults: Iterable[str | PlannedFault] = ()
    calm_s: float = 60.0
    limit_s: float = 3600.0
    network: NetworkModel | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.nodes, int) or not 1 <= self.nodes <= MAX_NODES:
            raise SimulationError(f"nodes={self.nodes!r}: a simulated broker has from 1 to {MAX_NODES} nodes")
        for name in ("calm_s", "limit_s"):
            seconds = getattr(self, name)
            if not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
                raise SimulationError(f"{name} must be a number of simulated seconds above 0, not {seconds!r}")
        if isinstance(self.faults, str):
            raise SimulationError(f"faults must be a list, such as [{self.faults!r}], not a string")
        object.__setattr__(self, "faults", tuple(self.faults))
        for fault in self.faults:
            self._check(fault)

    def _check(self, fault: object) -> None:
        """Check that a fault can happen in this simulation.

        :raises SimulationError: its kind does not exist, it needs several nodes, or its times are not valid.
        """
        kind = fault.kind if isinstance(fault, PlannedFault) else fault
        if not isinstance(kind, str) or kind not in KINDS:
            raise SimulationError(
                f"there is no fault {kind!r}{nearest(str(kind), KINDS)}; there are {', '.join(sorted(KINDS))}"
            )
        if self.nodes < 2 and kind in SEVERAL_NODES:
            raise SimulationError(f"the fault {kind!r} needs several nodes, but nodes is {self.nodes}: set nodes=3")
        if isinstance(fault, PlannedFault) and not (0 <= fault.at_s < self.calm_s and fault.for_s >= 0):
            raise SimulationError(
                f"a fault must begin between 0 and calm_s={self.calm_s} and last 0 seconds or more, not {fault}"
            )

    def planned(self, seed: int) -> Sequence[PlannedFault]:
        """The planned faults for a seed: the ready ones, and those drawn from the chosen kinds."""
        if not isinstance(seed, int):
            raise SimulationError(f"a seed must be a whole number, not {seed!r}")
        ready = [fault for fault in self.faults if isinstance(fault, PlannedFault)]
        kinds = [fault for fault in self.faults if isinstance(fault, str)]
        return ready + plan(seed, kinds=kinds, begin_s=0.0, end_s=self.calm_s * 0.9)


def run_simulation(simulation: Simulation, main: Main[T]) -> T:
    """Run ``main`` to its end in a new simulation.

    :raises SimulationError: it did not finish, or requested something real, such as a thread.
    """
    loop, context = simulation.loop, context_of_main()
    collects = gc.isenabled()
    gc.disable()  # disabled, because the seed does not determine when garbage is collected
    try:
        with guarded(loop, simulation.network, simulation.rng("chance")), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)

            async def whole() -> T:
                simulation.broker.start()
                return await main(simulation)

            asyncio.set_event_loop(None)
            try:
                return context.run(loop.run_until_complete, whole())
            finally:
                _end(simulation)
    finally:
        if collects:
            gc.enable()


def _end(simulation: Simulation) -> None:
    """End a simulation: coroutines and callbacks that still wait are dropped, not continued."""
    loop = simulation.loop
    if simulation.broker.is_running:
        simulation.broker.server.broker.metadata.close()
    loop.is_over = True
    for handle in [*loop._ready, *loop._scheduled]:  # type: ignore[attr-defined]
        handle.cancel()
    for task in asyncio.all_tasks(loop):
        task._log_destroy_pending = False  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        # The ``finally`` block of a closed coroutine may create coroutines that the closed loop cannot run any more.
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        for task in asyncio.all_tasks(loop):
            _drop(task.get_coro())
    loop.close()
    simulation.forget()


def _drop(coroutine: Any) -> None:
    """Close a coroutine where it waits, repeatedly if its ``finally`` waits again."""
    for _ in range(MAX_FINALLYS):
        try:
            coroutine.close()
        except RuntimeError:  # "coroutine ignored GeneratorExit": it has reached another await
            continue
        except Exception:  # noqa: BLE001 - raised after the end of the simulation, so it concerns nobody
            return
        return


def simulation_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for the metadata, in memory if the system has such a place."""
    return tempfile.TemporaryDirectory(prefix="oncelog-simulation-", dir=_MEMORY if _MEMORY.is_dir() else None)


def simulate(
    main: Main[T],
    *,
    seed: int = 0,
    nodes: int = 1,
    settings: Mapping[str, object] | None = None,
    faults: Iterable[str | PlannedFault] = (),
    calm_s: float = 60.0,
    limit_s: float = 3600.0,
    network: NetworkModel | None = None,
) -> T:
    """Run ``main`` in virtual time against a simulated broker and return its result. The parameters are those of
    ``SimulationSettings``.

    :raises SimulationError: it did not finish, or requested something real, such as a thread.
    """
    setting = SimulationSettings(
        nodes=nodes, settings=settings, faults=faults, calm_s=calm_s, limit_s=limit_s, network=network
    )
    result, _ = _run(main, seed, setting, setting.planned(seed))
    return result


def _run(
    main: Main[T],
    seed: int,
    setting: SimulationSettings,
    planned: Sequence[PlannedFault],
    timeline: Timeline | None = None,
) -> tuple[T, Timeline]:
    with simulation_folder() as folder:
        world = Simulation(
            seed,
            Path(folder),
            nodes=setting.nodes,
            settings=setting.settings,
            limit_s=setting.limit_s,
            network=setting.network,
            timeline=timeline or Timeline(keep=False),
        )

        async def whole(world: Simulation) -> T:
            if setting.faults:
                world.begin_faults(FaultInjector(world, planned).run(setting.calm_s))
            return await main(world)

        return run_simulation(world, whole), world.timeline


@dataclass(frozen=True)
class Failure:
    """A seed with which the program failed, and a reduced list of faults with which it still fails."""

    seed: int
    error: Exception
    faults: Sequence[PlannedFault]
    timeline: Timeline

    def __str__(self) -> str:
        shown = "\n".join(f"  {fault}" for fault in self.faults) or "  none"
        return (
            f"seed {self.seed} fails with {type(self.error).__name__}: {self.error}\ntroubles needed for it:\n{shown}\n"
            f"the last of {self.timeline.count} lines of what happened (simulated seconds, who, what):\n"
            f"{self.timeline.text(LAST_LINES)}"
        )


def explore(main: Main[object], seeds: Iterable[int], setting: SimulationSettings | None = None) -> Failure | None:
    """Run seeds until one fails, then reduce its faults; returns None if all seeds pass.

    The first seed is run twice, because a failure cannot be replayed if two runs of a seed differ.

    :raises Nondeterministic: two runs of a seed differ; the message names calls that bypassed the simulation.
    """
    setting = setting or SimulationSettings()
    for number, seed in enumerate(seeds):
        error = _failure(main, seed, setting, setting.planned(seed))
        if error is not None:
            return _shrunk(main, seed, setting, error)
        if not number:
            check_deterministic(main, seed, setting)
    return None


def _failure(
    main: Main[object],
    seed: int,
    setting: SimulationSettings,
    planned: Sequence[PlannedFault],
    timeline: Timeline | None = None,
) -> Exception | None:
    try:
        _run(main, seed, setting, planned, timeline)
    except Exception as error:  # noqa: BLE001 - whatever the program's own checks raise
        return error
    return None


def _shrunk(main: Main[object], seed: int, setting: SimulationSettings, error: Exception) -> Failure:
    """Leave out every fault without which the seed still fails with the same type of error; returns the reduced
    failure."""
    left = list(setting.planned(seed))
    for fault in list(left):
        fewer = [other for other in left if other is not fault]
        if type(_failure(main, seed, setting, fewer)) is type(error):
            left = fewer
    timeline = Timeline()
    again = _failure(main, seed, setting, left, timeline)
    if again is None:
        check_deterministic(main, seed, setting)
        raise Nondeterministic(f"seed {seed} failed with {error!r}, but does not when it is run again")
    return Failure(seed, again, left, timeline)


def check_deterministic(main: Main[object], seed: int, setting: SimulationSettings | None = None) -> None:
    """Run a seed twice and compare the timelines.

    :raises Nondeterministic: they differ.
    """
    setting = setting or SimulationSettings()
    one, other = Timeline(), Timeline()
    for timeline in (one, other):
        _failure(main, seed, setting, setting.planned(seed), timeline)
    if one.fingerprint == other.fingerprint:
        return
    with watched() as names:
        _failure(main, seed, setting, setting.planned(seed))
    mine, others = first_difference(one, other) or (None, None)
    who = "; ".join(names) or (
        "no call of the real clock or of real randomness was seen: look for the order of a set, id(), and addresses in "
        "text"
    )
    raise Nondeterministic(
        f"two runs of seed {seed} differ, so it cannot be replayed. Calls that bypassed the simulation: {who}. "
        f"The first difference: {mine}  |  {others}"
    )


__all__ = [
    "Failure",
    "SimulationSettings",
    "check_deterministic",
    "explore",
    "run_simulation",
    "simulate",
    "simulation_folder",
]
