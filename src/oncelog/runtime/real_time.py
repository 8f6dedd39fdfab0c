"""The clocks of all of oncelog. They keep real time while a test freezes or moves Python's clocks.

freezegun replaces the functions of ``time`` wherever a module refers to them, time-machine replaces them in C, and
``unittest.mock`` replaces the names that it is given. A broker, client or proxy whose clock is frozen never times out,
and one whose clock is years off refuses or deletes records. The functions here are named like those of ``time``. They
read ``clock_gettime``, which freezegun does not replace, and compare it with a clock that time-machine does not
replace.

Callers use ``real_time.monotonic()``, never ``from oncelog.runtime.real_time import monotonic``: a simulation
(``oncelog.testing.simulation``) replaces the functions in this module.
"""

from __future__ import annotations

import sys
import time as clocks
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oncelog.runtime import real_asyncio as asyncio

_LARGEST_TICK_NS = 20_000_000
"""The longest time between two updates of the kernel's coarse clock: it ticks 100 times a second, and one tick may be
late."""

_CLOCK_REALTIME_COARSE = 5
"""Linux's number of the coarse clock, which the module ``time`` does not define."""

# Windows lacks clock_gettime: these functions keep real time only if oncelog is imported before a test freezes time
if sys.platform == "win32":
    monotonic, monotonic_ns = partial(clocks.monotonic), partial(clocks.monotonic_ns)
    _wall_ns = partial(clocks.time_ns)
else:
    if sys.platform == "darwin":
        _CLOCK = clocks.CLOCK_UPTIME_RAW  # the clock of time.monotonic
    else:
        _CLOCK = clocks.CLOCK_MONOTONIC
    monotonic, monotonic_ns = partial(clocks.clock_gettime, _CLOCK), partial(clocks.clock_gettime_ns, _CLOCK)
    _wall_ns = partial(clocks.clock_gettime_ns, clocks.CLOCK_REALTIME)

perf_counter, perf_counter_ns = partial(monotonic), partial(monotonic_ns)


def _coarse_clock() -> Callable[[], int] | None:
    if sys.platform == "linux":
        with suppress(OSError):  # a sandbox may lack this clock
            clocks.clock_gettime_ns(_CLOCK_REALTIME_COARSE)
            return partial(clocks.clock_gettime_ns, _CLOCK_REALTIME_COARSE)
    return None


_coarse_ns = _coarse_clock()


def time_ns() -> int:
    """Nanoseconds since 1970."""
    exact_ns = _wall_ns()
    if _coarse_ns is None:
        return exact_ns
    coarse_ns = _coarse_ns()
    # The coarse clock is read second, so it is behind the exact one by less than a tick, unless this thread was
    # interrupted between the two.
    if -_LARGEST_TICK_NS < coarse_ns - exact_ns < _LARGEST_TICK_NS:
        return exact_ns
    return coarse_ns


def time() -> float:
    """Seconds since 1970."""
    return time_ns() / 1e9


def time_ms() -> int:
    """Milliseconds since 1970."""
    return time_ns() // 1_000_000


def keep_real(loop: asyncio.AbstractEventLoop) -> None:
    """Make the timers of an asyncio loop run in real time; timers of other loops do so anyway.

    ``asyncio`` reads ``time.monotonic``. While this clock is frozen, no timer becomes due; when it is frozen or
    released, all timers become due at once, or never.
    """
    owner = next((kind for kind in type(loop).__mro__ if "time" in vars(kind)), None)
    if owner is not None and owner.__module__.partition(".")[0] == "asyncio":
        loop.time = monotonic  # type: ignore[method-assign]
