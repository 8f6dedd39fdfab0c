"""The time limits within which a client stops. Called by the asyncio clients, and by the blocking clients at the end of
a ``with`` block."""

from __future__ import annotations

from collections.abc import Coroutine
from math import inf
from typing import Any

from oncelog.client.core import arguments
from oncelog.runtime import real_asyncio as asyncio

INTERRUPTED_MS = 5_000
"""The time in ms to send, commit and leave the group after an interrupt, because an interrupted program or test should
end even if the cluster does not answer."""


def limit_ms(error: BaseException | None) -> int | None:
    """The time limit in ms for stopping a client after a block that ended with this error; None if the settings decide.

    Only an interrupt has a limit. Any exception that is not an ``Exception`` is one: Ctrl-C, an exit, a cancelled task,
    a test's timeout.
    """
    return None if error is None or isinstance(error, Exception) else INTERRUPTED_MS


def check_timeout(timeout_ms: object) -> None:
    """Check a ``timeout_ms``.

    :raises TypeError, NumberOutOfRangeError: it is neither a duration in ms nor None.
    """
    if timeout_ms is not None:
        arguments.seconds(timeout_ms, "timeout_ms")


async def within(timeout_ms: int | None, work: Coroutine[Any, Any, None]) -> bool:
    """Do ``work``, and cancel it after this time (None: never); returns whether it was completed."""
    try:
        async with asyncio.timeout(None if timeout_ms is None or timeout_ms == inf else timeout_ms / 1000) as scope:
            await work
    except TimeoutError:
        if not scope.expired():
            raise
        return False
    return True


__all__ = ["INTERRUPTED_MS", "check_timeout", "limit_ms", "within"]
