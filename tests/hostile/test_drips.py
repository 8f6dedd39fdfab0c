"""Clients that send a byte now and then: they take no memory that others wait for, and keep no connection forever."""

from __future__ import annotations

import contextlib
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import oncelog
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from tests.hostile.conftest import Node
from tests.integration.security.certificates import Authority
from tests.integration.security.sides import oncelog_side

MB = 1024 * 1024


@contextlib.contextmanager
def dripping(*connections: RawConnection, drop: bytes = b"\0") -> Iterator[None]:
    """Sends a byte on each, twice a second; what a connection that no longer exists thinks of it does not matter."""
    done = threading.Event()

    def drip() -> None:
        while not done.wait(0.5):
            for connection in connections:
                with contextlib.suppress(ConnectionClosed, OSError):
                    connection.send_bytes(drop)

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_a_request_that_arrives_slowly_is_dropped_when_another_needs_its_memory(tmp_path: Path) -> None:
    limits = {"queued.max.request.bytes": str(16 * MB), "socket.request.max.bytes": str(8 * MB)}
    node = Node(tmp_path, limits)
    node.start()
    slow = [node.connect(timeout_s=0.5) for _ in range(3)]
    try:
        with node.connect() as honest:
            honest.create_topic("large", max_message_bytes=8 * MB)
            for connection in slow:
                with contextlib.suppress(TimeoutError):  # it has to wait for memory
                    connection.send_bytes(struct.pack(">i", 8 * MB) + bytes(8 * MB - 1000))
            with dripping(*slow):
                assert honest.produce("large", batch(bytes(6 * MB))).error == 0
    finally:
        for connection in slow:
            connection.close()
        node.close()


def closed(connection: RawConnection) -> bool:
    try:
        while True:
            connection.receive_frame()
    except ConnectionClosed:
        return True


def test_a_request_that_arrives_slowly_counts_as_idle(tmp_path: Path) -> None:
    node = Node(tmp_path, {"connections.max.idle.ms": "1500"})
    node.start()
    try:
        with node.connect(timeout_s=120) as slow, dripping(slow):
            slow.send_bytes(struct.pack(">i", MB))
            assert closed(slow)
        node.check_neighbour()
    finally:
        node.close()


def test_a_login_that_arrives_slowly_is_ended() -> None:
    with oncelog_side({"connections.max.idle.ms": "1500"}) as side:
        with RawConnection(side.asking_servers, timeout_s=120) as slow, dripping(slow):
            slow.send_bytes(struct.pack(">i", 500_000))
            assert closed(slow)
        with RawConnection(side.asking_servers, timeout_s=120) as halting:
            assert halting.ask(SaslHandshakeRequest("PLAIN"), 1).error_code == 0
            with dripping(halting):  # whole tokens, so to speak: the frame is a short one
                halting.send_bytes(struct.pack(">i", 64))
                assert closed(halting)


def test_a_tls_handshake_that_arrives_slowly_is_ended(tmp_path: Path) -> None:
    store = Authority(tmp_path).issue("server").store
    settings = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(store),
        "connections.max.idle.ms": "1500",
    }
    hello = b"\x16\x03\x01\x10\x00\x01\x00\x0f\xfc\x03\x03"  # a ClientHello of 4 KB begins
    with (
        oncelog.Broker(settings=settings) as broker,
        RawConnection(broker.bootstrap_servers, timeout_s=120) as slow,
        dripping(slow),
    ):
        slow.send_bytes(hello)
        assert closed(slow)
