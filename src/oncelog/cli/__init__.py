"""The command line. ``run`` is the entry point of the console script: what takes time to load is loaded by it.

Called by the console script and ``python -m oncelog``. It may import everything but ``testing``.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_end_at_once() -> Iterator[None]:
    """Ctrl-C ends the process silently meanwhile: a module that is being imported would report it as a defect."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield  # somebody else decides: SIGINT is ignored in the background of a shell
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def without_collections() -> Iterator[None]:
    """Around imports: nothing that they create is garbage, and later collections do not examine it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def loading(command: str) -> Iterator[None]:
    """Around the import of a command. SIGHUP, which would end ``serve`` now, waits until it has its handler."""
    if command == "serve" and hasattr(signal, "SIGHUP"):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
    with interrupts_end_at_once(), without_collections():
        yield


def run() -> None:
    """Run the command that the program was called with."""
    with interrupts_end_at_once(), without_collections():
        from oncelog.cli.main import main
    main(loading=loading)
