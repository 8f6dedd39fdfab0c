"""Chooses the event loop: uvloop if it is installed (extra ``speed``), else asyncio's selector loop.

Windows' default loop, the proactor, cannot report that a socket is writable again, which connections need.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from importlib.util import find_spec

from oncelog.runtime import real_asyncio as asyncio


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A new event loop, which is not set as the current one of any thread."""
    if find_spec("uvloop") is not None:
        import uvloop

        loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        return loop
    return asyncio.SelectorEventLoop()


def on_stop_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], object]) -> None:
    """Call ``stop`` on the event loop for Ctrl-C and SIGTERM; on Windows the process handles these signals, because the
    loop cannot."""
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))


def on_reload_signal(loop: asyncio.AbstractEventLoop, reload: Callable[[], object]) -> None:
    """Call ``reload`` on the event loop for SIGHUP, which Windows does not have; a signal blocked until now is
    delivered now."""
    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, reload)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGHUP])
