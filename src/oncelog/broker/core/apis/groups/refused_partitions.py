"""Merges partitions that an API refuses before asking its coordinator into the coordinator's answer.

Called by OffsetCommit, TxnOffsetCommit and OffsetDelete. A request may name very many topics, so each topic of the
answer is found in a dictionary, never by a search.
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
    """Separate the partitions that exist in a topic with ``count`` partitions from the indexes of those that do not."""
    good = [partition for partition in partitions if 0 <= partition.partition_index < count]
    if len(good) == len(partitions):
        return good, []
    return good, [partition.partition_index for partition in partitions if not 0 <= partition.partition_index < count]


def add_refused(topics: list[T], refused: Iterable[T], key: Callable[[T], Hashable]) -> None:
    """Add the refused partitions to the answer: a topic appears only once, with answered and refused partitions.
    ``key`` returns a topic's name or id."""
    found = {key(topic): topic for topic in reversed(topics)}
    for topic in refused:
        same = found.setdefault(key(topic), topic)
        if same is topic:
            topics.append(topic)
        else:
            same.partitions += topic.partitions
