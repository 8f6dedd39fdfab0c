"""``oncelog verify log`` finds nothing in the logs."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.history import History

TORN = "torn-transaction"
"""The kind of finding that a scene may waive: of two partitions of a transaction one has lost its marker."""


def check(history: History) -> Sequence[str]:
    return history.log_findings
