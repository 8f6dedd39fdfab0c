"""A value that comes later, without an event loop.

The broker's and the client's cores promise answers with it; shells decide when events happen. Callbacks run
at once, in the order in which they were added, on the thread that resolves: nothing here schedules anything,
so a simulation that replays the same events sees the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from oncelog.errors import InvariantError

T = TypeVar("T")
U = TypeVar("U")


class Deferred(Generic[T]):
    """Resolved exactly once; a second ``resolve`` is a bug and raises ``InvariantError``."""

    __slots__ = ("_callbacks", "_done", "_value")

    def __init__(self) -> None:
        self._callbacks: list[Callable[[T], None]] = []
        self._done = False
        self._value: T | None = None

    @classmethod
    def of(cls, value: T) -> Deferred[T]:
        """Already resolved."""
        deferred = cls()
        deferred.resolve(value)
        return deferred

    @property
    def done(self) -> bool:
        return self._done

    @property
    def value(self) -> T:
        if not self._done:
            raise InvariantError("the value of a Deferred was read before it was resolved")
        return self._value  # type: ignore[return-value]

    def resolve(self, value: T) -> None:
        if self._done:
            raise InvariantError("a Deferred was resolved twice")
        self._done = True
        self._value = value
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(value)

    def then(self, callback: Callable[[T], None]) -> None:
        """Call ``callback`` with the value: now where it is known, else when it comes."""
        if self._done:
            callback(self.value)
        else:
            self._callbacks.append(callback)

    def map(self, function: Callable[[T], U]) -> Deferred[U]:
        """A deferred for ``function`` of the value."""
        result: Deferred[U] = Deferred()
        self.then(lambda value: result.resolve(function(value)))
        return result

    def flat_map(self, function: Callable[[T], Deferred[U]]) -> Deferred[U]:
        """A deferred for what ``function``'s own deferred resolves to."""
        result: Deferred[U] = Deferred()
        self.then(lambda value: function(value).then(result.resolve))
        return result


def gather(deferreds: Sequence[Deferred[T]]) -> Deferred[list[T]]:
    """All values in the order given, once the last one is known; at once for none."""
    result: Deferred[list[T]] = Deferred()
    missing = len(deferreds)
    if not missing:
        result.resolve([])
        return result

    def one_more(_: T) -> None:
        nonlocal missing
        missing -= 1
        if not missing:
            result.resolve([deferred.value for deferred in deferreds])

    for deferred in deferreds:
        deferred.then(one_more)
    return result
