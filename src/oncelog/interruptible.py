"""Waits of a thread that a signal can end. Called by the threads behind the blocking faces of broker and clients."""

from __future__ import annotations

import threading
from collections.abc import Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

SIGNAL_SECONDS = 0.1
"""Who waits looks this often whether a signal has come: a wait without a limit is not ended by one that the system
gave to another thread, or just before the wait began."""


def until_one_is_done(futures: Collection[Future[Any]]) -> None:
    """Return when one of them has a result or an error."""
    while not wait(futures, SIGNAL_SECONDS, FIRST_COMPLETED).done:
        pass


def join(thread: threading.Thread) -> None:
    """Return when the thread has ended."""
    while thread.is_alive():
        thread.join(SIGNAL_SECONDS)
