"""Waits of a thread that a signal can interrupt. Called by the blocking interfaces of broker and clients."""

from __future__ import annotations

import threading
from collections.abc import Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

SIGNAL_SECONDS = 0.1
"""How often a wait checks for signals: a wait without a timeout is not interrupted by a signal that the system
delivered to another thread, or just before the wait began."""


def until_one_is_done(futures: Collection[Future[Any]]) -> None:
    """Return when one of the futures has a result or an error."""
    while not wait(futures, SIGNAL_SECONDS, FIRST_COMPLETED).done:
        pass


def join(thread: threading.Thread) -> None:
    """Return when the thread has ended."""
    while thread.is_alive():
        thread.join(SIGNAL_SECONDS)
