"""A group's committed offsets never go back, because its members only ever commit forwards."""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.types import TopicPartition
from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    found = []
    last: dict[tuple[str, TopicPartition], int] = {}
    for position in history.positions:
        key = position.group, position.where
        if position.offset < last.get(key, -1):
            found.append(
                f"group {position.group} was at offset {last[key]} of {position.where}, and later at {position.offset}"
            )
        last[key] = position.offset
    return found
