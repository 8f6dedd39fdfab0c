"""Every state of a share partition up to a bound keeps its promises; without one of its rules some do not."""

from __future__ import annotations

import pytest

from tests.simulation.exploration import share_groups as promised
from tests.simulation.exploration.explorer import explore
from tests.simulation.exploration.share_groups import Bounds, SharedPartition
from tests.simulation.planting import Mutant, planted

LIMIT = 1_000_000
KILL = Bounds(kills=1)
TAKEOVER = Bounds(takeovers=1)
CRASH = Bounds(crashes=1)
RESET = Bounds(records=1, resets=1)
ALL_ONCE = Bounds(records=1, kills=1, takeovers=1, crashes=1, expiries=1, compactions=1)
_WORDS = ("kills", "takeovers", "crashes", "expiries", "compactions", "resets", "deletions")


def _name(bounds: object) -> str | None:
    if not isinstance(bounds, Bounds):
        return None
    words = [f"{getattr(bounds, word)} {word}" for word in _WORDS if getattr(bounds, word)]
    return ", ".join([f"{bounds.records} records", f"limit {bounds.limit}", *words])


@pytest.mark.parametrize(
    "bounds",
    [
        KILL,
        TAKEOVER,
        CRASH,
        RESET,
        ALL_ONCE,
        Bounds(expiries=2, kills=1),
        Bounds(compactions=1, kills=1),
        Bounds(deletions=1, kills=1),
        Bounds(records=1, limit=3, kills=2, crashes=1),
        pytest.param(Bounds(kills=1, takeovers=1), marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
        pytest.param(Bounds(takeovers=1, crashes=1), marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
        pytest.param(Bounds(resets=1), marks=[pytest.mark.soak, pytest.mark.timeout(7200)]),
    ],
    ids=_name,
)
def test_every_reachable_state_keeps_every_promise(bounds: Bounds) -> None:
    found = explore(SharedPartition(bounds), limit=LIMIT)
    print(f"{_name(bounds)}: {found}")
    assert not found.promise, str(found)


_RULES, _PARTITION = "broker.coordinator.share.state_rules:", "broker.core.sharing.share_partition:"


def _bug(name: str, where: str, old: str, new: str) -> Mutant:
    return Mutant(name, where, old, new, scenes=(), one_in=0)


_BUGS = [
    (
        TAKEOVER,
        promised.AGAIN,
        _bug("an old leader writes on", _RULES + "_write", "if event.leader_epoch < state.leader_epoch:", "if False:"),
    ),
    (
        RESET,
        promised.LOST,
        _bug("a reset is not noticed", _RULES + "_write", "if event.state_epoch < state.state_epoch:", "if False:"),
    ),
    (
        KILL,
        promised.FORGOTTEN,
        _bug("a repeated beginning forgets", _RULES + "_create_again", "return None", "pass"),
    ),
    (
        CRASH,
        promised.REFUSED,
        _bug("what could not be written holds", _PARTITION + "SharePartition.settle", "if written:", "if True:"),
    ),
    (
        KILL,
        promised.FORGOTTEN,
        _bug(
            "a snapshot leaves its batches out",
            "broker.coordinator.share.state_records:encoded",
            "state_batches=[share_snapshot_value.StateBatch(*batch) for batch in state.batches],",
            "state_batches=[],",
        ),
    ),
    (
        KILL,
        promised.FORGOTTEN,
        _bug(
            "older state holds where two overlap",
            _RULES + "merged",
            "kept = [new]",
            "kept = result[low:high] or [new]",
        ),
    ),
    (
        KILL,
        promised.TWICE,
        _bug("what is held is given", _PARTITION + "SharePartition._take", "if not each.available:", "if False:"),
    ),
    (
        KILL,
        promised.TOO_OFTEN,
        _bug(
            "nothing is given up",
            _PARTITION + "_change",
            "if state is RecordState.AVAILABLE and deliveries >= limits.delivery_count:",
            "if False:",
        ),
    ),
    (
        KILL,
        promised.LOST,
        _bug(
            "what is given back is given up",
            _PARTITION + "_change",
            "and deliveries >= limits.delivery_count:",
            "and deliveries >= 1:",
        ),
    ),
]


@pytest.mark.parametrize(
    ("bounds", "promise", "mutant"), _BUGS, ids=lambda one: str(one) if isinstance(one, Mutant) else ""
)
def test_a_bug_planted_in_a_rule_is_found(bounds: Bounds, promise: str, mutant: Mutant) -> None:
    with planted(mutant):
        found = explore(SharedPartition(bounds), limit=LIMIT)
    assert found.promise == promise, str(found)
