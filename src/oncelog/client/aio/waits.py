"""Those who wait for a consumer's records, and what has failed in the background meanwhile.

Called by the asyncio consumer and its rooms.
"""

from __future__ import annotations

import asyncio

from oncelog.errors import KafkaError


class Waits:
    """A failure is told once, to the next who asks; one that ends the reading, to everybody who asks."""

    def __init__(self) -> None:
        self._waiters: dict[asyncio.Future[None], None] = {}
        self._failure: KafkaError | None = None
        self._end: KafkaError | None = None

    def __bool__(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waiters)

    async def wait(self, seconds: float | None) -> None:
        """Until there may be records, or the time is up."""
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
        """There may be records."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def fail(self, error: KafkaError) -> None:
        """Something in the background cannot go on; the error is for the program's next call."""
        self._failure = error
        self.wake()

    def end(self, error: KafkaError) -> None:
        """Nothing comes any more, until :meth:`begin`."""
        self._end = error
        self.wake()

    def begin(self) -> None:
        """What ended the reading does so no longer."""
        self._end = None

    def raise_failure(self) -> None:
        """Tell what has failed, if anything has."""
        if self._end is not None:
            raise self._end
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure


__all__ = ["Waits"]
