"""Every state of a group of the consumer protocol up to a bound keeps its promises; without one of its rules some do
not."""

from __future__ import annotations

import pytest

from tests.simulation.exploration import consumer_groups as promised
from tests.simulation.exploration.consumer_groups import Bounds, Groups
from tests.simulation.exploration.explorer import CANNOT_END, explore
from tests.simulation.mutants import CATALOGUE
from tests.simulation.planting import Mutant, planted

LIMIT = 1_000_000
NOTHING = Bounds()
A_LOSS = Bounds(lost=1)
EXPIRY = Bounds(expiries=1)
ALL_ONCE = Bounds(lost=1, expiries=1, leaves=1)


def _name(bounds: object) -> str | None:
    if not isinstance(bounds, Bounds):
        return None
    words = ("lost", "expiries", "leaves")
    reported = [f"{bounds.clients} clients, {bounds.partitions} partitions"]
    return ", ".join([*reported, *(f"{getattr(bounds, word)} {word}" for word in words if getattr(bounds, word))])


@pytest.mark.parametrize(
    "bounds",
    [
        NOTHING,
        A_LOSS,
        EXPIRY,
        ALL_ONCE,
        Bounds(clients=3, partitions=3),
        pytest.param(Bounds(lost=2, expiries=2, leaves=1), marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
        pytest.param(Bounds(clients=3, partitions=2, lost=1), marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
        pytest.param(Bounds(clients=3, partitions=2, expiries=1), marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
    ],
    ids=_name,
)
def test_every_reachable_state_keeps_every_promise(bounds: Bounds) -> None:
    found = explore(Groups(bounds), limit=LIMIT)
    print(f"{_name(bounds)}: {found}")
    assert not found.promise, str(found)


def test_a_late_heartbeat_allows_two_clients_to_commit_for_one_partition() -> None:
    """Apache Kafka's coordinator answers the same: it takes what the late heartbeat reports for what the member owns
    now, and the member's next heartbeat, at the epoch before, raises its epoch without telling its partitions."""
    found = explore(Groups(Bounds(late=1)), limit=LIMIT)
    assert found.promise == promised.BOTH_COMMIT
    assert [label.partition(" at")[0] for label in found.trace] == [
        "is under way: A", "A", "B", "arrives late: A", "A", "A takes [0, 1]", "B", "B takes [1]",
    ]  # fmt: skip


_OLDER_EPOCHS = Mutant(
    "a member of any older epoch is kept",
    "broker.coordinator.group.consumer.consumer_rules:claim",
    "return EpochClaim.PREVIOUS if confirmed else EpochClaim.OLDER",
    "return EpochClaim.PREVIOUS",
    scenes=(),
    one_in=0,
)
"""Found here alone: it takes a lost answer, an expired session and a return in one course."""
_BUGS = [
    (NOTHING, promised.BOTH_COMMIT, "a member need not confirm what it gives up"),
    (NOTHING, promised.BOTH_COMMIT, "a partition is given away that another member owns"),
    (A_LOSS, promised.BOTH_COMMIT, "members of older epochs may commit for any partition"),
    (ALL_ONCE, promised.BOTH_COMMIT, _OLDER_EPOCHS.name),
    (NOTHING, CANNOT_END, "a member that waits for partitions is at rest"),
]


@pytest.mark.parametrize(("bounds", "promise", "name"), _BUGS)
def test_a_bug_planted_in_the_rules_is_found(bounds: Bounds, promise: str, name: str) -> None:
    (mutant,) = (mutant for mutant in (*CATALOGUE, _OLDER_EPOCHS) if mutant.name == name)
    with planted(mutant):
        found = explore(Groups(bounds), limit=LIMIT)
    assert found.promise == promise, str(found)
