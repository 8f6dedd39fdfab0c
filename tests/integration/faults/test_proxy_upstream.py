"""The proxy beside a broker that cannot be reached."""

from __future__ import annotations

import socket

import pytest

from oncelog.apps.proxy.proxy import FaultProxy


def test_the_reason_for_closed_connections_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        broker = f"127.0.0.1:{taken.getsockname()[1]}"
        with FaultProxy(broker) as proxy:
            host, _, port = proxy.bootstrap_servers.rpartition(":")
            for _ in range(3):
                with socket.create_connection((host, int(port)), 30) as client:
                    assert client.recv(1) == b""
            assert proxy.why_closed.startswith(f"{broker}: ")
            reported = [
                record.getMessage() for record in caplog.records if record.name == "oncelog.apps.proxy.upstream"
            ]
            assert reported == [
                f"a client's connection was closed, because the broker cannot be reached: {proxy.why_closed}"
            ]
