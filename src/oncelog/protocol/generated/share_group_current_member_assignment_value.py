# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_iib = _Struct(">iib").pack
_pack_iibB = _Struct(">iibB").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_iibB = _Struct(">iibB").unpack_from


class TopicPartitions(Struct):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class ShareGroupCurrentMemberAssignmentValue(Message):
    API_KEY = 14
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("member_epoch", "previous_member_epoch", "state", "assigned_partitions")

    def __init__(
        self,
        member_epoch: int = 0,  # 0+
        previous_member_epoch: int = 0,  # 0+
        state: int = 0,  # 0+
        assigned_partitions: list[TopicPartitions] = EMPTY,  # 0+
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is EMPTY else assigned_partitions


def _read_topic_partitions_v0(data: bytes, pos: int, size: int) -> tuple[TopicPartitions, int]:
    at = "topic_id"
    try:
        topic_id, count = _unpack_UB(data, pos)
        pos += 17
        at = "partitions"
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
        raise malformed("ShareGroupCurrentMemberAssignmentValue.TopicPartitions", at, pos, error) from None
    return TopicPartitions(topic_id, partitions), pos


def _write_topic_partitions_v0(w: Append, x: TopicPartitions) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ShareGroupCurrentMemberAssignmentValue", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_share_group_current_member_assignment_value_v0(data: bytes, pos: int, size: int) -> tuple[ShareGroupCurrentMemberAssignmentValue, int]:
    at = "member_epoch"
    try:
        member_epoch, previous_member_epoch, state, count = _unpack_iibB(data, pos)
        pos += 10
        at = "assigned_partitions"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        assigned_partitions: list[TopicPartitions] = []
        for _ in range(count):
            assigned_partitions_item, pos = _read_topic_partitions_v0(data, pos, size)
            assigned_partitions.append(assigned_partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareGroupCurrentMemberAssignmentValue", at, pos, error) from None
    return ShareGroupCurrentMemberAssignmentValue(member_epoch, previous_member_epoch, state, assigned_partitions), pos


def _write_share_group_current_member_assignment_value_v0(w: Append, x: ShareGroupCurrentMemberAssignmentValue) -> None:
    assigned_partitions = x.assigned_partitions
    count = len(assigned_partitions) + 1
    w(_pack_iibB(x.member_epoch, x.previous_member_epoch, x.state, count) if count < 128 else _pack_iib(x.member_epoch, x.previous_member_epoch, x.state) + uvarint(count))
    for assigned_partitions_item in assigned_partitions:
        _write_topic_partitions_v0(w, assigned_partitions_item)
    w(b"\0")
ShareGroupCurrentMemberAssignmentValue._READERS = {
    0: _read_share_group_current_member_assignment_value_v0,
}
ShareGroupCurrentMemberAssignmentValue._WRITERS = {
    0: _write_share_group_current_member_assignment_value_v0,
}
