"""Handshakes that never end, or never begin: others are served meanwhile, and nothing remains of the handshakes."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.broker.server.connections.tls_connection import TlsConnection
from oncelog.broker.server.nodes import Nodes
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from tests.integration.security.certificates import Authority
from tests.support.frames import encode_request

BEGINNINGS = (
    b"",
    b"\x16\x03\x01",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # a ClientHello begins
    b"\x16\x03\x01\xff\xff" + b"\x01" * 20_000,  # a record larger than any
    b"\x80\x2e\x01\x03\x01",  # SSL 2
    b"\x15\x03\x01\x00\x02\x02\x00",  # an alert
    b"\x17\x03\x03\x00\x20" + bytes(32),  # data before any handshake
    b"GET / HTTP/1.1\r\n\r\n",
    b"\x00\x00\x00\x0a\x00\x12\x00\x00\x00\x00\x00\x01\xff\xff",  # a plain request
)
EACH = 10


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[tuple[oncelog.Broker, Path]]:
    authority = Authority(tmp_path)
    settings = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.issue("server").store),
    }
    with oncelog.Broker(settings=settings) as running:
        yield running, authority.certificate


def connections(broker: oncelog.Broker) -> int:
    return len(list(broker._server.connected()))  # type: ignore[union-attr]


def greeted(broker: oncelog.Broker, authority: Path) -> str | None:
    """The version of TLS that a well-behaved client agrees on."""
    context = ssl.create_default_context(cafile=str(authority))
    host, port = broker.bootstrap_servers.split(":")
    with (
        socket.create_connection((host, int(port)), 30) as plain,
        context.wrap_socket(plain, server_hostname=host) as encrypted,
    ):
        return encrypted.version()


def test_half_a_tls_handshake_delays_no_other_client(broker: tuple[oncelog.Broker, Path]) -> None:
    running, authority = broker
    host, port = running.bootstrap_servers.split(":")
    hostile = []
    for number in range(EACH * len(BEGINNINGS)):
        hostile.append(socket.create_connection((host, int(port)), 30))
        hostile[-1].sendall(BEGINNINGS[number % len(BEGINNINGS)])
    assert greeted(running, authority) == "TLSv1.3"
    for connection in hostile:
        connection.close()
    eventually(lambda: connections(running) == 0)
    assert greeted(running, authority) == "TLSv1.3"


def test_an_aborted_tls_handshake_leaves_no_connection_open(broker: tuple[oncelog.Broker, Path]) -> None:
    running, authority = broker
    host, port = running.bootstrap_servers.split(":")
    for number in range(20):
        sent, received = ssl.MemoryBIO(), ssl.MemoryBIO()
        handshake = ssl.create_default_context(cafile=str(authority)).wrap_bio(received, sent, server_hostname=host)
        with pytest.raises(ssl.SSLWantReadError):
            handshake.do_handshake()
        with socket.create_connection((host, int(port)), 30) as client:
            client.sendall(sent.read())
            if number % 2:
                assert client.recv(100)
    eventually(lambda: connections(running) == 0)
    assert greeted(running, authority) == "TLSv1.3"


def test_a_peer_that_never_reads_the_answers_of_tls_itself_is_disconnected(broker: tuple[oncelog.Broker, Path]) -> None:
    """Each attempt to renegotiate is refused with 29 bytes, which wait in memory while the socket is full."""
    running, authority = broker
    host, port = running.bootstrap_servers.split(":")
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.connect((host, int(port)))
    long = DescribeConfigsRequest([DescribeConfigsResource(4, "1")] * 300)
    with ssl.create_default_context(cafile=str(authority)).wrap_socket(plain, server_hostname=host) as deaf:
        deaf.sendall(encode_request(long.API_KEY, 1, 1, "deaf", long.encode(1)))
        eventually(lambda: running.on_loop(lambda nodes: all(one._writer for one in nodes.server.connected())))
        running.on_loop(lambda nodes: refuse_to_renegotiate(nodes, 500))
        deaf.sendall(b"\0")
        assert greeted(running, authority) == "TLSv1.3"
        eventually(lambda: connections(running) == 1)
        running.on_loop(lambda nodes: refuse_to_renegotiate(nodes, 500))
        deaf.sendall(b"\0")
        eventually(lambda: connections(running) == 0)


def refuse_to_renegotiate(nodes: Nodes, times: int) -> None:
    """What OpenSSL does for each ClientHello on an established connection."""
    for connection in nodes.server.connected():
        assert isinstance(connection, TlsConnection)
        connection._tls._outgoing.write(bytes(29 * times))
