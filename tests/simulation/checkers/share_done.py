"""What a member of a share group has accepted or rejected, and the broker has confirmed, is never delivered again."""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.types import TopicPartition
from tests.simulation.history import ACCEPT, REJECT, History, Verdict


def check(history: History) -> Sequence[str]:
    done: dict[tuple[str, TopicPartition, int], Verdict] = {}
    for verdict in history.verdicts:
        if verdict.kind in (ACCEPT, REJECT) and verdict.is_done:
            done.setdefault((verdict.delivery.group, verdict.delivery.where, verdict.delivery.offset), verdict)
    found = []
    for delivery in history.deliveries:
        before = done.get((delivery.group, delivery.where, delivery.offset))
        if before is not None and delivery.asked_ns >= before.known_ns:
            found.append(f"{delivery}, although {before.delivery} is done")
    return found
