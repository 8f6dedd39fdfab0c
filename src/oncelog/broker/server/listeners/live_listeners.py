"""Changes listeners and logins while the broker runs: ``listeners``, their protocols, ``ssl.*``, ``sasl.*``.

AlterConfigs has each change checked here before it is stored, and applied once it is in force; the loop then opens new
listeners, closes removed ones with their connections, and applies settings to logins. Apache Kafka accepts the same
changes, but there clients cannot use a listener added later, because KRaft does not register it, and a changed login
needs a restart. Here both changes take effect.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from oncelog.broker.server.listener_settings import Address, Listener, parse_listeners
from oncelog.broker.server.listeners.acceptors import Acceptor
from oncelog.errors import ConfigError, OncelogError

if TYPE_CHECKING:
    from oncelog.broker.core.broker import Broker
    from oncelog.runtime import real_asyncio as asyncio

logger = logging.getLogger(__name__)

MAP = "listener.security.protocol.map"


class ListenerHost(Protocol):
    """The interface that changes of listeners need from the server that listens."""

    broker: Broker
    loop: asyncio.AbstractEventLoop
    is_stopping: bool

    def open_later(self, acceptor: Acceptor) -> None: ...

    def shut(self, acceptor: Acceptor, reason: str) -> None: ...


class LiveListeners:
    """Keeps a server's acceptors in line with its settings; implements the broker's ``RunningListeners``.

    :param given: the listeners that the broker was started with, with their actual ports.
    :param open_acceptor: creates an acceptor with a bound socket.
    :raises OncelogError: by ``open_acceptor``, if it cannot listen there.
    """

    def __init__(
        self,
        server: ListenerHost,
        given: Sequence[Listener],
        acceptors: Sequence[Acceptor],
        open_acceptor: Callable[[Listener, Mapping[str, str] | None], Acceptor],
    ) -> None:
        self._server = server
        self._given = tuple(given)
        self._started = dict(server.broker.config.static)
        self._acceptors = {acceptor.listener.name: acceptor for acceptor in acceptors}
        self._open_acceptor = open_acceptor

    @property
    def _broker(self) -> Broker:
        return self._server.broker

    def refusal(self, settings: Mapping[str, str]) -> str | None:
        """The message if ``settings`` cannot be applied to listeners, their TLS and logins, else None; changes
        nothing."""
        try:
            wanted = self._wanted(settings)
            for listener in wanted:
                acceptor = self._acceptors.get(listener.name)
                if acceptor is not None and acceptor.listener.protocol is not listener.protocol:
                    return f"Security protocol cannot be updated for existing listener ListenerName({listener.name})"
                if acceptor is None or not _is_same(listener.address, acceptor.listener.address):
                    if not self._needs_no_lookup(listener.address.host):
                        return (
                            f"listener {listener.name} names the host {listener.address.host}, whose lookup could "
                            "delay every client of a running broker: write its address (a start takes host names)"
                        )
                    tried = self._open_acceptor(listener, settings)
                    tried.close()
                    tried.sock.close()
                else:
                    acceptor.check(settings)
        except OncelogError as error:
            return str(error)
        return None

    def _needs_no_lookup(self, host: str) -> bool:
        """Whether using the host needs no name lookup, which would block the event loop."""
        import ipaddress

        try:
            ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return host == "localhost"
        return True

    def follow(self) -> None:
        """Called when settings have changed: apply them once the requests that changed them have been answered."""

        def soon(_: None) -> None:
            self._server.loop.call_soon(self._follow)

        self._broker.metadata_sync.settled().then(soon)

    def _wanted(self, settings: Mapping[str, str]) -> tuple[Listener, ...]:
        """The listeners wanted: those in the property if it was set at run time, else those of the start."""
        live = settings.get("listeners") != self._started.get("listeners")
        if not live and settings.get(MAP) == self._started.get(MAP):
            return self._given
        named = None if live else ",".join(f"{listener.name}://{listener.address}" for listener in self._given)
        return parse_listeners(named, settings, "")

    def _follow(self) -> None:
        if self._server.is_stopping:
            return  # the next start uses the current settings
        config = self._broker.config
        settings = {**config.static, **config.dynamic}
        try:
            wanted = {listener.name: listener for listener in self._wanted(settings)}
        except ConfigError as error:
            logger.error("the listeners were not changed: %s", error)
            return
        begun: dict[str, Acceptor] = {}
        try:
            for name, listener in wanted.items():
                known = self._acceptors.get(name)
                if known is None or not _is_same(listener.address, known.listener.address):
                    begun[name] = self._open_acceptor(listener, None)
        except OncelogError as error:  # for example, another program uses the port
            logger.error("the listeners were not changed: %s", error)
            for acceptor in begun.values():
                acceptor.close()
                acceptor.sock.close()
            return
        for name, acceptor in list(self._acceptors.items()):
            if name in wanted and name not in begun:
                acceptor.follow(settings)
                continue
            del self._acceptors[name]
            self._server.shut(acceptor, f"the listener {name} is gone")
        self._acceptors |= begun
        for acceptor in begun.values():
            self._server.open_later(acceptor)


def _is_same(address: Address, known: Address) -> bool:
    """Whether two addresses of a listener are the same; port 0 means any port, and so matches the current one."""
    return address == known or (address.host == known.host and not address.port)
