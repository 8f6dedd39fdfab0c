"""Reports long waits while they last (``client.core.waiting``). Called by the parts of the clients that have a
deadline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from oncelog.client.core.waiting import TICK_MS, asked_for, still_waiting
from oncelog.runtime import real_asyncio as asyncio


@contextmanager
def waiting(servers: Sequence[str], what: str, limit_s: float) -> Iterator[None]:
    """Report the wait once a second while the block runs, if the logger is enabled."""
    if not asked_for():
        yield
        return
    loop = asyncio.get_running_loop()
    began = loop.time()
    timer: asyncio.TimerHandle | None = None

    def tick() -> None:
        nonlocal timer
        still_waiting(servers, what, loop.time() - began, limit_s)
        timer = loop.call_later(TICK_MS / 1000, tick)

    timer = loop.call_later(TICK_MS / 1000, tick)
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
