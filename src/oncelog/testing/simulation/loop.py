"""An asyncio event loop in virtual time: if nothing is ready, its clock jumps to the next timer instead of waiting.

Sockets, servers and host names are those of the simulated network. Work for an executor runs in this thread, in a later
iteration. Everything else that would use something real is refused. A callback belongs to the process
(:class:`ProcessLife`) that was running when it was scheduled. Callbacks of a killed process are never called again, so
its coroutines stop where they are, as in a power failure: no ``finally`` runs, and no connection is closed properly.
"""

from __future__ import annotations

import contextvars
import heapq
import math
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

from oncelog.runtime import real_asyncio as asyncio
from oncelog.testing.simulation.simulation_errors import NotSimulated, SimulationError

if TYPE_CHECKING:
    import random

MAX_IDLE_ITERATIONS = 200_000
"""The number of iterations without any time passing after which the simulation fails, because something is in a busy
loop."""
START_NS = 1_000_000_000_000
"""Where monotonic clocks begin, in nanoseconds; not at 0, because some mistakes show only with larger times."""


class ProcessLife:
    """One life of a simulated program or broker, from its start to its end; it can be killed as a whole."""

    __slots__ = ("alive", "held", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.held: list[asyncio.Handle] | None = None
        """The callbacks of a paused process, in order; they wait until it is resumed. None if the process is not
        paused."""

    def __repr__(self) -> str:
        return f"Process({self.name})"


RUNNING: contextvars.ContextVar[ProcessLife] = contextvars.ContextVar("oncelog simulated process")


class LoopNetwork(Protocol):
    """The part of the simulated network that the loop uses."""

    async def connect(self, factory: Any, host: str, port: int) -> tuple[asyncio.Transport, Any]: ...

    def listen(self, factory: Any, host: Any, port: Any, sock: Any) -> Any: ...

    def add_writer(self, descriptor: int, callback: Callable[..., Any], args: tuple[Any, ...]) -> None: ...

    def remove_writer(self, descriptor: int) -> bool: ...


class _NoSelector:
    """Replaces the selector with which a real loop waits for sockets: virtual time passes instead."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        self._loop.pass_time(timeout)
        return []


class _Nothing(asyncio.TimerHandle):
    """The handle of a callback that is never called, because its process is dead."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """The event loop of one simulation.

    :param order: decides how long work for an executor takes.
    :param limit_s: the maximum virtual time that may pass, in seconds.
    """

    def __init__(self, order: random.Random, limit_s: float) -> None:
        super().__init__()
        self._selector = _NoSelector(self)
        self._clock_resolution = 1e-9
        self.now_ns = START_NS
        self.wall_ahead_ns = 0
        """How far the wall clock has been set forward, in nanoseconds; negative if it was set back."""
        self.spent_ns = 0
        """The total duration of syncs as ``time.perf_counter`` measures it, in nanoseconds; no virtual time passes
        during them."""
        self._order = order
        self._end_ns = START_NS + int(limit_s * 1e9)
        self._idle_iterations = 0
        self.is_over = False
        """Whether the simulation has ended: no callback is called any more."""
        self.network: LoopNetwork | None = None
        self.failures: list[dict[str, Any]] = []
        """Uncaught exceptions of callbacks and tasks."""
        self.set_exception_handler(lambda loop, context: self.failures.append(context))

    # --- time

    def time(self) -> float:
        return self.now_ns / 1e9

    def pass_time(self, seconds: float | None) -> None:
        """Let virtual time pass until the next timer.

        :param seconds: the time until the next timer; None if there is no timer.
        :raises SimulationError: there is no timer, no time passes for too many iterations, or the limit of simulated
            time is reached.
        """
        if seconds is None:
            raise SimulationError("the simulation is stuck: every task waits, and nothing is left that could wake one")
        if seconds <= 0:
            self._idle_iterations += 1
            if self._idle_iterations > MAX_IDLE_ITERATIONS:
                raise SimulationError(
                    f"{MAX_IDLE_ITERATIONS} iterations of the loop without any time passing: something is a busy loop"
                )
            return
        self._idle_iterations = 0
        self.now_ns += math.ceil(seconds * 1e9)
        if self.now_ns > self._end_ns:
            raise SimulationError(
                f"the simulation has not ended after {(self.now_ns - START_NS) / 1e9:.0f} simulated seconds; "
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

    def freeze(self, process: ProcessLife) -> None:
        """Stop a process for good: none of its callbacks is called again."""
        process.alive = False
        held, process.held = process.held or [], None
        for handle in [*self._taken_out(process), *held]:
            handle.cancel()

    def pause(self, process: ProcessLife) -> None:
        """Pause a process, as a signal or swapping does; no callback is notified."""
        if process.alive and process.held is None:
            process.held = self._taken_out(process)

    def resume(self, process: ProcessLife) -> None:
        """Resume a paused process; timers that were due meanwhile are due now."""
        held, process.held = process.held or [], None
        for handle in held:
            if isinstance(handle, asyncio.TimerHandle) and handle.when() > self.time():
                heapq.heappush(self._scheduled, handle)  # type: ignore[attr-defined]
                handle._scheduled = True  # type: ignore[attr-defined]
            else:
                self._ready.append(handle)  # type: ignore[attr-defined]

    def _taken_out(self, process: ProcessLife) -> list[asyncio.Handle]:
        """Remove all waiting callbacks of a process from the loop; returns them in order."""
        found: list[asyncio.Handle] = []
        ready, scheduled = self._ready, self._scheduled  # type: ignore[attr-defined]
        # replaced in place, because the running iteration of the loop relies on the number of handles
        for index, handle in enumerate(ready):
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

    def _net(self) -> LoopNetwork:
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
        """Run the work in this thread, after a random time drawn from the seed."""
        future: asyncio.Future[Any] = self.create_future()

        def work() -> None:
            if future.cancelled():
                return
            try:
                result = func(*args)
            except Exception as error:  # noqa: BLE001 - passed to the caller, who awaits it
                future.set_exception(error)
            else:
                future.set_result(result)

        self.call_later(self._order.uniform(0.0001, 0.005), work)
        return future

    # --- what is not simulated

    def _process_events(self, event_list: list[Any]) -> None:
        """Do nothing: everything that happens is a timer, so there are no events of a selector."""

    def _write_to_self(self) -> None:
        """Do nothing, because there is no selector to wake up."""

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
        """Do nothing, because there is no executor."""


def _dead(loop: SimulatedLoop, when: float = 0.0) -> asyncio.TimerHandle:
    handle = _Nothing(when, _nothing, (), loop)
    handle._cancelled = True
    handle._scheduled = True  # type: ignore[attr-defined]
    return handle


def _is_of(handle: Any, process: ProcessLife) -> bool:
    return not handle._cancelled and handle._context is not None and handle._context.get(RUNNING) is process


def _nothing() -> None:
    """Never called."""


def run_in(process: ProcessLife, work: Callable[..., Any], *args: Any) -> Any:
    """Call ``work`` in the context of a process, so that callbacks that it schedules belong to the process."""
    context = contextvars.copy_context()
    context.run(RUNNING.set, process)
    return context.run(work, *args)


def task_in(
    loop: SimulatedLoop, process: ProcessLife, work: Awaitable[Any], name: str | None = None
) -> asyncio.Task[Any]:
    """Create a task that belongs to the process."""
    return run_in(process, lambda: loop.create_task(work, name=name))  # type: ignore[arg-type, no-any-return]


__all__ = ["RUNNING", "START_NS", "ProcessLife", "SimulatedLoop", "run_in", "task_in"]
