"""``oncelog verify log`` finds nothing in the logs."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    return history.log_findings
