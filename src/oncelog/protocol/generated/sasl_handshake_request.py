# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, ElementLimit, Message, malformed, null_value, overrun

_pack_h = _Struct(">h").pack
_unpack_h = _Struct(">h").unpack_from


class SaslHandshakeRequest(Message):
    API_KEY = 17
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 32767
    __slots__ = ("mechanism",)

    def __init__(
        self,
        mechanism: str = "",  # 0+
    ) -> None:
        self.mechanism = mechanism


def _read_sasl_handshake_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[SaslHandshakeRequest, int]:
    at = "mechanism"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        mechanism = data[pos:end].decode()
        pos = end
    except READ_ERRORS as error:
        raise malformed("SaslHandshakeRequest", at, pos, error) from None
    return SaslHandshakeRequest(mechanism), pos


def _write_sasl_handshake_request_v0(w: Append, x: SaslHandshakeRequest) -> None:
    mechanism = x.mechanism
    mechanism_bytes = mechanism.encode()
    w(_pack_h(len(mechanism_bytes)))
    w(mechanism_bytes)
SaslHandshakeRequest._READERS = {
    0: _read_sasl_handshake_request_v0,
    1: _read_sasl_handshake_request_v0,
}
SaslHandshakeRequest._WRITERS = {
    0: _write_sasl_handshake_request_v0,
    1: _write_sasl_handshake_request_v0,
}
