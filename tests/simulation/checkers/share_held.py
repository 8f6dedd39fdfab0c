"""Nobody is given a record that another member of its share group holds, and nobody else acknowledges it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

from oncelog.types import TopicPartition
from tests.simulation.history import Delivery, History


def check(history: History) -> Sequence[str]:
    deliveries: dict[tuple[str, TopicPartition, int], list[Delivery]] = defaultdict(list)
    for delivery in history.deliveries:
        deliveries[delivery.group, delivery.where, delivery.offset].append(delivery)
    found = [
        f"{second}, while it was {first.member}'s"
        for each in deliveries.values()
        for first, second in combinations(sorted(each, key=lambda one: one.at_ns), 2)
        if first.at_ns <= second.asked_ns and second.at_ns <= first.held_until_ns
    ]
    for verdict in history.verdicts:
        one = verdict.delivery
        found += [
            f"{one} was acknowledged, while it was {other.member}'s"
            for other in deliveries[one.group, one.where, one.offset]
            if verdict.is_done and other.member != one.member
            if other.at_ns <= verdict.asked_ns and verdict.known_ns <= other.held_until_ns
        ]
    return found
