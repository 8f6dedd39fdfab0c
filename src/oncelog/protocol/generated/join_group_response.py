# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_field, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_T = _Struct(">?").pack
_pack_TB = _Struct(">?B").pack
_pack_h = _Struct(">h").pack
_pack_hih = _Struct(">hih").pack
_pack_i = _Struct(">i").pack
_pack_ihi = _Struct(">ihi").pack
_pack_ihiB = _Struct(">ihiB").pack
_pack_ihih = _Struct(">ihih").pack
_unpack_TB = _Struct(">?B").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_hih = _Struct(">hih").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_ihiB = _Struct(">ihiB").unpack_from
_unpack_ihih = _Struct(">ihih").unpack_from


class JoinGroupResponseMember(Struct):
    __slots__ = ("member_id", "group_instance_id", "metadata")

    def __init__(
        self,
        member_id: str = "",  # 0+
        group_instance_id: str | None = None,  # 5+, ignorable
        metadata: bytes = b"",  # 0+
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata


class JoinGroupResponse(Message):
    API_KEY = 11
    MIN_VERSION = 0
    MAX_VERSION = 9
    FLEXIBLE_FROM = 6
    __slots__ = ("throttle_time_ms", "error_code", "generation_id", "protocol_type", "protocol_name", "leader", "skip_assignment", "member_id", "members")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 2+, ignorable
        error_code: int = 0,  # 0+
        generation_id: int = -1,  # 0+
        protocol_type: str | None = None,  # 7+, ignorable
        protocol_name: str | None = "",  # 0+
        leader: str = "",  # 0+
        skip_assignment: bool = False,  # 9+
        member_id: str = "",  # 0+
        members: list[JoinGroupResponseMember] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members = [] if members is EMPTY else members


def _read_join_group_response_member_v0(data: bytes, pos: int, size: int) -> tuple[JoinGroupResponseMember, int]:
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
        at = "metadata"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        metadata = data[pos:end]
        pos = end
    except READ_ERRORS as error:
        raise malformed("JoinGroupResponse.JoinGroupResponseMember", at, pos, error) from None
    return JoinGroupResponseMember(member_id, None, metadata), pos


def _write_join_group_response_member_v0(w: Append, x: JoinGroupResponseMember) -> None:
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_h(len(member_id_bytes)))
    w(member_id_bytes)
    metadata = x.metadata
    w(_pack_i(len(metadata)))
    w(metadata)


def _read_join_group_response_member_v5(data: bytes, pos: int, size: int) -> tuple[JoinGroupResponseMember, int]:
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
        at = "metadata"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        metadata = data[pos:end]
        pos = end
    except READ_ERRORS as error:
        raise malformed("JoinGroupResponse.JoinGroupResponseMember", at, pos, error) from None
    return JoinGroupResponseMember(member_id, group_instance_id, metadata), pos


def _write_join_group_response_member_v5(w: Append, x: JoinGroupResponseMember) -> None:
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_h(len(member_id_bytes)))
    w(member_id_bytes)
    group_instance_id = x.group_instance_id
    group_instance_id_bytes = b"" if group_instance_id is None else group_instance_id.encode()
    w(_pack_h(-1 if group_instance_id is None else len(group_instance_id_bytes)))
    w(group_instance_id_bytes)
    metadata = x.metadata
    w(_pack_i(len(metadata)))
    w(metadata)


def _read_join_group_response_member_v6(data: bytes, pos: int, size: int) -> tuple[JoinGroupResponseMember, int]:
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
        at = "metadata"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        metadata = data[pos:end]
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("JoinGroupResponse.JoinGroupResponseMember", at, pos, error) from None
    return JoinGroupResponseMember(member_id, group_instance_id, metadata), pos


def _write_join_group_response_member_v6(w: Append, x: JoinGroupResponseMember) -> None:
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
    metadata = x.metadata
    count = len(metadata) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(metadata)
    w(b"\0")


def _read_join_group_response_v0(data: bytes, pos: int, size: int) -> tuple[JoinGroupResponse, int]:
    at = "error_code"
    try:
        error_code, generation_id, count = _unpack_hih(data, pos)
        pos += 8
        at = "protocol_name"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        protocol_name = data[pos:end].decode()
        pos = end
        at = "leader"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        leader = data[pos:end].decode()
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
        at = "members"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        members: list[JoinGroupResponseMember] = []
        for _ in range(count):
            members_item, pos = _read_join_group_response_member_v0(data, pos, size)
            members.append(members_item)
    except READ_ERRORS as error:
        raise malformed("JoinGroupResponse", at, pos, error) from None
    return JoinGroupResponse(0, error_code, generation_id, None, protocol_name, leader, False, member_id, members), pos


def _write_join_group_response_v0(w: Append, x: JoinGroupResponse) -> None:
    if x.skip_assignment:
        raise unsupported_field("JoinGroupResponse", "skip_assignment", "0-1")
    protocol_name = x.protocol_name
    if protocol_name is None:
        raise null_field("JoinGroupResponse", "protocol_name", "0-1")
    protocol_name_bytes = protocol_name.encode()
    w(_pack_hih(x.error_code, x.generation_id, len(protocol_name_bytes)))
    w(protocol_name_bytes)
    leader = x.leader
    leader_bytes = leader.encode()
    w(_pack_h(len(leader_bytes)))
    w(leader_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_h(len(member_id_bytes)))
    w(member_id_bytes)
    members = x.members
    w(_pack_i(len(members)))
    for members_item in members:
        _write_join_group_response_member_v0(w, members_item)


def _read_join_group_response_v2(data: bytes, pos: int, size: int) -> tuple[JoinGroupResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, generation_id, count = _unpack_ihih(data, pos)
        pos += 12
        at = "protocol_name"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        protocol_name = data[pos:end].decode()
        pos = end
        at = "leader"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        leader = data[pos:end].decode()
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
        at = "members"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        members: list[JoinGroupResponseMember] = []
        for _ in range(count):
            members_item, pos = _read_join_group_response_member_v0(data, pos, size)
            members.append(members_item)
    except READ_ERRORS as error:
        raise malformed("JoinGroupResponse", at, pos, error) from None
    return JoinGroupResponse(throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members), pos


def _write_join_group_response_v2(w: Append, x: JoinGroupResponse) -> None:
    if x.skip_assignment:
        raise unsupported_field("JoinGroupResponse", "skip_assignment", "2-4")
    protocol_name = x.protocol_name
    if protocol_name is None:
        raise null_field("JoinGroupResponse", "protocol_name", "2-4")
    protocol_name_bytes = protocol_name.encode()
    w(_pack_ihih(x.throttle_time_ms, x.error_code, x.generation_id, len(protocol_name_bytes)))
    w(protocol_name_bytes)
    leader = x.leader
    leader_bytes = leader.encode()
    w(_pack_h(len(leader_bytes)))
    w(leader_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_h(len(member_id_bytes)))
    w(member_id_bytes)
    members = x.members
    w(_pack_i(len(members)))
    for members_item in members:
        _write_join_group_response_member_v0(w, members_item)


def _read_join_group_response_v5(data: bytes, pos: int, size: int) -> tuple[JoinGroupResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, generation_id, count = _unpack_ihih(data, pos)
        pos += 12
        at = "protocol_name"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        protocol_name = data[pos:end].decode()
        pos = end
        at = "leader"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        leader = data[pos:end].decode()
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
        at = "members"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        members: list[JoinGroupResponseMember] = []
        for _ in range(count):
            members_item, pos = _read_join_group_response_member_v5(data, pos, size)
            members.append(members_item)
    except READ_ERRORS as error:
        raise malformed("JoinGroupResponse", at, pos, error) from None
    return JoinGroupResponse(throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members), pos


def _write_join_group_response_v5(w: Append, x: JoinGroupResponse) -> None:
    if x.skip_assignment:
        raise unsupported_field("JoinGroupResponse", "skip_assignment", "5")
    protocol_name = x.protocol_name
    if protocol_name is None:
        raise null_field("JoinGroupResponse", "protocol_name", "5")
    protocol_name_bytes = protocol_name.encode()
    w(_pack_ihih(x.throttle_time_ms, x.error_code, x.generation_id, len(protocol_name_bytes)))
    w(protocol_name_bytes)
    leader = x.leader
    leader_bytes = leader.encode()
    w(_pack_h(len(leader_bytes)))
    w(leader_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_h(len(member_id_bytes)))
    w(member_id_bytes)
    members = x.members
    w(_pack_i(len(members)))
    for members_item in members:
        _write_join_group_response_member_v5(w, members_item)


def _read_join_group_response_v6(data: bytes, pos: int, size: int) -> tuple[JoinGroupResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, generation_id, count = _unpack_ihiB(data, pos)
        pos += 11
        at = "protocol_name"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        protocol_name = data[pos:end].decode()
        pos = end
        at = "leader"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        leader = data[pos:end].decode()
        pos = end
        at = "member_id"
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
        members: list[JoinGroupResponseMember] = []
        for _ in range(count):
            members_item, pos = _read_join_group_response_member_v6(data, pos, size)
            members.append(members_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("JoinGroupResponse", at, pos, error) from None
    return JoinGroupResponse(throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members), pos


def _write_join_group_response_v6(w: Append, x: JoinGroupResponse) -> None:
    if x.skip_assignment:
        raise unsupported_field("JoinGroupResponse", "skip_assignment", "6")
    protocol_name = x.protocol_name
    if protocol_name is None:
        raise null_field("JoinGroupResponse", "protocol_name", "6")
    protocol_name_bytes = protocol_name.encode()
    count = len(protocol_name_bytes) + 1
    w(_pack_ihiB(x.throttle_time_ms, x.error_code, x.generation_id, count) if count < 128 else _pack_ihi(x.throttle_time_ms, x.error_code, x.generation_id) + string_length(count))
    w(protocol_name_bytes)
    leader = x.leader
    leader_bytes = leader.encode()
    count = len(leader_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(leader_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(member_id_bytes)
    members = x.members
    count = len(members) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for members_item in members:
        _write_join_group_response_member_v6(w, members_item)
    w(b"\0")


def _read_join_group_response_v7(data: bytes, pos: int, size: int) -> tuple[JoinGroupResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, generation_id, count = _unpack_ihiB(data, pos)
        pos += 11
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
        at = "leader"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        leader = data[pos:end].decode()
        pos = end
        at = "member_id"
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
        members: list[JoinGroupResponseMember] = []
        for _ in range(count):
            members_item, pos = _read_join_group_response_member_v6(data, pos, size)
            members.append(members_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("JoinGroupResponse", at, pos, error) from None
    return JoinGroupResponse(throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, False, member_id, members), pos


def _write_join_group_response_v7(w: Append, x: JoinGroupResponse) -> None:
    if x.skip_assignment:
        raise unsupported_field("JoinGroupResponse", "skip_assignment", "7-8")
    protocol_type = x.protocol_type
    w(_pack_ihi(x.throttle_time_ms, x.error_code, x.generation_id))
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
    leader = x.leader
    leader_bytes = leader.encode()
    count = len(leader_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(leader_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(member_id_bytes)
    members = x.members
    count = len(members) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for members_item in members:
        _write_join_group_response_member_v6(w, members_item)
    w(b"\0")


def _read_join_group_response_v9(data: bytes, pos: int, size: int) -> tuple[JoinGroupResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, generation_id, count = _unpack_ihiB(data, pos)
        pos += 11
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
        at = "leader"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        leader = data[pos:end].decode()
        pos = end
        at = "skip_assignment"
        skip_assignment, count = _unpack_TB(data, pos)
        pos += 2
        at = "member_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        member_id = data[pos:end].decode()
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
        members: list[JoinGroupResponseMember] = []
        for _ in range(count):
            members_item, pos = _read_join_group_response_member_v6(data, pos, size)
            members.append(members_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("JoinGroupResponse", at, pos, error) from None
    return JoinGroupResponse(throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, skip_assignment, member_id, members), pos


def _write_join_group_response_v9(w: Append, x: JoinGroupResponse) -> None:
    protocol_type = x.protocol_type
    w(_pack_ihi(x.throttle_time_ms, x.error_code, x.generation_id))
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
    leader = x.leader
    leader_bytes = leader.encode()
    count = len(leader_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(leader_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(_pack_TB(x.skip_assignment, count) if count < 128 else _pack_T(x.skip_assignment) + string_length(count))
    w(member_id_bytes)
    members = x.members
    count = len(members) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for members_item in members:
        _write_join_group_response_member_v6(w, members_item)
    w(b"\0")
JoinGroupResponse._READERS = {
    0: _read_join_group_response_v0,
    1: _read_join_group_response_v0,
    2: _read_join_group_response_v2,
    3: _read_join_group_response_v2,
    4: _read_join_group_response_v2,
    5: _read_join_group_response_v5,
    6: _read_join_group_response_v6,
    7: _read_join_group_response_v7,
    8: _read_join_group_response_v7,
    9: _read_join_group_response_v9,
}
JoinGroupResponse._WRITERS = {
    0: _write_join_group_response_v0,
    1: _write_join_group_response_v0,
    2: _write_join_group_response_v2,
    3: _write_join_group_response_v2,
    4: _write_join_group_response_v2,
    5: _write_join_group_response_v5,
    6: _write_join_group_response_v6,
    7: _write_join_group_response_v7,
    8: _write_join_group_response_v7,
    9: _write_join_group_response_v9,
}
