"""Runs a client's cores on its event loop, and cleans up after a client that was never stopped.

Called by the asyncio producer and consumer. Nothing that the event loop holds refers to the client itself, so a client
that the program drops is collected; a warning says so, and its connections are closed.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, ParamSpec, TypeVar

from oncelog.client.core.client_errors import IllegalStateError
from oncelog.runtime import forks
from oncelog.runtime import real_asyncio as asyncio

P = ParamSpec("P")
T = TypeVar("T")


class Polling:
    """Merges many requests for a poll into one poll in the event loop's next iteration."""

    def __init__(self, poll: Callable[[], object]) -> None:
        self._poll = poll
        self._loop: asyncio.AbstractEventLoop | None = None
        self._scheduled = False
        self._generation = -1

    def start(self) -> None:
        """Bind to the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._generation = forks.generation()

    @property
    def here(self) -> bool:
        """Whether the client was started in this process: after a fork the child's copy belongs to the parent."""
        return self._generation == forks.generation()

    def close(self) -> None:
        """Poll no more."""
        self._loop = None

    def soon(self) -> None:
        """Request to poll because something new can be done. Has no effect before ``start`` and after ``close``."""
        if not self._scheduled and self._loop is not None:
            # set before the call: if another thread runs the loop, the poll may run before call_soon returns
            self._scheduled = True
            try:
                self._loop.call_soon(self._run)
            except RuntimeError:  # a loop in debug mode refuses calls from other threads
                self._scheduled = False
                raise

    def _run(self) -> None:
        self._scheduled = False
        if self._loop is not None:
            self._poll()


def running_loop() -> asyncio.AbstractEventLoop:
    """The event loop that a client starts on.

    :raises IllegalStateError: no asyncio loop runs the coroutine, but for example trio.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise IllegalStateError(
            "an asyncio client needs asyncio, which does not run here: under trio, call a blocking client "
            "(oncelog.Producer, Consumer, Admin) in a thread, as with trio.to_thread.run_sync"
        ) from None


def weakly(method: Callable[P, T]) -> Callable[P, T | None]:
    """The bound method as a function that does not keep its object alive; returns None once the object is gone."""
    reference = weakref.WeakMethod(method)

    def call(*args: P.args, **keywords: P.kwargs) -> T | None:
        bound: Callable[P, T] | None = reference()
        return None if bound is None else bound(*args, **keywords)

    return call


def unclosed(
    client: object,
    loop: asyncio.AbstractEventLoop,
    closings: Iterable[Callable[[], None]],
    close: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    """Warn that a client was dropped without being stopped, and close its resources on its loop.

    :param closings: functions that are called before ``close``. Neither they nor ``close`` may refer to the client.
    """

    async def close_all() -> None:
        for end in closings:
            end()
        await close()

    text = f"Unclosed {type(client).__name__}: {client!r}; call stop()"
    warnings.warn(text, ResourceWarning, source=client, stacklevel=2)
    if not loop.is_closed():
        loop.call_soon_threadsafe(lambda: loop.create_task(close_all()))


__all__ = ["Polling", "running_loop", "unclosed", "weakly"]
