"""Every state of the sink's protocol up to a bound keeps its promises; without one of its checks some do not."""

from __future__ import annotations

import pytest

from tests.simulation.exploration import sink_batches as promised
from tests.simulation.exploration.explorer import explore
from tests.simulation.exploration.sink_batches import Batches, Bounds
from tests.simulation.mutants import CATALOGUE
from tests.simulation.planting import Mutant, planted

LIMIT = 1_000_000
KILLS = Bounds(kills=3)
A_COPY = Bounds(kills=1, copies=1)
EXPIRY = Bounds(kills=2, expiries=2)
LOSSES = Bounds(kills=2, losses=2)
A_COPY_AND_A_LOSS = Bounds(kills=0, copies=1, losses=1)


def _name(bounds: object) -> str | None:
    if not isinstance(bounds, Bounds):
        return None
    words = ("kills", "copies", "expiries", "losses")
    return ", ".join(
        [f"{bounds.batches} batches", *(f"{getattr(bounds, word)} {word}" for word in words if getattr(bounds, word))]
    )


@pytest.mark.parametrize(
    "bounds",
    [
        KILLS,
        A_COPY,
        EXPIRY,
        LOSSES,
        A_COPY_AND_A_LOSS,
        pytest.param(Bounds(batches=4, kills=4), marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
        pytest.param(Bounds(kills=2, copies=1), marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
        pytest.param(Bounds(kills=1, copies=1, losses=1), marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
    ],
    ids=_name,
)
def test_every_reachable_state_keeps_every_promise(bounds: Bounds) -> None:
    found = explore(Batches(bounds), limit=LIMIT)
    print(f"{_name(bounds)}: {found}")
    assert not found.promise, str(found)


@pytest.mark.parametrize(
    ("bounds", "promise"),
    [
        pytest.param(
            Bounds(kills=0, copies=1, expiries=1), promised.TWICE, id="a copied checkpoint, and an expired marker"
        ),
        pytest.param(
            Bounds(kills=0, expiries=1, losses=1), promised.LEFT_OUT, id="a lost batch, and an expired marker"
        ),
    ],
)
def test_two_faults_that_hide_each_other_break_a_promise(bounds: Bounds, promise: str) -> None:
    """A marker may have expired without harm, so that its absence says nothing of what else has happened."""
    assert explore(Batches(bounds), limit=LIMIT).promise == promise


_DECIDE = "spark.sink.marker:decide"
_BUGS = [
    (
        A_COPY,
        promised.NOT_THERE,
        Mutant(
            "another plan of a batch counts as this one",
            _DECIDE,
            "if marker.batch_id == number and marker.fingerprint == plan.batch.fingerprint:",
            "if marker.batch_id == number:",
            scenes=(),
            one_in=0,
        ),
    ),
    (
        A_COPY_AND_A_LOSS,
        promised.ANOTHER,
        Mutant(
            "the plan before is not compared",
            _DECIDE,
            "if before is not None and before.fingerprint != marker.fingerprint:",
            "if False:",
            scenes=(),
            one_in=0,
        ),
    ),
    (
        A_COPY,
        promised.TWICE,
        Mutant(
            "a checkpoint older than the log goes on",
            _DECIDE,
            "if marker.batch_id >= number:",
            "if marker.batch_id > number + 1:",
            scenes=(),
            one_in=0,
        ),
    ),
    (
        LOSSES,
        promised.LEFT_OUT,
        Mutant(
            "a log that has lost batches is written on",
            _DECIDE,
            "if marker.batch_id < number - 1:\n"
            "        return Refuse(_lost(plan, marker))\n"
            "    before = plan.previous.batch if plan.previous is not None else None",
            "before = None",
            scenes=(),
            one_in=0,
        ),
    ),
    (
        LOSSES,
        promised.LEFT_OUT,
        Mutant(
            "a marker that cannot have expired is not missed",
            "spark.sink.marker:_why_unknown",
            "if known.since_batch_id <= before and not could_have_expired(",
            "if False and not could_have_expired(",
            scenes=(),
            one_in=0,
        ),
    ),
    (
        EXPIRY,
        promised.TWICE,
        Mutant(
            "an old plan without a marker is written",
            "spark.sink.marker:_why_unknown",
            "if could_have_expired(plan.batch.planned_at_ms, now_ms, plan.retention_ms):",
            "if False:",
            scenes=(),
            one_in=0,
        ),
    ),
]


@pytest.mark.parametrize(
    ("bounds", "promise", "mutant"), _BUGS, ids=lambda one: str(one) if isinstance(one, Mutant) else ""
)
def test_a_bug_planted_in_the_decision_is_found(bounds: Bounds, promise: str, mutant: Mutant) -> None:
    with planted(mutant):
        found = explore(Batches(bounds), limit=LIMIT)
    assert found.promise == promise, str(found)


def test_a_bug_planted_in_the_catalogue_is_found() -> None:
    (mutant,) = (one for one in CATALOGUE if one.name == "the marker of the batch before stands for this one")
    with planted(mutant):
        assert explore(Batches(KILLS), limit=LIMIT).promise == promised.NOT_THERE
