# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_ih = _Struct(">ih").pack
_pack_ii = _Struct(">ii").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_iib = _Struct(">iib").unpack_from


class TopicPartitions(Struct):
    __slots__ = ("topic_id", "partitions")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class Assignment(Struct):
    __slots__ = ("topic_partitions",)

    def __init__(
        self,
        topic_partitions: list[TopicPartitions] = EMPTY,  # 0+
    ) -> None:
        self.topic_partitions = [] if topic_partitions is EMPTY else topic_partitions


class ShareGroupHeartbeatResponse(Message):
    API_KEY = 76
    MIN_VERSION = 1
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "member_id", "member_epoch", "heartbeat_interval_ms", "assignment")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 0+
        member_id: str | None = None,  # 0+
        member_epoch: int = 0,  # 0+
        heartbeat_interval_ms: int = 0,  # 0+
        assignment: Assignment | None = None,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment


def _read_topic_partitions_v1(data: bytes, pos: int, size: int) -> tuple[TopicPartitions, int]:
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
        raise malformed("ShareGroupHeartbeatResponse.TopicPartitions", at, pos, error) from None
    return TopicPartitions(topic_id, partitions), pos


def _write_topic_partitions_v1(w: Append, x: TopicPartitions) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ShareGroupHeartbeatResponse", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
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
        raise malformed("ShareGroupHeartbeatResponse.Assignment", at, pos, error) from None
    return Assignment(topic_partitions), pos


def _write_assignment_v1(w: Append, x: Assignment) -> None:
    topic_partitions = x.topic_partitions
    count = len(topic_partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topic_partitions_item in topic_partitions:
        _write_topic_partitions_v1(w, topic_partitions_item)
    w(b"\0")


def _read_share_group_heartbeat_response_v1(data: bytes, pos: int, size: int) -> tuple[ShareGroupHeartbeatResponse, int]:
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
        at = "member_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        member_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            member_id = data[pos:end].decode()
            pos = end
        at = "member_epoch"
        member_epoch, heartbeat_interval_ms, present = _unpack_iib(data, pos)
        pos += 9
        assignment: Assignment | None = None
        if present >= 0:
            assignment, pos = _read_assignment_v1(data, pos, size)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareGroupHeartbeatResponse", at, pos, error) from None
    return ShareGroupHeartbeatResponse(throttle_time_ms, error_code, error_message, member_id, member_epoch, heartbeat_interval_ms, assignment), pos


def _write_share_group_heartbeat_response_v1(w: Append, x: ShareGroupHeartbeatResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    member_id = x.member_id
    if member_id is None:
        w(b"\0")
    else:
        member_id_bytes = member_id.encode()
        count = len(member_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(member_id_bytes)
    assignment = x.assignment
    w(_pack_ii(x.member_epoch, x.heartbeat_interval_ms))
    if assignment is None:
        w(b"\xff")
    else:
        w(b"\x01")
        _write_assignment_v1(w, assignment)
    w(b"\0")
ShareGroupHeartbeatResponse._READERS = {
    1: _read_share_group_heartbeat_response_v1,
}
ShareGroupHeartbeatResponse._WRITERS = {
    1: _write_share_group_heartbeat_response_v1,
}
