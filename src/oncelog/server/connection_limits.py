"""How many connections an address may have, and how many may come in a second (KIP-308, KIP-402, KIP-612).

Asked by the server for every connection that comes. Settings are read as of now, so AlterConfigs has its effect. A
connection past ``max.connection.creation.rate``, or past its address's quota ``connection_creation_rate``, is taken
and waits for its turn; one past ``max.connections.per.ip`` is closed.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from oncelog.errors import ConfigError
from oncelog.kafka_properties import MAX_INT

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker

RATE_WINDOW_MS = 1000
"""Connections of one second may come at once."""
MOST_ADDRESSES = 10_000
CONNECTION_CREATION_RATE = "connection_creation_rate"
_EVERYBODY = ""


class ConnectionLimits:
    """Counts connections by address."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._open: Counter[str] = Counter()
        self._free_at_ms: dict[str, float] = {}

    def has_room(self, host: str) -> bool:
        """Whether one more connection of ``host`` is served."""
        config = self._broker.config
        overrides = per_ip_overrides(config.max_connections_per_ip_overrides)
        return self._open[host] < overrides.get(host, config.max_connections_per_ip)

    def opened(self, host: str) -> None:
        self._open[host] += 1

    def closed(self, host: str) -> None:
        self._open[host] -= 1
        if self._open[host] <= 0:
            del self._open[host]

    def wait_ms(self, host: str, now_ms: int) -> int:
        """For how long a new connection of ``host`` waits before it is served."""
        wait = self._use(_EVERYBODY, self._broker.config.max_connection_creation_rate, now_ms)
        quotas = self._broker.metadata.client_quotas()
        if quotas:
            for name in (host, None):
                limit = quotas.get((("ip", name),), {}).get(CONNECTION_CREATION_RATE)
                if limit is not None:
                    return max(wait, self._use(host, limit, now_ms))
        return wait

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


def per_ip_overrides(text: str) -> dict[str, int]:
    """``max.connections.per.ip.overrides``: ``ADDRESS:COUNT`` with commas.

    :raises ConfigError: it has another form.
    """
    limits = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        host, separator, count = part.rpartition(":")
        if not separator or not count.strip().isdecimal():
            raise ConfigError(
                f"max.connections.per.ip.overrides has {part!r}; write ADDRESS:COUNT, several with commas"
            )
        limits[host.strip()] = int(count)
    return limits
