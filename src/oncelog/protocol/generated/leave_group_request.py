# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class LeaveGroupRequest(Message):
    API_KEY = 13
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 4
    __slots__ = ("group_id", "member_id", "members")

    def __init__(
        self,
        group_id: str = "",  # 0+
        member_id: str = "",  # 0-2
        members: list[MemberIdentity] = EMPTY,  # 3+
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members = [] if members is EMPTY else members


class MemberIdentity(Struct):
    __slots__ = ("member_id", "group_instance_id", "reason")

    def __init__(
        self,
        member_id: str = "",  # 3+
        group_instance_id: str | None = None,  # 3+
        reason: str | None = None,  # 5+, ignorable
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason


def _read_leave_group_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[LeaveGroupRequest, int]:
    at = "group_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "member_id"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_id = data[pos:end].decode()
        pos = end
    except READ_ERRORS as error:
        raise malformed("LeaveGroupRequest", at, pos, error) from None
    return LeaveGroupRequest(group_id, member_id, EMPTY), pos


def _write_leave_group_request_v0(w: Append, x: LeaveGroupRequest) -> None:
    if x.members:
        raise unsupported_field("LeaveGroupRequest", "members", "0-2")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_h(len(member_id_bytes)))
    w(member_id_bytes)


def _read_member_identity_v3(data: bytes, pos: int, size: int) -> tuple[MemberIdentity, int]:
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
    except READ_ERRORS as error:
        raise malformed("LeaveGroupRequest.MemberIdentity", at, pos, error) from None
    return MemberIdentity(member_id, group_instance_id, None), pos


def _write_member_identity_v3(w: Append, x: MemberIdentity) -> None:
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_h(len(member_id_bytes)))
    w(member_id_bytes)
    group_instance_id = x.group_instance_id
    group_instance_id_bytes = b"" if group_instance_id is None else group_instance_id.encode()
    w(_pack_h(-1 if group_instance_id is None else len(group_instance_id_bytes)))
    w(group_instance_id_bytes)


def _read_member_identity_v4(data: bytes, pos: int, size: int) -> tuple[MemberIdentity, int]:
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
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("LeaveGroupRequest.MemberIdentity", at, pos, error) from None
    return MemberIdentity(member_id, group_instance_id, None), pos


def _write_member_identity_v4(w: Append, x: MemberIdentity) -> None:
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
    w(b"\0")


def _read_member_identity_v5(data: bytes, pos: int, size: int) -> tuple[MemberIdentity, int]:
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
        at = "reason"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        reason: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            reason = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("LeaveGroupRequest.MemberIdentity", at, pos, error) from None
    return MemberIdentity(member_id, group_instance_id, reason), pos


def _write_member_identity_v5(w: Append, x: MemberIdentity) -> None:
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
    reason = x.reason
    if reason is None:
        w(b"\0")
    else:
        reason_bytes = reason.encode()
        count = len(reason_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(reason_bytes)
    w(b"\0")


def _read_leave_group_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[LeaveGroupRequest, int]:
    at = "group_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "members"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        members: list[MemberIdentity] = []
        for _ in range(count):
            members_item, pos = _read_member_identity_v3(data, pos, size)
            members.append(members_item)
    except READ_ERRORS as error:
        raise malformed("LeaveGroupRequest", at, pos, error) from None
    return LeaveGroupRequest(group_id, "", members), pos


def _write_leave_group_request_v3(w: Append, x: LeaveGroupRequest) -> None:
    if x.member_id != "":
        raise unsupported_field("LeaveGroupRequest", "member_id", "3")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    members = x.members
    w(_pack_i(len(members)))
    for members_item in members:
        _write_member_identity_v3(w, members_item)


def _read_leave_group_request_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[LeaveGroupRequest, int]:
    at = "group_id"
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
        group_id = data[pos:end].decode()
        pos = end
        at = "members"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        members: list[MemberIdentity] = []
        for _ in range(count):
            members_item, pos = _read_member_identity_v4(data, pos, size)
            members.append(members_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("LeaveGroupRequest", at, pos, error) from None
    return LeaveGroupRequest(group_id, "", members), pos


def _write_leave_group_request_v4(w: Append, x: LeaveGroupRequest) -> None:
    if x.member_id != "":
        raise unsupported_field("LeaveGroupRequest", "member_id", "4")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    members = x.members
    count = len(members) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for members_item in members:
        _write_member_identity_v4(w, members_item)
    w(b"\0")


def _read_leave_group_request_v5(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[LeaveGroupRequest, int]:
    at = "group_id"
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
        group_id = data[pos:end].decode()
        pos = end
        at = "members"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        members: list[MemberIdentity] = []
        for _ in range(count):
            members_item, pos = _read_member_identity_v5(data, pos, size)
            members.append(members_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("LeaveGroupRequest", at, pos, error) from None
    return LeaveGroupRequest(group_id, "", members), pos


def _write_leave_group_request_v5(w: Append, x: LeaveGroupRequest) -> None:
    if x.member_id != "":
        raise unsupported_field("LeaveGroupRequest", "member_id", "5")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    members = x.members
    count = len(members) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for members_item in members:
        _write_member_identity_v5(w, members_item)
    w(b"\0")
LeaveGroupRequest._READERS = {
    0: _read_leave_group_request_v0,
    1: _read_leave_group_request_v0,
    2: _read_leave_group_request_v0,
    3: _read_leave_group_request_v3,
    4: _read_leave_group_request_v4,
    5: _read_leave_group_request_v5,
}
LeaveGroupRequest._WRITERS = {
    0: _write_leave_group_request_v0,
    1: _write_leave_group_request_v0,
    2: _write_leave_group_request_v0,
    3: _write_leave_group_request_v3,
    4: _write_leave_group_request_v4,
    5: _write_leave_group_request_v5,
}
