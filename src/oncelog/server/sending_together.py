"""Answers to many connections leave on another thread while the event loop reads the next requests.

With a thousand connections of one request each, sending an answer is a quarter of what a request costs: the kernel
hands it to its receiver within the call. The thread needs the interpreter's lock only to begin and to end a batch.

Called by ``Server`` at the end of a turn of many connections, on the loop's thread.

Invariants
- One batch at a time. While a connection's answer is away, nothing else is sent to it, and its socket stays open:
  whoever wants to write to it, or to end it, calls :meth:`SendingTogether.finish` first.
- An answer stays at the head of its connection's queue until it has left. What a socket did not take is sent by the
  connection itself, which also meets the error if there was one.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from oncelog.errors import InvariantError
from oncelog.records import native

if TYPE_CHECKING:
    from oncelog.server.sending import Sending
    from oncelog.server.server import Server
    from oncelog.server.workers import Worker

logger = logging.getLogger(__name__)

LEAST_ANSWERS: Final = 100
"""Fewer are sent by the loop: with 60 of them the thread cost 15 % more CPU and won nothing."""
IS_POSSIBLE: Final = native.compiled is not None and sys.platform != "win32"
"""The interpreter's lock can only be left by compiled code; Windows has no descriptors of sockets."""


class _Batch(NamedTuple):
    connections: list[Sending]
    sends: Any
    left: threading.Lock
    """Held until the thread has sent them."""


class SendingTogether:
    """All of one server's.

    :param new_worker: makes the thread, when it is first needed: most brokers never have so many connections.
    """

    def __init__(self, server: Server, new_worker: Callable[[], Worker]) -> None:
        self._server = server
        self._new_worker = new_worker
        self._worker: Worker | None = None
        self._has_no_thread = False
        self._taken: list[tuple[Sending, int, bytes]] = []
        """Connections, their sockets' descriptors, and what is to be sent."""
        self._away: _Batch | None = None

    def take(self, connection: Sending) -> bool:
        """Whether what the connection has to send leaves with the others'; else it is to be written now."""
        if connection.is_away:  # answered again in the same turn: that leaves when this one has
            return True
        whole = connection.whole_answer()
        if whole is None or not (self._worker or self._has_begun_worker()):
            return False
        connection.is_away = True
        self._taken.append((connection, *whole))
        return True

    def _has_begun_worker(self) -> bool:
        """Whether there is a thread now; if the system refuses one, the loop sends everything from now on."""
        if not self._has_no_thread:
            try:
                self._worker = self._new_worker()
            except RuntimeError as error:
                self._has_no_thread = True
                logger.warning("answers to many connections leave one by one, which is slower: %s", error)
        return self._worker is not None

    def begin(self) -> None:
        """Send what was taken; the batch before must have ended."""
        if not self._taken or self._worker is None:
            return
        if self._away is not None:
            raise InvariantError("answers were to be sent while others of the turn before are still being sent")
        left = threading.Lock()
        left.acquire()
        connections, descriptors, answers = map(list, zip(*self._taken, strict=True))
        self._taken = []
        batch = _Batch(connections, native.compiled.Sends(descriptors, answers), left)
        self._away = batch

        def send() -> None:
            try:
                batch.sends.send()
            finally:
                left.release()

        self._worker.run(send, self._sent)

    def finish(self) -> None:
        """Wait until all that was taken has been sent; its connections may be written to again."""
        self._wait()
        if self._taken:
            self.begin()
            self._wait()

    def _wait(self) -> None:
        batch = self._away
        if batch is None:
            return
        with batch.left:
            self._away = None
        for connection, sent in zip(batch.connections, batch.sends.sent(), strict=True):
            connection.came_back(sent)

    def _sent(self, error: Exception | None) -> None:
        """Called before the loop looks for requests again: if a batch were still being sent then, connections that are
        answered early would have more turns than others (least / most 0.70 instead of 0.98 with a thousand).
        """
        self.finish()
        self._server.answers_left()

    def stop(self) -> None:
        """Only once no connection is left."""
        self._has_no_thread = True
        if self._worker is not None:
            self._worker.stop()
            self._worker = None
