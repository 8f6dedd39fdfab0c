"""The event loop behind the blocking clients: one thread for a process.

Called by ``client.blocking``. A process that was forked gets a loop of its own when it first needs one; clients made
before the fork belong to the parent.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from oncelog.client.core.errors import IllegalStateError

T = TypeVar("T")


class Background:
    """A running event loop in a daemon thread."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="oncelog-client", daemon=True)
        self._thread.start()

    @property
    def usable(self) -> bool:
        return self.pid == os.getpid() and self._thread.is_alive()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for ``work`` on the loop; an interrupt cancels it."""
        if not self.usable:
            work.close()
            raise IllegalStateError("the client was made before this process was forked; make a new one here")
        if threading.current_thread() is self._thread:
            work.close()
            raise IllegalStateError("a blocking client was called from a callback on the client's own thread")
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


_lock = threading.Lock()
_current: Background | None = None


def background() -> Background:
    """This process's loop."""
    global _current
    with _lock:
        if _current is None or not _current.usable:
            _current = Background()
        return _current


def _after_fork() -> None:
    global _lock, _current
    _lock = threading.Lock()
    _current = None


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)
