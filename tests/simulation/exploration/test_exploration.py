"""Every state of the transaction protocol up to a bound keeps its promises; without one of its mends some do not."""

from __future__ import annotations

import os
from contextlib import nullcontext

import pytest

from tests.simulation.exploration import transactions as promised
from tests.simulation.exploration.explorer import CANNOT_END, Explored, Step, TooManyStates, explore
from tests.simulation.exploration.transactions import EVERYTHING, NEAR_THE_END, Bounds, Transactions
from tests.simulation.mutants import CATALOGUE
from tests.simulation.planting import Mutant, planted

LIMIT = int(os.environ.get("ONCELOG_EXPLORE_STATES", "1000000"))
"""About one kilobyte of memory each."""

NOTHING = Bounds(lost=0, late=0, deaths=0)
A_LOSS = Bounds(lost=1, late=0, deaths=0)
A_LATE_ONE = Bounds(lost=0, late=1, deaths=0)
A_DEATH = Bounds(lost=0, late=0, deaths=1)
AT_THE_LAST_EPOCHS = Bounds(lost=0, late=0, deaths=1, first_epoch=NEAR_THE_END)
ALONE = Bounds(transactions=2, lost=0, late=1, deaths=0, alone=True)
GONE = Bounds(lost=0, late=0, deaths=0, quits=True)
LATE_MARKERS = Bounds(transactions=3, lost=0, late=1, deaths=0, alone=True, late_kinds=frozenset({"marker"}))
OLDER = Bounds(version=1, lost=0, late=0, deaths=0)
OLDER_LATE = Bounds(version=1, lost=0, late=1, deaths=0, late_kinds=EVERYTHING - {"end", "marker"})


def _name(bounds: Bounds) -> str:
    reported = [f"{bounds.transactions} of each", f"version {bounds.version}"]
    reported += [word for word, is_so in (("one producer", bounds.alone), ("gone", bounds.quits)) if is_so]
    reported += [f"{count} {what}" for what in ("lost", "late", "deaths") if (count := getattr(bounds, what))]
    return ", ".join([*reported, *(["last epochs"] if bounds.first_epoch else [])])


@pytest.mark.parametrize(
    "bounds",
    [
        NOTHING,
        A_LOSS,
        A_LATE_ONE,
        A_DEATH,
        AT_THE_LAST_EPOCHS,
        GONE,
        ALONE,
        LATE_MARKERS,
        OLDER,
        pytest.param(OLDER_LATE, marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
        pytest.param(
            Bounds(transactions=2, lost=0, late=0, deaths=0), marks=[pytest.mark.soak, pytest.mark.timeout(7200)]
        ),
        pytest.param(Bounds(lost=1, late=1, deaths=0), marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
        pytest.param(Bounds(lost=1, late=0, deaths=1), marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
    ],
    ids=lambda bounds: _name(bounds) if isinstance(bounds, Bounds) else None,
)
def test_every_reachable_state_keeps_every_promise(bounds: Bounds) -> None:
    found = explore(Transactions(bounds), limit=LIMIT)
    print(f"{_name(bounds)}: {found}")
    assert not found.promise, str(found)


(DOUBLE_BUMP,) = (mutant for mutant in CATALOGUE if mutant.name == "an end by the coordinator uses up two epochs")


@pytest.mark.parametrize(
    ("bounds", "mutant", "promise", "trace"),
    [
        pytest.param(
            Bounds(version=1, lost=0, late=1, deaths=0, verify=False),
            None,
            promised.HANGING,
            [
                "InitProducerId",
                "AddPartitionsToTxn",
                "is under way: Produce",
                "A gives up",
                "EndTxn (abort)",
                "abort marker",
                "arrives late: Produce",
            ],
            id="KIP-890: a hanging transaction if appends are not verified",
        ),
        pytest.param(
            Bounds(version=1, transactions=2, lost=0, late=1, deaths=0, late_kinds=frozenset({"end"})),
            None,
            f"{promised.REFUSED}: INVALID_TXN_STATE",
            [
                "InitProducerId",
                "AddPartitionsToTxn",
                "Produce",
                "is appended: Produce",
                "is under way: EndTxn (commit)",
                "EndTxn (commit)",
                "commit marker",
                "all markers are written",
                "AddPartitionsToTxn",
                "Produce",
                "arrives late: EndTxn (commit)",
                "is appended: Produce",
                "EndTxn (abort)",
            ],
            id="KIP-890: a late EndTxn ends the next transaction if the epoch stays",
        ),
        pytest.param(
            Bounds(version=1, transactions=2, lost=0, late=1, deaths=0, late_kinds=frozenset({"marker"})),
            None,
            promised.UNASKED,
            [
                "InitProducerId",
                "AddPartitionsToTxn",
                "Produce",
                "is appended: Produce",
                "EndTxn (commit)",
                "is under way: commit marker",
                "commit marker",
                "all markers are written",
                "AddPartitionsToTxn",
                "Produce",
                "is appended: Produce",
                "arrives late: commit marker",
            ],
            id="KIP-890: a late marker ends the next transaction if the epoch stays",
        ),
        pytest.param(
            NOTHING,
            DOUBLE_BUMP,
            promised.TWICE_BUMPED,
            ["InitProducerId", "Produce", "InitProducerId"],
            id="KAFKA-19367: an end uses up two epochs",
        ),
    ],
)
def test_a_known_flaw_of_the_protocol_is_found_with_its_shortest_trace(
    bounds: Bounds, mutant: Mutant | None, promise: str, trace: list[str]
) -> None:
    with nullcontext() if mutant is None else planted(mutant):
        found = explore(Transactions(bounds), limit=LIMIT)
    assert found.promise == promise, str(found)
    assert len(found.trace) == len(trace), str(found)
    for label, begins in zip(found.trace, trace, strict=True):
        assert label.startswith(begins), str(found)


FOUND_BY: dict[str, tuple[Bounds, str]] = {
    "a repeated batch is not recognised": (NOTHING, promised.MISSING),
    "the epoch is not bumped for a new instance": (NOTHING, promised.MISSING),
    "the epoch is not bumped at a transaction's end": (NOTHING, promised.HANGING),
    "a transaction forgets its first partitions": (NOTHING, promised.HANGING),
    "a partition that joins is not written down": (NOTHING, promised.HANGING),
    "transactions never time out": (GONE, CANNOT_END),
    "verification guard ignored": (OLDER_LATE, promised.HANGING),
    "old epochs may write": (A_LATE_ONE, promised.LOST),
}
"""Planted bugs of the tables that the simulation's catalogue names, and the promise whose breach comes first."""


@pytest.mark.parametrize("name", FOUND_BY)
def test_a_bug_planted_in_the_tables_is_found(name: str) -> None:
    bounds, promise = FOUND_BY[name]
    (mutant,) = (mutant for mutant in CATALOGUE if mutant.name == name)
    with planted(mutant):
        found = explore(Transactions(bounds), limit=LIMIT)
    assert found.promise == promise, str(found)


def test_an_exploration_that_exceeds_its_bound_returns_no_result() -> None:
    with pytest.raises(TooManyStates, match="more than 100 states"):
        explore(Transactions(NOTHING), limit=100)


class _Counter:
    """Counts to three; from two it may go to a state without an end."""

    def first(self) -> int:
        return 0

    def steps(self, state: int) -> list[Step[int]]:
        following = {0: [1], 1: [2], 2: [3, -1]}.get(state, [])
        return [Step(f"to {number}", number) for number in following]

    def broken(self, state: int) -> str:
        return ""

    def ended(self, state: int) -> bool:
        return state == 3

    def mirrored(self, state: int) -> int:
        return state


def test_a_state_that_cannot_reach_an_end_is_found() -> None:
    assert explore(_Counter(), limit=10) == Explored(5, 4, CANNOT_END, ("to 1", "to 2", "to -1"))
