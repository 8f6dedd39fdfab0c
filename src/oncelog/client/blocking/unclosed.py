"""What becomes of blocking producers that a program forgets to close: what they were given is sent all the same.

Called by ``producer``. One that the program drops closes itself on the client's thread. The end of the program waits
for those, and closes the others, for ``AT_EXIT_SECONDS`` at most; Ctrl-C ends it at once. What may be lost is said.
"""

from __future__ import annotations

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

    def begin_stop(self) -> Future[None] | None:
        """As ``stop()``, without waiting; None where there is nothing to stop."""
        ...

    def records_waiting(self) -> int:
        """How many records have no outcome yet."""
        ...


_open: weakref.WeakSet[Unclosed] = weakref.WeakSet()
_ending: dict[Future[None], Unclosed] = {}
_registered = False


def opened(producer: Unclosed) -> None:
    """It is closed at the end of the program, unless that was done by then."""
    global _registered
    _open.add(producer)
    if not _registered:
        _registered = True
        with suppress(RuntimeError):  # the program is ending already
            # Not ``atexit``, which comes later: no address can be looked up any more when executors have ended.
            threading._register_atexit(close_all)  # type: ignore[attr-defined]


def closed(producer: Unclosed) -> None:
    """Nothing is left to do for it."""
    _open.discard(producer)


def dropped(producer: Unclosed) -> None:
    """Nobody has it any more: close it beside what the program does."""
    end = producer.begin_stop()
    if end is not None:
        _ending[end] = producer
        end.add_done_callback(lambda done: _ending.pop(done, None))


def close_all() -> None:
    """Wait for those that are closing, and close the others."""
    for producer in list(_open):
        dropped(producer)
    try:
        late = wait(list(_ending), AT_EXIT_SECONDS).not_done
    except KeyboardInterrupt:
        late = set(_ending)
    lost = sum(producer.records_waiting() for end, producer in list(_ending.items()) if end in late)
    if lost:
        logger.warning(
            "the program ends before %d records were acknowledged, which may be lost: "
            "call flush() or close() before, or use the producer in a with block",
            lost,
        )


def _after_fork() -> None:
    """They are the parent's."""
    _open.clear()
    _ending.clear()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)
