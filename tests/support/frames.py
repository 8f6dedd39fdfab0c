"""Frames as a client sends them, and as a connection finds them in its buffer."""

from __future__ import annotations

from oncelog.broker.core.broker import Broker
from oncelog.broker.core.requests.session import Channel
from oncelog.protocol.framing import encode_request_header
from oncelog.runtime.ports import Buffer


def encode_request(api_key: int, version: int, correlation_id: int, client_id: str | None, body: Buffer) -> bytes:
    """A whole frame, size included."""
    return b"".join((encode_request_header(api_key, version, correlation_id, client_id, len(body)), body))


def receive_as_run(broker: Broker, channel: Channel, slot: int, frame: bytes, now_ms: int) -> bool:
    """Offer ``frame`` to the broker between others' bytes in a buffer; whether the broker took all of it or nothing."""
    buffer = bytearray(b"..." + frame + b"more")
    end = 3 + len(frame)
    after = broker.receive_run(channel, slot, buffer, 3, end, now_ms)
    assert after in (3, end)
    return after == end
