# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_hih = _Struct(">hih").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_ihh = _Struct(">ihh").pack
_pack_ix = _Struct(">ix").pack
_unpack_hih = _Struct(">hih").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ih = _Struct(">ih").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ihh = _Struct(">ihh").unpack_from


class FindCoordinatorResponse(Message):
    API_KEY = 10
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 3
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "node_id", "host", "port", "coordinators")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 1+, ignorable
        error_code: int = 0,  # 0-3
        error_message: str | None = "",  # 1-3, ignorable
        node_id: int = 0,  # 0-3
        host: str = "",  # 0-3
        port: int = 0,  # 0-3
        coordinators: list[Coordinator] = EMPTY,  # 4+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators = [] if coordinators is EMPTY else coordinators


class Coordinator(Struct):
    __slots__ = ("key", "node_id", "host", "port", "error_code", "error_message")

    def __init__(
        self,
        key: str = "",  # 4+
        node_id: int = 0,  # 4+
        host: str = "",  # 4+
        port: int = 0,  # 4+
        error_code: int = 0,  # 4+
        error_message: str | None = "",  # 4+, ignorable
    ) -> None:
        self.key = key
        self.node_id = node_id
        self.host = host
        self.port = port
        self.error_code = error_code
        self.error_message = error_message


def _read_find_coordinator_response_v0(data: bytes, pos: int, size: int) -> tuple[FindCoordinatorResponse, int]:
    at = "error_code"
    try:
        error_code, node_id, count = _unpack_hih(data, pos)
        pos += 8
        at = "host"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        host = data[pos:end].decode()
        pos = end
        at = "port"
        port, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("FindCoordinatorResponse", at, pos, error) from None
    return FindCoordinatorResponse(0, error_code, "", node_id, host, port, EMPTY), pos


def _write_find_coordinator_response_v0(w: Append, x: FindCoordinatorResponse) -> None:
    if x.coordinators:
        raise unsupported_field("FindCoordinatorResponse", "coordinators", "0")
    host = x.host
    host_bytes = host.encode()
    w(_pack_hih(x.error_code, x.node_id, len(host_bytes)))
    w(host_bytes)
    w(_pack_i(x.port))


def _read_find_coordinator_response_v1(data: bytes, pos: int, size: int) -> tuple[FindCoordinatorResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihh(data, pos)
        pos += 8
        at = "error_message"
        error_message: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "node_id"
        node_id, count = _unpack_ih(data, pos)
        pos += 6
        at = "host"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        host = data[pos:end].decode()
        pos = end
        at = "port"
        port, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("FindCoordinatorResponse", at, pos, error) from None
    return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port, EMPTY), pos


def _write_find_coordinator_response_v1(w: Append, x: FindCoordinatorResponse) -> None:
    if x.coordinators:
        raise unsupported_field("FindCoordinatorResponse", "coordinators", "1-2")
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_ihh(x.throttle_time_ms, x.error_code, -1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)
    host = x.host
    host_bytes = host.encode()
    w(_pack_ih(x.node_id, len(host_bytes)))
    w(host_bytes)
    w(_pack_i(x.port))


def _read_find_coordinator_response_v3(data: bytes, pos: int, size: int) -> tuple[FindCoordinatorResponse, int]:
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
        at = "node_id"
        node_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "host"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        host = data[pos:end].decode()
        pos = end
        at = "port"
        port, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FindCoordinatorResponse", at, pos, error) from None
    return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port, EMPTY), pos


def _write_find_coordinator_response_v3(w: Append, x: FindCoordinatorResponse) -> None:
    if x.coordinators:
        raise unsupported_field("FindCoordinatorResponse", "coordinators", "3")
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    host = x.host
    host_bytes = host.encode()
    count = len(host_bytes) + 1
    w(_pack_iB(x.node_id, count) if count < 128 else _pack_i(x.node_id) + string_length(count))
    w(host_bytes)
    w(_pack_ix(x.port))


def _read_coordinator_v4(data: bytes, pos: int, size: int) -> tuple[Coordinator, int]:
    at = "key"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        key = data[pos:end].decode()
        pos = end
        at = "node_id"
        node_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "host"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        host = data[pos:end].decode()
        pos = end
        at = "port"
        port, error_code, count = _unpack_ihB(data, pos)
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
        raise malformed("FindCoordinatorResponse.Coordinator", at, pos, error) from None
    return Coordinator(key, node_id, host, port, error_code, error_message), pos


def _write_coordinator_v4(w: Append, x: Coordinator) -> None:
    key = x.key
    key_bytes = key.encode()
    count = len(key_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(key_bytes)
    host = x.host
    host_bytes = host.encode()
    count = len(host_bytes) + 1
    w(_pack_iB(x.node_id, count) if count < 128 else _pack_i(x.node_id) + string_length(count))
    w(host_bytes)
    error_message = x.error_message
    w(_pack_ih(x.port, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    w(b"\0")


def _read_find_coordinator_response_v4(data: bytes, pos: int, size: int) -> tuple[FindCoordinatorResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "coordinators"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        coordinators: list[Coordinator] = []
        for _ in range(count):
            coordinators_item, pos = _read_coordinator_v4(data, pos, size)
            coordinators.append(coordinators_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FindCoordinatorResponse", at, pos, error) from None
    return FindCoordinatorResponse(throttle_time_ms, 0, "", 0, "", 0, coordinators), pos


def _write_find_coordinator_response_v4(w: Append, x: FindCoordinatorResponse) -> None:
    if x.error_code != 0:
        raise unsupported_field("FindCoordinatorResponse", "error_code", "4-6")
    if x.node_id != 0:
        raise unsupported_field("FindCoordinatorResponse", "node_id", "4-6")
    if x.host != "":
        raise unsupported_field("FindCoordinatorResponse", "host", "4-6")
    if x.port != 0:
        raise unsupported_field("FindCoordinatorResponse", "port", "4-6")
    coordinators = x.coordinators
    count = len(coordinators) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for coordinators_item in coordinators:
        _write_coordinator_v4(w, coordinators_item)
    w(b"\0")
FindCoordinatorResponse._READERS = {
    0: _read_find_coordinator_response_v0,
    1: _read_find_coordinator_response_v1,
    2: _read_find_coordinator_response_v1,
    3: _read_find_coordinator_response_v3,
    4: _read_find_coordinator_response_v4,
    5: _read_find_coordinator_response_v4,
    6: _read_find_coordinator_response_v4,
}
FindCoordinatorResponse._WRITERS = {
    0: _write_find_coordinator_response_v0,
    1: _write_find_coordinator_response_v1,
    2: _write_find_coordinator_response_v1,
    3: _write_find_coordinator_response_v3,
    4: _write_find_coordinator_response_v4,
    5: _write_find_coordinator_response_v4,
    6: _write_find_coordinator_response_v4,
}
