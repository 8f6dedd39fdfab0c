"""Prints what a command waits for after some seconds: the broker, for how long, and the last error.

Called by the options of client commands (``cli.shared.options``), by ``oncelog doctor`` and by ``oncelog mirror``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from oncelog.cli.shared.output import remark
from oncelog.client.core import waiting
from oncelog.client.core.waiting import ClusterWait, Retried
from oncelog.errors import Error
from oncelog.runtime import real_time

REPORT_AFTER_S = 5.0
"""How many seconds a client waits before a message says what it waits for."""

NEXT_STEPS = {
    Error.KAFKA_STORAGE_ERROR: "the broker's disk is full or failing: see the broker's log, and oncelog doctor",
    Error.LEADER_NOT_AVAILABLE: "the node that has it may be down, or its disk full or failing: see the broker's log, "
    "and oncelog doctor",
    Error.COORDINATOR_NOT_AVAILABLE: "the node that coordinates may be down, or the broker's disk full or failing: see "
    "the broker's log, and oncelog doctor",
    Error.NOT_COORDINATOR: "the coordinator may be moving to another node, or its disk be full or failing: see the "
    "broker's log, and oncelog doctor",
}


class _WaitHandler(logging.Handler):
    """A handler of the client's log that prints one line for each combination of cluster, cause of the wait and
    error."""

    def __init__(self) -> None:
        super().__init__()
        self._last: tuple[float, Retried] | None = None
        self._reported: set[tuple[str, str, Error | None]] = set()

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.msg, Retried):
            self._last = real_time.monotonic(), record.msg
        elif isinstance(record.msg, ClusterWait) and record.msg.waited_s >= REPORT_AFTER_S:
            self._report(record.msg)

    def _report(self, wait: ClusterWait) -> None:
        cause = None
        # An error that is older than this wait belongs to another call.
        if self._last is not None and real_time.monotonic() - self._last[0] <= wait.waited_s:
            cause = self._last[1]
        key = (wait.servers, wait.what, None if cause is None else cause.error)
        if key in self._reported or (cause is None and not wait.otherwise):
            return
        self._reported.add(key)
        what = wait.what.removesuffix("()")
        left = "" if wait.left_s is None else f", for {wait.left_s:.0f} s more at most"
        text = f"still waiting for {wait.servers} ({what}){left}: "
        if cause is None:
            text += wait.otherwise
        else:
            step = NEXT_STEPS.get(cause.error)
            text += f"the last error was: {cause}" + (f"; {step}" if step else "")
        with suppress(OSError):  # standard error has lost its reader: the command continues
            remark(text)


@contextmanager
def waits_reported() -> Iterator[None]:
    """A context in which messages say what clients wait for."""
    log = waiting.log
    handler, before = _WaitHandler(), (log.level, log.propagate)
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before[0])
        log.propagate = before[1]
