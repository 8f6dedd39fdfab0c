"""What a raw client says of a peer that ends the connection."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest

from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection

ANSWER = b"\0\0\0\4last"


@pytest.fixture
def ended() -> Iterator[RawConnection]:
    """A connection that its peer has reset after an answer, which nobody has read yet."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        RawConnection(f"127.0.0.1:{server.getsockname()[1]}") as client,
    ):
        peer, _ = server.accept()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.sendall(ANSWER)
        peer.close()
        yield client


def test_an_ended_connection_accepts_no_requests(ended: RawConnection) -> None:
    for _ in range(2):  # the system reports the reset once, and a broken pipe from then on
        with pytest.raises(ConnectionClosed):
            ended.send_bytes(b"request")


def test_answers_that_arrived_before_the_connection_ended_can_be_read_after_a_failed_send(ended: RawConnection) -> None:
    with pytest.raises(ConnectionClosed):
        ended.send_bytes(b"request")
    assert ended.receive_frame() == b"last"
    with pytest.raises(ConnectionClosed):
        ended.receive_frame()
