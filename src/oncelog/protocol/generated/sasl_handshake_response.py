# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, Append, Message, malformed, null_value, overrun

_pack_h = _Struct(">h").pack
_pack_hi = _Struct(">hi").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_hi = _Struct(">hi").unpack_from


class SaslHandshakeResponse(Message):
    API_KEY = 17
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 32767
    __slots__ = ("error_code", "mechanisms")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        mechanisms: list[str] = EMPTY,  # 0+
    ) -> None:
        self.error_code = error_code
        self.mechanisms = [] if mechanisms is EMPTY else mechanisms


def _read_sasl_handshake_response_v0(data: bytes, pos: int, size: int) -> tuple[SaslHandshakeResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hi(data, pos)
        pos += 6
        at = "mechanisms"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        mechanisms: list[str] = []
        for _ in range(count):
            count, = _unpack_h(data, pos)
            pos += 2
            if count < 0:
                raise null_value(count)
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            mechanisms_item = data[pos:end].decode()
            pos = end
            mechanisms.append(mechanisms_item)
    except READ_ERRORS as error:
        raise malformed("SaslHandshakeResponse", at, pos, error) from None
    return SaslHandshakeResponse(error_code, mechanisms), pos


def _write_sasl_handshake_response_v0(w: Append, x: SaslHandshakeResponse) -> None:
    mechanisms = x.mechanisms
    w(_pack_hi(x.error_code, len(mechanisms)))
    for mechanisms_item in mechanisms:
        mechanisms_item_bytes = mechanisms_item.encode()
        w(_pack_h(len(mechanisms_item_bytes)))
        w(mechanisms_item_bytes)
SaslHandshakeResponse._READERS = {
    0: _read_sasl_handshake_response_v0,
    1: _read_sasl_handshake_response_v0,
}
SaslHandshakeResponse._WRITERS = {
    0: _write_sasl_handshake_response_v0,
    1: _write_sasl_handshake_response_v0,
}
