"""Finds the calls to the real clock and to real randomness because of which two runs of a seed differed.

Such calls bypass the replaced functions: ``from time import time`` before the simulation, ``now`` of an imported
``datetime`` class, ``os.urandom`` under another name. They are found in one more run, in which every call of a C
function is observed. That is slow, so it is only done if two runs differed.
"""

from __future__ import annotations

import datetime
import gc
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_REAL = {
    getattr(module, name): f"{module.__name__}.{name}"
    for module, names in (
        (
            time,
            (
                "time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time",
                "process_time_ns", "thread_time", "thread_time_ns", "localtime", "gmtime", "strftime", "ctime",
                "asctime",
            ),
        ),
        (os, ("urandom", "getrandom") if hasattr(os, "getrandom") else ("urandom",)),
    )
    for name in names
}  # fmt: skip
_MOMENTS = ("now", "utcnow", "today")
_NEEDS_NO_MOMENT = {"time.localtime", "time.gmtime", "time.strftime", "time.ctime", "time.asctime"}
"""Functions that read the clock if they are called without a time; calls of them are not reported."""
_OWN = __name__.rpartition(".")[0]
_ENOUGH = 20


@contextmanager
def watched() -> Iterator[list[str]]:
    """A context that records calls to the real clock or to real randomness on this thread; yields the list of them."""
    found: dict[str, None] = {}
    names: list[str] = []
    of_the_collector = {getattr(callback, "__code__", None) for callback in gc.callbacks}

    def look(frame: FrameType, event: str, called: Any) -> None:
        if event != "c_call" or len(found) >= _ENOUGH or frame.f_code in of_the_collector:
            return
        what = _name_of(called)
        if what is None or what in _NEEDS_NO_MOMENT or frame.f_globals.get("__name__", "").startswith(_OWN):
            return
        found[f"{what} at {frame.f_code.co_filename}:{frame.f_lineno}"] = None

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield names
    finally:
        sys.setprofile(before)
        names += found


def _name_of(called: Any) -> str | None:
    try:
        known = _REAL.get(called)
    except TypeError:
        return None
    if known is not None:
        return known
    owner, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
    if name in _MOMENTS and isinstance(owner, type) and issubclass(owner, datetime.date):
        return f"{owner.__module__}.{owner.__qualname__}.{name}"
    if isinstance(owner, random.SystemRandom):
        return f"random.SystemRandom.{name}"
    return None


__all__ = ["watched"]
