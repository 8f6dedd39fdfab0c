"""Wakes callers that wait for a consumer's records, and passes failures of background work on to them.

Called by the asyncio consumer and its parts.
"""

from __future__ import annotations

from oncelog.errors import KafkaError
from oncelog.runtime import real_asyncio as asyncio


class RecordWaiters:
    """The callers that wait for records. A failure is raised once, to the next caller; a failure that ends reading is
    raised to every caller."""

    def __init__(self) -> None:
        self._waiters: dict[asyncio.Future[None], None] = {}
        self._failure: KafkaError | None = None
        self._end: KafkaError | None = None

    def __bool__(self) -> bool:
        """Whether anyone waits."""
        return bool(self._waiters)

    async def wait(self, seconds: float | None) -> None:
        """Wait until there may be records, or the time is up."""
        if seconds is not None and seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = None
        try:
            async with asyncio.timeout(seconds):
                await waiter
        except TimeoutError:
            return
        finally:
            self._waiters.pop(waiter, None)

    def wake(self) -> None:
        """Wake all waiters, because there may be records."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def fail(self, error: KafkaError) -> None:
        """Raise this error of a background task in the program's next call."""
        self._failure = error
        self.wake()

    def end(self, error: KafkaError) -> None:
        """Raise this error in every call until :meth:`begin`, because no records will come before then."""
        self._end = error
        self.wake()

    def begin(self) -> None:
        """Forget the error that ended reading, because reading can continue."""
        self._end = None

    def raise_failure(self) -> None:
        """Raise the recorded failure, if there is one."""
        if self._end is not None:
            raise self._end
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure


__all__ = ["RecordWaiters"]
