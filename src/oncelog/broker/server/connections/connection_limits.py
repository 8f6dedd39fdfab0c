"""Limits on the number of connections per address, and on connections per second (KIP-308, KIP-402, KIP-612).

Checked by the server for every new connection. The settings are read each time, so that changes by AlterConfigs take
effect. A connection above ``max.connection.creation.rate``, the broker's or its listener's own, or above its address's
quota ``connection_creation_rate``, is accepted but has to wait, at most as long as clients usually do: a connection
that would have to wait longer is closed and not counted, so that a peer that opens very many connections delays others
no longer than that. A connection above its listener's ``max.connections`` or above ``max.connections.per.ip`` is
closed, too.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from oncelog.broker.core.limits.buckets import Buckets
from oncelog.broker.core.limits.quotas import IP
from oncelog.broker.server.listener_settings import host_text
from oncelog.settings.config import per_ip_overrides
from oncelog.settings.kafka_properties import MAX_INT

if TYPE_CHECKING:
    from oncelog.broker.core.broker import Broker
    from oncelog.settings.config import BrokerConfig

RATE_WINDOW_MS = 1000
"""The burst in ms: the connections allowed in one second may all arrive at once."""
LONGEST_WAIT_MS = 30_000
"""The longest wait in ms: the default of ``request.timeout.ms`` in clients."""
CONNECTION_CREATION_RATE = "connection_creation_rate"
_EVERYBODY = ""
MAX_CONNECTIONS, CREATION_RATE = "max.connections", "max.connection.creation.rate"
_OWN = re.compile(
    rf"listener\.name\.(?P<listener>[^.]+)\.(?P<name>{re.escape(MAX_CONNECTIONS)}|{re.escape(CREATION_RATE)})"
)


class ConnectionLimits:
    """Counts a node's connections, by address.

    :param node_id: the node, if the broker has several nodes.
    """

    def __init__(self, broker: Broker, node_id: int | None = None) -> None:
        self._broker = broker
        self._node_id = node_id
        self._count = 0
        self._open: Counter[str] = Counter()
        self._of_listeners: Counter[str] = Counter()
        self._shared, self._of_addresses = Buckets[str](), Buckets[str]()
        self._read_from: BrokerConfig | None = None
        self._own: dict[tuple[str, str], int] = {}
        self._overrides: dict[str, int] = {}
        self._quotas_of = -1
        self._rates: dict[str, float] = {}

    @property
    def _config(self) -> BrokerConfig:
        return self._broker.nodes.config_of(self._node_id)

    def refusal(self, host: str, listener: str, now_ms: int) -> str | None:
        """The reason for which another connection of ``host`` to ``listener`` is refused; None if it is accepted."""
        self._read()
        if self._count >= self._config.max_connections:
            return "the broker serves as many connections as max.connections allows"
        if self._of_listeners[listener] >= self._own_limit(listener, MAX_CONNECTIONS):
            return f"listener {listener} has as many connections as its max.connections allows"
        if self._open[host] >= self._overrides.get(host, self._config.max_connections_per_ip):
            return "its address has as many connections as max.connections.per.ip allows"
        in_force = self._in_force(host, listener)
        if any(buckets.wait_ms(owner, now_ms) > LONGEST_WAIT_MS for buckets, owner, _ in in_force):
            return "it would have to wait for more than half a minute (max.connection.creation.rate)"
        return None

    def clock_was_set(self, step_ms: int) -> None:
        self._shared.clock_was_set(step_ms)
        self._of_addresses.clock_was_set(step_ms)

    def opened(self, host: str, listener: str) -> None:
        self._count += 1
        self._open[host] += 1
        self._of_listeners[listener] += 1

    def closed(self, host: str, listener: str) -> None:
        self._count -= 1
        for counted, name in ((self._open, host), (self._of_listeners, listener)):
            counted[name] -= 1
            if counted[name] <= 0:
                del counted[name]

    def _own_limit(self, listener: str, name: str) -> int:
        """A limit set by ``listener.name.NAME``; a very large number if it is not set."""
        self._read()
        return self._own.get((listener, name), MAX_INT)

    def _read(self) -> None:
        config = self._config
        if config is not self._read_from:
            self._read_from, self._own = config, {}
            overrides = per_ip_overrides(config.max_connections_per_ip_overrides)
            self._overrides = {host_text(host): most for host, most in overrides.items()}
            for key, text in {**config.static, **config.dynamic}.items():
                found = _OWN.fullmatch(key)
                if found is not None:
                    self._own[found["listener"].upper(), found["name"]] = int(text)

    def wait_ms(self, host: str, listener: str, now_ms: int) -> int:
        """The time in ms for which a new connection of ``host`` to ``listener`` waits before it is served."""
        waits = [
            buckets.use(owner, 1, rate if rate > 0 else 1 / 3600, RATE_WINDOW_MS, now_ms)
            for buckets, owner, rate in self._in_force(host, listener)
        ]
        return max(waits, default=0)

    def _in_force(self, host: str, listener: str) -> list[tuple[Buckets[str], str, float]]:
        """The rates that apply to a connection, each with the buckets and the owner against which it counts."""
        address = self._rate_of(host)
        rates = [
            (self._shared, _EVERYBODY, self._config.max_connection_creation_rate),
            (self._shared, listener, self._own_limit(listener, CREATION_RATE)),
            (self._of_addresses, host, MAX_INT if address is None else address),
        ]
        return [(buckets, owner, rate) for buckets, owner, rate in rates if rate < MAX_INT]

    def _rate_of(self, host: str) -> float | None:
        """The quota of an address, or the default for all addresses; None without a quota."""
        metadata = self._broker.metadata
        if metadata.changes != self._quotas_of:
            self._quotas_of = metadata.changes
            self._rates = {
                host_text(entity[0][1] or _EVERYBODY): values[CONNECTION_CREATION_RATE]
                for entity, values in metadata.client_quotas().items()
                if entity[0][0] == IP and CONNECTION_CREATION_RATE in values
            }
        return self._rates.get(host, self._rates.get(_EVERYBODY))
