"""Runs an event loop in a separate thread, for which other threads can wait.

Invariants
- The thread ends once, when its last work is done, however many threads request the end, and even if a signal handler
  requests it while a thread waits for the end.
- A waiting thread may be interrupted; the work continues, and can be waited for again.
- No wait is endless: each ends with a true sentence if the thread has died, if the loop does not respond, if this
  process is a forked child, or if the program is ending.
"""

from __future__ import annotations

import _thread
import logging
import queue
import select
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from threading import Event
from typing import Any, TypeVar

from oncelog.errors import OncelogError
from oncelog.runtime import forks, real_time
from oncelog.runtime import real_asyncio as asyncio

logger = logging.getLogger(__name__)

T = TypeVar("T")

SIGNAL_SECONDS = 0.1
"""The interval in s at which a waiting thread checks for signals, and whether the loop's thread is alive. A wait
without a timeout would not be interrupted by a signal that the system delivered to another thread, or just before the
wait began."""
SILENT_SECONDS = 60
"""How long, in s, the loop may not respond while others wait for it. The time is counted in checks, so that a stopped
process, or one under a debugger, does not count as blocked."""

_GREEN = (
    "{what} needs the operating system's threads, and gevent or eventlet has replaced them, queues or select in this "
    "process: call gevent.monkey.patch_all(thread=False, queue=False, select=False) or "
    "eventlet.monkey_patch(thread=False, select=False) instead, or run this in a process that is not patched"
)
_MOCKED = (
    "{what} needs a thread, and none was started: something, perhaps unittest.mock.patch, has replaced "
    "threading.Thread for the whole process; let it replace a name in your own module, or start this before it"
)


class LoopThread:
    """A loop in a daemon thread, running from the beginning until the work of :meth:`end` is done.

    :param loop: a new loop, which belongs to the thread from now on.
    :param what: the name of what runs on the loop, for messages: "the broker".
    :param error: the class of the errors raised by the methods.
    :param not_running: the message of the error if work is submitted after the thread's end.
    :raises OncelogError: (``error``) the threads of this process are not those of the operating system, because gevent
        or eventlet has replaced them.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        name: str,
        what: str,
        not_running: str,
        error: Callable[[str], Exception] = OncelogError,
    ) -> None:
        if select.select.__module__ != "select" or queue.SimpleQueue.__module__ not in ("_queue", "queue"):
            loop.close()
            raise error(_GREEN.format(what=what))
        self.loop = loop
        self.is_ending = False
        """Whether :meth:`end` was called."""
        self.at_death: list[Callable[[], Coroutine[Any, Any, None]]] = []
        """Work to do on the thread if it ends although :meth:`end` was not called."""
        self._what, self._not_running, self._error = what, not_running, error
        self._last: asyncio.Task[None] | None = None
        self._ended: Future[None] = Future()
        self._why_dead: BaseException | None = None
        self._generation = forks.generation()
        self._starter = _thread.get_native_id()
        self._begun: Future[bool] = Future()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        real_time.keep_real(loop)
        self._thread.start()
        if not isinstance(self._thread.ident, int):
            loop.close()
            raise error(_MOCKED.format(what=what))
        if not self._begun.result():
            loop.close()
            raise error(_GREEN.format(what=what))
        forks.let_go_in_children(self)

    @property
    def is_here(self) -> bool:
        """Whether the thread runs; in a forked child it does not."""
        return self._generation == forks.generation() and self._thread.is_alive() and self._why_dead is None

    @property
    def is_inherited(self) -> bool:
        """Whether the thread runs in the parent of this forked process."""
        return self._generation != forks.generation()

    @property
    def is_own(self) -> bool:
        """Whether the caller runs on this thread: the thread cannot wait for itself."""
        return threading.current_thread() is self._thread

    def descriptors(self) -> list[int]:
        return list(forks.loop_descriptors(self.loop))

    # --- work

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin ``work`` on the thread."""
        if self.is_own or not self.is_here:
            work.close()
            raise self._own_thread() if self.is_own else self._gone()
        try:
            return asyncio.run_coroutine_threadsafe(work, self.loop)
        except RuntimeError:  # the loop has just been closed
            work.close()
            raise self._gone() from None

    def call_soon(self, action: Callable[[], object]) -> None:
        """Call ``action`` on the thread, without waiting for the call."""
        if not self.is_here:
            raise self._gone()
        try:
            self.loop.call_soon_threadsafe(action)
        except RuntimeError:  # the loop has just been closed
            raise self._gone() from None

    def run(self, work: Coroutine[Any, Any, T], *, is_long: bool = False) -> T:
        """Do ``work`` on the thread, and wait for its result.

        :param is_long: whether ``work``, once it has begun, may block the loop for any time without being reported.
        """
        begun = Event()

        async def noted() -> T:
            if is_long:
                begun.set()
            return await work

        try:
            done = self.submit(noted())
        except BaseException:
            work.close()
            raise
        return self.result(done, begun.is_set)

    def result(self, done: Future[T], is_busy: Callable[[], bool] = lambda: False) -> T:
        """Wait for the result of submitted work."""
        self._wait(done, is_busy)
        if not done.done():
            _join(self._thread)
        if not done.done() or done.cancelled():
            raise self._gone()
        return done.result()

    def wait(self, event: Event, seconds: float | None = None) -> bool:
        """Wait until the event is set on the thread, at most for this time (None: without a limit); returns whether
        it is set.
        """
        end = None if seconds is None else real_time.monotonic() + seconds
        pulse = _Pulse(self.loop)
        while not event.wait(SIGNAL_SECONDS if end is None else min(SIGNAL_SECONDS, end - real_time.monotonic())):
            if end is not None and real_time.monotonic() >= end:
                return event.is_set()
            if not self.is_here and not event.is_set():
                raise self._gone()
            self._check(pulse)
        return True

    def end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """End the thread after it has done ``last``, or the work of an earlier call; returns when it has ended.

        :raises OncelogError: (``error``) the thread died before.
        """
        if self.is_inherited:
            return
        if self.is_own:
            raise self._own_thread()
        self.is_ending = True
        try:
            self.loop.call_soon_threadsafe(self._begin_end, last)
        except RuntimeError:
            if not self._ended.done():
                raise
        self._wait(self._ended, lambda: self._last is not None)
        _join(self._thread)
        self._ended.result()

    # --- waiting

    def _wait(self, done: Future[Any], is_busy: Callable[[], bool]) -> None:
        """Wait until the future is done, or the thread has ended.

        ``concurrent.futures.wait`` would not pause while a test replaces ``threading.Event``.
        """
        event = Event()
        done.add_done_callback(lambda _: event.set())
        pulse = _Pulse(self.loop)
        while not event.wait(SIGNAL_SECONDS):
            if not self.is_here:
                return
            if is_busy():
                pulse = _Pulse(self.loop)
            self._check(pulse)

    def _check(self, pulse: _Pulse) -> None:
        """Check that the loop still responds, and that the program is not ending.

        :raises OncelogError: (``error``) a wait would be endless.
        """
        if sys.is_finalizing():
            raise self._error(f"the program is ending, and {self._what} cannot do anything any more")
        if pulse.silent_ticks() * SIGNAL_SECONDS >= SILENT_SECONDS:
            raise self._error(
                f"{self._what} has not responded for {SILENT_SECONDS} s, because its thread "
                f"({self._thread.name}) is blocked {_place(self._thread)}"
            )

    def _gone(self) -> Exception:
        if self.is_inherited:
            return self._error(
                f"{self._what} runs in the process that this one was forked from; start another one here"
            )
        if self._why_dead is not None:
            return self._error(
                f"{self._what} is not running any more, because {self._why_dead!r} has ended its thread; "
                "start another one"
            )
        return self._error(self._not_running)

    def _own_thread(self) -> Exception:
        return self._error(f"{self._what}'s own thread cannot wait for it: call this on another thread")

    # --- on the thread

    def _begin_end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._last is None and self._why_dead is None:
            self._last = self.loop.create_task(last())
            self._last.add_done_callback(lambda _: self.loop.stop())

    def _run(self) -> None:
        is_real = _thread.get_native_id() != self._starter
        self._begun.set_result(is_real)
        if not is_real:
            return
        asyncio.set_event_loop(self.loop)
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - raised where somebody waits for the end
            self._ended.set_exception(error)
        else:
            self._ended.set_result(None)

    def _work(self) -> None:
        loop = self.loop
        try:
            loop.run_forever()
        except BaseException as death:  # noqa: BLE001 - a callback raised SystemExit or KeyboardInterrupt
            self._why_dead = death
            logger.error("%s has ended, because a callback on its thread raised %r", self._what, death)
            for release in self.at_death:
                with suppress(Exception):  # the exception interrupted work, so releasing may fail, too
                    loop.run_until_complete(release())
        left = asyncio.all_tasks(loop)  # other threads have started these tasks since
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(asyncio.sleep(0))  # closed transports are released in the next iteration
        loop.close()
        if self._last is not None and not self._last.cancelled():
            self._last.result()


class _Pulse:
    """Checks repeatedly whether a loop responds."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._asked = self._answered = self._silent = 0

    def silent_ticks(self) -> int:
        """The number of checks since the loop last responded."""
        if self._answered == self._asked:
            self._silent, self._asked = 0, self._asked + 1
            try:
                self._loop.call_soon_threadsafe(self._answer)
            except RuntimeError:  # the loop is closed, and its thread is about to end
                self._answered = self._asked
        else:
            self._silent += 1
        return self._silent

    def _answer(self) -> None:
        self._answered = self._asked


def _place(thread: threading.Thread) -> str:
    """The function, file and line that a thread executes now, as text."""
    frame = sys._current_frames().get(thread.ident or 0)
    if frame is None:
        return "somewhere"
    return f"in {frame.f_code.co_name}, {frame.f_code.co_filename} line {frame.f_lineno}"


def _join(thread: threading.Thread) -> None:
    """Wait until the thread has ended; a signal handler may interrupt the wait."""
    while thread.is_alive():
        thread.join(SIGNAL_SECONDS)
