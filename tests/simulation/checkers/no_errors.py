"""Neither broker nor client meets anything unforeseen."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    return history.errors
