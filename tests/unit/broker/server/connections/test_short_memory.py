"""While memory for requests is short, beginning one takes little of it: nobody is closed for having begun."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.broker.server.server import Server

LIMIT = 4_000_000
PRODUCERS = 60
BEGUN = (1_000_000).to_bytes(4, "big") + bytes(200_000)
"""The first part of a request of a megabyte: a part of it for every producer would be three times the limit."""


def test_producers_beyond_the_memory_limit_wait_and_none_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oncelog.broker.server.server.STALLED_S", 600.0)
    limits = {"queued.max.request.bytes": LIMIT, "socket.request.max.bytes": 2_000_000}
    with oncelog.Broker(settings=limits) as broker, ExitStack() as open_sockets:
        for _ in range(PRODUCERS):
            address = broker.address.host, broker.address.port
            producer = open_sockets.enter_context(socket.create_connection(address, timeout=60))
            producer.sendall(BEGUN)
        server: Server = broker.on_loop(lambda nodes: nodes.server)
        assert eventually(
            lambda: broker.on_loop(lambda _: sum(c.is_receiving for c in server.connected()) == PRODUCERS)
        )
        memory = server.memory
        assert memory.waiting
        assert memory.taken_bytes <= LIMIT + LIMIT // 4
