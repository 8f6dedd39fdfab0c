"""The Spark sink: each row of every planned batch is readable exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    found = []
    for topic, rows in history.rows.items():
        got = Counter(value for where, log in history.committed.items() if where.topic == topic for _, value in log)
        found += [f"row {row!r} is in {topic} {got[row]} times" for row in rows if got[row] != 1]
        found += [f"{value!r} is in {topic}, and no batch has it" for value in sorted(got.keys() - set(rows))]
    return found
