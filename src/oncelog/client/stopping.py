"""The time limits of a stopping client. Called by the asyncio clients, and by the blocking ones for their
blocks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from math import inf
from typing import Any

from oncelog.client.core import arguments

INTERRUPTED_MS = 5_000
"""Time to send, commit and leave after an interrupt: an interrupted program or test should end, whether or not the
cluster answers.
"""


def limit_ms(error: BaseException | None) -> int | None:
    """The time limit for leaving a block that this error has ended; None: the settings apply.

    An interrupt is an exception that is not an ``Exception``: Ctrl-C, an exit, a cancelled task, a test's timeout.
    """
    return None if error is None or isinstance(error, Exception) else INTERRUPTED_MS


def check_timeout(timeout_ms: object) -> None:
    """:raises TypeError, NumberOutOfRangeError: ``timeout_ms`` is neither a duration in ms nor None."""
    if timeout_ms is not None:
        arguments.seconds(timeout_ms, "timeout_ms")


async def within(timeout_ms: int | None, work: Coroutine[Any, Any, None]) -> bool:
    """Whether ``work`` was done in this time; if not, it is cancelled."""
    try:
        async with asyncio.timeout(None if timeout_ms is None or timeout_ms == inf else timeout_ms / 1000) as scope:
            await work
    except TimeoutError:
        if not scope.expired():
            raise
        return False
    return True


__all__ = ["INTERRUPTED_MS", "check_timeout", "limit_ms", "within"]
