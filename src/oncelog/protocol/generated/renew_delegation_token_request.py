# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, uvarint, uvarint_tail

_pack_i = _Struct(">i").pack
_pack_q = _Struct(">q").pack
_pack_qx = _Struct(">qx").pack
_unpack_i = _Struct(">i").unpack_from
_unpack_q = _Struct(">q").unpack_from
_unpack_qB = _Struct(">qB").unpack_from


class RenewDelegationTokenRequest(Message):
    API_KEY = 39
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("hmac", "renew_period_ms")

    def __init__(
        self,
        hmac: bytes = b"",  # 0+
        renew_period_ms: int = 0,  # 0+
    ) -> None:
        self.hmac = hmac
        self.renew_period_ms = renew_period_ms


def _read_renew_delegation_token_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[RenewDelegationTokenRequest, int]:
    at = "hmac"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        hmac = data[pos:end]
        pos = end
        at = "renew_period_ms"
        renew_period_ms, = _unpack_q(data, pos)
        pos += 8
    except READ_ERRORS as error:
        raise malformed("RenewDelegationTokenRequest", at, pos, error) from None
    return RenewDelegationTokenRequest(hmac, renew_period_ms), pos


def _write_renew_delegation_token_request_v1(w: Append, x: RenewDelegationTokenRequest) -> None:
    hmac = x.hmac
    w(_pack_i(len(hmac)))
    w(hmac)
    w(_pack_q(x.renew_period_ms))


def _read_renew_delegation_token_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[RenewDelegationTokenRequest, int]:
    at = "hmac"
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
        hmac = data[pos:end]
        pos = end
        at = "renew_period_ms"
        renew_period_ms, tags = _unpack_qB(data, pos)
        pos += 9
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("RenewDelegationTokenRequest", at, pos, error) from None
    return RenewDelegationTokenRequest(hmac, renew_period_ms), pos


def _write_renew_delegation_token_request_v2(w: Append, x: RenewDelegationTokenRequest) -> None:
    hmac = x.hmac
    count = len(hmac) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(hmac)
    w(_pack_qx(x.renew_period_ms))
RenewDelegationTokenRequest._READERS = {
    1: _read_renew_delegation_token_request_v1,
    2: _read_renew_delegation_token_request_v2,
}
RenewDelegationTokenRequest._WRITERS = {
    1: _write_renew_delegation_token_request_v1,
    2: _write_renew_delegation_token_request_v2,
}
