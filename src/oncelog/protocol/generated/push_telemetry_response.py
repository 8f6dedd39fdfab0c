# Generated from protocol/schemas by `python -m oncelog.protocol.generator`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, skip_tags

_pack_ihx = _Struct(">ihx").pack
_unpack_ihB = _Struct(">ihB").unpack_from


class PushTelemetryResponse(Message):
    API_KEY = 72
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "error_code")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code


def _read_push_telemetry_response_v0(data: bytes, pos: int, size: int) -> tuple[PushTelemetryResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, tags = _unpack_ihB(data, pos)
        pos += 7
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("PushTelemetryResponse", at, pos, error) from None
    return PushTelemetryResponse(throttle_time_ms, error_code), pos


def _write_push_telemetry_response_v0(w: Append, x: PushTelemetryResponse) -> None:
    w(_pack_ihx(x.throttle_time_ms, x.error_code))
PushTelemetryResponse._READERS = {
    0: _read_push_telemetry_response_v0,
}
PushTelemetryResponse._WRITERS = {
    0: _write_push_telemetry_response_v0,
}
