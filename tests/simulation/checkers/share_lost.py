"""Each record that a share group sees is accepted or rejected by one of its members, or was delivered as often as is
allowed; deliveries whose answers were lost count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from oncelog.types import TopicPartition
from tests.simulation.history import ACCEPT, REJECT, History, Log


def check(history: History) -> Sequence[str]:
    return missing(history, history.committed, history.uncommitted)


def missing(history: History, committed: Log, stored: Log) -> Sequence[str]:
    done = {
        (verdict.delivery.group, verdict.delivery.where, verdict.delivery.offset)
        for verdict in history.verdicts
        if verdict.kind in (ACCEPT, REJECT) and verdict.is_done is not False
    }
    given = Counter((each.group, each.where, each.offset) for each in history.deliveries)
    found = []
    for group in history.shared.values():
        log: Mapping[TopicPartition, Sequence[tuple[int, bytes]]] = committed if group.is_committed else stored
        for where, records in log.items():
            if where.topic != group.topic:
                continue
            for offset, value in records:
                place = group.name, where, offset
                if place not in done and given[place] + history.unanswered[group.name] < group.limit:
                    found.append(f"{value!r} at offset {offset} of {where} never came to {group.name}")
    return found
