# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_hh = _Struct(">hh").pack
_pack_i = _Struct(">i").pack
_pack_q = _Struct(">q").pack
_pack_qx = _Struct(">qx").pack
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hh = _Struct(">hh").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_q = _Struct(">q").unpack_from
_unpack_qB = _Struct(">qB").unpack_from


class SaslAuthenticateResponse(Message):
    API_KEY = 36
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("error_code", "error_message", "auth_bytes", "session_lifetime_ms")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
        auth_bytes: bytes = b"",  # 0+
        session_lifetime_ms: int = 0,  # 1+, ignorable
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.auth_bytes = auth_bytes
        self.session_lifetime_ms = session_lifetime_ms


def _read_sasl_authenticate_response_v0(data: bytes, pos: int, size: int) -> tuple[SaslAuthenticateResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "error_message"
        error_message: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "auth_bytes"
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
        raise malformed("SaslAuthenticateResponse", at, pos, error) from None
    return SaslAuthenticateResponse(error_code, error_message, auth_bytes, 0), pos


def _write_sasl_authenticate_response_v0(w: Append, x: SaslAuthenticateResponse) -> None:
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_hh(x.error_code, -1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)
    auth_bytes = x.auth_bytes
    w(_pack_i(len(auth_bytes)))
    w(auth_bytes)


def _read_sasl_authenticate_response_v1(data: bytes, pos: int, size: int) -> tuple[SaslAuthenticateResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "error_message"
        error_message: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "auth_bytes"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        auth_bytes = data[pos:end]
        pos = end
        at = "session_lifetime_ms"
        session_lifetime_ms, = _unpack_q(data, pos)
        pos += 8
    except READ_ERRORS as error:
        raise malformed("SaslAuthenticateResponse", at, pos, error) from None
    return SaslAuthenticateResponse(error_code, error_message, auth_bytes, session_lifetime_ms), pos


def _write_sasl_authenticate_response_v1(w: Append, x: SaslAuthenticateResponse) -> None:
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_hh(x.error_code, -1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)
    auth_bytes = x.auth_bytes
    w(_pack_i(len(auth_bytes)))
    w(auth_bytes)
    w(_pack_q(x.session_lifetime_ms))


def _read_sasl_authenticate_response_v2(data: bytes, pos: int, size: int) -> tuple[SaslAuthenticateResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "auth_bytes"
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
        at = "session_lifetime_ms"
        session_lifetime_ms, tags = _unpack_qB(data, pos)
        pos += 9
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("SaslAuthenticateResponse", at, pos, error) from None
    return SaslAuthenticateResponse(error_code, error_message, auth_bytes, session_lifetime_ms), pos


def _write_sasl_authenticate_response_v2(w: Append, x: SaslAuthenticateResponse) -> None:
    error_message = x.error_message
    w(_pack_h(x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    auth_bytes = x.auth_bytes
    count = len(auth_bytes) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(auth_bytes)
    w(_pack_qx(x.session_lifetime_ms))
SaslAuthenticateResponse._READERS = {
    0: _read_sasl_authenticate_response_v0,
    1: _read_sasl_authenticate_response_v1,
    2: _read_sasl_authenticate_response_v2,
}
SaslAuthenticateResponse._WRITERS = {
    0: _write_sasl_authenticate_response_v0,
    1: _write_sasl_authenticate_response_v1,
    2: _write_sasl_authenticate_response_v2,
}
