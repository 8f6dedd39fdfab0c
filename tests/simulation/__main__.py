"""``python -m tests.simulation --seeds 1000``: seeds; one that fails is shrunk and shown with its timeline.

``--seed 17`` runs one. ``--scene sink`` runs them in this scene. ``--mutants`` plants each bug of the catalogue and
counts the seeds of its scenes that find it, up to the fifth.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial

from tests.simulation.mutants import CATALOGUE
from tests.simulation.scenes import SCENES
from tests.simulation.seeds import Judged, explain, hunt_number, judge
from tests.simulation.worlds import run

ENOUGH = 5
"""So many seeds that find a mutant say how often one does."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first one")
    parser.add_argument("--seed", type=int, help="this one alone, with its timeline")
    parser.add_argument("--scene", choices=SCENES, help="in this scene, whatever a seed has drawn")
    parser.add_argument("--workers", type=int, default=1, help="processes at once")
    parser.add_argument("--mutants", action="store_true", help="plant each bug of the catalogue")
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    options = parser.parse_args()
    if options.seed is not None:
        return _one(options.seed, options.scene)
    if options.mutants and options.scene is not None:
        parser.error("--scene cannot be given with --mutants: each mutant names its scenes")
    if options.mutants:
        return _mutants(options.first, options.seeds, options.workers, options.only)
    return _many(options.first, options.seeds, options.workers, options.scene)


def _one(seed: int, scene: str | None) -> int:
    outcome = run(seed, keep=True, scene=scene)
    print(outcome.world.timeline.text())
    print(f"seed {seed}: {outcome.fingerprint}, {outcome.world.now_s:.0f} simulated seconds")
    for breach in outcome.breaches:
        print(breach)
    return 1 if outcome.breaches else 0


def _many(first: int, count: int, workers: int, scene: str | None) -> int:
    failed, simulated, spent, done = [], 0.0, 0.0, 0
    for seed, found, seconds, cpu in _over(range(first, first + count), workers, scene):
        done, simulated, spent = done + 1, simulated + seconds, spent + cpu
        if found:
            failed.append(seed)
            print(f"seed {seed}: {len(found)} breaches")
            print(explain(seed, scene=scene), flush=True)
        elif done % 100 == 0:
            print(f"{done} seeds, {len(failed)} failed, {simulated / spent:.0f} simulated s/CPU s", flush=True)
    print(
        f"{count} seeds from {first}: {len(failed)} failed {failed or ''}; {simulated:.0f} simulated seconds in "
        f"{spent:.0f} CPU seconds, {simulated / spent:.0f} times real time"
    )
    return 1 if failed else 0


def _over(numbers: range, workers: int, scene: str | None) -> Iterator[Judged]:
    judging = partial(judge, scene=scene)
    if workers == 1:
        yield from map(judging, numbers)
        return
    with _processes(workers) as pool:
        yield from pool.map(judging, numbers, chunksize=5)


def _processes(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def _mutants(first: int, count: int, workers: int, only: str) -> int:
    chosen = [number for number, mutant in enumerate(CATALOGUE) if only in mutant.name]
    missed = 0
    jobs = [(number, range(first, first + count), ENOUGH) for number in chosen]
    with _processes(workers) as pool:
        for hunted in as_completed([pool.submit(hunt_number, job) for job in jobs]):
            number, came = hunted.result()
            mutant = CATALOGUE[number]
            missed += not came.found or bool(came.broken) or bool(came.slipped)
            if came.found:
                seed, scene = came.found[0]
                reported = (
                    f"{len(came.found)} of {came.tried} seeds found it, one in {round(came.tried / len(came.found))} "
                    f"(noted: {mutant.one_in}); first {seed} in {scene}: {came.printed[:120]}"
                )
            else:
                reported = f"NOT FOUND in {came.tried} seeds of {', '.join(mutant.scenes)}"
            reported += f"; NO BUG, DOES NOT FIT ITS CODE: {came.slipped}" if came.slipped else ""
            reported += "".join(f"; FAILS WITHOUT IT: --seed {seed} --scene {scene}" for seed, scene in came.broken)
            print(f"{mutant.name}: {reported}", flush=True)
    print(f"{len(chosen)} mutants, {missed} of them not found, out of date, or with seeds that fail without them")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
