# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_hB = _Struct(">hB").pack
_pack_hh = _Struct(">hh").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ii = _Struct(">ii").pack
_pack_ix = _Struct(">ix").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hh = _Struct(">hh").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class DescribedGroupMember(Struct):
    __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "member_metadata", "member_assignment")

    def __init__(
        self,
        member_id: str = "",  # 0+
        group_instance_id: str | None = None,  # 4+, ignorable
        client_id: str = "",  # 0+
        client_host: str = "",  # 0+
        member_metadata: bytes = b"",  # 0+
        member_assignment: bytes = b"",  # 0+
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.member_metadata = member_metadata
        self.member_assignment = member_assignment


class DescribedGroup(Struct):
    __slots__ = ("error_code", "error_message", "group_id", "group_state", "protocol_type", "protocol_data", "members", "authorized_operations")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 6+
        group_id: str = "",  # 0+
        group_state: str = "",  # 0+
        protocol_type: str = "",  # 0+
        protocol_data: str = "",  # 0+
        members: list[DescribedGroupMember] = EMPTY,  # 0+
        authorized_operations: int = -2147483648,  # 3+
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.protocol_type = protocol_type
        self.protocol_data = protocol_data
        self.members = [] if members is EMPTY else members
        self.authorized_operations = authorized_operations


class DescribeGroupsResponse(Message):
    API_KEY = 15
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 5
    __slots__ = ("throttle_time_ms", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 1+, ignorable
        groups: list[DescribedGroup] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is EMPTY else groups


def _read_described_group_member_v0(data: bytes, pos: int, size: int) -> tuple[DescribedGroupMember, int]:
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
        at = "client_id"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        client_id = data[pos:end].decode()
        pos = end
        at = "client_host"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        client_host = data[pos:end].decode()
        pos = end
        at = "member_metadata"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_metadata = data[pos:end]
        pos = end
        at = "member_assignment"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_assignment = data[pos:end]
        pos = end
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsResponse.DescribedGroupMember", at, pos, error) from None
    return DescribedGroupMember(member_id, None, client_id, client_host, member_metadata, member_assignment), pos


def _write_described_group_member_v0(w: Append, x: DescribedGroupMember) -> None:
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_h(len(member_id_bytes)))
    w(member_id_bytes)
    client_id = x.client_id
    client_id_bytes = client_id.encode()
    w(_pack_h(len(client_id_bytes)))
    w(client_id_bytes)
    client_host = x.client_host
    client_host_bytes = client_host.encode()
    w(_pack_h(len(client_host_bytes)))
    w(client_host_bytes)
    member_metadata = x.member_metadata
    w(_pack_i(len(member_metadata)))
    w(member_metadata)
    member_assignment = x.member_assignment
    w(_pack_i(len(member_assignment)))
    w(member_assignment)


def _read_described_group_member_v4(data: bytes, pos: int, size: int) -> tuple[DescribedGroupMember, int]:
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
        at = "client_id"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        client_id = data[pos:end].decode()
        pos = end
        at = "client_host"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        client_host = data[pos:end].decode()
        pos = end
        at = "member_metadata"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_metadata = data[pos:end]
        pos = end
        at = "member_assignment"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_assignment = data[pos:end]
        pos = end
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsResponse.DescribedGroupMember", at, pos, error) from None
    return DescribedGroupMember(member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment), pos


def _write_described_group_member_v4(w: Append, x: DescribedGroupMember) -> None:
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_h(len(member_id_bytes)))
    w(member_id_bytes)
    group_instance_id = x.group_instance_id
    group_instance_id_bytes = b"" if group_instance_id is None else group_instance_id.encode()
    w(_pack_h(-1 if group_instance_id is None else len(group_instance_id_bytes)))
    w(group_instance_id_bytes)
    client_id = x.client_id
    client_id_bytes = client_id.encode()
    w(_pack_h(len(client_id_bytes)))
    w(client_id_bytes)
    client_host = x.client_host
    client_host_bytes = client_host.encode()
    w(_pack_h(len(client_host_bytes)))
    w(client_host_bytes)
    member_metadata = x.member_metadata
    w(_pack_i(len(member_metadata)))
    w(member_metadata)
    member_assignment = x.member_assignment
    w(_pack_i(len(member_assignment)))
    w(member_assignment)


def _read_described_group_member_v5(data: bytes, pos: int, size: int) -> tuple[DescribedGroupMember, int]:
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
        at = "client_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        client_id = data[pos:end].decode()
        pos = end
        at = "client_host"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        client_host = data[pos:end].decode()
        pos = end
        at = "member_metadata"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        member_metadata = data[pos:end]
        pos = end
        at = "member_assignment"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        member_assignment = data[pos:end]
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsResponse.DescribedGroupMember", at, pos, error) from None
    return DescribedGroupMember(member_id, group_instance_id, client_id, client_host, member_metadata, member_assignment), pos


def _write_described_group_member_v5(w: Append, x: DescribedGroupMember) -> None:
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
    client_id = x.client_id
    client_id_bytes = client_id.encode()
    count = len(client_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(client_id_bytes)
    client_host = x.client_host
    client_host_bytes = client_host.encode()
    count = len(client_host_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(client_host_bytes)
    member_metadata = x.member_metadata
    count = len(member_metadata) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(member_metadata)
    member_assignment = x.member_assignment
    count = len(member_assignment) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(member_assignment)
    w(b"\0")


def _read_described_group_v0(data: bytes, pos: int, size: int) -> tuple[DescribedGroup, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "group_id"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "group_state"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_state = data[pos:end].decode()
        pos = end
        at = "protocol_type"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
        at = "protocol_data"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        protocol_data = data[pos:end].decode()
        pos = end
        at = "members"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        members: list[DescribedGroupMember] = []
        for _ in range(count):
            members_item, pos = _read_described_group_member_v0(data, pos, size)
            members.append(members_item)
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsResponse.DescribedGroup", at, pos, error) from None
    return DescribedGroup(error_code, None, group_id, group_state, protocol_type, protocol_data, members, -2147483648), pos


def _write_described_group_v0(w: Append, x: DescribedGroup) -> None:
    if x.error_message is not None:
        raise unsupported_field("DescribeGroupsResponse.DescribedGroup", "error_message", "0-2")
    if x.authorized_operations != -2147483648:
        raise unsupported_field("DescribeGroupsResponse.DescribedGroup", "authorized_operations", "0-2")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_hh(x.error_code, len(group_id_bytes)))
    w(group_id_bytes)
    group_state = x.group_state
    group_state_bytes = group_state.encode()
    w(_pack_h(len(group_state_bytes)))
    w(group_state_bytes)
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    w(_pack_h(len(protocol_type_bytes)))
    w(protocol_type_bytes)
    protocol_data = x.protocol_data
    protocol_data_bytes = protocol_data.encode()
    w(_pack_h(len(protocol_data_bytes)))
    w(protocol_data_bytes)
    members = x.members
    w(_pack_i(len(members)))
    for members_item in members:
        _write_described_group_member_v0(w, members_item)


def _read_described_group_v3(data: bytes, pos: int, size: int) -> tuple[DescribedGroup, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "group_id"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "group_state"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_state = data[pos:end].decode()
        pos = end
        at = "protocol_type"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
        at = "protocol_data"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        protocol_data = data[pos:end].decode()
        pos = end
        at = "members"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        members: list[DescribedGroupMember] = []
        for _ in range(count):
            members_item, pos = _read_described_group_member_v0(data, pos, size)
            members.append(members_item)
        at = "authorized_operations"
        authorized_operations, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsResponse.DescribedGroup", at, pos, error) from None
    return DescribedGroup(error_code, None, group_id, group_state, protocol_type, protocol_data, members, authorized_operations), pos


def _write_described_group_v3(w: Append, x: DescribedGroup) -> None:
    if x.error_message is not None:
        raise unsupported_field("DescribeGroupsResponse.DescribedGroup", "error_message", "3")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_hh(x.error_code, len(group_id_bytes)))
    w(group_id_bytes)
    group_state = x.group_state
    group_state_bytes = group_state.encode()
    w(_pack_h(len(group_state_bytes)))
    w(group_state_bytes)
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    w(_pack_h(len(protocol_type_bytes)))
    w(protocol_type_bytes)
    protocol_data = x.protocol_data
    protocol_data_bytes = protocol_data.encode()
    w(_pack_h(len(protocol_data_bytes)))
    w(protocol_data_bytes)
    members = x.members
    w(_pack_i(len(members)))
    for members_item in members:
        _write_described_group_member_v0(w, members_item)
    w(_pack_i(x.authorized_operations))


def _read_described_group_v4(data: bytes, pos: int, size: int) -> tuple[DescribedGroup, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "group_id"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "group_state"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_state = data[pos:end].decode()
        pos = end
        at = "protocol_type"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
        at = "protocol_data"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        protocol_data = data[pos:end].decode()
        pos = end
        at = "members"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        members: list[DescribedGroupMember] = []
        for _ in range(count):
            members_item, pos = _read_described_group_member_v4(data, pos, size)
            members.append(members_item)
        at = "authorized_operations"
        authorized_operations, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsResponse.DescribedGroup", at, pos, error) from None
    return DescribedGroup(error_code, None, group_id, group_state, protocol_type, protocol_data, members, authorized_operations), pos


def _write_described_group_v4(w: Append, x: DescribedGroup) -> None:
    if x.error_message is not None:
        raise unsupported_field("DescribeGroupsResponse.DescribedGroup", "error_message", "4")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_hh(x.error_code, len(group_id_bytes)))
    w(group_id_bytes)
    group_state = x.group_state
    group_state_bytes = group_state.encode()
    w(_pack_h(len(group_state_bytes)))
    w(group_state_bytes)
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    w(_pack_h(len(protocol_type_bytes)))
    w(protocol_type_bytes)
    protocol_data = x.protocol_data
    protocol_data_bytes = protocol_data.encode()
    w(_pack_h(len(protocol_data_bytes)))
    w(protocol_data_bytes)
    members = x.members
    w(_pack_i(len(members)))
    for members_item in members:
        _write_described_group_member_v4(w, members_item)
    w(_pack_i(x.authorized_operations))


def _read_described_group_v5(data: bytes, pos: int, size: int) -> tuple[DescribedGroup, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "group_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "group_state"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        group_state = data[pos:end].decode()
        pos = end
        at = "protocol_type"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
        at = "protocol_data"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        protocol_data = data[pos:end].decode()
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
        members: list[DescribedGroupMember] = []
        for _ in range(count):
            members_item, pos = _read_described_group_member_v5(data, pos, size)
            members.append(members_item)
        at = "authorized_operations"
        authorized_operations, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsResponse.DescribedGroup", at, pos, error) from None
    return DescribedGroup(error_code, None, group_id, group_state, protocol_type, protocol_data, members, authorized_operations), pos


def _write_described_group_v5(w: Append, x: DescribedGroup) -> None:
    if x.error_message is not None:
        raise unsupported_field("DescribeGroupsResponse.DescribedGroup", "error_message", "5")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(_pack_hB(x.error_code, count) if count < 128 else _pack_h(x.error_code) + string_length(count))
    w(group_id_bytes)
    group_state = x.group_state
    group_state_bytes = group_state.encode()
    count = len(group_state_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_state_bytes)
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    count = len(protocol_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(protocol_type_bytes)
    protocol_data = x.protocol_data
    protocol_data_bytes = protocol_data.encode()
    count = len(protocol_data_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(protocol_data_bytes)
    members = x.members
    count = len(members) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for members_item in members:
        _write_described_group_member_v5(w, members_item)
    w(_pack_ix(x.authorized_operations))


def _read_described_group_v6(data: bytes, pos: int, size: int) -> tuple[DescribedGroup, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
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
        at = "group_id"
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
        at = "group_state"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        group_state = data[pos:end].decode()
        pos = end
        at = "protocol_type"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
        at = "protocol_data"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        protocol_data = data[pos:end].decode()
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
        members: list[DescribedGroupMember] = []
        for _ in range(count):
            members_item, pos = _read_described_group_member_v5(data, pos, size)
            members.append(members_item)
        at = "authorized_operations"
        authorized_operations, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsResponse.DescribedGroup", at, pos, error) from None
    return DescribedGroup(error_code, error_message, group_id, group_state, protocol_type, protocol_data, members, authorized_operations), pos


def _write_described_group_v6(w: Append, x: DescribedGroup) -> None:
    error_message = x.error_message
    w(_pack_h(x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    group_state = x.group_state
    group_state_bytes = group_state.encode()
    count = len(group_state_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_state_bytes)
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    count = len(protocol_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(protocol_type_bytes)
    protocol_data = x.protocol_data
    protocol_data_bytes = protocol_data.encode()
    count = len(protocol_data_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(protocol_data_bytes)
    members = x.members
    count = len(members) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for members_item in members:
        _write_described_group_member_v5(w, members_item)
    w(_pack_ix(x.authorized_operations))


def _read_describe_groups_response_v0(data: bytes, pos: int, size: int) -> tuple[DescribeGroupsResponse, int]:
    at = "groups"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        groups: list[DescribedGroup] = []
        for _ in range(count):
            groups_item, pos = _read_described_group_v0(data, pos, size)
            groups.append(groups_item)
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsResponse", at, pos, error) from None
    return DescribeGroupsResponse(0, groups), pos


def _write_describe_groups_response_v0(w: Append, x: DescribeGroupsResponse) -> None:
    groups = x.groups
    w(_pack_i(len(groups)))
    for groups_item in groups:
        _write_described_group_v0(w, groups_item)


def _read_describe_groups_response_v1(data: bytes, pos: int, size: int) -> tuple[DescribeGroupsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "groups"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        groups: list[DescribedGroup] = []
        for _ in range(count):
            groups_item, pos = _read_described_group_v0(data, pos, size)
            groups.append(groups_item)
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsResponse", at, pos, error) from None
    return DescribeGroupsResponse(throttle_time_ms, groups), pos


def _write_describe_groups_response_v1(w: Append, x: DescribeGroupsResponse) -> None:
    groups = x.groups
    w(_pack_ii(x.throttle_time_ms, len(groups)))
    for groups_item in groups:
        _write_described_group_v0(w, groups_item)


def _read_describe_groups_response_v3(data: bytes, pos: int, size: int) -> tuple[DescribeGroupsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "groups"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        groups: list[DescribedGroup] = []
        for _ in range(count):
            groups_item, pos = _read_described_group_v3(data, pos, size)
            groups.append(groups_item)
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsResponse", at, pos, error) from None
    return DescribeGroupsResponse(throttle_time_ms, groups), pos


def _write_describe_groups_response_v3(w: Append, x: DescribeGroupsResponse) -> None:
    groups = x.groups
    w(_pack_ii(x.throttle_time_ms, len(groups)))
    for groups_item in groups:
        _write_described_group_v3(w, groups_item)


def _read_describe_groups_response_v4(data: bytes, pos: int, size: int) -> tuple[DescribeGroupsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "groups"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        groups: list[DescribedGroup] = []
        for _ in range(count):
            groups_item, pos = _read_described_group_v4(data, pos, size)
            groups.append(groups_item)
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsResponse", at, pos, error) from None
    return DescribeGroupsResponse(throttle_time_ms, groups), pos


def _write_describe_groups_response_v4(w: Append, x: DescribeGroupsResponse) -> None:
    groups = x.groups
    w(_pack_ii(x.throttle_time_ms, len(groups)))
    for groups_item in groups:
        _write_described_group_v4(w, groups_item)


def _read_describe_groups_response_v5(data: bytes, pos: int, size: int) -> tuple[DescribeGroupsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "groups"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        groups: list[DescribedGroup] = []
        for _ in range(count):
            groups_item, pos = _read_described_group_v5(data, pos, size)
            groups.append(groups_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsResponse", at, pos, error) from None
    return DescribeGroupsResponse(throttle_time_ms, groups), pos


def _write_describe_groups_response_v5(w: Append, x: DescribeGroupsResponse) -> None:
    groups = x.groups
    count = len(groups) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for groups_item in groups:
        _write_described_group_v5(w, groups_item)
    w(b"\0")


def _read_describe_groups_response_v6(data: bytes, pos: int, size: int) -> tuple[DescribeGroupsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "groups"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        groups: list[DescribedGroup] = []
        for _ in range(count):
            groups_item, pos = _read_described_group_v6(data, pos, size)
            groups.append(groups_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsResponse", at, pos, error) from None
    return DescribeGroupsResponse(throttle_time_ms, groups), pos


def _write_describe_groups_response_v6(w: Append, x: DescribeGroupsResponse) -> None:
    groups = x.groups
    count = len(groups) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for groups_item in groups:
        _write_described_group_v6(w, groups_item)
    w(b"\0")
DescribeGroupsResponse._READERS = {
    0: _read_describe_groups_response_v0,
    1: _read_describe_groups_response_v1,
    2: _read_describe_groups_response_v1,
    3: _read_describe_groups_response_v3,
    4: _read_describe_groups_response_v4,
    5: _read_describe_groups_response_v5,
    6: _read_describe_groups_response_v6,
}
DescribeGroupsResponse._WRITERS = {
    0: _write_describe_groups_response_v0,
    1: _write_describe_groups_response_v1,
    2: _write_describe_groups_response_v1,
    3: _write_describe_groups_response_v3,
    4: _write_describe_groups_response_v4,
    5: _write_describe_groups_response_v5,
    6: _write_describe_groups_response_v6,
}
