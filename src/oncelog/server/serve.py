"""The broker as a process of its own: what ``oncelog serve`` runs."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from oncelog.server.listeners import Address, Listener
from oncelog.server.loops import new_event_loop, on_stop_signals
from oncelog.server.opening import open_server

COLLECT_AFTER = 10_000, 20, 20
"""Python's own are 700, 10 and 10: collections that seldom find anything, within somebody's turn."""


def serve(
    listeners: Sequence[Listener],
    data: Path | None,
    settings: Mapping[str, str],
    announce: Callable[[Sequence[Listener], Address | None], None],
    first_users: Sequence[str] = (),
    nodes: int = 1,
    metrics: Address | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then sync and close everything.

    :param announce: called once, with where it listens and serves metrics, when clients can connect.
    :param first_users, nodes, metrics: as for ``open_server``.
    """
    loop = new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(_serve(listeners, data, settings, announce, first_users, nodes, metrics))
    finally:
        loop.close()


async def _serve(
    listeners: Sequence[Listener],
    data: Path | None,
    settings: Mapping[str, str],
    announce: Callable[[Sequence[Listener], Address | None], None],
    first_users: Sequence[str],
    nodes: int,
    metrics: Address | None,
) -> None:
    ended = asyncio.Event()
    on_stop_signals(asyncio.get_running_loop(), ended.set)
    server, bound = await open_server(listeners, data, settings, first_users, nodes, metrics)
    # What is there by now stays: collections need not look at it again, and what requests make mostly frees itself.
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    announce(bound, server.metrics_address)
    await ended.wait()
    await server.stop()
