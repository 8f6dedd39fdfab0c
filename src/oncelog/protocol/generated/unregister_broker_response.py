# Generated from protocol/schemas by `python -m oncelog.protocol.generator`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, Message, malformed, overrun, skip_tags, string_length, string_length_tail

_pack_ih = _Struct(">ih").pack
_unpack_ihB = _Struct(">ihB").unpack_from


class UnregisterBrokerResponse(Message):
    API_KEY = 64
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "error_code", "error_message")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message


def _read_unregister_broker_response_v0(data: bytes, pos: int, size: int) -> tuple[UnregisterBrokerResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
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
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("UnregisterBrokerResponse", at, pos, error) from None
    return UnregisterBrokerResponse(throttle_time_ms, error_code, error_message), pos


def _write_unregister_broker_response_v0(w: Append, x: UnregisterBrokerResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    w(b"\0")
UnregisterBrokerResponse._READERS = {
    0: _read_unregister_broker_response_v0,
}
UnregisterBrokerResponse._WRITERS = {
    0: _write_unregister_broker_response_v0,
}
