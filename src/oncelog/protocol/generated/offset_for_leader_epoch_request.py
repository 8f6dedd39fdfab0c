# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ii = _Struct(">ii").pack
_pack_iii = _Struct(">iii").pack
_pack_iiix = _Struct(">iiix").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from
_unpack_iii = _Struct(">iii").unpack_from
_unpack_iiiB = _Struct(">iiiB").unpack_from


class OffsetForLeaderPartition(Struct):
    __slots__ = ("partition", "current_leader_epoch", "leader_epoch")

    def __init__(
        self,
        partition: int = 0,  # 0+
        current_leader_epoch: int = -1,  # 2+, ignorable
        leader_epoch: int = 0,  # 0+
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch


class OffsetForLeaderTopic(Struct):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",  # 0+
        partitions: list[OffsetForLeaderPartition] = EMPTY,  # 0+
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetForLeaderEpochRequest(Message):
    API_KEY = 23
    MIN_VERSION = 2
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    __slots__ = ("replica_id", "topics")

    def __init__(
        self,
        replica_id: int = -2,  # 3+, ignorable
        topics: list[OffsetForLeaderTopic] = EMPTY,  # 0+
    ) -> None:
        self.replica_id = replica_id
        self.topics = [] if topics is EMPTY else topics


def _read_offset_for_leader_partition_v2(data: bytes, pos: int, size: int) -> tuple[OffsetForLeaderPartition, int]:
    at = "partition"
    try:
        partition, current_leader_epoch, leader_epoch = _unpack_iii(data, pos)
        pos += 12
    except READ_ERRORS as error:
        raise malformed("OffsetForLeaderEpochRequest.OffsetForLeaderPartition", at, pos, error) from None
    return OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch), pos


def _write_offset_for_leader_partition_v2(w: Append, x: OffsetForLeaderPartition) -> None:
    w(_pack_iii(x.partition, x.current_leader_epoch, x.leader_epoch))


def _read_offset_for_leader_partition_v4(data: bytes, pos: int, size: int) -> tuple[OffsetForLeaderPartition, int]:
    at = "partition"
    try:
        partition, current_leader_epoch, leader_epoch, tags = _unpack_iiiB(data, pos)
        pos += 13
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetForLeaderEpochRequest.OffsetForLeaderPartition", at, pos, error) from None
    return OffsetForLeaderPartition(partition, current_leader_epoch, leader_epoch), pos


def _write_offset_for_leader_partition_v4(w: Append, x: OffsetForLeaderPartition) -> None:
    w(_pack_iiix(x.partition, x.current_leader_epoch, x.leader_epoch))


def _read_offset_for_leader_topic_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetForLeaderTopic, int]:
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
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        partitions: list[OffsetForLeaderPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_for_leader_partition_v2(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("OffsetForLeaderEpochRequest.OffsetForLeaderTopic", at, pos, error) from None
    return OffsetForLeaderTopic(topic, partitions), pos


def _write_offset_for_leader_topic_v2(w: Append, x: OffsetForLeaderTopic) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_offset_for_leader_partition_v2(w, partitions_item)


def _read_offset_for_leader_topic_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetForLeaderTopic, int]:
    at = "topic"
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
        topic = data[pos:end].decode()
        pos = end
        at = "partitions"
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
        partitions: list[OffsetForLeaderPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_for_leader_partition_v4(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetForLeaderEpochRequest.OffsetForLeaderTopic", at, pos, error) from None
    return OffsetForLeaderTopic(topic, partitions), pos


def _write_offset_for_leader_topic_v4(w: Append, x: OffsetForLeaderTopic) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    count = len(topic_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_offset_for_leader_partition_v4(w, partitions_item)
    w(b"\0")


def _read_offset_for_leader_epoch_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetForLeaderEpochRequest, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[OffsetForLeaderTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_for_leader_topic_v2(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("OffsetForLeaderEpochRequest", at, pos, error) from None
    return OffsetForLeaderEpochRequest(-2, topics), pos


def _write_offset_for_leader_epoch_request_v2(w: Append, x: OffsetForLeaderEpochRequest) -> None:
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_offset_for_leader_topic_v2(w, topics_item)


def _read_offset_for_leader_epoch_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetForLeaderEpochRequest, int]:
    at = "replica_id"
    try:
        replica_id, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[OffsetForLeaderTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_for_leader_topic_v2(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("OffsetForLeaderEpochRequest", at, pos, error) from None
    return OffsetForLeaderEpochRequest(replica_id, topics), pos


def _write_offset_for_leader_epoch_request_v3(w: Append, x: OffsetForLeaderEpochRequest) -> None:
    topics = x.topics
    w(_pack_ii(x.replica_id, len(topics)))
    for topics_item in topics:
        _write_offset_for_leader_topic_v2(w, topics_item)


def _read_offset_for_leader_epoch_request_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetForLeaderEpochRequest, int]:
    at = "replica_id"
    try:
        replica_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[OffsetForLeaderTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_for_leader_topic_v4(data, pos, size, limit)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetForLeaderEpochRequest", at, pos, error) from None
    return OffsetForLeaderEpochRequest(replica_id, topics), pos


def _write_offset_for_leader_epoch_request_v4(w: Append, x: OffsetForLeaderEpochRequest) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.replica_id, count) if count < 128 else _pack_i(x.replica_id) + uvarint(count))
    for topics_item in topics:
        _write_offset_for_leader_topic_v4(w, topics_item)
    w(b"\0")
OffsetForLeaderEpochRequest._READERS = {
    2: _read_offset_for_leader_epoch_request_v2,
    3: _read_offset_for_leader_epoch_request_v3,
    4: _read_offset_for_leader_epoch_request_v4,
}
OffsetForLeaderEpochRequest._WRITERS = {
    2: _write_offset_for_leader_epoch_request_v2,
    3: _write_offset_for_leader_epoch_request_v3,
    4: _write_offset_for_leader_epoch_request_v4,
}
