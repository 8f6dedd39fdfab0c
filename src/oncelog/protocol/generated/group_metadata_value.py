# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_ih = _Struct(">ih").pack
_pack_ii = _Struct(">ii").pack
_pack_iiB = _Struct(">iiB").pack
_pack_iii = _Struct(">iii").pack
_pack_q = _Struct(">q").pack
_pack_qB = _Struct(">qB").pack
_pack_qi = _Struct(">qi").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ih = _Struct(">ih").unpack_from
_unpack_ii = _Struct(">ii").unpack_from
_unpack_iiB = _Struct(">iiB").unpack_from
_unpack_iii = _Struct(">iii").unpack_from
_unpack_qB = _Struct(">qB").unpack_from
_unpack_qi = _Struct(">qi").unpack_from


class MemberMetadata(Struct):
    __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "rebalance_timeout", "session_timeout", "subscription", "assignment")

    def __init__(
        self,
        member_id: str = "",  # 0+
        group_instance_id: str | None = None,  # 3+, ignorable
        client_id: str = "",  # 0+
        client_host: str = "",  # 0+
        rebalance_timeout: int = -1,  # 1+, ignorable
        session_timeout: int = 0,  # 0+
        subscription: bytes = b"",  # 0+
        assignment: bytes = b"",  # 0+
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout = rebalance_timeout
        self.session_timeout = session_timeout
        self.subscription = subscription
        self.assignment = assignment


class GroupMetadataValue(Message):
    API_KEY = 2
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    __slots__ = ("protocol_type", "generation", "protocol", "leader", "current_state_timestamp", "members")

    def __init__(
        self,
        protocol_type: str = "",  # 0+
        generation: int = 0,  # 0+
        protocol: str | None = "",  # 0+
        leader: str | None = "",  # 0+
        current_state_timestamp: int = -1,  # 2+, ignorable
        members: list[MemberMetadata] = EMPTY,  # 0+
    ) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members = [] if members is EMPTY else members


def _read_member_metadata_v0(data: bytes, pos: int, size: int) -> tuple[MemberMetadata, int]:
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
        at = "session_timeout"
        session_timeout, count = _unpack_ii(data, pos)
        pos += 8
        at = "subscription"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        subscription = data[pos:end]
        pos = end
        at = "assignment"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        assignment = data[pos:end]
        pos = end
    except READ_ERRORS as error:
        raise malformed("GroupMetadataValue.MemberMetadata", at, pos, error) from None
    return MemberMetadata(member_id, None, client_id, client_host, -1, session_timeout, subscription, assignment), pos


def _write_member_metadata_v0(w: Append, x: MemberMetadata) -> None:
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
    subscription = x.subscription
    w(_pack_ii(x.session_timeout, len(subscription)))
    w(subscription)
    assignment = x.assignment
    w(_pack_i(len(assignment)))
    w(assignment)


def _read_member_metadata_v1(data: bytes, pos: int, size: int) -> tuple[MemberMetadata, int]:
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
        at = "rebalance_timeout"
        rebalance_timeout, session_timeout, count = _unpack_iii(data, pos)
        pos += 12
        at = "subscription"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        subscription = data[pos:end]
        pos = end
        at = "assignment"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        assignment = data[pos:end]
        pos = end
    except READ_ERRORS as error:
        raise malformed("GroupMetadataValue.MemberMetadata", at, pos, error) from None
    return MemberMetadata(member_id, None, client_id, client_host, rebalance_timeout, session_timeout, subscription, assignment), pos


def _write_member_metadata_v1(w: Append, x: MemberMetadata) -> None:
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
    subscription = x.subscription
    w(_pack_iii(x.rebalance_timeout, x.session_timeout, len(subscription)))
    w(subscription)
    assignment = x.assignment
    w(_pack_i(len(assignment)))
    w(assignment)


def _read_member_metadata_v3(data: bytes, pos: int, size: int) -> tuple[MemberMetadata, int]:
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
        at = "rebalance_timeout"
        rebalance_timeout, session_timeout, count = _unpack_iii(data, pos)
        pos += 12
        at = "subscription"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        subscription = data[pos:end]
        pos = end
        at = "assignment"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        assignment = data[pos:end]
        pos = end
    except READ_ERRORS as error:
        raise malformed("GroupMetadataValue.MemberMetadata", at, pos, error) from None
    return MemberMetadata(member_id, group_instance_id, client_id, client_host, rebalance_timeout, session_timeout, subscription, assignment), pos


def _write_member_metadata_v3(w: Append, x: MemberMetadata) -> None:
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
    subscription = x.subscription
    w(_pack_iii(x.rebalance_timeout, x.session_timeout, len(subscription)))
    w(subscription)
    assignment = x.assignment
    w(_pack_i(len(assignment)))
    w(assignment)


def _read_member_metadata_v4(data: bytes, pos: int, size: int) -> tuple[MemberMetadata, int]:
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
        at = "rebalance_timeout"
        rebalance_timeout, session_timeout, count = _unpack_iiB(data, pos)
        pos += 9
        at = "subscription"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        subscription = data[pos:end]
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
        raise malformed("GroupMetadataValue.MemberMetadata", at, pos, error) from None
    return MemberMetadata(member_id, group_instance_id, client_id, client_host, rebalance_timeout, session_timeout, subscription, assignment), pos


def _write_member_metadata_v4(w: Append, x: MemberMetadata) -> None:
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
    subscription = x.subscription
    count = len(subscription) + 1
    w(_pack_iiB(x.rebalance_timeout, x.session_timeout, count) if count < 128 else _pack_ii(x.rebalance_timeout, x.session_timeout) + uvarint(count))
    w(subscription)
    assignment = x.assignment
    count = len(assignment) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(assignment)
    w(b"\0")


def _read_group_metadata_value_v0(data: bytes, pos: int, size: int) -> tuple[GroupMetadataValue, int]:
    at = "protocol_type"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
        at = "generation"
        generation, count = _unpack_ih(data, pos)
        pos += 6
        at = "protocol"
        protocol: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            protocol = data[pos:end].decode()
            pos = end
        at = "leader"
        count, = _unpack_h(data, pos)
        pos += 2
        leader: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            leader = data[pos:end].decode()
            pos = end
        at = "members"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        members: list[MemberMetadata] = []
        for _ in range(count):
            members_item, pos = _read_member_metadata_v0(data, pos, size)
            members.append(members_item)
    except READ_ERRORS as error:
        raise malformed("GroupMetadataValue", at, pos, error) from None
    return GroupMetadataValue(protocol_type, generation, protocol, leader, -1, members), pos


def _write_group_metadata_value_v0(w: Append, x: GroupMetadataValue) -> None:
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    w(_pack_h(len(protocol_type_bytes)))
    w(protocol_type_bytes)
    protocol = x.protocol
    protocol_bytes = b"" if protocol is None else protocol.encode()
    w(_pack_ih(x.generation, -1 if protocol is None else len(protocol_bytes)))
    w(protocol_bytes)
    leader = x.leader
    leader_bytes = b"" if leader is None else leader.encode()
    w(_pack_h(-1 if leader is None else len(leader_bytes)))
    w(leader_bytes)
    members = x.members
    w(_pack_i(len(members)))
    for members_item in members:
        _write_member_metadata_v0(w, members_item)


def _read_group_metadata_value_v1(data: bytes, pos: int, size: int) -> tuple[GroupMetadataValue, int]:
    at = "protocol_type"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
        at = "generation"
        generation, count = _unpack_ih(data, pos)
        pos += 6
        at = "protocol"
        protocol: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            protocol = data[pos:end].decode()
            pos = end
        at = "leader"
        count, = _unpack_h(data, pos)
        pos += 2
        leader: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            leader = data[pos:end].decode()
            pos = end
        at = "members"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        members: list[MemberMetadata] = []
        for _ in range(count):
            members_item, pos = _read_member_metadata_v1(data, pos, size)
            members.append(members_item)
    except READ_ERRORS as error:
        raise malformed("GroupMetadataValue", at, pos, error) from None
    return GroupMetadataValue(protocol_type, generation, protocol, leader, -1, members), pos


def _write_group_metadata_value_v1(w: Append, x: GroupMetadataValue) -> None:
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    w(_pack_h(len(protocol_type_bytes)))
    w(protocol_type_bytes)
    protocol = x.protocol
    protocol_bytes = b"" if protocol is None else protocol.encode()
    w(_pack_ih(x.generation, -1 if protocol is None else len(protocol_bytes)))
    w(protocol_bytes)
    leader = x.leader
    leader_bytes = b"" if leader is None else leader.encode()
    w(_pack_h(-1 if leader is None else len(leader_bytes)))
    w(leader_bytes)
    members = x.members
    w(_pack_i(len(members)))
    for members_item in members:
        _write_member_metadata_v1(w, members_item)


def _read_group_metadata_value_v2(data: bytes, pos: int, size: int) -> tuple[GroupMetadataValue, int]:
    at = "protocol_type"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
        at = "generation"
        generation, count = _unpack_ih(data, pos)
        pos += 6
        at = "protocol"
        protocol: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            protocol = data[pos:end].decode()
            pos = end
        at = "leader"
        count, = _unpack_h(data, pos)
        pos += 2
        leader: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            leader = data[pos:end].decode()
            pos = end
        at = "current_state_timestamp"
        current_state_timestamp, count = _unpack_qi(data, pos)
        pos += 12
        at = "members"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        members: list[MemberMetadata] = []
        for _ in range(count):
            members_item, pos = _read_member_metadata_v1(data, pos, size)
            members.append(members_item)
    except READ_ERRORS as error:
        raise malformed("GroupMetadataValue", at, pos, error) from None
    return GroupMetadataValue(protocol_type, generation, protocol, leader, current_state_timestamp, members), pos


def _write_group_metadata_value_v2(w: Append, x: GroupMetadataValue) -> None:
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    w(_pack_h(len(protocol_type_bytes)))
    w(protocol_type_bytes)
    protocol = x.protocol
    protocol_bytes = b"" if protocol is None else protocol.encode()
    w(_pack_ih(x.generation, -1 if protocol is None else len(protocol_bytes)))
    w(protocol_bytes)
    leader = x.leader
    leader_bytes = b"" if leader is None else leader.encode()
    w(_pack_h(-1 if leader is None else len(leader_bytes)))
    w(leader_bytes)
    members = x.members
    w(_pack_qi(x.current_state_timestamp, len(members)))
    for members_item in members:
        _write_member_metadata_v1(w, members_item)


def _read_group_metadata_value_v3(data: bytes, pos: int, size: int) -> tuple[GroupMetadataValue, int]:
    at = "protocol_type"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
        at = "generation"
        generation, count = _unpack_ih(data, pos)
        pos += 6
        at = "protocol"
        protocol: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            protocol = data[pos:end].decode()
            pos = end
        at = "leader"
        count, = _unpack_h(data, pos)
        pos += 2
        leader: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            leader = data[pos:end].decode()
            pos = end
        at = "current_state_timestamp"
        current_state_timestamp, count = _unpack_qi(data, pos)
        pos += 12
        at = "members"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        members: list[MemberMetadata] = []
        for _ in range(count):
            members_item, pos = _read_member_metadata_v3(data, pos, size)
            members.append(members_item)
    except READ_ERRORS as error:
        raise malformed("GroupMetadataValue", at, pos, error) from None
    return GroupMetadataValue(protocol_type, generation, protocol, leader, current_state_timestamp, members), pos


def _write_group_metadata_value_v3(w: Append, x: GroupMetadataValue) -> None:
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    w(_pack_h(len(protocol_type_bytes)))
    w(protocol_type_bytes)
    protocol = x.protocol
    protocol_bytes = b"" if protocol is None else protocol.encode()
    w(_pack_ih(x.generation, -1 if protocol is None else len(protocol_bytes)))
    w(protocol_bytes)
    leader = x.leader
    leader_bytes = b"" if leader is None else leader.encode()
    w(_pack_h(-1 if leader is None else len(leader_bytes)))
    w(leader_bytes)
    members = x.members
    w(_pack_qi(x.current_state_timestamp, len(members)))
    for members_item in members:
        _write_member_metadata_v3(w, members_item)


def _read_group_metadata_value_v4(data: bytes, pos: int, size: int) -> tuple[GroupMetadataValue, int]:
    at = "protocol_type"
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
        protocol_type = data[pos:end].decode()
        pos = end
        at = "generation"
        generation, count = _unpack_iB(data, pos)
        pos += 5
        at = "protocol"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        protocol: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            protocol = data[pos:end].decode()
            pos = end
        at = "leader"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        leader: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            leader = data[pos:end].decode()
            pos = end
        at = "current_state_timestamp"
        current_state_timestamp, count = _unpack_qB(data, pos)
        pos += 9
        at = "members"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        members: list[MemberMetadata] = []
        for _ in range(count):
            members_item, pos = _read_member_metadata_v4(data, pos, size)
            members.append(members_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("GroupMetadataValue", at, pos, error) from None
    return GroupMetadataValue(protocol_type, generation, protocol, leader, current_state_timestamp, members), pos


def _write_group_metadata_value_v4(w: Append, x: GroupMetadataValue) -> None:
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    count = len(protocol_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(protocol_type_bytes)
    protocol = x.protocol
    w(_pack_i(x.generation))
    if protocol is None:
        w(b"\0")
    else:
        protocol_bytes = protocol.encode()
        count = len(protocol_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(protocol_bytes)
    leader = x.leader
    if leader is None:
        w(b"\0")
    else:
        leader_bytes = leader.encode()
        count = len(leader_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(leader_bytes)
    members = x.members
    count = len(members) + 1
    w(_pack_qB(x.current_state_timestamp, count) if count < 128 else _pack_q(x.current_state_timestamp) + uvarint(count))
    for members_item in members:
        _write_member_metadata_v4(w, members_item)
    w(b"\0")
GroupMetadataValue._READERS = {
    0: _read_group_metadata_value_v0,
    1: _read_group_metadata_value_v1,
    2: _read_group_metadata_value_v2,
    3: _read_group_metadata_value_v3,
    4: _read_group_metadata_value_v4,
}
GroupMetadataValue._WRITERS = {
    0: _write_group_metadata_value_v0,
    1: _write_group_metadata_value_v1,
    2: _write_group_metadata_value_v2,
    3: _write_group_metadata_value_v3,
    4: _write_group_metadata_value_v4,
}
