"""What is done with a failing seed: run it again, leave out troubles one by one, and report what is left."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tests.simulation.mutants import CATALOGUE, FOUND_BY
from tests.simulation.planting import Mutant, planted
from tests.simulation.worlds import Outcome, run

Judged = tuple[int, list[str], float, float]
"""A seed, its breaches, the simulated seconds, the CPU seconds."""


def judge(seed: int) -> Judged:
    """Run one seed; called in separate processes."""
    begin = time.process_time()
    outcome = run(seed)
    return seed, outcome.breaches, outcome.world.now_s, time.process_time() - begin


def hunt(mutant: Mutant, numbers: Sequence[int]) -> tuple[int | None, int, str]:
    """The first seed that finds a mutant, how many were tried, and what a checker said.

    A seed that also fails without the mutant finds nothing. The seed that found it before is tried first.
    """
    known = FOUND_BY.get(mutant.name)
    ordered = [*([known] if known is not None else []), *(seed for seed in numbers if seed != known)]
    for tried, seed in enumerate(ordered, 1):
        with planted(mutant):
            found = run(seed).breaches
        if found and not run(seed).breaches:
            return seed, tried, found[0]
    return None, len(ordered), ""


def hunt_number(job: tuple[int, int, int]) -> tuple[int, int | None, int, str]:
    """One mutant of the catalogue, by its number; called in separate processes."""
    number, first, count = job
    return (number, *hunt(CATALOGUE[number], range(first, first + count)))


def _kinds(outcome: Outcome) -> set[str]:
    return {breach.partition(":")[0] for breach in outcome.breaches}


def shrink(seed: int) -> tuple[list[int], Outcome]:
    """The troubles that can be left out while the seed still breaks the same promise, and what happens then."""
    first = run(seed)
    wanted = _kinds(first)
    left_out: list[int] = []
    best = first
    for number in range(len(first.planned)):
        tried = run(seed, left_out=[*left_out, number])
        if _kinds(tried) & wanted:
            left_out.append(number)
            best = tried
    return left_out, best


def explain(seed: int, lines: int = 60) -> str:
    """A failed seed in words: how to repeat it, the fewest troubles, what was broken, and the end of the timeline."""
    one, other = run(seed), run(seed)
    if one.fingerprint != other.fingerprint:
        return f"seed {seed} went two ways: {one.fingerprint} and {other.fingerprint}; something is not simulated"
    left_out, best = shrink(seed)
    again = run(seed, left_out=left_out, keep=True)
    troubles = "\n".join(f"  {trouble}" for trouble in again.planned) or "  none"
    told = "\n".join(f"  {breach}" for breach in best.breaches[:10])
    return (
        f"seed {seed}, without troubles {left_out}; troubles left:\n{troubles}\nbreaches:\n{told}\n"
        f"timeline, last {lines} of {again.world.timeline.count} lines:\n{again.world.timeline.text(lines)}"
    )
