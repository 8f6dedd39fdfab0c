"""What the protocol forbids is never stored: gaps in sequences, old epochs, transactions that have ended."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    return [
        f"{value!r} is at offset {offset} of {where}, though {history.forbidden[value]}"
        for where, log in history.uncommitted.items()
        for offset, value in log
        if value in history.forbidden
    ]
