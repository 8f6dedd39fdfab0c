"""The common parts of the wrappers of producers and consumers.

Called by :mod:`oncelog.testing.history.producers` and :mod:`oncelog.testing.history.consumers`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oncelog.testing.history.events import GroupOffset, History
from oncelog.types import TopicPartition

Identity = Callable[[Any, Any], bytes]
"""A function that computes a record's identity from its key and value, as the program passes or receives them."""


def value_of(key: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else repr(value).encode()


def _offset(position: Any) -> int:
    """The offset of a position, which is a number or an offset with metadata."""
    return position if isinstance(position, int) else int(position.offset)


class Recorded:
    def __init__(self, client: Any, history: History, name: str, identity: Identity, group: str) -> None:
        self._client = client
        self._history = history
        self._name = name
        self._identity = identity
        self._group = group

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def __enter__(self) -> Any:
        self._client.__enter__()
        return self

    def __exit__(self, *ended: Any) -> Any:
        return self._client.__exit__(*ended)

    async def __aenter__(self) -> Any:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *ended: Any) -> Any:
        return await self._client.__aexit__(*ended)

    def _committed(self, positions: Iterable[GroupOffset], asked: int) -> None:
        """Record positions whose commit succeeded.

        A position is left out if another client committed a later one meanwhile, because the order of the two commits
        is unknown.

        :param asked: the number of events when the commit was requested.
        """
        meanwhile = [one for one in self._history.events[asked:] if isinstance(one, GroupOffset)]
        for one in positions:
            if not any(other[:2] == one[:2] and other.offset > one.offset for other in meanwhile):
                self._history.add(one)


def positions_in(group: str, given: Any) -> list[GroupOffset]:
    """Positions by partition, from a mapping or from confluent-kafka's list of partitions with offsets."""
    pairs = given.items() if isinstance(given, Mapping) else ((one, one.offset) for one in given or ())
    found = [GroupOffset(group, TopicPartition(name.topic, name.partition), _offset(at)) for name, at in pairs]
    return [one for one in found if one.offset >= 0]


def then(result: Any, note: Callable[[Any], Any]) -> Any:
    """Call ``note`` with a result, which is awaited first if necessary; returns what ``note`` returns."""
    if not inspect.isawaitable(result):
        return note(result)

    async def awaited() -> Any:
        return note(await result)

    return awaited()
