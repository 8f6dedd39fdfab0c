"""Runs the broker as a separate process, for ``oncelog serve``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from oncelog.broker.server.listener_settings import Address, Listener
from oncelog.broker.server.opening import open_server
from oncelog.broker.server.process.garbage_collection import GarbageCollection
from oncelog.broker.server.process.loops import new_event_loop, on_reload_signal, on_stop_signals
from oncelog.broker.server.process.service import ServiceManager
from oncelog.broker.server.server import Server
from oncelog.errors import ConfigError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.ports import Disk

logger = logging.getLogger(__name__)

HEAP_WATCH_S = 1.0


class Faulty(Protocol):
    """The interface of faults that ``oncelog.broker.faults`` injects into a broker."""

    def disk(self, disk: Disk) -> Disk: ...

    def enter(self, server: Server) -> None: ...


def serve(
    listeners: Sequence[Listener],
    data: str | None,
    settings: Mapping[str, str],
    announce: Callable[[Sequence[Listener], Address | None], None],
    first_users: Sequence[str] = (),
    nodes: int = 1,
    metrics: Address | None = None,
    reread: Callable[[], Mapping[str, str]] | None = None,
    faults: Faulty | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then sync and close everything.

    :param announce: called once when clients can connect, with the addresses for clients and metrics.
    :param first_users, nodes, metrics: as for ``open_server``.
    :param reread: called for SIGHUP; returns the current settings, and those that may change while the broker runs take
        effect.
    :param faults: the faults to inject.
    """
    loop = new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(
            _serve(listeners, data, settings, announce, first_users, nodes, metrics, reread, faults)
        )
    finally:
        loop.close()


async def _serve(
    listeners: Sequence[Listener],
    data: str | None,
    settings: Mapping[str, str],
    announce: Callable[[Sequence[Listener], Address | None], None],
    first_users: Sequence[str],
    nodes: int,
    metrics: Address | None,
    reread: Callable[[], Mapping[str, str]] | None,
    faults: Faulty | None,
) -> None:
    ended = asyncio.Event()
    loop, manager = asyncio.get_running_loop(), ServiceManager()
    on_stop_signals(loop, ended.set)
    disk = faults.disk if faults is not None else None
    server, bound = await open_server(listeners, data, settings, first_users, nodes, metrics, disk)
    if faults is not None:
        faults.enter(server)
    watching = asyncio.create_task(_watch_heap(server))
    if reread is not None:  # the signal's task runs only after announce(), because nothing is awaited before that call
        on_reload_signal(loop, partial(_reload, server, reread, manager))
    announce(bound, server.metrics_address)
    manager.ready(f"listens on {bound[0].address}", loop)
    await ended.wait()
    watching.cancel()
    manager.stops()
    await server.stop()


def _reload(server: Server, reread: Callable[[], Mapping[str, str]], manager: ServiceManager) -> None:
    """Handle SIGHUP: apply the settings that may change, log errors and settings that need a restart, and continue to
    run."""
    # imported here, because the import takes 6 ms
    from oncelog.broker.core.administration.config_changes import reread as reread_settings

    manager.reloads()
    try:
        changed, waiting = reread_settings(server.broker, reread())
    except ConfigError as error:
        logger.error("settings are unchanged: %s", error)
        manager.reloaded("settings could not be reread")
        return
    server.end_iteration_soon()
    logger.warning("settings reread; changed: %s", ", ".join(changed) or "none")
    if waiting:
        logger.warning("only a restart changes these settings: %s", ", ".join(waiting))
    manager.reloaded(f"settings reread, {len(changed)} changed")


async def _watch_heap(server: Server) -> None:
    heap = GarbageCollection()
    while True:
        heap.count(len(server.broker.partitions()))
        await asyncio.sleep(HEAP_WATCH_S)
