# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, skip_tags

_pack_hqi = _Struct(">hqi").pack
_pack_hqix = _Struct(">hqix").pack
_unpack_hqi = _Struct(">hqi").unpack_from
_unpack_hqiB = _Struct(">hqiB").unpack_from


class RenewDelegationTokenResponse(Message):
    API_KEY = 39
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("error_code", "expiry_timestamp_ms", "throttle_time_ms")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        expiry_timestamp_ms: int = 0,  # 0+
        throttle_time_ms: int = 0,  # 0+
    ) -> None:
        self.error_code = error_code
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.throttle_time_ms = throttle_time_ms


def _read_renew_delegation_token_response_v1(data: bytes, pos: int, size: int) -> tuple[RenewDelegationTokenResponse, int]:
    at = "error_code"
    try:
        error_code, expiry_timestamp_ms, throttle_time_ms = _unpack_hqi(data, pos)
        pos += 14
    except READ_ERRORS as error:
        raise malformed("RenewDelegationTokenResponse", at, pos, error) from None
    return RenewDelegationTokenResponse(error_code, expiry_timestamp_ms, throttle_time_ms), pos


def _write_renew_delegation_token_response_v1(w: Append, x: RenewDelegationTokenResponse) -> None:
    w(_pack_hqi(x.error_code, x.expiry_timestamp_ms, x.throttle_time_ms))


def _read_renew_delegation_token_response_v2(data: bytes, pos: int, size: int) -> tuple[RenewDelegationTokenResponse, int]:
    at = "error_code"
    try:
        error_code, expiry_timestamp_ms, throttle_time_ms, tags = _unpack_hqiB(data, pos)
        pos += 15
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("RenewDelegationTokenResponse", at, pos, error) from None
    return RenewDelegationTokenResponse(error_code, expiry_timestamp_ms, throttle_time_ms), pos


def _write_renew_delegation_token_response_v2(w: Append, x: RenewDelegationTokenResponse) -> None:
    w(_pack_hqix(x.error_code, x.expiry_timestamp_ms, x.throttle_time_ms))
RenewDelegationTokenResponse._READERS = {
    1: _read_renew_delegation_token_response_v1,
    2: _read_renew_delegation_token_response_v2,
}
RenewDelegationTokenResponse._WRITERS = {
    1: _write_renew_delegation_token_response_v1,
    2: _write_renew_delegation_token_response_v2,
}
