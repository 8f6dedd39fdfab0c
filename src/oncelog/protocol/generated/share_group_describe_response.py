# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ii = _Struct(">ii").pack
_pack_iiB = _Struct(">iiB").pack
_pack_ix = _Struct(">ix").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_iiB = _Struct(">iiB").unpack_from


class TopicPartitions(Struct):
    __slots__ = ("topic_id", "topic_name", "partitions")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 0+
        topic_name: str = "",  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions


class Assignment(Struct):
    __slots__ = ("topic_partitions",)

    def __init__(
        self,
        topic_partitions: list[TopicPartitions] = EMPTY,  # 0+
    ) -> None:
        self.topic_partitions = [] if topic_partitions is EMPTY else topic_partitions


class Member(Struct):
    __slots__ = ("member_id", "rack_id", "member_epoch", "client_id", "client_host", "subscribed_topic_names", "assignment")

    def __init__(
        self,
        member_id: str = "",  # 0+
        rack_id: str | None = None,  # 0+
        member_epoch: int = 0,  # 0+
        client_id: str = "",  # 0+
        client_host: str = "",  # 0+
        subscribed_topic_names: list[str] = EMPTY,  # 0+
        assignment: Assignment | None = None,  # 0+
    ) -> None:
        self.member_id = member_id
        self.rack_id = rack_id
        self.member_epoch = member_epoch
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names = [] if subscribed_topic_names is EMPTY else subscribed_topic_names
        self.assignment = Assignment() if assignment is None else assignment


class DescribedGroup(Struct):
    __slots__ = ("error_code", "error_message", "group_id", "group_state", "group_epoch", "assignment_epoch", "assignor_name", "members", "authorized_operations")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 0+
        group_id: str = "",  # 0+
        group_state: str = "",  # 0+
        group_epoch: int = 0,  # 0+
        assignment_epoch: int = 0,  # 0+
        assignor_name: str = "",  # 0+
        members: list[Member] = EMPTY,  # 0+
        authorized_operations: int = -2147483648,  # 0+
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.assignor_name = assignor_name
        self.members = [] if members is EMPTY else members
        self.authorized_operations = authorized_operations


class ShareGroupDescribeResponse(Message):
    API_KEY = 77
    MIN_VERSION = 1
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        groups: list[DescribedGroup] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is EMPTY else groups


def _read_topic_partitions_v1(data: bytes, pos: int, size: int) -> tuple[TopicPartitions, int]:
    at = "topic_id"
    try:
        topic_id, count = _unpack_UB(data, pos)
        pos += 17
        at = "topic_name"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        topic_name = data[pos:end].decode()
        pos = end
        at = "partitions"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareGroupDescribeResponse.TopicPartitions", at, pos, error) from None
    return TopicPartitions(topic_id, topic_name, partitions), pos


def _write_topic_partitions_v1(w: Append, x: TopicPartitions) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ShareGroupDescribeResponse", "topic_id", topic_id)
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + string_length(count))
    w(topic_name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_assignment_v1(data: bytes, pos: int, size: int) -> tuple[Assignment, int]:
    at = "topic_partitions"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topic_partitions: list[TopicPartitions] = []
        for _ in range(count):
            topic_partitions_item, pos = _read_topic_partitions_v1(data, pos, size)
            topic_partitions.append(topic_partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareGroupDescribeResponse.Assignment", at, pos, error) from None
    return Assignment(topic_partitions), pos


def _write_assignment_v1(w: Append, x: Assignment) -> None:
    topic_partitions = x.topic_partitions
    count = len(topic_partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topic_partitions_item in topic_partitions:
        _write_topic_partitions_v1(w, topic_partitions_item)
    w(b"\0")


def _read_member_v1(data: bytes, pos: int, size: int) -> tuple[Member, int]:
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
        at = "rack_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        rack_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            rack_id = data[pos:end].decode()
            pos = end
        at = "member_epoch"
        member_epoch, count = _unpack_iB(data, pos)
        pos += 5
        at = "client_id"
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
        at = "subscribed_topic_names"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        subscribed_topic_names: list[str] = []
        for _ in range(count):
            count = data[pos]
            pos += 1
            if count > 127:
                count, pos = string_length_tail(data, pos, count)
            if not count:
                raise null_value(count)
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            subscribed_topic_names_item = data[pos:end].decode()
            pos = end
            subscribed_topic_names.append(subscribed_topic_names_item)
        at = "assignment"
        assignment, pos = _read_assignment_v1(data, pos, size)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareGroupDescribeResponse.Member", at, pos, error) from None
    return Member(member_id, rack_id, member_epoch, client_id, client_host, subscribed_topic_names, assignment), pos


def _write_member_v1(w: Append, x: Member) -> None:
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(member_id_bytes)
    rack_id = x.rack_id
    if rack_id is None:
        w(b"\0")
    else:
        rack_id_bytes = rack_id.encode()
        count = len(rack_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(rack_id_bytes)
    client_id = x.client_id
    client_id_bytes = client_id.encode()
    count = len(client_id_bytes) + 1
    w(_pack_iB(x.member_epoch, count) if count < 128 else _pack_i(x.member_epoch) + string_length(count))
    w(client_id_bytes)
    client_host = x.client_host
    client_host_bytes = client_host.encode()
    count = len(client_host_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(client_host_bytes)
    subscribed_topic_names = x.subscribed_topic_names
    count = len(subscribed_topic_names) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for subscribed_topic_names_item in subscribed_topic_names:
        subscribed_topic_names_item_bytes = subscribed_topic_names_item.encode()
        count = len(subscribed_topic_names_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(subscribed_topic_names_item_bytes)
    assignment = x.assignment
    _write_assignment_v1(w, assignment)
    w(b"\0")


def _read_described_group_v1(data: bytes, pos: int, size: int) -> tuple[DescribedGroup, int]:
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
        at = "group_epoch"
        group_epoch, assignment_epoch, count = _unpack_iiB(data, pos)
        pos += 9
        at = "assignor_name"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        assignor_name = data[pos:end].decode()
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
        members: list[Member] = []
        for _ in range(count):
            members_item, pos = _read_member_v1(data, pos, size)
            members.append(members_item)
        at = "authorized_operations"
        authorized_operations, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareGroupDescribeResponse.DescribedGroup", at, pos, error) from None
    return DescribedGroup(error_code, error_message, group_id, group_state, group_epoch, assignment_epoch, assignor_name, members, authorized_operations), pos


def _write_described_group_v1(w: Append, x: DescribedGroup) -> None:
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
    assignor_name = x.assignor_name
    assignor_name_bytes = assignor_name.encode()
    count = len(assignor_name_bytes) + 1
    w(_pack_iiB(x.group_epoch, x.assignment_epoch, count) if count < 128 else _pack_ii(x.group_epoch, x.assignment_epoch) + string_length(count))
    w(assignor_name_bytes)
    members = x.members
    count = len(members) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for members_item in members:
        _write_member_v1(w, members_item)
    w(_pack_ix(x.authorized_operations))


def _read_share_group_describe_response_v1(data: bytes, pos: int, size: int) -> tuple[ShareGroupDescribeResponse, int]:
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
            groups_item, pos = _read_described_group_v1(data, pos, size)
            groups.append(groups_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareGroupDescribeResponse", at, pos, error) from None
    return ShareGroupDescribeResponse(throttle_time_ms, groups), pos


def _write_share_group_describe_response_v1(w: Append, x: ShareGroupDescribeResponse) -> None:
    groups = x.groups
    count = len(groups) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for groups_item in groups:
        _write_described_group_v1(w, groups_item)
    w(b"\0")
ShareGroupDescribeResponse._READERS = {
    1: _read_share_group_describe_response_v1,
}
ShareGroupDescribeResponse._WRITERS = {
    1: _write_share_group_describe_response_v1,
}
