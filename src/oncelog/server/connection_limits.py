"""How many connections an address may have, and how many may come in a second (KIP-308, KIP-402, KIP-612).

Asked by the server for every connection that comes. Settings are read as of now, so AlterConfigs has its effect. A
connection past ``max.connection.creation.rate``, the broker's or its listener's own, or past its address's quota
``connection_creation_rate``, is taken and waits for its turn; one past ``max.connections`` of its listener or
``max.connections.per.ip`` is closed.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from oncelog.broker.quotas import IP
from oncelog.config import per_ip_overrides
from oncelog.kafka_properties import MAX_INT
from oncelog.server.listeners import host_text

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker
    from oncelog.config import BrokerConfig

RATE_WINDOW_MS = 1000
"""Connections of one second may come at once."""
MOST_ADDRESSES = 10_000
CONNECTION_CREATION_RATE = "connection_creation_rate"
_EVERYBODY = ""
MOST, CREATION_RATE = "max.connections", "max.connection.creation.rate"
_OWN = re.compile(rf"listener\.name\.(?P<listener>[^.]+)\.(?P<name>{re.escape(MOST)}|{re.escape(CREATION_RATE)})")


class ConnectionLimits:
    """Counts connections by address."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._open: Counter[str] = Counter()
        self._of_listeners: Counter[str] = Counter()
        self._free_at_ms: dict[str, float] = {}
        self._read_from: BrokerConfig | None = None
        self._own: dict[tuple[str, str], int] = {}
        self._overrides: dict[str, int] = {}
        self._quotas_of = -1
        self._rates: dict[str, float] = {}

    def refusal(self, host: str, listener: str) -> str | None:
        """Why one more connection of ``host`` to ``listener`` is not served; None if it is."""
        self._read()
        if self._of_listeners[listener] >= self._own_limit(listener, MOST):
            return f"listener {listener} has as many connections as its max.connections allows"
        if self._open[host] >= self._overrides.get(host, self._broker.config.max_connections_per_ip):
            return "its address has as many connections as max.connections.per.ip allows"
        return None

    def clock_was_set(self, step_ms: int) -> None:
        self._free_at_ms = {owner: at + step_ms for owner, at in self._free_at_ms.items()}

    def opened(self, host: str, listener: str) -> None:
        self._open[host] += 1
        self._of_listeners[listener] += 1

    def closed(self, host: str, listener: str) -> None:
        for counted, name in ((self._open, host), (self._of_listeners, listener)):
            counted[name] -= 1
            if counted[name] <= 0:
                del counted[name]

    def _own_limit(self, listener: str, name: str) -> int:
        """What ``listener.name.NAME`` says of a limit; as good as none where it says nothing."""
        self._read()
        return self._own.get((listener, name), MAX_INT)

    def _read(self) -> None:
        config = self._broker.config
        if config is not self._read_from:
            self._read_from, self._own = config, {}
            overrides = per_ip_overrides(config.max_connections_per_ip_overrides)
            self._overrides = {host_text(host): most for host, most in overrides.items()}
            for key, text in {**config.static, **config.dynamic}.items():
                found = _OWN.fullmatch(key)
                if found is not None:
                    self._own[found["listener"].upper(), found["name"]] = int(text)

    def wait_ms(self, host: str, listener: str, now_ms: int) -> int:
        """For how long a new connection of ``host`` to ``listener`` waits before it is served."""
        wait = self._use(_EVERYBODY, self._broker.config.max_connection_creation_rate, now_ms)
        wait = max(wait, self._use(f"listener {listener}", self._own_limit(listener, CREATION_RATE), now_ms))
        limit = self._rate_of(host)
        return wait if limit is None else max(wait, self._use(host, limit, now_ms))

    def _rate_of(self, host: str) -> float | None:
        """The quota of an address, else that of every address."""
        metadata = self._broker.metadata
        if metadata.changes != self._quotas_of:
            self._quotas_of = metadata.changes
            self._rates = {
                host_text(entity[0][1] or _EVERYBODY): values[CONNECTION_CREATION_RATE]
                for entity, values in metadata.client_quotas().items()
                if entity[0][0] == IP and CONNECTION_CREATION_RATE in values
            }
        return self._rates.get(host, self._rates.get(_EVERYBODY))

    def _use(self, owner: str, rate: float, now_ms: int) -> int:
        if rate >= MAX_INT:
            return 0
        if rate <= 0:
            rate = 1 / 3600
        if len(self._free_at_ms) >= MOST_ADDRESSES:
            self._free_at_ms = {known: at for known, at in self._free_at_ms.items() if at > now_ms}
        begin = max(self._free_at_ms.get(owner, 0.0), now_ms - RATE_WINDOW_MS)
        self._free_at_ms[owner] = begin + 1000 / rate
        return max(0, round(self._free_at_ms[owner] - now_ms))
