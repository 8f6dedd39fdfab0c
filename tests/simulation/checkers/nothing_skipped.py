"""A reader receives every committed record between its starting position and the last record that it receives."""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.types import TopicPartition
from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    read: dict[tuple[str, TopicPartition], list[int]] = {}
    for seen in history.seen:
        read.setdefault((seen.reader, seen.where), []).append(seen.offset)
    found = []
    for (reader, where), offsets in read.items():
        committed = [offset for offset, _ in history.committed.get(where, [])]
        begin = min(offsets[0], history.starts.get((reader, where), offsets[0]))
        wanted = {offset for offset in committed if begin <= offset <= offsets[-1]}
        missing = sorted(wanted - set(offsets))
        if missing:
            found.append(
                f"{reader}, from {begin} on, was given offsets {offsets[0]} to {offsets[-1]} of {where}, but not "
                f"{missing[:5]}"
            )
    return found
