"""The socket of a registry, and what may not be served."""

from __future__ import annotations

import socket

from oncelog.schema_registry.serving import bind
from oncelog.server.listener_settings import Address


def test_answers_are_sent_without_delay() -> None:
    """asyncio sets TCP_NODELAY on accepted sockets whose protocol is named; else each answer takes 40 ms more."""
    with bind(Address("127.0.0.1", 0)) as listening:
        assert listening.proto == socket.IPPROTO_TCP
        with socket.create_connection(listening.getsockname()), listening.accept()[0] as accepted:
            assert accepted.proto == socket.IPPROTO_TCP
