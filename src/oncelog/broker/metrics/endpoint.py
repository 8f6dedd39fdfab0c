"""Serves ``/metrics``, ``/health/live`` and ``/health/ready`` on a separate socket, from a separate thread.

The thread responds even while its source is starting, or hangs. Everyone who can connect may read, without a login, so
the address should be a loopback or private one. HTTP/1.1, GET and HEAD, one request per connection.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from oncelog.broker.metrics.exposition import Exposition, ExpositionFormat
from oncelog.runtime import forks
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_json as json
from oncelog.runtime.listening import close_servers
from oncelog.runtime.loop_thread import LoopThread

logger = logging.getLogger(__name__)

MAX_REQUEST_BYTES = 8 * 1024
REQUEST_S = 10.0
"""The time in seconds within which a request must arrive."""
ANSWER_S = 60.0
"""The time in seconds within which an answer must be produced and sent."""
MAX_CONNECTIONS = 64
_REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class HealthVerdict(NamedTuple):
    """The result of a health check: whether it succeeded, its status in one word, and details."""

    well: bool
    status: str
    details: Mapping[str, object] = {}


class Unanswerable(Exception):
    """The source cannot answer now; the text says why."""


class SeriesSource(Protocol):
    """The interface of a source that an endpoint reports on; called on the endpoint's thread."""

    async def metrics(self, form: ExpositionFormat) -> Exposition:
        """The source's series in the format ``form``. :raises Unanswerable: the source does not answer."""
        ...

    async def live(self) -> HealthVerdict:
        """Whether the process is alive; if not, an orchestrator restarts it."""
        ...

    async def ready(self) -> HealthVerdict:
        """Whether the broker is ready; if not, an orchestrator sends no clients to it."""
        ...


class Endpoint:
    """Serves one source on a bound socket, from :meth:`start` to :meth:`stop`."""

    def __init__(self, sock: socket.socket, source: SeriesSource) -> None:
        self._sock = sock
        self._source = source
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._thread: LoopThread | None = None
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._sock.getsockname()[:2]
        return host, port

    def start(self) -> None:
        self._thread = LoopThread(
            asyncio.SelectorEventLoop(),
            "oncelog-metrics",
            "the metrics endpoint",
            "the metrics endpoint is not running",
        )
        self._thread.at_death.append(self._end)
        self._thread.run(self._begin())
        forks.let_go_in_children(self)

    def stop(self) -> None:
        """Close the socket and end the thread; answers that are being sent are cut off."""
        if self._thread is not None:
            self._thread.end(self._end)

    def descriptors(self) -> list[int]:
        """The descriptors of all sockets, for a forked child process."""
        return [self._sock.fileno(), *(forks.descriptor_of(writer.transport) for writer in self._connections.values())]

    async def _begin(self) -> None:
        self._server = await asyncio.start_server(self._accept, sock=self._sock, limit=MAX_REQUEST_BYTES)

    async def _end(self) -> None:
        if self._server is not None:
            await close_servers([self._server])
        left = list(self._connections)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A plain function starts the task: asyncio would leave the stream open if it cancelled a coroutine before its
        # start.
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._served)

    def _served(self, task: asyncio.Task[None]) -> None:
        writer = self._connections.pop(task)
        if task.cancelled():
            writer.transport.abort()
        else:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if len(self._connections) <= MAX_CONNECTIONS:
                await self._answer(reader, writer)
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            # The peer sends nothing, reads nothing or is gone: close() would wait forever to send the rest of the
            # answer.
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.set_write_buffer_limits(0)  # with limit 0, drain() waits until all data is sent
        async with asyncio.timeout(REQUEST_S):
            head = await reader.readuntil(b"\r\n\r\n")
        async with asyncio.timeout(ANSWER_S):
            line, *lines = head.decode("latin-1").split("\r\n")
            words = line.split(" ")
            headers = {
                name.strip().lower(): value.strip() for name, _, value in (entry.partition(":") for entry in lines)
            }
            if len(words) != 3 or not words[2].startswith("HTTP/1."):
                await _send(writer, 400, "text/plain", ["not an HTTP request\n"], body=True)
                return
            method, path = words[0], words[1].partition("?")[0]
            if method not in ("GET", "HEAD"):
                await _send(writer, 405, "text/plain", [f"{method[:20]} is not served: GET or HEAD\n"], body=True)
                return
            try:
                status, media, body = await self._page(path, headers.get("accept", ""))
            except Exception:
                logger.exception("%s could not be answered", path[:100])
                status, media, body = 500, "text/plain", ["internal error: see the log\n"]
            await _send(writer, status, media, body, body=method == "GET")

    async def _page(self, path: str, accept: str) -> tuple[int, str, Iterable[str]]:
        match path:
            case "/metrics":
                form = ExpositionFormat.accepted(accept)
                try:
                    page = await self._source.metrics(form)
                except Unanswerable as error:
                    return 503, "text/plain", [f"{error}\n"]
                return 200, form.value, page.render()
            case "/health/live":
                return _verdict(await self._source.live())
            case "/health/ready":
                return _verdict(await self._source.ready())
            case _:
                return 404, "text/plain", ["not found: there are /metrics, /health/live and /health/ready\n"]


def _verdict(verdict: HealthVerdict) -> tuple[int, str, Iterable[str]]:
    text = json.dumps({"status": verdict.status, **verdict.details})
    return (200 if verdict.well else 503), "application/json", [text, "\n"]


async def _send(writer: asyncio.StreamWriter, status: int, media: str, chunks: Iterable[str], *, body: bool) -> None:
    """Send an answer in chunks, so that this thread releases the interpreter's lock between them."""
    writer.write(
        f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {media}\r\nTransfer-Encoding: chunked\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n".encode()
    )
    for chunk in chunks if body else ():
        data = chunk.encode()
        writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await writer.drain()
    if body:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
