"""What one life of a producer sends to one partition is stored in that order; readers receive it in the log's order."""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.types import TopicPartition
from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    found = []
    offsets = {(where, value): offset for where, log in history.uncommitted.items() for offset, value in log}
    last: dict[tuple[str, TopicPartition], tuple[int, bytes]] = {}
    for sent in history.sent:
        offset = offsets.get((sent.where, sent.value))
        if offset is None:
            continue
        before = last.get((sent.producer, sent.where))
        if before is not None and offset < before[0]:
            found.append(
                f"{sent.producer} sent {before[1]!r} before {sent.value!r}; {sent.where} has them at offsets "
                f"{before[0]} and {offset}"
            )
        last[sent.producer, sent.where] = offset, sent.value
    read: dict[tuple[str, TopicPartition], int] = {}
    for seen in history.seen:
        before_offset = read.get((seen.reader, seen.where), -1)
        if seen.offset <= before_offset:
            found.append(f"{seen.reader} was given offset {seen.offset} of {seen.where} after {before_offset}")
        read[seen.reader, seen.where] = seen.offset
    return found
