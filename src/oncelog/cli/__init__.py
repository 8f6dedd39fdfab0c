"""The command line. ``run`` is the entry point of the console script: it loads everything that takes time to load.

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
    """A context in which Ctrl-C ends the process silently, for imports: Python would otherwise print a traceback from
    the middle of an import."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield  # SIGINT is handled elsewhere, or ignored (as in the background of a shell): leave it as it is
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def without_collections() -> Iterator[None]:
    """A context without garbage collection, for imports; what they create is also excluded from later collections,
    because it lives as long as the process."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def loading(command: str) -> Iterator[None]:
    """The context in which a command's module is imported. For ``serve``, SIGHUP is blocked until ``serve`` has a
    handler, because SIGHUP would end the process before that."""
    if command == "serve" and hasattr(signal, "SIGHUP"):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
    with interrupts_end_at_once(), without_collections():
        yield


def run() -> None:
    """Run the command that the program was called with."""
    with interrupts_end_at_once(), without_collections():
        from oncelog.cli.main import main
    main(loading=loading)
