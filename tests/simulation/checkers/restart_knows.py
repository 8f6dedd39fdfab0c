"""A broker that was killed, lost power or was stopped knows afterwards what it knew before."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    before, after = history.before_restart, history.after_recovery
    return [
        f"{what} was {before.get(what)} before the last restart, and is {after.get(what)} after it"
        for what in sorted(before.keys() | after.keys())
        if before.get(what) != after.get(what)
    ]
