"""A TCP proxy that understands Kafka's frames, so that a test can lose one answer, one request, or a connection.

It puts its own address into answers that name brokers, so that clients never get around it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections import Counter, deque
from dataclasses import dataclass, field
from struct import Struct
from typing import Self

from oncelog.protocol.generated.api_versions_response import ApiVersionsResponse
from oncelog.protocol.generated.find_coordinator_response import FindCoordinatorResponse
from oncelog.protocol.generated.metadata_response import MetadataResponse
from oncelog.protocol.wire import Message

PRODUCE, FETCH, METADATA, FIND_COORDINATOR, API_VERSIONS = 0, 1, 3, 10, 18
INIT_PRODUCER_ID, END_TXN, TXN_OFFSET_COMMIT, ADD_PARTITIONS = 22, 26, 28, 24
_INT32 = Struct(">i")
_HEAD = Struct(">hhi")
_REWRITTEN: dict[int, type[Message]] = {
    METADATA: MetadataResponse,
    FIND_COORDINATOR: FindCoordinatorResponse,
    API_VERSIONS: ApiVersionsResponse,
}


@dataclass
class Fault:
    """What happens to the ``nth`` (from 1) request of an API, or to its answer."""

    api: int
    nth: int
    lose: str
    """``answer``: the broker carries the request out, but the client never hears of it.

    ``request``: the broker never sees the request. Both cut the connection. ``silence``: the answer is swallowed and
    the connection stays open.
    """
    count: int = 1
    """How many requests in a row are affected."""


@dataclass
class KafkaProxy:
    """Listens on a free port; ``faults`` may be added at any time."""

    upstream: str
    without_transaction_v2: bool = False
    """Hide the feature, so that clients use the older protocol."""
    faults: list[Fault] = field(default_factory=list)
    requests: Counter[int] = field(default_factory=Counter)
    """Requests seen, by API key."""
    versions: dict[int, set[int]] = field(default_factory=dict)
    port: int = 0
    tls: ssl.SSLContext | None = None
    """If set, clients connect with TLS, which the proxy terminates."""
    receive_buffer: int | None = None
    """About how much the kernel accepts before the proxy reads it; the rest stays with the client."""

    async def __aenter__(self) -> Self:
        self.reading = asyncio.Event()
        """While this is clear, the proxy reads nothing that clients write."""
        self.reading.set()
        self._tasks: set[asyncio.Task[None]] = set()
        listener = socket.socket()
        if self.receive_buffer is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_buffer)
        listener.bind(("127.0.0.1", 0))
        self._server = await asyncio.start_server(self._serve, sock=listener, ssl=self.tls)
        self.port = listener.getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        host, port = self.upstream.rsplit(":", 1)
        up_reader, up_writer = await asyncio.open_connection(host, int(port))
        awaited: deque[tuple[int, int, str]] = deque()
        pipes = [
            asyncio.ensure_future(self._requests(reader, up_writer, awaited)),
            asyncio.ensure_future(self._answers(up_reader, writer, awaited)),
        ]
        try:
            await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            pass  # the proxy is closing; the streams' own callback would log this
        finally:
            for pipe in pipes:
                pipe.cancel()
            await asyncio.gather(*pipes, return_exceptions=True)
            writer.close()
            up_writer.close()
            self._tasks.discard(task)

    def _outcome(self, api: int) -> str:
        self.requests[api] += 1
        for fault in self.faults:
            if fault.api == api and fault.nth <= self.requests[api] < fault.nth + fault.count:
                return fault.lose
        return ""

    async def _requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, awaited: deque[tuple[int, int, str]]
    ) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readexactly(4)
                await self.reading.wait()
                frame = await reader.readexactly(_INT32.unpack(head)[0])
                api, version, _ = _HEAD.unpack_from(frame)
                self.versions.setdefault(api, set()).add(version)
                outcome = self._outcome(api)
                if outcome == "request":
                    return
                if not (api == PRODUCE and _acks(frame, version) == 0):
                    awaited.append((api, version, outcome))
                writer.write(head + frame)
                await writer.drain()

    async def _answers(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, awaited: deque[tuple[int, int, str]]
    ) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readexactly(4)
                frame = await reader.readexactly(_INT32.unpack(head)[0])
                api, version, outcome = awaited.popleft()
                if outcome == "answer":
                    return
                if outcome == "silence":
                    continue
                frame = self._rewrite(api, version, frame)
                writer.write(_INT32.pack(len(frame)) + frame)
                await writer.drain()

    def _rewrite(self, api: int, version: int, frame: bytes) -> bytes:
        kind = _REWRITTEN.get(api)
        if kind is None:
            return frame
        at = 4 if api == API_VERSIONS or version < kind.FLEXIBLE_FROM else 5
        message = kind.decode(frame, version, at)
        if isinstance(message, MetadataResponse):
            for node in message.brokers:
                node.host, node.port = "127.0.0.1", self.port
        elif isinstance(message, FindCoordinatorResponse):
            for item in [message] if version < 4 else message.coordinators:
                item.host, item.port = "127.0.0.1", self.port
        elif isinstance(message, ApiVersionsResponse) and self.without_transaction_v2:
            message.finalized_features = [
                item for item in message.finalized_features if item.name != "transaction.version"
            ]
        return frame[:at] + message.encode(version)


def _acks(frame: bytes, version: int) -> int:
    """``acks`` of a Produce request, which follows the header, the client id and the transactional id."""
    at = 8
    (length,) = Struct(">h").unpack_from(frame, at)
    at += 2 + max(0, length)
    if version >= 9:
        at += 1
        length = frame[at] - 1
        at += 1 + max(0, length)
    else:
        (length,) = Struct(">h").unpack_from(frame, at)
        at += 2 + max(0, length)
    return int(Struct(">h").unpack_from(frame, at)[0])
