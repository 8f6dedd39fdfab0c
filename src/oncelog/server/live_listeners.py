"""Listeners and logins that change while the broker runs: ``listeners``, their protocols, ``ssl.*``, ``sasl.*``.

AlterConfigs asks before it keeps a change, and tells once it is in force; the loop then opens what is new, closes what
is gone, with its connections, and has each login follow its settings. Apache Kafka 4.3 takes the same changes; there a
listener that comes later leads clients nowhere, because KRaft does not register it, and a login that changes waits for
a restart. Here both have their effect.
"""

from __future__ import annotations

import ipaddress
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
    """Keeps a server's doors as its settings have them; implements ``broker.listeners.ListenersAtWork``.

    :param given: the listeners that the broker was started with, at the ports that they have got.
    :param open_door: makes a door with a bound socket. :raises OncelogError: it cannot be listened on.
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
        """Why listeners, their TLS and logins cannot become what ``settings`` say; nothing changes."""
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
        """Whether no name service has to be asked, which would be done on the loop."""
        try:
            ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return host == "localhost"
        return True

    def follow(self) -> None:
        """Settings have changed: act on it once those who are told of it have their answers."""

        def soon(_: None) -> None:
            self._server.loop.call_soon(self._follow)

        self._broker.metadata_sync.settled().then(soon)

    def _wanted(self, settings: Mapping[str, str]) -> tuple[Listener, ...]:
        """What is to be listened on: the property where it was set while the broker ran, else what it began with."""
        live = settings.get("listeners") != self._started.get("listeners")
        if not live and settings.get(MAP) == self._started.get(MAP):
            return self._given
        named = None if live else ",".join(f"{listener.name}://{listener.address}" for listener in self._given)
        return parse_listeners(named, settings, "")

    def _follow(self) -> None:
        if self._server.is_stopping:
            return  # the next start has them as they are now
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
        except OncelogError as error:  # at a start: somebody else has the port by now
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
    """Port 0 is any port: the one that it has got."""
    return address == known or (address.host == known.host and not address.port)
