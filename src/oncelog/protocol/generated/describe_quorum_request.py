# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_ix = _Struct(">ix").pack
_unpack_iB = _Struct(">iB").unpack_from


class PartitionData(Struct):
    __slots__ = ("partition_index",)

    def __init__(
        self,
        partition_index: int = 0,  # 0+
    ) -> None:
        self.partition_index = partition_index


class TopicData(Struct):
    __slots__ = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",  # 0+
        partitions: list[PartitionData] = EMPTY,  # 0+
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions


class DescribeQuorumRequest(Message):
    API_KEY = 55
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("topics",)

    def __init__(
        self,
        topics: list[TopicData] = EMPTY,  # 0+
    ) -> None:
        self.topics = [] if topics is EMPTY else topics


def _read_partition_data_v0(data: bytes, pos: int, size: int) -> tuple[PartitionData, int]:
    at = "partition_index"
    try:
        partition_index, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumRequest.PartitionData", at, pos, error) from None
    return PartitionData(partition_index), pos


def _write_partition_data_v0(w: Append, x: PartitionData) -> None:
    w(_pack_ix(x.partition_index))


def _read_topic_data_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[TopicData, int]:
    at = "topic_name"
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
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        partitions: list[PartitionData] = []
        for _ in range(count):
            partitions_item, pos = _read_partition_data_v0(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumRequest.TopicData", at, pos, error) from None
    return TopicData(topic_name, partitions), pos


def _write_topic_data_v0(w: Append, x: TopicData) -> None:
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_partition_data_v0(w, partitions_item)
    w(b"\0")


def _read_describe_quorum_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeQuorumRequest, int]:
    at = "topics"
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
        if limit is not None:
            limit.take(count)
        topics: list[TopicData] = []
        for _ in range(count):
            topics_item, pos = _read_topic_data_v0(data, pos, size, limit)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeQuorumRequest", at, pos, error) from None
    return DescribeQuorumRequest(topics), pos


def _write_describe_quorum_request_v0(w: Append, x: DescribeQuorumRequest) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_topic_data_v0(w, topics_item)
    w(b"\0")
DescribeQuorumRequest._READERS = {
    0: _read_describe_quorum_request_v0,
    1: _read_describe_quorum_request_v0,
    2: _read_describe_quorum_request_v0,
}
DescribeQuorumRequest._WRITERS = {
    0: _write_describe_quorum_request_v0,
    1: _write_describe_quorum_request_v0,
    2: _write_describe_quorum_request_v0,
}
