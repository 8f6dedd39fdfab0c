"""The server's worker threads: each does its work in order, and reports on the event loop's thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from oncelog.runtime import real_asyncio as asyncio


class Worker:
    """One thread that does its work in order and reports on the event loop's thread; implements
    ``ports.Background``."""

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        self._loop = loop
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[], None]) -> None:
        self._queue.put(job)

    def run(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        def job() -> None:
            error: Exception | None = None
            try:
                work()
            except Exception as caught:  # noqa: BLE001 - handed to the core, which decides
                error = caught
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(done, error)
            # breaks a reference cycle of the error's traceback and this frame, which only the garbage collector would
            # free
            del error

        self._queue.put(job)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def discard(self) -> None:
        """Discard queued work that has not begun."""
        with suppress(queue.Empty):
            while True:
                self._queue.get_nowait()

    def stop(self) -> None:
        """Finish the queued work, then end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            job()
            del job  # frees the finished work before the thread waits for more


class BackgroundWorker:
    """Work that answers wait for, on a worker's thread. Implements ``ports.Background``.

    :param report: called on the event loop's thread when work has finished, with the work's ``done`` callback and
        error.
    """

    def __init__(
        self,
        worker: Worker,
        report: Callable[[Callable[[Exception | None], None], Exception | None], None],
    ) -> None:
        self.worker = worker
        self._report = report
        self.under_way = 0
        """The number of pieces of work that have begun and whose end has not been reported to the core."""

    @property
    def is_coming(self) -> bool:
        """Whether work is in progress whose end will be reported."""
        return self.under_way > 0 and self.worker.alive

    def run(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        self.under_way += 1
        self.worker.run(work, partial(self._done, done))

    def end(self) -> None:
        """Discard work that has not begun, and end the worker's thread."""
        self.worker.discard()
        self.worker.stop()

    def _done(self, done: Callable[[Exception | None], None], error: Exception | None) -> None:
        self.under_way -= 1
        self._report(done, error)
