"""The thread that an embedded broker's event loop runs on, and its end. Called by ``embedded``.

Invariants
- It ends once, when its last work is done, however many threads ask for it, and even if a signal handler does while a
  thread waits for the end.
- A waiting thread may be interrupted; the work continues, and can be waited for again.
- Nothing waits for work that a loop that has ended will never do.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from oncelog.errors import OncelogError
from oncelog.interruptible import join, until_one_is_done
from oncelog.server.process.loops import new_event_loop

NOT_RUNNING = "the broker is not running: use it in a with block, or call start()"
OWN_THREAD = "a broker's own thread cannot wait for it: call this on another thread"

T = TypeVar("T")


class LoopThread:
    """A loop in a daemon thread, running from the beginning until the work of :meth:`end` is done."""

    def __init__(self, name: str) -> None:
        self.loop = new_event_loop()
        self.is_ending = False
        """Whether its end has been requested."""
        self._last: asyncio.Task[None] | None = None
        self._ended: Future[None] = Future()
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_here(self) -> bool:
        """Whether the thread runs; it does not in a process that this one has forked."""
        return self._process == os.getpid() and self._thread.is_alive()

    @property
    def is_own(self) -> bool:
        """Whether the caller runs on it: it cannot wait for itself."""
        return threading.current_thread() is self._thread

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``, done on the thread. :raises OncelogError: the thread has ended, or ends first."""
        if self.is_own or not self.is_here:
            work.close()
            raise OncelogError(OWN_THREAD if self.is_own else NOT_RUNNING)
        try:
            done = asyncio.run_coroutine_threadsafe(work, self.loop)
        except RuntimeError:  # the loop has just been closed
            work.close()
            raise OncelogError(NOT_RUNNING) from None
        either: list[Future[Any]] = [done, self._ended]
        until_one_is_done(either)
        if not done.done():
            join(self._thread)
        if not done.done() or done.cancelled():
            raise OncelogError(NOT_RUNNING)
        return done.result()

    def end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Return when the thread has ended, after ``last``, or after the work given by an earlier call."""
        if self._process != os.getpid():
            return
        self.is_ending = True
        try:
            self.loop.call_soon_threadsafe(self._begin_end, last)
        except RuntimeError:
            if not self._ended.done():
                raise
        until_one_is_done([self._ended])
        join(self._thread)
        self._ended.result()

    def _begin_end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._last is None:
            self._last = self.loop.create_task(last())
            self._last.add_done_callback(lambda _: self.loop.stop())

    def _run(self) -> None:
        loop = self.loop
        asyncio.set_event_loop(loop)
        loop.run_forever()
        left = asyncio.all_tasks(loop)  # work requested by other threads meanwhile
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left))
        loop.close()
        error = self._last.exception() if self._last is not None else None
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)
