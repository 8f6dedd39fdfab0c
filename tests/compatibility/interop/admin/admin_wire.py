"""Single requests to a broker, and its answers made comparable across brokers."""

from __future__ import annotations

import socket
from typing import Any

from oncelog.protocol.generated.request_header import RequestHeader
from oncelog.protocol.messages import response_type
from oncelog.protocol.struct_fields import Struct
from oncelog.protocol.wire import Message

ANY_ORDER = frozenset(
    {
        "brokers",
        "config_resources",
        "configs",
        "entries",
        "entity",
        "filter_results",
        "partition_result",
        "partitions",
        "replica_election_results",
        "responses",
        "results",
        "topics",
    }
)
"""Lists whose order Kafka leaves to a hash table."""
OF_THE_BROKER = frozenset(
    {"cluster_id", "documentation", "host", "log_dir", "port", "throttle_time_ms", "total_bytes", "usable_bytes"}
)


class Connection:
    """A blocking connection that sends one request at a time."""

    def __init__(self, bootstrap_servers: str) -> None:
        host, _, port = bootstrap_servers.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=120)
        self._correlation_id = 0

    def call(self, request: Message, version: int) -> Message:
        kind = type(request)
        flexible = version >= kind.FLEXIBLE_FROM
        self._correlation_id += 1
        header = RequestHeader(kind.API_KEY, version, self._correlation_id, "admin-tests").encode(2 if flexible else 1)
        frame = header + request.encode(version)
        self._socket.sendall(len(frame).to_bytes(4, "big") + frame)
        answer = self._read(int.from_bytes(self._read(4), "big"))
        assert int.from_bytes(answer[:4], "big") == self._correlation_id
        return response_type(kind.API_KEY).decode(answer, version, 5 if flexible else 4)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise EOFError("the broker closed the connection")
            data += more
        return data

    def set_timeout(self, seconds: float) -> None:
        self._socket.settimeout(seconds)

    def close(self) -> None:
        self._socket.close()


def comparable(value: Any, name: str = "") -> Any:
    """An answer as plain values: of identities, addresses and volume sizes only whether they are set."""
    if isinstance(value, Struct):
        return {slot: comparable(getattr(value, slot), slot) for slot in value.__slots__}
    if isinstance(value, list):
        items = [comparable(item) for item in value]
        return sorted(items, key=repr) if name in ANY_ORDER else items
    if name in OF_THE_BROKER:
        return None if value in (None, "", -1) else name
    if isinstance(value, bytes):
        return "an id" if any(value) else "no id"
    return value
