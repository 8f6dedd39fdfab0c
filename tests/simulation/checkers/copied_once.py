"""Consume, transform, produce: each record of the first topic is in the second exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.simulation.history import COPY, History


def check(history: History) -> Sequence[str]:
    found = []
    for source, target in history.copied:
        wanted = Counter(value for where, log in history.committed.items() if where.topic == source for _, value in log)
        got = Counter(
            value.removeprefix(COPY).partition(b"/")[0]
            for where, log in history.committed.items()
            if where.topic == target
            for _, value in log
        )
        found += [
            f"{value!r} of {source} is in {target} {got[value]} times, not {count}"
            for value, count in wanted.items()
            if got[value] != count
        ]
        found += [f"{value!r} is in {target} and not in {source}" for value in got.keys() - wanted.keys()]
    return found
