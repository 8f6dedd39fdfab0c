"""An asyncio event loop in virtual time: when nothing is ready it jumps to what comes next, and waits for nothing.

Sockets, servers and names are the simulated network's. What an executor is given runs here, in its turn. Whatever else
would reach outside is refused. Callbacks belong to the process (:class:`Process`) that was running when they were
scheduled; those of a process that was killed are never called again, so its coroutines stop where they stand, as they
would where the machine loses its power: no ``finally``, no goodbye.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import math
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from oncelog.testing.simulation.errors import NotSimulated, SimulationError

if TYPE_CHECKING:
    import random

    from oncelog.testing.simulation.network import Network

MOST_TURNS_AT_ONE_TIME = 200_000
"""So many turns of the loop while no time passes: somebody is spinning."""
START_NS = 1_000_000_000_000
"""What monotonic clocks begin with: not at 0, where mistakes would hide."""


class Process:
    """Something that can be killed as a whole; one life of a simulated machine."""

    __slots__ = ("alive", "held", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.held: list[asyncio.Handle] | None = None
        """While it stands still: what waits until it goes on, in its order."""

    def __repr__(self) -> str:
        return f"Process({self.name})"


RUNNING: contextvars.ContextVar[Process] = contextvars.ContextVar("oncelog simulated process")


class _NoSelector:
    """Stands where a real loop waits for sockets: time jumps instead."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        self._loop.pass_time(timeout)
        return []


class _Nothing(asyncio.TimerHandle):
    """The handle of a call that will not be made: its process is dead."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """:param order: decides how long what an executor is given takes.
    :param limit_s: so much virtual time at most.
    """

    def __init__(self, order: random.Random, limit_s: float) -> None:
        super().__init__()
        self._selector = _NoSelector(self)
        self._clock_resolution = 1e-9
        self.now_ns = START_NS
        self.wall_ahead_ns = 0
        """How far somebody has set the wall clock."""
        self.spent_ns = 0
        """What syncs have taken by ``time.perf_counter``, though no virtual time passed while they were carried out."""
        self._order = order
        self._end_ns = START_NS + int(limit_s * 1e9)
        self._idle_turns = 0
        self.is_over = False
        """Nothing is called any more."""
        self.network: Network | None = None
        self.failures: list[dict[str, Any]] = []
        """What callbacks and tasks raised and nobody caught."""
        self.set_exception_handler(lambda loop, context: self.failures.append(context))

    # --- time

    def time(self) -> float:
        return self.now_ns / 1e9

    def pass_time(self, seconds: float | None) -> None:
        """Nothing is ready before ``seconds`` are over; None: nothing is to come at all."""
        if seconds is None:
            raise SimulationError("nothing will ever happen again: everything waits for something that does not come")
        if seconds <= 0:
            self._idle_turns += 1
            if self._idle_turns > MOST_TURNS_AT_ONE_TIME:
                raise SimulationError(
                    f"{MOST_TURNS_AT_ONE_TIME} turns of the loop, and no time has passed: a busy loop"
                )
            return
        self._idle_turns = 0
        self.now_ns += math.ceil(seconds * 1e9)
        if self.now_ns > self._end_ns:
            raise SimulationError(
                f"after {(self.now_ns - START_NS) / 1e9:.0f} simulated seconds the end is not reached; "
                f"limit_s allows {(self._end_ns - START_NS) / 1e9:.0f}"
            )

    # --- processes

    def call_soon(self, callback: Any, *args: Any, context: contextvars.Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        process = RUNNING.get(None) if context is None else context.get(RUNNING)
        if self.is_over or (process is not None and not process.alive):
            return _dead(self)
        if process is not None and process.held is not None:
            handle = asyncio.Handle(callback, args, self, context)
            process.held.append(handle)
            return handle
        return super().call_soon(callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        process = RUNNING.get(None) if context is None else context.get(RUNNING)
        if self.is_over or (process is not None and not process.alive):
            return _dead(self)
        if process is not None and process.held is not None:
            timer = asyncio.TimerHandle(when, callback, args, self, context)
            process.held.append(timer)
            return timer
        return super().call_at(when, callback, *args, context=context)

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Any, *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def freeze(self, process: Process) -> None:
        """Nothing of a process runs any more."""
        process.alive = False
        held, process.held = process.held or [], None
        for handle in [*self._taken_out(process), *held]:
            handle.cancel()

    def pause(self, process: Process) -> None:
        """A process stands still, as one that is stopped by a signal or swapped out does; nobody is told."""
        if process.alive and process.held is None:
            process.held = self._taken_out(process)

    def resume(self, process: Process) -> None:
        """It goes on; what was due meanwhile is due now."""
        held, process.held = process.held or [], None
        for handle in held:
            if isinstance(handle, asyncio.TimerHandle) and handle.when() > self.time():
                heapq.heappush(self._scheduled, handle)  # type: ignore[attr-defined]
                handle._scheduled = True  # type: ignore[attr-defined]
            else:
                self._ready.append(handle)  # type: ignore[attr-defined]

    def _taken_out(self, process: Process) -> list[asyncio.Handle]:
        """What of a process waits to be called, in its order; nothing is left of it."""
        found: list[asyncio.Handle] = []
        ready, scheduled = self._ready, self._scheduled  # type: ignore[attr-defined]
        for index, handle in enumerate(ready):  # in place: this turn of the loop counts on their number
            if _is_of(handle, process):
                found.append(handle)
                ready[index] = _dead(self)
        timers = []
        for index, handle in enumerate(scheduled):
            if _is_of(handle, process):
                timers.append(handle)
                handle._scheduled = False
                scheduled[index] = _dead(self, handle.when())
                self._timer_cancelled_count += 1  # type: ignore[attr-defined]
        return found + sorted(timers, key=asyncio.TimerHandle.when)

    # --- what is simulated

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        if options.get("ssl"):
            raise NotSimulated("TLS is not simulated: use listeners and clients without it")
        return await self._net().connect(protocol_factory, str(host), int(port))

    async def start_tls(self, transport: Any, protocol: Any, sslcontext: Any, **options: Any) -> Any:
        raise NotSimulated("TLS is not simulated: use listeners and clients without it")

    async def create_server(self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        if options.get("ssl"):
            raise NotSimulated("TLS is not simulated: use listeners and clients without it")
        return self._net().listen(protocol_factory, host, port, options.get("sock"))

    def _net(self) -> Network:
        if self.network is None:
            raise SimulationError("the loop has no network yet")
        return self.network

    def add_writer(self, fd: Any, callback: Any, *args: Any) -> None:  # type: ignore[override]
        self._net().add_writer(int(fd), callback, args)

    def remove_writer(self, fd: Any) -> bool:
        return self._net().remove_writer(int(fd))

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """In this thread, after a while that the seed decides."""
        future: asyncio.Future[Any] = self.create_future()

        def work() -> None:
            if future.cancelled():
                return
            try:
                result = func(*args)
            except Exception as error:  # noqa: BLE001 - the caller's, who awaits it
                future.set_exception(error)
            else:
                future.set_result(result)

        self.call_later(self._order.uniform(0.0001, 0.005), work)
        return future

    # --- what is not

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none: what comes, comes as a timer."""

    def _write_to_self(self) -> None:
        """Nobody sleeps."""

    def add_reader(self, fd: Any, callback: Any, *args: Any) -> None:  # type: ignore[override]
        raise NotSimulated("add_reader: readable descriptors are not simulated")

    def add_signal_handler(self, sig: int, callback: Any, *args: Any) -> None:  # type: ignore[override]
        raise NotSimulated("signals are not simulated: stop the simulated process instead")

    async def create_datagram_endpoint(self, *args: Any, **options: Any) -> Any:
        raise NotSimulated("datagrams are not simulated")

    async def subprocess_exec(self, *args: Any, **options: Any) -> Any:
        raise NotSimulated("processes of the operating system are not simulated")

    async def subprocess_shell(self, *args: Any, **options: Any) -> Any:
        raise NotSimulated("processes of the operating system are not simulated")

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """There is none."""


def _dead(loop: SimulatedLoop, when: float = 0.0) -> asyncio.TimerHandle:
    handle = _Nothing(when, _nothing, (), loop)
    handle._cancelled = True
    handle._scheduled = True  # type: ignore[attr-defined]
    return handle


def _is_of(handle: Any, process: Process) -> bool:
    return not handle._cancelled and handle._context is not None and handle._context.get(RUNNING) is process


def _nothing() -> None:
    """Not called."""


def run_in(process: Process, work: Callable[..., Any], *args: Any) -> Any:
    """Call as that process would."""
    context = contextvars.copy_context()
    context.run(RUNNING.set, process)
    return context.run(work, *args)


def task_in(loop: SimulatedLoop, process: Process, work: Awaitable[Any], name: str | None = None) -> asyncio.Task[Any]:
    """A task of that process."""
    return run_in(process, lambda: loop.create_task(work, name=name))  # type: ignore[arg-type, no-any-return]


__all__ = ["RUNNING", "START_NS", "Process", "SimulatedLoop", "run_in", "task_in"]
