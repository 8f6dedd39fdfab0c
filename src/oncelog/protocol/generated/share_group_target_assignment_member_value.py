# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_unpack_UB = _Struct(">16sB").unpack_from


class TopicPartition(Struct):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class ShareGroupTargetAssignmentMemberValue(Message):
    API_KEY = 13
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("topic_partitions",)

    def __init__(
        self,
        topic_partitions: list[TopicPartition] = EMPTY,  # 0+
    ) -> None:
        self.topic_partitions = [] if topic_partitions is EMPTY else topic_partitions


def _read_topic_partition_v0(data: bytes, pos: int, size: int) -> tuple[TopicPartition, int]:
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
        raise malformed("ShareGroupTargetAssignmentMemberValue.TopicPartition", at, pos, error) from None
    return TopicPartition(topic_id, partitions), pos


def _write_topic_partition_v0(w: Append, x: TopicPartition) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ShareGroupTargetAssignmentMemberValue", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_share_group_target_assignment_member_value_v0(data: bytes, pos: int, size: int) -> tuple[ShareGroupTargetAssignmentMemberValue, int]:
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
        topic_partitions: list[TopicPartition] = []
        for _ in range(count):
            topic_partitions_item, pos = _read_topic_partition_v0(data, pos, size)
            topic_partitions.append(topic_partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareGroupTargetAssignmentMemberValue", at, pos, error) from None
    return ShareGroupTargetAssignmentMemberValue(topic_partitions), pos


def _write_share_group_target_assignment_member_value_v0(w: Append, x: ShareGroupTargetAssignmentMemberValue) -> None:
    topic_partitions = x.topic_partitions
    count = len(topic_partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topic_partitions_item in topic_partitions:
        _write_topic_partition_v0(w, topic_partitions_item)
    w(b"\0")
ShareGroupTargetAssignmentMemberValue._READERS = {
    0: _read_share_group_target_assignment_member_value_v0,
}
ShareGroupTargetAssignmentMemberValue._WRITERS = {
    0: _write_share_group_target_assignment_member_value_v0,
}
