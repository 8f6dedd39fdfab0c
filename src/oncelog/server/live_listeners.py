"""Changes of listeners and logins while the broker runs: ``listeners``, their protocols, ``ssl.*``, ``sasl.*``.

AlterConfigs checks here before it stores a change, and calls again once it is in force; the loop then opens new
listeners, closes removed ones with their connections, and applies settings to logins. Apache Kafka 4.3 accepts the same
changes, but there a listener added later is useless for clients, because KRaft does not register it, and a changed
login needs a restart. Here both take effect.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from oncelog.errors import ConfigError, OncelogError
from oncelog.server.doors import Door
from oncelog.server.listeners import Address, Listener, parse_listeners

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker
    from oncelog.server.server import Server

logger = logging.getLogger(__name__)

MAP = "listener.security.protocol.map"


class LiveListeners:
    """Keeps a server's doors in line with its settings; implements ``broker.listeners.ListenersAtWork``.

    :param given: the listeners that the broker was started with, with their actual ports.
    :param open_door: creates a door with a bound socket. :raises OncelogError: it cannot listen there.
    """

    def __init__(
        self,
        server: Server,
        given: Sequence[Listener],
        doors: Sequence[Door],
        open_door: Callable[[Listener, Mapping[str, str] | None], Door],
    ) -> None:
        self._server = server
        self._given = tuple(given)
        self._started = dict(server.broker.config.static)
        self._doors = {door.listener.name: door for door in doors}
        self._open_door = open_door

    @property
    def _broker(self) -> Broker:
        return self._server.broker

    def refusal(self, settings: Mapping[str, str]) -> str | None:
        """Why listeners, their TLS and logins cannot change to ``settings``; changes nothing."""
        try:
            wanted = self._wanted(settings)
            for listener in wanted:
                door = self._doors.get(listener.name)
                if door is not None and door.listener.protocol is not listener.protocol:
                    return f"Security protocol cannot be updated for existing listener ListenerName({listener.name})"
                if door is None or not _is_same(listener.address, door.listener.address):
                    if not self._needs_no_lookup(listener.address.host):
                        return (
                            f"listener {listener.name} names the host {listener.address.host}, whose lookup could hold "
                            "up every client of a broker that runs: write its address (names are taken at a start)"
                        )
                    tried = self._open_door(listener, settings)
                    tried.close()
                    tried.sock.close()
                else:
                    door.check(settings)
        except OncelogError as error:
            return str(error)
        return None

    def _needs_no_lookup(self, host: str) -> bool:
        """Whether no name service is needed, which would block the loop."""
        import ipaddress

        try:
            ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return host == "localhost"
        return True

    def follow(self) -> None:
        """Settings have changed: apply them once the requests that changed them have been answered."""

        def soon(_: None) -> None:
            self._server.loop.call_soon(self._follow)

        self._broker.metadata_sync.settled().then(soon)

    def _wanted(self, settings: Mapping[str, str]) -> tuple[Listener, ...]:
        """The listeners wanted: the property if it was set at run time, else those of the start."""
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
            logger.error("listeners stay as they are: %s", error)
            return
        begun: dict[str, Door] = {}
        try:
            for name, listener in wanted.items():
                known = self._doors.get(name)
                if known is None or not _is_same(listener.address, known.listener.address):
                    begun[name] = self._open_door(listener, None)
        except OncelogError as error:  # at a start: another program has taken the port
            logger.error("listeners stay as they are: %s", error)
            for door in begun.values():
                door.close()
                door.sock.close()
            return
        for name, door in list(self._doors.items()):
            if name in wanted and name not in begun:
                door.follow(settings)
                continue
            del self._doors[name]
            self._server.shut(door, f"the listener {name} is gone")
        self._doors |= begun
        for door in begun.values():
            self._server.open_later(door)


def _is_same(address: Address, known: Address) -> bool:
    """Port 0 means any port, so the current one matches."""
    return address == known or (address.host == known.host and not address.port)
