"""What becomes of blocking producers that a program forgets to close: what they were given is sent all the same.

Called by ``producer``. One that the program drops closes itself on the client's thread. As the main thread ends, what
was sent by then is delivered; other threads, pools and ``atexit`` functions go on with the producers, which are closed
after them. The program waits for each of the two ``AT_EXIT_SECONDS`` / 2 at most; Ctrl-C ends it at once. What may be
lost is said.
"""

from __future__ import annotations

import atexit
import concurrent.futures.thread  # noqa: F401 - has to register its end before this module does
import logging
import os
import threading
import weakref
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Protocol

AT_EXIT_SECONDS = 10.0

logger = logging.getLogger(__name__)


class Unclosed(Protocol):
    """A producer that was started."""

    def _begin_flush(self) -> Future[None] | None:
        """As ``flush()``, without waiting; None if there is nothing to flush."""
        ...

    def _begin_stop(self) -> Future[None] | None:
        """As ``stop()``, without waiting; None if there is nothing to stop."""
        ...

    def _records_waiting(self) -> int:
        """How many records have no outcome yet."""
        ...


_open: weakref.WeakSet[Unclosed] = weakref.WeakSet()
_ending: dict[Future[None], Unclosed] = {}
kept: set[object] = set()
"""What does the work of each producer: in a cycle that is collected, it would end before its producer is closed."""
_lock = threading.Lock()
_registered = False
_hurried = False


def opened(producer: Unclosed) -> None:
    """It is closed at the end of the program, unless that was done by then."""
    global _registered
    with _lock:
        _open.add(producer)
    if not _registered:
        _registered = True
        with suppress(RuntimeError):  # the program is ending already
            # Before ``atexit``: no address can be looked up any more when executors have ended.
            threading._register_atexit(send_all)  # type: ignore[attr-defined]


def closed(producer: Unclosed) -> None:
    """Nothing is left to do for it."""
    with _lock:
        _open.discard(producer)


def dropped(producer: Unclosed) -> None:
    """Nobody has it any more: close it beside what the program does."""
    end = producer._begin_stop()
    if end is not None:
        _ending[end] = producer
        end.add_done_callback(lambda done: _ending.pop(done, None))


def send_all() -> None:
    """Wait for those that are closing, and for what the others were given so far."""
    _wait([*_ending, *filter(None, [producer._begin_flush() for producer in _still_open()])])


@atexit.register  # when this is imported, so that functions which the program registers come first
def close_all() -> None:
    """Wait for those that are closing, and close the others."""
    for producer in _still_open():
        dropped(producer)
    late = _wait(list(_ending))
    lost = sum(producer._records_waiting() for end, producer in list(_ending.items()) if end in late)
    if lost:
        logger.warning(
            "the program ends before %d records were acknowledged, which may be lost: "
            "call flush() or close() before, or use the producer in a with block",
            lost,
        )
    elif late:
        logger.warning("the program ends before %d producers were closed: call close() before", len(late))


def _still_open() -> list[Unclosed]:
    with _lock:
        return list(_open)


def _wait(ends: list[Future[None]]) -> set[Future[None]]:
    """Those that did not come in time."""
    global _hurried
    try:
        return wait(ends, 0 if _hurried else AT_EXIT_SECONDS / 2).not_done
    except KeyboardInterrupt:
        _hurried = True
        return {end for end in ends if not end.done()}


def _after_fork() -> None:
    """They are the parent's."""
    global _lock
    _lock = threading.Lock()
    _open.clear()
    _ending.clear()
    kept.clear()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)
