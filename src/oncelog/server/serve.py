"""The broker as a process of its own: what ``oncelog serve`` runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from oncelog.server.listeners import Listener
from oncelog.server.loops import new_event_loop, on_stop_signals
from oncelog.server.opening import open_server


def serve(
    listeners: Sequence[Listener],
    data: Path | None,
    settings: Mapping[str, str],
    announce: Callable[[Sequence[Listener]], None],
    first_users: Sequence[str] = (),
    nodes: int = 1,
) -> None:
    """Serve until SIGTERM or SIGINT, then sync and close everything.

    :param announce: called once, with where it listens, when clients can connect.
    :param first_users, nodes: as for ``open_server``.
    """
    loop = new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(_serve(listeners, data, settings, announce, first_users, nodes))
    finally:
        loop.close()


async def _serve(
    listeners: Sequence[Listener],
    data: Path | None,
    settings: Mapping[str, str],
    announce: Callable[[Sequence[Listener]], None],
    first_users: Sequence[str],
    nodes: int,
) -> None:
    ended = asyncio.Event()
    on_stop_signals(asyncio.get_running_loop(), ended.set)
    server, bound = await open_server(listeners, data, settings, first_users, nodes)
    announce(bound)
    await ended.wait()
    await server.stop()
