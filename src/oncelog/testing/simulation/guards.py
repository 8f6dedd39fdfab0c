"""Inside a simulation the clock is virtual, randomness comes from the seed, and threads, processes and real sockets are
refused.

Functions of ``time``, ``random``, ``os``, ``uuid`` and ``secrets`` are replaced in their modules, where callers look
them up. The replacements act differently only on the simulation's thread: other threads of the program see no change.
Code that has a reference to the real function (``from time import time``), or that reads the clock in C, bypasses them;
then two runs of a seed differ, and the simulation's report says where.
"""

from __future__ import annotations

import datetime
import os
import random
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from oncelog.broker.server import opening
from oncelog.runtime import forks, real_time
from oncelog.testing.simulation.loop import START_NS, SimulatedLoop
from oncelog.testing.simulation.network import SimulatedNetwork
from oncelog.testing.simulation.simulation_errors import NotSimulated

WALL_NS = 1_700_000_000_000_000_000 - START_NS
"""The wall clock minus the monotonic clock, in nanoseconds; simulations begin in November 2023."""

_OF_ONE_GENERATOR = tuple(
    name for name, found in sorted(vars(random).items()) if isinstance(getattr(found, "__self__", None), random.Random)
)
"""The functions of the module ``random`` that use its global generator."""


def _wrong(what: str, instead: str) -> Callable[..., Any]:
    def refuse(*args: Any, **options: Any) -> Any:
        raise NotSimulated(f"{what} inside a simulation: {instead}")

    return refuse


class _Replacements:
    """The replaced functions: simulated on the simulation's thread, real on all others."""

    def __init__(self, loop: SimulatedLoop, network: SimulatedNetwork, rng: random.Random) -> None:
        self._loop = loop
        self._network = network
        self._rng = rng
        self._thread: int | None = threading.get_ident()
        self.stack = ExitStack()
        self.stack.callback(self._end)

    def _end(self) -> None:
        """Let the replacements call the real functions from now on, because modules imported during the simulation may
        still refer to replacements."""
        self._thread = None

    def is_here(self) -> bool:
        """Whether this is the simulation's thread, and the simulation has not ended."""
        return threading.get_ident() == self._thread

    def here(self, real: Callable[..., Any], simulated: Callable[..., Any]) -> Callable[..., Any]:
        is_here = self.is_here

        def either(*args: Any, **options: Any) -> Any:
            return simulated(*args, **options) if is_here() else real(*args, **options)

        return either

    def put(self, module: Any, name: str, simulated: Callable[..., Any]) -> None:
        real = getattr(module, name)
        self.stack.enter_context(mock.patch.object(module, name, self.here(real, simulated)))

    def clocks(self) -> None:
        loop = self._loop
        for module in (time, real_time):
            self.put(module, "time", lambda: (loop.now_ns + loop.wall_ahead_ns + WALL_NS) / 1e9)
            self.put(module, "time_ns", lambda: loop.now_ns + loop.wall_ahead_ns + WALL_NS)
            self.put(module, "monotonic", lambda: loop.now_ns / 1e9)
            self.put(module, "monotonic_ns", lambda: loop.now_ns)
            self.put(module, "perf_counter", lambda: (loop.now_ns + loop.spent_ns) / 1e9)
            self.put(module, "perf_counter_ns", lambda: loop.now_ns + loop.spent_ns)
        for name in ("process_time", "thread_time"):
            self.put(time, name, lambda: loop.now_ns / 1e9)
            self.put(time, f"{name}_ns", lambda: loop.now_ns)
        self.put(time, "sleep", _wrong("time.sleep", "await asyncio.sleep, which takes no time here"))
        self._dates()

    def _dates(self) -> None:
        """Replace the class ``datetime.datetime`` in its module by one whose present time is virtual."""
        loop, is_here, real = self._loop, self.is_here, datetime.datetime

        class Moments(type):
            def __instancecheck__(cls, instance: Any) -> bool:
                return isinstance(instance, real) if cls is Moment else super().__instancecheck__(instance)

            def __subclasscheck__(cls, other: type) -> bool:
                return issubclass(other, real) if cls is Moment else super().__subclasscheck__(other)

        class Moment(real, metaclass=Moments):  # type: ignore[misc, valid-type]
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                seconds = (loop.now_ns + loop.wall_ahead_ns + WALL_NS) / 1e9 if is_here() else time.time()
                return cls.fromtimestamp(seconds, tz)

            @classmethod
            def utcnow(cls) -> Any:
                return cls.now(datetime.timezone.utc).replace(tzinfo=None)  # noqa: UP017

            def __new__(cls, *args: Any, **options: Any) -> Any:
                return real(*args, **options) if cls is Moment else real.__new__(cls, *args, **options)

        self.stack.enter_context(mock.patch.object(datetime, "datetime", Moment))

    def randomness(self) -> None:
        state = random.getstate()
        self.stack.callback(random.setstate, state)
        seed = self._rng.getrandbits(64)
        random.seed(seed)  # seeds the module's own generator for code that imported its functions by name
        own = random.Random(seed)
        for name in _OF_ONE_GENERATOR:  # a separate generator, because other threads use the module's own meanwhile
            self.put(random, name, getattr(own, name))
        self.put(os, "urandom", self._rng.randbytes)
        self.put(random, "_urandom", self._rng.randbytes)
        self.put(opening, "urandom", self._rng.randbytes)

    def outside(self) -> None:
        self.put(threading.Thread, "start", self._no_thread())
        self.put(
            subprocess,
            "Popen",
            _wrong("a process of the operating system", "such processes are not simulated"),
        )
        real, network, is_here = socket.socket, self._network, self.is_here

        class Sockets(type):
            def __instancecheck__(cls, instance: Any) -> bool:
                return isinstance(instance, real) if cls is Socket else super().__instancecheck__(instance)

        class Socket(real, metaclass=Sockets):  # type: ignore[misc, valid-type]
            def __new__(cls, *args: Any, **options: Any) -> Any:
                if cls is not Socket:
                    return real.__new__(cls, *args, **options)
                if not is_here():
                    return real(*args, **options)
                descriptor = options.get("fileno")
                return network.descriptor_for(None) if descriptor is None else network.open_descriptor(descriptor)

        self.stack.enter_context(mock.patch.object(socket, "socket", Socket))
        self.put(forks, "Socket", Socket)
        self.put(socket, "create_connection", _wrong("a socket", "use asyncio's connections or oncelog.client.aio"))
        self.put(socket, "getaddrinfo", _wrong("a name lookup", "use asyncio's connections"))

    @staticmethod
    def _no_thread() -> Callable[..., Any]:
        def refuse(thread: threading.Thread, *args: Any) -> Any:
            raise NotSimulated(
                f"a thread ({thread.name}) inside a simulation, which runs in one thread: use asyncio, and "
                "oncelog.client.aio instead of oncelog.client.blocking"
            )

        return refuse


@contextmanager
def guarded(loop: SimulatedLoop, network: SimulatedNetwork, rng: random.Random) -> Iterator[None]:
    """A context in which clock, randomness, threads, processes and sockets are replaced on this thread."""
    replacements = _Replacements(loop, network, rng)
    with replacements.stack:
        replacements.clocks()
        replacements.randomness()
        replacements.outside()
        yield


__all__ = ["WALL_NS", "guarded"]
