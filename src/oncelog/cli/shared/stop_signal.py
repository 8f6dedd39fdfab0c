"""Handles Ctrl-C, SIGTERM and SIGHUP for a command that runs until it receives one of them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from typing import Any


class Stop:
    """Notes that Ctrl-C, SIGTERM or SIGHUP has arrived, so that a consumer can end in an orderly way. A second signal
    interrupts at once, even while writing to a pipe that nobody reads. A signal that is ignored (``nohup``) stays
    ignored.

    :param on_signal: called from the handler of the first signal, on the main thread.
    """

    def __init__(self, on_signal: Callable[[], object] | None = None) -> None:
        self.asked = False
        self._on_signal = on_signal
        self._numbers = [number for number in _AT_ONCE if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self._numbers:
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: Any) -> None:
        self.asked = True
        for known in self._numbers:
            signal.signal(known, _AT_ONCE[known])
        if self._on_signal is not None:
            self._on_signal()


_AT_ONCE: Mapping[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
if hasattr(signal, "SIGHUP"):  # Windows has none
    _AT_ONCE = {**_AT_ONCE, signal.SIGHUP: signal.SIG_DFL}
