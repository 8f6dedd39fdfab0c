"""A listener at run time: its socket, and the connections accepted on it.

Created by ``opening`` for each of ``listeners``; when the event loop accepts a connection, the server gets asyncio's
protocol object from it.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from oncelog.broker.core.cluster.node import SimulatedNode
from oncelog.broker.core.requests.session import SecurityProtocol, Session
from oncelog.broker.server.connections.connection import Connection, ConnectionHost
from oncelog.broker.server.listener_settings import Listener, for_listener

if TYPE_CHECKING:
    from oncelog.broker.core.broker import Broker
    from oncelog.broker.core.login.distinguished_name import PrincipalMapper
    from oncelog.broker.core.login.sasl_authenticator import LoginResult, SaslAuthenticator
    from oncelog.broker.core.login.sasl_mechanisms import Mechanism
    from oncelog.broker.server.security.tls import TlsContexts, TlsSettings

logger = logging.getLogger(__name__)

ARRIVAL_BYTES = 256 * 1024


def of_logins(settings: Mapping[str, str]) -> dict[str, str]:
    """Those properties of a listener that define how clients log in."""
    return {name: text for name, text in settings.items() if name.startswith("sasl.") or ".sasl." in name}


class Acceptor:
    """One listener of a broker.

    :param sock: a bound socket that is not listening yet.
    :param settings: the broker's settings, if they are only to be checked; None for those in force.
    :raises ConfigError: a setting that the listener needs for TLS or logins is missing or wrong.
    """

    def __init__(
        self,
        listener: Listener,
        sock: socket.socket,
        node: SimulatedNode,
        broker: Broker,
        clock: Callable[[], float],
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.listener = listener
        self.sock = sock
        self._address = sock.getsockname()
        self._node = node
        self._broker = broker
        self._closers: list[Callable[[], None]] = []
        self._login: LoginResult | None = None
        self._login_settings: dict[str, str] = {}
        self._contexts: TlsContexts | None = None
        self._mapper: PrincipalMapper | None = None
        self._arrivals = memoryview(b"")
        self._tried = settings
        settings = self._settings()
        if listener.protocol.encrypts:
            from oncelog.broker.server.security.tls import TlsContexts

            self._contexts = TlsContexts(self._tls_settings, clock)
            self._arrivals = memoryview(bytearray(ARRIVAL_BYTES))
        if listener.protocol is SecurityProtocol.SSL:
            from oncelog.broker.core.login.distinguished_name import PrincipalMapper

            self._mapper = PrincipalMapper(settings.get("ssl.principal.mapping.rules", ""))
        if listener.protocol.asks_for_login:
            from oncelog.broker.server.security.login import login_of

            known: dict[str, Callable[[], Mechanism]] | None = {} if broker.listeners is not None else None
            self._login = login_of(listener.name, settings, broker.metadata, self._closers, known)
            self._login_settings = of_logins(settings)
        if self._tried is None:
            self._warn_if_open(settings)

    def connection(self, server: ConnectionHost, connection_id: int) -> Connection:
        """The protocol object (in asyncio's sense) for an accepted connection."""
        session = Session(node=self._node, listener=self.listener.name, authenticator=self._authenticator())
        if self._contexts is None:
            return Connection(server, connection_id, session)
        from oncelog.broker.server.connections.tls_connection import TlsConnection

        return TlsConnection(server, connection_id, session, self._contexts.current(), self._arrivals, self._mapper)

    def _authenticator(self) -> SaslAuthenticator | None:
        if self._login is None:
            return None
        from oncelog.broker.core.login.sasl_authenticator import SaslAuthenticator

        return SaslAuthenticator(self._login, self._broker)

    @property
    def node_id(self) -> int:
        return self._node.node_id

    def bind_again(self) -> None:
        """Replace the closed socket by a new one, bound to the same address."""
        self.sock = socket.socket(self.sock.family, socket.SOCK_STREAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind(self._address)

    def size_buffers(self, receive_bytes: int, send_bytes: int) -> None:
        """Set the kernel's buffer sizes for connections (below 1: the system's default); call before any client
        connects.

        Large requests and answers are then transferred in chunks that stay in the processor's cache, and other
        connections run between the chunks.
        """
        for option, size_bytes in ((socket.SO_RCVBUF, receive_bytes), (socket.SO_SNDBUF, send_bytes)):
            if size_bytes > 0:
                self.sock.setsockopt(socket.SOL_SOCKET, option, size_bytes)  # connections inherit it

    def close(self) -> None:
        for close in self._closers:
            close()

    def check(self, settings: Mapping[str, str]) -> None:
        """Check new settings. :raises ConfigError: the broker's ``settings`` lack a property that this listener needs
        for TLS or logins."""
        if self._contexts is not None:
            self._contexts.check(self._tls_settings(settings))
        self._changed_login(settings)

    def follow(self, settings: Mapping[str, str]) -> None:
        """Apply the broker's new ``settings`` to all later logins."""
        changed = self._changed_login(settings)
        if changed is not None and self._login is not None:
            self._login.become(changed)
            self._login_settings = of_logins(for_listener(settings, self.listener.name))
            logger.info("the login of listener %s uses its new settings", self.listener.name)

    def _changed_login(self, settings: Mapping[str, str]) -> LoginResult | None:
        if self._login is None:
            return None
        own = for_listener(settings, self.listener.name)
        if of_logins(own) == self._login_settings:
            return None
        from oncelog.broker.server.security.login import login_of

        return login_of(self.listener.name, own, self._broker.metadata, self._closers, self._login.mechanisms)

    def _settings(self) -> Mapping[str, str]:
        """The properties in force for this listener."""
        return for_listener(self._of_broker(), self.listener.name)

    def _of_broker(self) -> Mapping[str, str]:
        config = self._broker.config
        return self._tried if self._tried is not None else {**config.static, **config.dynamic}

    def _tls_settings(self, settings: Mapping[str, str] | None = None) -> TlsSettings:
        """The listener's TLS properties. :param settings: the broker's settings; None for those in force."""
        from oncelog.broker.server.security.tls import TlsSettings

        all_of_them = self._of_broker() if settings is None else settings
        own = for_listener(all_of_them, self.listener.name)
        found = {name: value for name, value in own.items() if name.startswith("ssl.")}
        if self.listener.protocol is SecurityProtocol.SASL_SSL:
            # SASL identifies the client, so only the listener's own ssl.client.auth requests a certificate, as in
            # Apache Kafka.
            its_own = f"listener.name.{self.listener.name.lower()}.ssl.client.auth"
            found["ssl.client.auth"] = all_of_them.get(its_own, "none")
        return TlsSettings(self.listener.name, found)

    def _warn_if_open(self, settings: Mapping[str, str]) -> None:
        """Warn once if a listener without authentication is reachable from other machines."""
        if self.listener.address.is_loopback or self.listener.protocol.asks_for_login:
            return
        if self._contexts is not None and settings.get("ssl.client.auth", "none").strip() == "required":
            return
        logger.warning(
            "listener %s on %s has no authentication, and is open to all who reach that address: use SASL_SSL, or "
            "SSL with ssl.client.auth=required",
            self.listener.name,
            self.listener.address,
        )
