# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, Append, Message, Struct, malformed, null_value, overrun

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class TopicPartition(Struct):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions


class ConsumerProtocolAssignment(Message):
    API_KEY = -1
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 32767
    __slots__ = ("assigned_partitions", "user_data")

    def __init__(
        self,
        assigned_partitions: list[TopicPartition] = EMPTY,  # 0+
        user_data: bytes | None = None,  # 0+
    ) -> None:
        self.assigned_partitions = [] if assigned_partitions is EMPTY else assigned_partitions
        self.user_data = user_data


def _read_topic_partition_v0(data: bytes, pos: int, size: int) -> tuple[TopicPartition, int]:
    at = "topic"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        topic = data[pos:end].decode()
        pos = end
        at = "partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
    except READ_ERRORS as error:
        raise malformed("ConsumerProtocolAssignment.TopicPartition", at, pos, error) from None
    return TopicPartition(topic, partitions), pos


def _write_topic_partition_v0(w: Append, x: TopicPartition) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))


def _read_consumer_protocol_assignment_v0(data: bytes, pos: int, size: int) -> tuple[ConsumerProtocolAssignment, int]:
    at = "assigned_partitions"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        assigned_partitions: list[TopicPartition] = []
        for _ in range(count):
            assigned_partitions_item, pos = _read_topic_partition_v0(data, pos, size)
            assigned_partitions.append(assigned_partitions_item)
        at = "user_data"
        count, = _unpack_i(data, pos)
        pos += 4
        user_data: bytes | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            user_data = data[pos:end]
            pos = end
    except READ_ERRORS as error:
        raise malformed("ConsumerProtocolAssignment", at, pos, error) from None
    return ConsumerProtocolAssignment(assigned_partitions, user_data), pos


def _write_consumer_protocol_assignment_v0(w: Append, x: ConsumerProtocolAssignment) -> None:
    assigned_partitions = x.assigned_partitions
    w(_pack_i(len(assigned_partitions)))
    for assigned_partitions_item in assigned_partitions:
        _write_topic_partition_v0(w, assigned_partitions_item)
    user_data = x.user_data
    user_data_bytes = b"" if user_data is None else user_data
    w(_pack_i(-1 if user_data is None else len(user_data_bytes)))
    w(user_data_bytes)
ConsumerProtocolAssignment._READERS = {
    0: _read_consumer_protocol_assignment_v0,
    1: _read_consumer_protocol_assignment_v0,
    2: _read_consumer_protocol_assignment_v0,
    3: _read_consumer_protocol_assignment_v0,
}
ConsumerProtocolAssignment._WRITERS = {
    0: _write_consumer_protocol_assignment_v0,
    1: _write_consumer_protocol_assignment_v0,
    2: _write_consumer_protocol_assignment_v0,
    3: _write_consumer_protocol_assignment_v0,
}
