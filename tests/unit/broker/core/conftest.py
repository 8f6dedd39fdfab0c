"""A broker core in memory that answers single requests through the wire codec."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from oncelog.broker.core.broker import Broker
from oncelog.broker.core.cluster.node import SimulatedNode
from oncelog.broker.core.requests.request_metrics import RequestMetrics
from oncelog.broker.core.requests.session import Part, Session
from oncelog.broker.log.results import FileSlice
from oncelog.broker.metadata.opening import open_metadata
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.messages import response_type
from oncelog.protocol.wire import Message
from oncelog.settings.config import BrokerConfig, parse
from tests.support.frames import encode_request
from tests.support.ports import AtOnce, CountingRandom

NOW_MS = 1_700_000_000_000


class RecordingChannel:
    """Keeps the answers of one connection."""

    connection_id = 1
    client_host = "127.0.0.1"

    def __init__(self) -> None:
        self.session = Session()
        self.answers: list[bytes] = []
        self.closed: str | None = None

    def reply(self, slot: int, parts: Sequence[Part]) -> None:
        self.answers.append(b"".join(bytes(part) for part in parts))  # type: ignore[arg-type]

    def pause_requests(self) -> None:
        """Each request here is answered before the next one."""

    def resume_requests(self, slot: int) -> None:
        """As for ``pause_requests``."""

    def close(self, reason: str) -> None:
        self.closed = reason


class Reader(RecordingChannel):
    """Reads the ranges of files that it is sent."""

    def reply(self, slot: int, parts: Sequence[Part]) -> None:
        super().reply(slot, [part.read_bytes() if isinstance(part, FileSlice) else part for part in parts])


class Admin:
    """Sends requests to a broker core and gives its decoded answers."""

    def __init__(
        self,
        path: str = ":memory:",
        disk: MemoryDisk | None = None,
        *,
        started_ms: int = NOW_MS,
        work_clock: Callable[[], int] = lambda: 0,
        nodes: Sequence[int] = (),
        requests: RequestMetrics | None = None,
        **settings: str,
    ) -> None:
        config = parse(BrokerConfig, {"oncelog.flush.policy": "none", **settings})
        random = CountingRandom()
        disk = disk or MemoryDisk()
        metadata, config = open_metadata(path, disk, config, random, NOW_MS)
        self.broker = Broker(
            config=config,
            node=SimulatedNode(1, "broker.example", 9092, "rack-1"),
            metadata=metadata,
            disk=disk,
            random=random,
            background=AtOnce(),
            work_clock=work_clock,
            nodes=nodes,
            requests=requests,
        )
        self.broker.recover(NOW_MS)
        self.broker.start(started_ms)

    def ask(
        self, request: Message, version: int | None = None, *, node_id: int | None = None, user: str = "ANONYMOUS"
    ) -> Any:
        """:param node_id: the node that is asked, of a broker with several.

        :param user: the one that asks.
        """
        kind = type(request)
        version = kind.MAX_VERSION if version is None else version
        channel = RecordingChannel()
        channel.session.principal = f"User:{user}"
        if node_id is not None:
            channel.session.node = SimulatedNode(node_id, "broker.example", 9092)
        sent = encode_request(kind.API_KEY, version, 7, "test", request.encode(version))
        self.broker.receive(channel, 0, memoryview(sent)[4:], NOW_MS)
        self.broker.tasks.finish()
        assert channel.closed is None, channel.closed
        (answer,) = channel.answers
        _, header = decode_response_header(answer[4:], kind.API_KEY, version)
        return response_type(kind.API_KEY).decode(answer, version, 4 + header)


@pytest.fixture
def admin() -> Iterator[Admin]:
    made = Admin()
    yield made
    made.broker.stop(NOW_MS)
