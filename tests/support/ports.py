"""Stand-ins for what the core is given: randomness, and work on other threads (:mod:`oncelog.runtime.ports`)."""

from __future__ import annotations

from collections.abc import Callable

Job = tuple[Callable[[], None], Callable[[Exception | None], None]]


class CountingRandom:
    """Tokens 1, 2, 3, ...: distinct, and the same in every run."""

    def __init__(self) -> None:
        self.count = 0

    def token(self, size: int) -> bytes:
        self.count += 1
        return self.count.to_bytes(size, "big")


class AtOnce:
    """``ports.Background`` that completes everything before it returns."""

    def run(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        work()
        done(None)


class Later:
    """``ports.Background`` that does nothing until the test says so."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def run(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        self.jobs.append((work, done))

    def do_next(self, failure: Exception | None = None) -> None:
        """Do the oldest work, or have it end with ``failure`` before it does anything."""
        work, done = self.jobs.pop(0)
        if failure is None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - as a worker does
                failure = error
        done(failure)
