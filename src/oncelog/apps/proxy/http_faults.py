"""Faults in a broker run by ``oncelog serve --faults HOST:PORT``, which tests in any language control over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from oncelog.broker.faults.control import FaultControl
from oncelog.broker.faults.embedded import BrokerFaults
from oncelog.broker.faults.rules import FaultError
from oncelog.broker.server.listener_settings import Address
from oncelog.broker.server.nodes import Nodes
from oncelog.broker.server.server import Server
from oncelog.errors import OncelogError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.ports import Disk

T = TypeVar("T")


class HttpFaults:
    """The faults of one broker run by ``oncelog serve``; implements
    :class:`oncelog.broker.faults.embedded.RunningBroker`.

    :param address: where HTTP requests are accepted, on this machine only.
    :raises FaultError: the address is not of this machine, or is in use.
    """

    def __init__(self, address: Address, data: str | None) -> None:
        self.data = Path(data) if data is not None else None
        self._server: Server | None = None
        self.faults = BrokerFaults(self)
        self.faults.has_disk = True
        self._control = FaultControl(self.faults, address.host, address.port)

    @property
    def address(self) -> str:
        return self._control.address

    @property
    def is_running(self) -> bool:
        return self._server is not None

    def disk(self, disk: Disk) -> Disk:
        return self.faults.disk(disk)

    def enter(self, server: Server) -> None:
        """Connect the faults to the broker that has started; called on the broker's thread."""
        self._server = server
        self.faults.enter(server)

    def stop(self) -> None:
        self._server = None
        self._control.stop()

    def on_loop(self, action: Callable[[Nodes], T]) -> T:
        async def act(nodes: Nodes) -> T:
            return action(nodes)

        return self.run_nodes(act)

    def run_nodes(self, work: Callable[[Nodes], Coroutine[Any, Any, T]]) -> T:
        server = self._server
        if server is None:
            raise OncelogError("the broker is not running")
        return asyncio.run_coroutine_threadsafe(work(Nodes(server)), server.loop).result()

    def restart_after(self, meanwhile: Callable[[], T]) -> T:
        raise FaultError("power_loss needs an embedded broker: kill this process, and start it again on its folder")
