# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_hx = _Struct(">hx").pack
_pack_ih = _Struct(">ih").pack
_pack_ihB = _Struct(">ihB").pack
_pack_ihi = _Struct(">ihi").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_ih = _Struct(">ih").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ihi = _Struct(">ihi").unpack_from


class LeaveGroupResponse(Message):
    API_KEY = 13
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 4
    __slots__ = ("throttle_time_ms", "error_code", "members")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 1+, ignorable
        error_code: int = 0,  # 0+
        members: list[MemberResponse] = EMPTY,  # 3+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members = [] if members is EMPTY else members


class MemberResponse(Struct):
    __slots__ = ("member_id", "group_instance_id", "error_code")

    def __init__(
        self,
        member_id: str = "",  # 3+
        group_instance_id: str | None = "",  # 3+
        error_code: int = 0,  # 3+
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.error_code = error_code


def _read_leave_group_response_v0(data: bytes, pos: int, size: int) -> tuple[LeaveGroupResponse, int]:
    at = "error_code"
    try:
        error_code, = _unpack_h(data, pos)
        pos += 2
    except READ_ERRORS as error:
        raise malformed("LeaveGroupResponse", at, pos, error) from None
    return LeaveGroupResponse(0, error_code, EMPTY), pos


def _write_leave_group_response_v0(w: Append, x: LeaveGroupResponse) -> None:
    if x.members:
        raise unsupported_field("LeaveGroupResponse", "members", "0")
    w(_pack_h(x.error_code))


def _read_leave_group_response_v1(data: bytes, pos: int, size: int) -> tuple[LeaveGroupResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code = _unpack_ih(data, pos)
        pos += 6
    except READ_ERRORS as error:
        raise malformed("LeaveGroupResponse", at, pos, error) from None
    return LeaveGroupResponse(throttle_time_ms, error_code, EMPTY), pos


def _write_leave_group_response_v1(w: Append, x: LeaveGroupResponse) -> None:
    if x.members:
        raise unsupported_field("LeaveGroupResponse", "members", "1-2")
    w(_pack_ih(x.throttle_time_ms, x.error_code))


def _read_member_response_v3(data: bytes, pos: int, size: int) -> tuple[MemberResponse, int]:
    at = "member_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_id = data[pos:end].decode()
        pos = end
        at = "group_instance_id"
        count, = _unpack_h(data, pos)
        pos += 2
        group_instance_id: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            group_instance_id = data[pos:end].decode()
            pos = end
        at = "error_code"
        error_code, = _unpack_h(data, pos)
        pos += 2
    except READ_ERRORS as error:
        raise malformed("LeaveGroupResponse.MemberResponse", at, pos, error) from None
    return MemberResponse(member_id, group_instance_id, error_code), pos


def _write_member_response_v3(w: Append, x: MemberResponse) -> None:
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_h(len(member_id_bytes)))
    w(member_id_bytes)
    group_instance_id = x.group_instance_id
    group_instance_id_bytes = b"" if group_instance_id is None else group_instance_id.encode()
    w(_pack_h(-1 if group_instance_id is None else len(group_instance_id_bytes)))
    w(group_instance_id_bytes)
    w(_pack_h(x.error_code))


def _read_member_response_v4(data: bytes, pos: int, size: int) -> tuple[MemberResponse, int]:
    at = "member_id"
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
        member_id = data[pos:end].decode()
        pos = end
        at = "group_instance_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        group_instance_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            group_instance_id = data[pos:end].decode()
            pos = end
        at = "error_code"
        error_code, tags = _unpack_hB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("LeaveGroupResponse.MemberResponse", at, pos, error) from None
    return MemberResponse(member_id, group_instance_id, error_code), pos


def _write_member_response_v4(w: Append, x: MemberResponse) -> None:
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(member_id_bytes)
    group_instance_id = x.group_instance_id
    if group_instance_id is None:
        w(b"\0")
    else:
        group_instance_id_bytes = group_instance_id.encode()
        count = len(group_instance_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(group_instance_id_bytes)
    w(_pack_hx(x.error_code))


def _read_leave_group_response_v3(data: bytes, pos: int, size: int) -> tuple[LeaveGroupResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihi(data, pos)
        pos += 10
        at = "members"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        members: list[MemberResponse] = []
        for _ in range(count):
            members_item, pos = _read_member_response_v3(data, pos, size)
            members.append(members_item)
    except READ_ERRORS as error:
        raise malformed("LeaveGroupResponse", at, pos, error) from None
    return LeaveGroupResponse(throttle_time_ms, error_code, members), pos


def _write_leave_group_response_v3(w: Append, x: LeaveGroupResponse) -> None:
    members = x.members
    w(_pack_ihi(x.throttle_time_ms, x.error_code, len(members)))
    for members_item in members:
        _write_member_response_v3(w, members_item)


def _read_leave_group_response_v4(data: bytes, pos: int, size: int) -> tuple[LeaveGroupResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "members"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        members: list[MemberResponse] = []
        for _ in range(count):
            members_item, pos = _read_member_response_v4(data, pos, size)
            members.append(members_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("LeaveGroupResponse", at, pos, error) from None
    return LeaveGroupResponse(throttle_time_ms, error_code, members), pos


def _write_leave_group_response_v4(w: Append, x: LeaveGroupResponse) -> None:
    members = x.members
    count = len(members) + 1
    w(_pack_ihB(x.throttle_time_ms, x.error_code, count) if count < 128 else _pack_ih(x.throttle_time_ms, x.error_code) + uvarint(count))
    for members_item in members:
        _write_member_response_v4(w, members_item)
    w(b"\0")
LeaveGroupResponse._READERS = {
    0: _read_leave_group_response_v0,
    1: _read_leave_group_response_v1,
    2: _read_leave_group_response_v1,
    3: _read_leave_group_response_v3,
    4: _read_leave_group_response_v4,
    5: _read_leave_group_response_v4,
}
LeaveGroupResponse._WRITERS = {
    0: _write_leave_group_response_v0,
    1: _write_leave_group_response_v1,
    2: _write_leave_group_response_v1,
    3: _write_leave_group_response_v3,
    4: _write_leave_group_response_v4,
    5: _write_leave_group_response_v4,
}
