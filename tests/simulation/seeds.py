"""What is done with a failing seed: run it again, leave out faults one by one, and report what is left."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from tests.simulation.mutants import CATALOGUE
from tests.simulation.planting import Mutant, planted
from tests.simulation.worlds import Outcome, run

Judged = tuple[int, list[str], float, float]
"""A seed, its breaches, the simulated seconds, the CPU seconds."""


def judge(seed: int, scene: str | None = None) -> Judged:
    """Run one seed; called in separate processes."""
    begin = time.process_time()
    outcome = run(seed, scene=scene)
    return seed, outcome.breaches, outcome.world.now_s, time.process_time() - begin


@dataclass(frozen=True)
class Hunt:
    """What came of a hunt.

    :param tried: how many seeds were tried.
    :param found: the seeds that found the mutant, each with its scene.
    :param printed: a checker's message about the first seed.
    :param broken: the seeds that fail without the mutant, too: they found something else.
    :param slipped: what the planted code itself raised because it does not fit the code around it.
    """

    tried: int
    found: Sequence[tuple[int, str]]
    printed: str
    broken: Sequence[tuple[int, str]]
    slipped: str


@cache
def _holds(seed: int, scene: str) -> bool:
    """Whether every promise holds without a mutant."""
    return not run(seed, scene=scene).breaches


def hunt(mutant: Mutant, numbers: Iterable[int], enough: int = 1) -> Hunt:
    """Try seeds in the mutant's scenes until ``enough`` of them have found it.

    What a seed does without the mutant is only looked at if it fails with it.
    """
    tried, printed, slipped = 0, "", ""
    found: list[tuple[int, str]] = []
    broken: list[tuple[int, str]] = []
    for seed in numbers:
        scene = mutant.scenes[seed % len(mutant.scenes)]
        tried += 1
        with planted(mutant) as slips:
            breaches = run(seed, scene=scene).breaches
        if slips:
            slipped = slips[0]
            break
        if not breaches:
            continue
        if not _holds(seed, scene):
            broken.append((seed, scene))
            continue
        found.append((seed, scene))
        printed = printed or breaches[0]
        if len(found) == enough:
            break
    return Hunt(tried, found, printed, broken, slipped)


def hunt_number(job: tuple[int, range, int]) -> tuple[int, Hunt]:
    """One mutant of the catalogue, by its number; called in separate processes."""
    number, numbers, enough = job
    return number, hunt(CATALOGUE[number], numbers, enough)


def _kinds(outcome: Outcome) -> set[str]:
    return {breach.partition(":")[0] for breach in outcome.breaches}


def shrink(seed: int, scene: str | None = None) -> tuple[list[int], Outcome]:
    """The faults that can be left out while the seed still breaks the same promise, and what happens then."""
    first = run(seed, scene=scene)
    wanted = _kinds(first)
    left_out: list[int] = []
    best = first
    for number in range(len(first.planned)):
        tried = run(seed, left_out=[*left_out, number], scene=scene)
        if _kinds(tried) & wanted:
            left_out.append(number)
            best = tried
    return left_out, best


def explain(seed: int, lines: int = 60, scene: str | None = None) -> str:
    """A failed seed in words: how to repeat it, the fewest faults, what was broken, and the end of the timeline."""
    one, other = run(seed, scene=scene), run(seed, scene=scene)
    if one.fingerprint != other.fingerprint:
        return f"seed {seed} went two ways: {one.fingerprint} and {other.fingerprint}; something is not simulated"
    left_out, best = shrink(seed, scene)
    again = run(seed, left_out=left_out, keep=True, scene=scene)
    faults = "\n".join(f"  {fault}" for fault in again.planned) or "  none"
    reported = "\n".join(f"  {breach}" for breach in best.breaches[:10])
    return (
        f"seed {seed}, without faults {left_out}; faults left:\n{faults}\nbreaches:\n{reported}\n"
        f"timeline, last {lines} of {again.world.timeline.count} lines:\n{again.world.timeline.text(lines)}"
    )
