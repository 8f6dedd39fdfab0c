"""How long new connections wait above a rate, and that clients that open very many keep nobody out for longer."""

from __future__ import annotations

import oncelog
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.broker.server.connections.connection_limits import LONGEST_WAIT_MS, ConnectionLimits
from tests.unit.broker.core.administration.test_live_settings import changing

LISTENER = "PLAINTEXT"


def come(limits: ConnectionLimits, host: str, count: int, now_ms: int) -> list[int]:
    """How long each of the accepted ones waits."""
    return [
        limits.wait_ms(host, LISTENER, now_ms) for _ in range(count) if limits.refusal(host, LISTENER, now_ms) is None
    ]


def test_a_client_with_very_many_connections_blocks_nobody_for_long() -> None:
    with oncelog.Broker(settings={"max.connection.creation.rate": "10"}) as broker:

        def flood(nodes: object) -> tuple[list[int], list[int]]:
            limits, now_ms = ConnectionLimits(broker._server.broker), 1_000_000  # type: ignore[union-attr]
            taken = [
                wait_ms for second in range(60) for wait_ms in come(limits, "192.0.2.1", 500, now_ms + 1000 * second)
            ]
            return taken, come(limits, "192.0.2.2", 1, now_ms + 60_000 + LONGEST_WAIT_MS)

        taken, after = broker.on_loop(flood)
    assert max(taken) <= LONGEST_WAIT_MS + 100
    assert len(taken) <= 10 * (60 + LONGEST_WAIT_MS // 1000 + 2)
    assert len(after) == 1
    assert after[0] <= 1000


def test_after_a_connection_rate_is_removed_no_connection_is_delayed() -> None:
    with (
        oncelog.Broker(settings={"max.connection.creation.rate": "1"}) as broker,
        RawConnection(broker.bootstrap_servers) as client,
    ):
        server = broker._server
        broker.on_loop(lambda _: come(server._limits[None], "127.0.0.1", 100, server.now_ms()))  # type: ignore[union-attr]
        assert broker.on_loop(lambda _: come(server._limits[None], "127.0.0.1", 1, server.now_ms())) == []  # type: ignore[union-attr]
        client.ask(changing("max.connection.creation.rate", "2147483647"), 1)
        assert broker.on_loop(lambda _: come(server._limits[None], "127.0.0.1", 1, server.now_ms())) == [0]  # type: ignore[union-attr]
