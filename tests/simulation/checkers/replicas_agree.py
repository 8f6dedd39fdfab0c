"""Whichever node leads a partition, and after every election and start: the same record is at the same offset."""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.types import TopicPartition
from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    found = []
    known: dict[tuple[TopicPartition, int], bytes] = {}

    def agrees(where: TopicPartition, offset: int, value: bytes, who: str) -> None:
        before = known.setdefault((where, offset), value)
        if before != value:
            found.append(f"offset {offset} of {where} was {before!r}, and is {value!r} for {who}")

    for seen in history.seen:
        agrees(seen.where, seen.offset, seen.value, seen.reader)
    for name, log in (("the last reader", history.committed), ("a reader after a restart", history.after_restart)):
        for where, records in log.items():
            for offset, value in records:
                agrees(where, offset, value, name)
    if history.after_restart:
        for where, records in history.committed.items():
            again = history.after_restart.get(where, [])
            if again != records and where.topic not in history.compacted:
                found.append(f"a restart has left {len(again)} of the {len(records)} records of {where}, or others")
    return found
