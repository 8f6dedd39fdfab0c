"""Closes the listening sockets of asyncio servers without losing accepted connections."""

from __future__ import annotations

from collections.abc import Iterable

from oncelog.runtime import forks
from oncelog.runtime import real_asyncio as asyncio

ITERATIONS = 3
"""The number of iterations of the event loop after which an accepted connection has its transport."""


async def close_servers(servers: Iterable[asyncio.Server]) -> None:
    """Accept no more connections, on any of ``servers``.

    A connection accepted in the last iteration gets its transport first: ``asyncio`` would fail to create the transport
    once the server is closed, and leave the connection's socket open.
    """
    loop, closing = asyncio.get_running_loop(), list(servers)
    sockets = [sock for server in closing for sock in server.sockets]
    # a selector loop creates the transport of an accepted connection some iterations later, other loops create it at
    # once
    if isinstance(loop, asyncio.SelectorEventLoop):
        for sock in sockets:
            loop.remove_reader(sock.fileno())
        for _ in range(ITERATIONS):
            await asyncio.sleep(0)
    for sock in sockets:
        forks.end(sock.fileno())
    for server in closing:
        server.close()
