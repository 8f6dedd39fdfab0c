"""Which event loop the shells run on: uvloop where it is installed (extra ``speed``), else asyncio's with selectors.

Windows' default loop, the proactor, cannot tell when a socket may be written again, which ``connection`` needs.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from importlib.util import find_spec


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A fresh loop that is not set as anybody's current one."""
    if find_spec("uvloop") is not None:
        import uvloop

        loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        return loop
    return asyncio.SelectorEventLoop()


def on_stop_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], object]) -> None:
    """Call ``stop`` on the loop for Ctrl-C and SIGTERM; a loop on Windows does not take signals, its process does."""
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))


def on_reload_signal(loop: asyncio.AbstractEventLoop, reload: Callable[[], object]) -> None:
    """Call ``reload`` on the loop for SIGHUP, which Windows does not have; one that was held back comes now."""
    if hasattr(signal, "SIGHUP"):
        loop.add_signal_handler(signal.SIGHUP, reload)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGHUP])
