"""Clocks that no test can freeze."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from unittest import mock

import freezegun
import pytest
import time_machine

from oncelog.runtime import real_time

NAMES = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
COARSE = 5
"""Linux's CLOCK_REALTIME_COARSE, which nothing replaces."""

FREEZERS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "freezegun": lambda: freezegun.freeze_time("2012-01-14"),
    "freezegun, ticking": lambda: freezegun.freeze_time("2050-01-14", tick=True),
    "time-machine": lambda: time_machine.travel("2012-01-14", tick=False),
    "time-machine, ticking": lambda: time_machine.travel("2050-01-14", tick=True),
    "mock": lambda: mock.patch.multiple(time, time=float, time_ns=int, monotonic=float, perf_counter=float),
}


@pytest.fixture(params=FREEZERS)
def frozen(request: pytest.FixtureRequest) -> Iterator[None]:
    with FREEZERS[request.param]():
        yield


@pytest.mark.usefixtures("frozen")
def test_the_real_wall_clock_is_that_of_the_system() -> None:
    assert abs(real_time.time_ns() - time.clock_gettime_ns(COARSE)) < 10e9
    assert abs(real_time.time() - real_time.time_ns() / 1e9) < 10
    assert abs(real_time.time_ms() - real_time.time_ns() / 1e6) < 10_000


@pytest.mark.usefixtures("frozen")
@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("time")])
def test_durations_are_measured_in_real_time(name: str) -> None:
    read = getattr(real_time, name)
    first = read()
    while read() == first:
        pass
    assert read() > first


def test_an_event_loops_timers_keep_the_origin_of_the_monotonic_clock() -> None:
    before = time.monotonic()
    assert before <= real_time.monotonic() <= time.monotonic()


@pytest.mark.usefixtures("frozen")
def test_a_real_time_loop_sleeps_while_the_clock_is_frozen() -> None:
    async def sleep() -> None:
        real_time.keep_real(asyncio.get_running_loop())
        await asyncio.sleep(0.01)

    asyncio.run(sleep())


def test_timers_of_a_real_time_loop_are_due_only_after_a_frozen_clock_is_released() -> None:
    async def sleep() -> None:
        real_time.keep_real(asyncio.get_running_loop())
        long = asyncio.ensure_future(asyncio.sleep(3600))
        with freezegun.freeze_time("2040-01-01"):
            await asyncio.sleep(0.01)
            begun_while_frozen = asyncio.ensure_future(asyncio.sleep(0.01))
            await asyncio.sleep(0)
        await begun_while_frozen
        assert not long.done()
        long.cancel()

    asyncio.run(sleep())


def test_a_loop_with_a_clock_of_its_own_keeps_that_clock() -> None:
    class Virtual(asyncio.SelectorEventLoop):
        def time(self) -> float:
            return 7.0

    loop = Virtual()
    real_time.keep_real(loop)
    assert loop.time() == 7.0
    loop.close()
