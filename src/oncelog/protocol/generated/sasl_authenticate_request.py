# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, uvarint, uvarint_tail

_pack_i = _Struct(">i").pack
_unpack_i = _Struct(">i").unpack_from


class SaslAuthenticateRequest(Message):
    API_KEY = 36
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("auth_bytes",)

    def __init__(
        self,
        auth_bytes: bytes = b"",  # 0+
    ) -> None:
        self.auth_bytes = auth_bytes


def _read_sasl_authenticate_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[SaslAuthenticateRequest, int]:
    at = "auth_bytes"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        auth_bytes = data[pos:end]
        pos = end
    except READ_ERRORS as error:
        raise malformed("SaslAuthenticateRequest", at, pos, error) from None
    return SaslAuthenticateRequest(auth_bytes), pos


def _write_sasl_authenticate_request_v0(w: Append, x: SaslAuthenticateRequest) -> None:
    auth_bytes = x.auth_bytes
    w(_pack_i(len(auth_bytes)))
    w(auth_bytes)


def _read_sasl_authenticate_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[SaslAuthenticateRequest, int]:
    at = "auth_bytes"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        auth_bytes = data[pos:end]
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("SaslAuthenticateRequest", at, pos, error) from None
    return SaslAuthenticateRequest(auth_bytes), pos


def _write_sasl_authenticate_request_v2(w: Append, x: SaslAuthenticateRequest) -> None:
    auth_bytes = x.auth_bytes
    count = len(auth_bytes) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(auth_bytes)
    w(b"\0")
SaslAuthenticateRequest._READERS = {
    0: _read_sasl_authenticate_request_v0,
    1: _read_sasl_authenticate_request_v0,
    2: _read_sasl_authenticate_request_v2,
}
SaslAuthenticateRequest._WRITERS = {
    0: _write_sasl_authenticate_request_v0,
    1: _write_sasl_authenticate_request_v0,
    2: _write_sasl_authenticate_request_v2,
}
