"""Merges partitions that an API refuses before asking its coordinator into the coordinator's answer.

Called by OffsetCommit, TxnOffsetCommit and OffsetDelete. As many topics may be refused as fit into a request, so they
are found by lookup, never by search.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol, TypeVar


class AnsweredTopic(Protocol):
    partitions: list[Any]


class NamedPartition(Protocol):
    partition_index: int


T = TypeVar("T", bound=AnsweredTopic)
P = TypeVar("P", bound=NamedPartition)


def within(partitions: Sequence[P], count: int) -> tuple[list[P], list[int]]:
    """Separate the partitions that a topic of this size has from the indexes that do not exist."""
    good = [partition for partition in partitions if 0 <= partition.partition_index < count]
    if len(good) == len(partitions):
        return good, []
    return good, [partition.partition_index for partition in partitions if not 0 <= partition.partition_index < count]


def add_refused(topics: list[T], refused: Iterable[T], key: Callable[[T], Hashable]) -> None:
    """Add refused partitions; a topic with some of them stays one topic in the answer; ``key`` is its name or id."""
    found = {key(topic): topic for topic in reversed(topics)}
    for topic in refused:
        same = found.setdefault(key(topic), topic)
        if same is topic:
            topics.append(topic)
        else:
            same.partitions += topic.partitions
