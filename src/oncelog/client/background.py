"""The event loop behind the blocking clients: one thread for a process.

Called by ``client.blocking``. A forked process gets a loop of its own when it first needs one; clients created before
the fork belong to the parent, and raise an error when they are used in the child.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from oncelog.client.core.client_errors import IllegalStateError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.loop_thread import LoopThread

T = TypeVar("T")

FORKED = "the client was created before this process was forked; create a new one here"
_clients: weakref.WeakSet[Client] = weakref.WeakSet()


class Client(Protocol):
    """A blocking client."""

    def _forked(self) -> None:
        """Called in the child process after a fork: a started client and its records belong to the parent process."""
        ...


class BackgroundLoop:
    """A running event loop in a daemon thread."""

    def __init__(self) -> None:
        self._thread = LoopThread(
            asyncio.new_event_loop(),
            "oncelog-client",
            "the blocking clients' event loop",
            "the blocking clients' event loop has ended; create a new client",
            IllegalStateError,
        )

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._thread.loop

    @property
    def usable(self) -> bool:
        return self._thread.is_here

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for ``work`` on the loop; an interrupt cancels it."""
        future = self.submit(work)
        try:
            return self._thread.result(future)
        except BaseException:
            future.cancel()
            raise

    def start(self, work: Coroutine[Any, Any, None], stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Wait until a client has started. After an interrupt, ``stop`` closes the client, even if it has started only
        in part."""
        try:
            self.run(work)
        except BaseException:
            if self.usable:
                self.submit(stop())
            raise

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin ``work`` on the loop."""
        if self._thread.is_inherited or self._thread.is_own:
            work.close()
            raise IllegalStateError(
                FORKED
                if self._thread.is_inherited
                else "a blocking client was called from a callback on the client's own thread"
            )
        return self._thread.submit(work)

    def call_soon(self, action: Callable[[], object]) -> None:
        """Call ``action`` on the loop.

        :raises IllegalStateError: the loop has ended.
        """
        self._thread.call_soon(action)

    def wait(self, event: threading.Event, seconds: float | None) -> bool:
        """Wait until the event is set on the loop, at most for this time (None: without a limit); returns whether it
        is set.
        """
        return self._thread.wait(event, seconds)


_lock = threading.Lock()
_current: BackgroundLoop | None = None


def background() -> BackgroundLoop:
    """This process's loop."""
    global _current
    with _lock:
        if _current is None or not _current.usable:
            _current = BackgroundLoop()
        return _current


def tell_of_fork(client: Client) -> None:
    """Register the client, so that its ``_forked`` is called in the child whenever the process forks."""
    with _lock:
        _clients.add(client)


def _after_fork() -> None:
    global _lock, _current
    _lock = threading.Lock()
    _current = None
    for client in list(_clients):
        # clients stay registered: one that is first started in this process does not belong to its children
        client._forked()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)
