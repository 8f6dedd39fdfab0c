# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_hi = _Struct(">hi").pack
_pack_ih = _Struct(">ih").pack
_pack_ihB = _Struct(">ihB").pack
_pack_ihi = _Struct(">ihi").pack
_unpack_hi = _Struct(">hi").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ihi = _Struct(">ihi").unpack_from


class SyncGroupResponse(Message):
    API_KEY = 14
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 4
    __slots__ = ("throttle_time_ms", "error_code", "protocol_type", "protocol_name", "assignment")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 1+, ignorable
        error_code: int = 0,  # 0+
        protocol_type: str | None = None,  # 5+, ignorable
        protocol_name: str | None = None,  # 5+, ignorable
        assignment: bytes = b"",  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment


def _read_sync_group_response_v0(data: bytes, pos: int, size: int) -> tuple[SyncGroupResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hi(data, pos)
        pos += 6
        at = "assignment"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        assignment = data[pos:end]
        pos = end
    except READ_ERRORS as error:
        raise malformed("SyncGroupResponse", at, pos, error) from None
    return SyncGroupResponse(0, error_code, None, None, assignment), pos


def _write_sync_group_response_v0(w: Append, x: SyncGroupResponse) -> None:
    assignment = x.assignment
    w(_pack_hi(x.error_code, len(assignment)))
    w(assignment)


def _read_sync_group_response_v1(data: bytes, pos: int, size: int) -> tuple[SyncGroupResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihi(data, pos)
        pos += 10
        at = "assignment"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        assignment = data[pos:end]
        pos = end
    except READ_ERRORS as error:
        raise malformed("SyncGroupResponse", at, pos, error) from None
    return SyncGroupResponse(throttle_time_ms, error_code, None, None, assignment), pos


def _write_sync_group_response_v1(w: Append, x: SyncGroupResponse) -> None:
    assignment = x.assignment
    w(_pack_ihi(x.throttle_time_ms, x.error_code, len(assignment)))
    w(assignment)


def _read_sync_group_response_v4(data: bytes, pos: int, size: int) -> tuple[SyncGroupResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "assignment"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        assignment = data[pos:end]
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("SyncGroupResponse", at, pos, error) from None
    return SyncGroupResponse(throttle_time_ms, error_code, None, None, assignment), pos


def _write_sync_group_response_v4(w: Append, x: SyncGroupResponse) -> None:
    assignment = x.assignment
    count = len(assignment) + 1
    w(_pack_ihB(x.throttle_time_ms, x.error_code, count) if count < 128 else _pack_ih(x.throttle_time_ms, x.error_code) + uvarint(count))
    w(assignment)
    w(b"\0")


def _read_sync_group_response_v5(data: bytes, pos: int, size: int) -> tuple[SyncGroupResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "protocol_type"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        protocol_type: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            protocol_type = data[pos:end].decode()
            pos = end
        at = "protocol_name"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        protocol_name: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            protocol_name = data[pos:end].decode()
            pos = end
        at = "assignment"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        assignment = data[pos:end]
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("SyncGroupResponse", at, pos, error) from None
    return SyncGroupResponse(throttle_time_ms, error_code, protocol_type, protocol_name, assignment), pos


def _write_sync_group_response_v5(w: Append, x: SyncGroupResponse) -> None:
    protocol_type = x.protocol_type
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if protocol_type is None:
        w(b"\0")
    else:
        protocol_type_bytes = protocol_type.encode()
        count = len(protocol_type_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(protocol_type_bytes)
    protocol_name = x.protocol_name
    if protocol_name is None:
        w(b"\0")
    else:
        protocol_name_bytes = protocol_name.encode()
        count = len(protocol_name_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(protocol_name_bytes)
    assignment = x.assignment
    count = len(assignment) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(assignment)
    w(b"\0")
SyncGroupResponse._READERS = {
    0: _read_sync_group_response_v0,
    1: _read_sync_group_response_v1,
    2: _read_sync_group_response_v1,
    3: _read_sync_group_response_v1,
    4: _read_sync_group_response_v4,
    5: _read_sync_group_response_v5,
}
SyncGroupResponse._WRITERS = {
    0: _write_sync_group_response_v0,
    1: _write_sync_group_response_v1,
    2: _write_sync_group_response_v1,
    3: _write_sync_group_response_v1,
    4: _write_sync_group_response_v4,
    5: _write_sync_group_response_v5,
}
