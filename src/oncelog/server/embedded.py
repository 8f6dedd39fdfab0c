"""A broker inside a Python program: ``with oncelog.Broker() as broker: ... broker.bootstrap_servers``.

The broker runs on an event loop in a thread of its own, so blocking and asyncio clients of the same process, and
of others, use it through a real socket.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from oncelog.errors import OncelogError
from oncelog.server.listeners import Address, parse_listeners
from oncelog.server.loops import new_event_loop
from oncelog.server.opening import open_server
from oncelog.server.server import Server

ANY_PORT = "127.0.0.1:0"


class Broker:
    """An event log that speaks Kafka's protocol, for as long as the ``with`` block, or from ``start`` to ``stop``.

    :param data: folder that keeps everything; None keeps it in memory and forgets it at the end. What was acknowledged
        survives kill -9; with ``oncelog.flush.policy=commit`` a power failure too, by default all but the last second.
    :param listen: address, port 0 takes a free one.
    :param first_users: SCRAM credentials that a new data folder begins with, written as for ``kafka-storage``:
        ``SCRAM-SHA-256=[name=alice,password=...]``.
    :param settings: properties of Apache Kafka's broker by their names, for instance
        ``{"num.partitions": 6, "auto.create.topics.enable": False}``.

    Raises ``ConfigError`` for a property that is unknown or has a value that is not allowed, ``ListenError`` for an
    address in use, ``MetadataError`` for a folder of another cluster or in use.
    """

    def __init__(
        self,
        data: str | Path | None = None,
        *,
        listen: str = ANY_PORT,
        settings: Mapping[str, object] | None = None,
        first_users: Sequence[str] = (),
    ) -> None:
        self._data = Path(data) if data is not None else None
        self._settings = {name: _text(value) for name, value in (settings or {}).items()}
        self._first_users = list(first_users)
        own = self._settings.get("listeners") if listen == ANY_PORT else None
        self._listeners = parse_listeners(own or listen, self._settings, ANY_PORT)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._server: Server | None = None
        self._addresses: dict[str, Address] = {}

    @property
    def bootstrap_servers(self) -> str:
        """``HOST:PORT`` for the clients' setting of that name."""
        return str(self.address)

    @property
    def address(self) -> Address:
        """Of the first listener."""
        return next(iter(self.addresses.values()))

    @property
    def addresses(self) -> Mapping[str, Address]:
        """Where each listener listens, by its name."""
        if not self._addresses:
            raise OncelogError("the broker is not running: use it in a with block, or call start()")
        return self._addresses

    @property
    def data(self) -> Path | None:
        return self._data

    def start(self) -> Self:
        """Start and return once clients can connect."""
        if self._thread is not None:
            raise OncelogError("the broker is running already")
        loop = new_event_loop()
        self._loop = loop
        self._thread = threading.Thread(target=self._run, args=(loop,), name="oncelog-broker", daemon=True)
        self._thread.start()
        try:
            opening = asyncio.run_coroutine_threadsafe(
                open_server(self._listeners, self._data, self._settings, self._first_users), loop
            )
            self._server, listeners = opening.result()
            self._addresses = {listener.name: listener.address for listener in listeners}
        except BaseException:
            self._end_thread()
            raise
        return self

    def stop(self) -> None:
        """Sync and close everything; nothing happens where it does not run."""
        if self._server is not None and self._loop is not None:
            stopping = asyncio.run_coroutine_threadsafe(self._server.stop(), self._loop)
            self._server, self._addresses = None, {}
            try:
                stopping.result()
            finally:
                self._end_thread()
        self._end_thread()

    def restart(self) -> None:
        """Stop, and start again on the same address and folder."""
        bound = self.addresses
        self._listeners = tuple(replace(listener, address=bound[listener.name]) for listener in self._listeners)
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        loop.close()

    def _end_thread(self) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop = self._thread = None


def _text(value: object) -> str:
    """A setting's value as a properties file has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return str(value)
