"""A share group is given a record at most as often as it wants, and what was given back counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from oncelog.types import TopicPartition
from tests.simulation.history import RELEASE, History, Verdict


def check(history: History) -> Sequence[str]:
    found = [
        f"{delivery}, and {history.shared[delivery.group].limit} are allowed"
        for delivery in history.deliveries
        if not 1 <= delivery.count <= history.shared[delivery.group].limit
    ]
    released: dict[tuple[str, TopicPartition, int], list[Verdict]] = defaultdict(list)
    for verdict in history.verdicts:
        if verdict.kind == RELEASE and verdict.is_done:
            released[verdict.delivery.group, verdict.delivery.where, verdict.delivery.offset].append(verdict)
    for delivery in history.deliveries:
        for verdict in released[delivery.group, delivery.where, delivery.offset]:
            if delivery.asked_ns >= verdict.known_ns and delivery.count <= verdict.delivery.count:
                found.append(f"{delivery} after {verdict.delivery}, which was released")
    return found
