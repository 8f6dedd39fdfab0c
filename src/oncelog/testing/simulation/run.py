"""Run a program in a simulation: ``simulate(main, seed=7)``."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import warnings
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from oncelog.testing.simulation.guards import guarded
from oncelog.testing.simulation.network import Habits
from oncelog.testing.simulation.world import Simulation, context_of_main

T = TypeVar("T")
_MEMORY = Path("/dev/shm")
MOST_FINALLYS = 100


def run_simulation(simulation: Simulation, main: Callable[[Simulation], Awaitable[T]]) -> T:
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
            return context.run(loop.run_until_complete, whole())
    finally:
        _end(simulation)
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


def simulate(
    main: Callable[[Simulation], Awaitable[T]],
    *,
    seed: int = 0,
    nodes: int = 1,
    settings: Mapping[str, object] | None = None,
    limit_s: float = 3600.0,
    habits: Habits | None = None,
) -> T:
    """Run ``main`` in virtual time with simulated brokers."""
    with simulation_folder() as folder:
        return run_simulation(
            Simulation(seed, Path(folder), nodes=nodes, settings=settings, limit_s=limit_s, habits=habits), main
        )


def simulation_folder() -> tempfile.TemporaryDirectory[str]:
    """For the metadata: in memory, where there is such a place."""
    return tempfile.TemporaryDirectory(prefix="oncelog-simulation-", dir=_MEMORY if _MEMORY.is_dir() else None)


__all__ = ["run_simulation", "simulate", "simulation_folder"]
