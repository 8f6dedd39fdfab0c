"""Partitions that an API refuses before its coordinator is asked, put into the coordinator's answer.

Called by OffsetCommit, TxnOffsetCommit and OffsetDelete. As many topics as fit into a request may be refused, so they
are looked up, never searched for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol, TypeVar


class AnsweredTopic(Protocol):
    partitions: list[Any]


T = TypeVar("T", bound=AnsweredTopic)


def add_refused(topics: list[T], refused: Iterable[T], key: Callable[[T], Hashable]) -> None:
    """A topic of which some partitions are refused is one topic in the answer; ``key`` is its name or id."""
    found = {key(topic): topic for topic in reversed(topics)}
    for topic in refused:
        same = found.setdefault(key(topic), topic)
        if same is topic:
            topics.append(topic)
        else:
            same.partitions += topic.partitions
