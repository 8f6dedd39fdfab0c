# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_i = _Struct(">i").pack
_pack_ix = _Struct(">ix").pack
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ib = _Struct(">ib").unpack_from


class TopicRequest(Struct):
    __slots__ = ("name",)

    def __init__(
        self,
        name: str = "",  # 0+
    ) -> None:
        self.name = name


class Cursor(Struct):
    __slots__ = ("topic_name", "partition_index")

    def __init__(
        self,
        topic_name: str = "",  # 0+
        partition_index: int = 0,  # 0+
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class DescribeTopicPartitionsRequest(Message):
    API_KEY = 75
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("topics", "response_partition_limit", "cursor")

    def __init__(
        self,
        topics: list[TopicRequest] = EMPTY,  # 0+
        response_partition_limit: int = 2000,  # 0+
        cursor: Cursor | None = None,  # 0+
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor


def _read_topic_request_v0(data: bytes, pos: int, size: int) -> tuple[TopicRequest, int]:
    at = "name"
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
        name = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeTopicPartitionsRequest.TopicRequest", at, pos, error) from None
    return TopicRequest(name), pos


def _write_topic_request_v0(w: Append, x: TopicRequest) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    w(b"\0")


def _read_cursor_v0(data: bytes, pos: int, size: int) -> tuple[Cursor, int]:
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
        at = "partition_index"
        partition_index, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeTopicPartitionsRequest.Cursor", at, pos, error) from None
    return Cursor(topic_name, partition_index), pos


def _write_cursor_v0(w: Append, x: Cursor) -> None:
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_name_bytes)
    w(_pack_ix(x.partition_index))


def _read_describe_topic_partitions_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeTopicPartitionsRequest, int]:
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
        topics: list[TopicRequest] = []
        for _ in range(count):
            topics_item, pos = _read_topic_request_v0(data, pos, size)
            topics.append(topics_item)
        at = "response_partition_limit"
        response_partition_limit, present = _unpack_ib(data, pos)
        pos += 5
        cursor: Cursor | None = None
        if present >= 0:
            cursor, pos = _read_cursor_v0(data, pos, size)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeTopicPartitionsRequest", at, pos, error) from None
    return DescribeTopicPartitionsRequest(topics, response_partition_limit, cursor), pos


def _write_describe_topic_partitions_request_v0(w: Append, x: DescribeTopicPartitionsRequest) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_topic_request_v0(w, topics_item)
    cursor = x.cursor
    w(_pack_i(x.response_partition_limit))
    if cursor is None:
        w(b"\xff")
    else:
        w(b"\x01")
        _write_cursor_v0(w, cursor)
    w(b"\0")
DescribeTopicPartitionsRequest._READERS = {
    0: _read_describe_topic_partitions_request_v0,
}
DescribeTopicPartitionsRequest._WRITERS = {
    0: _write_describe_topic_partitions_request_v0,
}
