"""The broker as a process of its own: what ``oncelog serve`` runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from oncelog.server.loops import new_event_loop, on_stop_signals
from oncelog.server.opening import Address, open_server


def serve(listen: Address, data: Path | None, settings: Mapping[str, str], announce: Callable[[Address], None]) -> None:
    """Serve until SIGTERM or SIGINT, then sync and close everything.

    :param announce: called once, with the address, when clients can connect.
    """
    loop = new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(_serve(listen, data, settings, announce))
    finally:
        loop.close()


async def _serve(
    listen: Address, data: Path | None, settings: Mapping[str, str], announce: Callable[[Address], None]
) -> None:
    ended = asyncio.Event()
    on_stop_signals(asyncio.get_running_loop(), ended.set)
    server, address = await open_server(listen, data, settings)
    announce(address)
    await ended.wait()
    await server.stop()
