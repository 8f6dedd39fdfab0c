"""Blocking producers that a program forgets to close: their records are sent nevertheless.

Called by ``producer``. A producer that the program drops closes itself on the client's thread. When the main thread
ends, everything sent so far is delivered; other threads, pools and ``atexit`` functions may still use producers, which
are closed after them. The program waits at most ``AT_EXIT_SECONDS`` / 2 for each of these two steps; Ctrl-C ends the
wait at once. Records that may be lost are logged.
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


class UnclosedProducer(Protocol):
    """The methods of a started producer that are called when the program drops it or ends."""

    def _begin_flush(self) -> Future[None] | None:
        """As ``flush()``, without waiting; None if there is nothing to flush."""
        ...

    def _begin_stop(self) -> Future[None] | None:
        """As ``stop()``, without waiting; None if there is nothing to stop."""
        ...

    def _records_waiting(self) -> int:
        """How many records have no outcome yet."""
        ...


_open: weakref.WeakSet[UnclosedProducer] = weakref.WeakSet()
_ending: dict[Future[None], UnclosedProducer] = {}
kept: set[object] = set()
"""The objects of each open producer, which must live until it is closed: garbage collection of a reference cycle would
end them earlier."""
_lock = threading.Lock()
_registered = False
_hurried = False


def opened(producer: UnclosedProducer) -> None:
    """Close this producer when the program ends, unless the program has closed it before."""
    global _registered
    with _lock:
        _open.add(producer)
    if not _registered:
        _registered = True
        with suppress(RuntimeError):  # the program is ending already
            # Runs before ``atexit`` handlers: once the executors have shut down, addresses cannot be resolved.
            threading._register_atexit(send_all)  # type: ignore[attr-defined]


def closed(producer: UnclosedProducer) -> None:
    """Forget this producer, because it has been closed."""
    with _lock:
        _open.discard(producer)


def dropped(producer: UnclosedProducer) -> None:
    """Close the producer in the background; called when the program holds no reference to it any more."""
    end = producer._begin_stop()
    if end is not None:
        _ending[end] = producer
        end.add_done_callback(lambda done: _ending.pop(done, None))


def send_all() -> None:
    """Wait for producers that are closing, and for all records given to other producers so far."""
    _wait([*_ending, *filter(None, [producer._begin_flush() for producer in _still_open()])])


@atexit.register  # registered at import, so that functions the program registers run first
def close_all() -> None:
    """Wait for producers that are closing, and close the others."""
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


def _still_open() -> list[UnclosedProducer]:
    with _lock:
        return list(_open)


def _wait(ends: list[Future[None]]) -> set[Future[None]]:
    """Wait for these futures; returns those that are not done in time."""
    global _hurried
    try:
        return wait(ends, 0 if _hurried else AT_EXIT_SECONDS / 2).not_done
    except KeyboardInterrupt:
        _hurried = True
        return {end for end in ends if not end.done()}


def _after_fork() -> None:
    """Forget all producers in the child process, because they belong to the parent."""
    global _lock
    _lock = threading.Lock()
    _open.clear()
    _ending.clear()
    kept.clear()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)
