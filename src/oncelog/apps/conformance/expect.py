"""The assertions of checks. They replace ``assert``, which is removed by ``python -O`` and has no message without
pytest."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextvars import ContextVar
from time import sleep
from typing import TypeVar

from oncelog.errors import Error, OncelogError
from oncelog.runtime import real_time

T = TypeVar("T")
TIMEOUT_S: ContextVar[float] = ContextVar("TIMEOUT_S", default=60.0)
"""How long a check waits for a condition, in seconds."""


class CheckFailed(OncelogError):
    """A check has failed: the broker breaks a promise; the text says what the broker does instead."""


class NotOffered(OncelogError):
    """The broker does not offer a version of an API that a check needs."""


def same(found: object, expected: object) -> None:
    """Check that the found value equals the expected one."""
    if found != expected:
        raise CheckFailed(f"expected {_shown(expected, expected)}, found {_shown(found, expected)}")


def among(found: object, allowed: Collection[object]) -> None:
    """Check that the value is one of those expected."""
    if found not in allowed:
        first = next(iter(allowed), None)
        raise CheckFailed(f"expected one of {_shown(allowed, allowed)}, found {_shown(found, first)}")


def holds(condition: object, text: str) -> None:
    """Check that the condition is true; ``text`` describes it."""
    if not condition:
        raise CheckFailed(f"not so: {text}")


def there(value: T | None, what: str) -> T:
    """Check that the value is not None, and return it."""
    if value is None:
        raise CheckFailed(f"{what} is missing")
    return value


def _shown(value: object, like: object) -> str:
    """A value as text for messages; an error code is shown as its name if the value in ``like``'s place is an
    :class:`Error`.
    """
    if isinstance(value, tuple | list) and isinstance(like, tuple | list) and len(value) == len(like):
        inner = ", ".join(_shown(item, other) for item, other in zip(value, like, strict=True))
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if isinstance(like, Error) and isinstance(value, int) and value in Error._value2member_map_:
        return Error(value).name
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(_shown(item, item) for item in value)) + "}"
    return repr(value)


def eventually(probe: Callable[[], T | None], timeout_s: float | None = None) -> T:
    """Call ``probe`` until its result is neither None nor False; returns that result.

    :raises CheckFailed: there was no such result within the timeout, by default the timeout of the run.
    """
    waited_s = TIMEOUT_S.get() if timeout_s is None else timeout_s
    deadline = real_time.monotonic() + waited_s
    while True:
        result = probe()
        if result is not None and result is not False:
            return result
        if real_time.monotonic() > deadline:
            raise CheckFailed(f"the awaited condition did not hold within {waited_s:g} s")
        sleep(0.02)
