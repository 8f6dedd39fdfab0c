"""Seeds that must hold: the first ones, and every one that ever failed."""

from __future__ import annotations

import pytest

from tests.simulation.mutants import CATALOGUE
from tests.simulation.planting import Mutant, MutantDoesNotApply, changed_code, planted
from tests.simulation.seeds import explain
from tests.simulation.worlds import run

SEEDS, A_TEST = 200, 10
ONCE_FAILED = (46,)
"""A coordinator that had taken over sent its markers and was killed before it wrote that they were: the next start
had a smaller epoch, its markers were refused, and the transaction never ended."""


@pytest.mark.parametrize("first", range(0, SEEDS, A_TEST))
def test_every_promise_holds(first: int) -> None:
    for seed in range(first, first + A_TEST):
        if run(seed).breaches:
            pytest.fail(explain(seed))


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_what_failed_once_holds(seed: int) -> None:
    assert run(seed).breaches == []


@pytest.mark.parametrize("seed", [3, 7])
def test_a_seed_has_one_course(seed: int) -> None:
    assert run(seed).fingerprint == run(seed).fingerprint


@pytest.mark.parametrize("mutant", CATALOGUE, ids=str)
def test_every_mutant_applies(mutant: Mutant) -> None:
    changed_code(mutant)


def test_a_mutant_whose_code_has_changed_is_named() -> None:
    stale = Mutant("stale", "log.producer_rules:_out_of_sequence", "what was there once", "")
    with (
        pytest.raises(MutantDoesNotApply, match=r"stale: log\.producer_rules:_out_of_sequence has .* 0 times"),
        planted(stale),
    ):
        pass
    with (
        pytest.raises(MutantDoesNotApply, match="gone: there is no"),
        planted(Mutant("gone", "log.nowhere:x", "a", "b")),
    ):
        pass
