# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, skip_tags

_pack_h = _Struct(">h").pack
_pack_ih = _Struct(">ih").pack
_pack_ihx = _Struct(">ihx").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_ih = _Struct(">ih").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from


class HeartbeatResponse(Message):
    API_KEY = 12
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    __slots__ = ("throttle_time_ms", "error_code")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 1+, ignorable
        error_code: int = 0,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code


def _read_heartbeat_response_v0(data: bytes, pos: int, size: int) -> tuple[HeartbeatResponse, int]:
    at = "error_code"
    try:
        error_code, = _unpack_h(data, pos)
        pos += 2
    except READ_ERRORS as error:
        raise malformed("HeartbeatResponse", at, pos, error) from None
    return HeartbeatResponse(0, error_code), pos


def _write_heartbeat_response_v0(w: Append, x: HeartbeatResponse) -> None:
    w(_pack_h(x.error_code))


def _read_heartbeat_response_v1(data: bytes, pos: int, size: int) -> tuple[HeartbeatResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code = _unpack_ih(data, pos)
        pos += 6
    except READ_ERRORS as error:
        raise malformed("HeartbeatResponse", at, pos, error) from None
    return HeartbeatResponse(throttle_time_ms, error_code), pos


def _write_heartbeat_response_v1(w: Append, x: HeartbeatResponse) -> None:
    w(_pack_ih(x.throttle_time_ms, x.error_code))


def _read_heartbeat_response_v4(data: bytes, pos: int, size: int) -> tuple[HeartbeatResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, tags = _unpack_ihB(data, pos)
        pos += 7
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("HeartbeatResponse", at, pos, error) from None
    return HeartbeatResponse(throttle_time_ms, error_code), pos


def _write_heartbeat_response_v4(w: Append, x: HeartbeatResponse) -> None:
    w(_pack_ihx(x.throttle_time_ms, x.error_code))
HeartbeatResponse._READERS = {
    0: _read_heartbeat_response_v0,
    1: _read_heartbeat_response_v1,
    2: _read_heartbeat_response_v1,
    3: _read_heartbeat_response_v1,
    4: _read_heartbeat_response_v4,
}
HeartbeatResponse._WRITERS = {
    0: _write_heartbeat_response_v0,
    1: _write_heartbeat_response_v1,
    2: _write_heartbeat_response_v1,
    3: _write_heartbeat_response_v1,
    4: _write_heartbeat_response_v4,
}
