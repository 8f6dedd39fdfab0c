"""The result of the blocking producer's ``send`` and ``send_many``, cheap enough for a million a second.

Called by ``client.blocking``; resolved on the background loop's thread.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING, Generic, TypeVar

from oncelog.client.core.client_errors import KafkaTimeoutError

if TYPE_CHECKING:
    from oncelog.client.background import BackgroundLoop
    from oncelog.runtime import real_asyncio as asyncio

T = TypeVar("T")

log = logging.getLogger(__name__)
_lock = threading.Lock()


class _UnreadFailure:
    """The reason why a record was not stored. If the program never reads the reason, this object logs it when it is
    collected."""

    __slots__ = ("error",)
    last = ""
    """The last reason that was logged; the same one is not logged again, because thousands of records may fail for one
    reason."""

    def __init__(self, error: BaseException) -> None:
        self.error: BaseException | None = error

    def __del__(self) -> None:
        text = str(self.error)
        if self.error is not None and text != _UnreadFailure.last:
            _UnreadFailure.last = text
            log.error("a record was not stored, and the program did not read its outcome: %s", text)


class Delivery(Generic[T]):
    """The outcome of one record, or of one call that sent many records, which may still be unknown."""

    __slots__ = ("_callbacks", "_done", "_error", "_event", "_loop", "_unread_failure", "_value")

    def __init__(self, loop: BackgroundLoop) -> None:
        self._loop = loop
        self._done = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._event: Event | None = None
        self._callbacks: list[Callable[[Delivery[T]], object]] | None = None

    def done(self) -> bool:
        """Whether the outcome is known; does not wait."""
        return self._done

    def result(self, timeout: float | None = None) -> T:
        """The metadata of the stored record; waits until the outcome is known.

        :raises KafkaError: the record was not stored. KafkaTimeoutError: the outcome is not known within ``timeout``
            seconds. IllegalStateError: the outcome will never be known, because the client's thread has died, or this
            process is a forked child.
        """
        error = self.exception(timeout)
        if error is not None:
            raise error
        if self._value is None:
            raise KafkaTimeoutError("the record has no outcome")
        return self._value

    get = result

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The error because of which the record was not stored, None if it was stored; waits until the outcome is
        known."""
        if not self._done:
            with _lock:
                event = self._event = self._event or Event()
            if not self._done and not self._loop.wait(event, timeout):
                raise KafkaTimeoutError(f"the record's outcome is not known after {timeout:g} s")
        if self._error is not None:
            self._unread_failure.error = None
        return self._error

    def add_done_callback(self, callback: Callable[[Delivery[T]], object]) -> None:
        """Call ``callback(self)`` when the outcome is known: at once if it is already known, otherwise on the client's
        thread. Exceptions of the callback are logged."""
        with _lock:
            earlier = self._callbacks
            self._callbacks = [*(earlier or ()), callback]
            if not self._done:
                return  # the thread that resolves the delivery will run the callback
            self._callbacks = earlier
        callback(self)

    def set_result(self, value: T) -> None:
        self._value = value
        self._settle()

    def set_exception(self, error: BaseException) -> None:
        self._unread_failure = _UnreadFailure(error)
        self._error = error
        self._settle()

    def follow(self, future: asyncio.Future[T]) -> None:
        """Take the outcome from a finished future."""
        error = future.exception()
        if error is not None:
            self.set_exception(error)
        else:
            self.set_result(future.result())

    def _settle(self) -> None:
        self._done = True
        if self._event is None and self._callbacks is None:
            return
        with _lock:
            event, callbacks = self._event, self._callbacks or ()
        if event is not None:
            event.set()
        for callback in callbacks:
            try:
                callback(self)
            # The program's callback may raise anything; the batch's other records must still be resolved.
            except BaseException:
                log.exception("a callback of a record's delivery raised")


def _after_fork() -> None:
    """Replace the lock in a forked child: another thread may have held it at the moment of the fork."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)
