"""Reports queries to a console: one small HTTP request for each batch, with the console's token.

Called by ``oncelog pipeline run --console`` and, through :func:`report_to_console`, by any program with a Spark
session. A query never waits for a console and never fails because of one: reports are sent from a separate thread,
reports that find the queue full are dropped, and a console that does not answer is logged once.
"""

from __future__ import annotations

import logging
import os
import queue
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from oncelog.errors import ConfigError
from oncelog.runtime import real_json as json
from oncelog.runtime.http_proxies import open_url
from oncelog.spark.versions import PYSPARK_MISSING, pyspark_problem

try:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
        StreamingQueryListener,
    )
except ImportError as missing:
    raise ConfigError(pyspark_problem() or PYSPARK_MISSING) from missing

from oncelog.spark.progress import Progress, read_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

TOKEN_ENVIRONMENT = "ONCELOG_CONSOLE_TOKEN"
WAITING = 200
TIMEOUT_S = 3.0


class ConsoleReporter:
    """The connection to one console. ``close`` sends the queued reports, for ``TIMEOUT_S`` at most."""

    def __init__(self, address: str, token: str | None = None) -> None:
        """Check the address and the token; nothing is sent yet.

        :raises ConfigError: the address is not a console's, or there is no token.
        """
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ConfigError(f"the address of a console must be http://HOST:PORT, not {address!r}")
        self._url = f"{parts.scheme}://{parts.netloc}/api/pipelines"
        self._token = token or os.environ.get(TOKEN_ENVIRONMENT, "")
        if not self._token:
            raise ConfigError(
                f"reporting to {address} needs the console's token in {TOKEN_ENVIRONMENT}; the console wrote it to its "
                "standard error when it started"
            )
        self._session = f"{socket.gethostname()}:{os.getpid()}"
        self._waiting: queue.Queue[dict[str, Any] | None] = queue.Queue(WAITING)
        self._complained = False
        self._thread = threading.Thread(target=self._send_all, name="oncelog-console-reporter", daemon=True)
        """The sending thread, started by the first report."""
        self._starting = threading.Lock()

    def progress(self, progress: Progress) -> None:
        """Report that a batch has ended."""
        self._put({"progress": asdict(progress)})

    def state(self, pipeline: str, state: str, problem: str = "") -> None:
        """Report that a query began (``running``), ``ended`` or ``failed``."""
        self._put({"pipeline": pipeline, "state": state, "problem": problem})

    def close(self) -> None:
        """Send the queued reports, and stop."""
        if self._thread.ident is None:
            return
        try:
            self._waiting.put(None, timeout=TIMEOUT_S)
        except queue.Full:
            return
        self._thread.join(TIMEOUT_S)

    def _put(self, report: dict[str, Any]) -> None:
        with self._starting:
            if self._thread.ident is None:
                self._thread.start()
        try:
            self._waiting.put_nowait({"session": self._session, **report})
        except queue.Full:
            log.debug("a report for %s was dropped: the console accepts reports too slowly", self._url)

    def _send_all(self) -> None:
        while (report := self._waiting.get()) is not None:
            try:
                self._send(report)
                self._complained = False
            except (urllib.error.URLError, OSError, ValueError) as error:
                if not self._complained:
                    log.warning("the console at %s does not accept reports: %s", self._url, error)
                self._complained = True

    def _send(self, report: Mapping[str, Any]) -> None:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self._url, json.dumps(report).encode(), headers)
        with open_url(request, TIMEOUT_S) as answer:
            answer.read()


class Reporter(Protocol):
    """Receives reports of a session's queries."""

    def progress(self, progress: Progress) -> None: ...

    def state(self, pipeline: str, state: str, problem: str = "") -> None: ...


class ReportingListener(StreamingQueryListener):
    """Passes Spark's events of all queries of a session on to a reporter.

    Spark reports a start at once, on the thread that starts the query, and all other events later, on another thread.
    So the end of a run may arrive after the start of the query's next run; such an end is not reported.
    """

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._names: dict[str, str] = {}
        """The names of queries whose runs have not ended yet, by the run's id."""

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        name = event.name or str(event.id)
        self._names[str(event.runId)] = name
        self._reporter.state(name, "running")

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        report = json.loads(event.progress.json)
        self._reporter.progress(read_progress(report.get("name") or str(report.get("id", "")), report))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Does nothing: the console keeps the last report."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        name = self._names.pop(str(event.runId), str(event.id))
        if name in list(self._names.values()):
            return
        problem = (event.exception or "").strip().split("\n", 1)[0]
        self._reporter.state(name, "failed" if problem else "ended", problem)


def report_to_console(spark: SparkSession, address: str, token: str | None = None) -> ConsoleReporter:
    """Report every streaming query of a session to a console from now on.

    :param address: ``http://HOST:PORT`` of ``oncelog console``.
    :param token: the console's token; by default the one in ``ONCELOG_CONSOLE_TOKEN``.
    :raises ConfigError: the address is not a console's, or there is no token.
    """
    reporter = ConsoleReporter(address, token)
    spark.streams.addListener(ReportingListener(reporter))
    return reporter
