"""A value that will be known later, without an event loop.

The cores of broker and client return answers as Deferreds; the I/O layers around them decide when events happen.
Callbacks run at once, in the order in which they were added, on the thread that resolves: nothing here schedules
anything, so a simulation that replays the same events sees the same order.

An exception in a callback never propagates to the code that resolves the Deferred, which acts on behalf of some other
caller. The exception fails the Deferred that the callback was to resolve, and so on, up to the caller that waits for
the answer. If no caller waits, it is logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from oncelog.errors import InvariantError

T = TypeVar("T")
U = TypeVar("U")
Failed = Callable[[Exception], None]

logger = logging.getLogger(__name__)

TWICE = "a Deferred was resolved twice"


class Deferred(Generic[T]):
    """A value that is resolved or failed exactly once; resolving it again is a bug and raises ``InvariantError``."""

    __slots__ = ("_callbacks", "_failure", "_value", "done", "succeeded")

    def __init__(self) -> None:
        self._callbacks: list[tuple[Callable[[T], None], Failed]] = []  # only until it is done
        self.done = False
        """Whether the deferred is resolved or has failed. Other classes only read this attribute."""
        self.succeeded = False
        """Whether the deferred is resolved, so that its value is known. Other classes only read this attribute."""
        self._value: T | None = None
        self._failure: Exception | None = None

    @classmethod
    def of(cls, value: T) -> Deferred[T]:
        """Already resolved."""
        deferred = cls.__new__(cls)
        deferred.done = deferred.succeeded = True
        deferred._value = value
        deferred._failure = None
        return deferred

    @classmethod
    def _calling(cls, function: Callable[[U], T], value: U) -> Deferred[T]:
        """A deferred that is resolved with the result of ``function``, or fails with the exception that ``function``
        raises."""
        try:
            return cls.of(function(value))
        except Exception as error:  # noqa: BLE001 - passed to the caller that waits for the result
            return cls.of_failure(error)

    @classmethod
    def of_failure(cls, error: Exception) -> Deferred[T]:
        """Already failed."""
        result = cls()
        result.fail(error)
        return result

    @property
    def value(self) -> T:
        """The value.

        :raises Exception: the exception with which the deferred failed.
        """
        if self.succeeded:
            return self._value  # type: ignore[return-value]
        if self._failure is not None:
            raise self._failure
        raise InvariantError("the value of a Deferred was read before it was resolved")

    def has_value(self, value: T) -> bool:
        """Whether the deferred is resolved with exactly this object."""
        return self.succeeded and self._value is value

    def resolve(self, value: T) -> None:
        if self.done:
            raise InvariantError(TWICE)
        self.done = self.succeeded = True
        self._value = value
        callbacks = self._callbacks
        del self._callbacks
        for callback, _ in callbacks:
            try:
                callback(value)
            except Exception as error:  # noqa: BLE001 - the callback belongs to another caller
                _unhandled(error)

    def fail(self, failure: Exception) -> None:
        """Fail with an exception, which is a defect or an unexpected failure. Expected refusals are values."""
        if self.done:
            raise InvariantError(TWICE)
        self.done = True
        self._failure = failure
        callbacks = self._callbacks
        del self._callbacks
        for _, failed in callbacks:
            failed(failure)

    def then(self, callback: Callable[[T], None], failed: Failed | None = None) -> None:
        """Call ``callback`` with the value, or ``failed`` with the exception: at once if the outcome is known,
        otherwise later."""
        if self.succeeded:
            callback(self._value)  # type: ignore[arg-type]
        elif self._failure is None:
            self._callbacks.append((callback, failed or _unhandled))
        else:
            (failed or _unhandled)(self._failure)

    def map(self, function: Callable[[T], U]) -> Deferred[U]:
        """A deferred for the result of ``function`` applied to the value."""
        if self.succeeded:
            try:
                value = function(self._value)  # type: ignore[arg-type]
            except Exception as error:  # noqa: BLE001 - passed to the caller that waits for the result
                return Deferred.of_failure(error)
            return Deferred.of(value)
        result: Deferred[U] = Deferred()

        def known(value: T) -> None:
            Deferred._calling(function, value).then(result.resolve, result.fail)

        self.then(known, result.fail)
        return result

    def flat_map(self, function: Callable[[T], Deferred[U]]) -> Deferred[U]:
        """A deferred for the value of the deferred that ``function`` returns when it is applied to the value."""
        if self.succeeded:
            try:
                return function(self._value)  # type: ignore[arg-type]
            except Exception as error:  # noqa: BLE001 - passed to the caller that waits for the result
                return Deferred.of_failure(error)
        result: Deferred[U] = Deferred()
        self.map(function).then(lambda inner: inner.then(result.resolve, result.fail), result.fail)
        return result


def _alone(value: T) -> list[T]:
    return [value]


def _unhandled(error: Exception) -> None:
    logger.error("a Deferred failed, and nothing waits for it", exc_info=error)


def gather(deferreds: Sequence[Deferred[T]]) -> Deferred[list[T]]:
    """A deferred for the values of all ``deferreds`` in the given order. It is resolved when the last value is known,
    and fails if one of them fails."""
    if len(deferreds) == 1:
        return deferreds[0].map(_alone)
    if all(deferred.succeeded for deferred in deferreds):
        return Deferred.of([deferred.value for deferred in deferreds])
    result: Deferred[list[T]] = Deferred()
    missing = len(deferreds)

    def one_more(_: object) -> None:
        nonlocal missing
        missing -= 1
        if missing:
            return
        failure = next((deferred._failure for deferred in deferreds if deferred._failure is not None), None)
        if failure is not None:
            result.fail(failure)
        else:
            result.resolve([deferred.value for deferred in deferreds])

    for deferred in deferreds:
        deferred.then(one_more, one_more)
    return result
