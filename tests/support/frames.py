"""Frames as a client sends them."""

from __future__ import annotations

from oncelog.ports import Buffer
from oncelog.protocol.framing import encode_request_header


def encode_request(api_key: int, version: int, correlation_id: int, client_id: str | None, body: Buffer) -> bytes:
    """A whole frame, size included."""
    return b"".join((encode_request_header(api_key, version, correlation_id, client_id, len(body)), body))
