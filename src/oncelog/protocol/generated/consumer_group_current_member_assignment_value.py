# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, ZERO_UUID, Append, Buffer, Message, Struct, Uuid, bad_uuid, malformed, many_tags, null_value, overrun, read_uvarint, skip_tags, tag_size, uvarint, uvarint_tail, write_tags

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_iib = _Struct(">iib").pack
_pack_iibB = _Struct(">iibB").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_iibB = _Struct(">iibB").unpack_from


class TopicPartitions(Struct):
    __slots__ = ("topic_id", "partitions", "assignment_epochs")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 0+
        partitions: list[int] = EMPTY,  # 0+
        assignment_epochs: list[int] | None = EMPTY,  # 0+, tag 0
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions
        self.assignment_epochs = [] if assignment_epochs is EMPTY else assignment_epochs


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    API_KEY = 8
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("member_epoch", "previous_member_epoch", "state", "assigned_partitions", "partitions_pending_revocation")

    def __init__(
        self,
        member_epoch: int = 0,  # 0+
        previous_member_epoch: int = 0,  # 0+
        state: int = 0,  # 0+
        assigned_partitions: list[TopicPartitions] = EMPTY,  # 0+
        partitions_pending_revocation: list[TopicPartitions] = EMPTY,  # 0+
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions = [] if assigned_partitions is EMPTY else assigned_partitions
        self.partitions_pending_revocation = [] if partitions_pending_revocation is EMPTY else partitions_pending_revocation


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
        assignment_epochs: list[int] | None = []
        if tags:
            if tags > 127:
                tags, pos = many_tags(data, pos, tags)
            for _ in range(tags):
                at = "tagged fields"
                tag, pos = read_uvarint(data, pos)
                length, pos = read_uvarint(data, pos)
                tag_end = pos + length
                if tag_end > size:
                    raise overrun(length, size - pos)
                if tag == 0:
                    at = "assignment_epochs"
                    count = data[pos]
                    pos += 1
                    if count > 127:
                        count, pos = uvarint_tail(data, pos, count)
                    assignment_epochs = None
                    if count:
                        count -= 1
                        end = pos + count * 4
                        if end > size:
                            raise overrun(count * 4, size - pos)
                        assignment_epochs = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
                        pos = end
                else:
                    pos = tag_end
                if pos != tag_end:
                    raise tag_size(length, length + pos - tag_end)
    except READ_ERRORS as error:
        raise malformed("ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions", at, pos, error) from None
    return TopicPartitions(topic_id, partitions, assignment_epochs), pos


def _write_topic_partitions_v0(w: Append, x: TopicPartitions) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ConsumerGroupCurrentMemberAssignmentValue", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    tagged: list[tuple[int, bytes]] = []
    if x.assignment_epochs is None or x.assignment_epochs:
        assignment_epochs_part: list[Buffer] = []
        assignment_epochs = x.assignment_epochs
        if assignment_epochs is None:
            assignment_epochs_part.append(b"\0")
        else:
            count = len(assignment_epochs) + 1
            assignment_epochs_part.append(VARINT[count] if count < 128 else uvarint(count))
            assignment_epochs_part.append(PACK_INT32S[len(assignment_epochs)](*assignment_epochs) if len(assignment_epochs) < 8 else pack(f">{len(assignment_epochs)}i", *assignment_epochs))
        tagged.append((0, b"".join(assignment_epochs_part)))
    if tagged:
        write_tags(w, tagged)
    else:
        w(b"\0")


def _read_consumer_group_current_member_assignment_value_v0(data: bytes, pos: int, size: int) -> tuple[ConsumerGroupCurrentMemberAssignmentValue, int]:
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
        at = "partitions_pending_revocation"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions_pending_revocation: list[TopicPartitions] = []
        for _ in range(count):
            partitions_pending_revocation_item, pos = _read_topic_partitions_v0(data, pos, size)
            partitions_pending_revocation.append(partitions_pending_revocation_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ConsumerGroupCurrentMemberAssignmentValue", at, pos, error) from None
    return ConsumerGroupCurrentMemberAssignmentValue(member_epoch, previous_member_epoch, state, assigned_partitions, partitions_pending_revocation), pos


def _write_consumer_group_current_member_assignment_value_v0(w: Append, x: ConsumerGroupCurrentMemberAssignmentValue) -> None:
    assigned_partitions = x.assigned_partitions
    count = len(assigned_partitions) + 1
    w(_pack_iibB(x.member_epoch, x.previous_member_epoch, x.state, count) if count < 128 else _pack_iib(x.member_epoch, x.previous_member_epoch, x.state) + uvarint(count))
    for assigned_partitions_item in assigned_partitions:
        _write_topic_partitions_v0(w, assigned_partitions_item)
    partitions_pending_revocation = x.partitions_pending_revocation
    count = len(partitions_pending_revocation) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_pending_revocation_item in partitions_pending_revocation:
        _write_topic_partitions_v0(w, partitions_pending_revocation_item)
    w(b"\0")
ConsumerGroupCurrentMemberAssignmentValue._READERS = {
    0: _read_consumer_group_current_member_assignment_value_v0,
}
ConsumerGroupCurrentMemberAssignmentValue._WRITERS = {
    0: _write_consumer_group_current_member_assignment_value_v0,
}
