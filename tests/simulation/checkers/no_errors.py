"""Neither broker nor client meets something that it did not foresee."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    return history.errors
