# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class DescribableLogDirTopic(Struct):
    __slots__ = ("topic", "partitions")

    def __init__(
        self,
        topic: str = "",  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions


class DescribeLogDirsRequest(Message):
    API_KEY = 35
    MIN_VERSION = 1
    MAX_VERSION = 5
    FLEXIBLE_FROM = 2
    __slots__ = ("topics",)

    def __init__(
        self,
        topics: list[DescribableLogDirTopic] | None = EMPTY,  # 0+
    ) -> None:
        self.topics = [] if topics is EMPTY else topics


def _read_describable_log_dir_topic_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribableLogDirTopic, int]:
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
        if limit is not None:
            limit.take(count)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsRequest.DescribableLogDirTopic", at, pos, error) from None
    return DescribableLogDirTopic(topic, partitions), pos


def _write_describable_log_dir_topic_v1(w: Append, x: DescribableLogDirTopic) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))


def _read_describable_log_dir_topic_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribableLogDirTopic, int]:
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
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        if limit is not None:
            limit.take(count)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsRequest.DescribableLogDirTopic", at, pos, error) from None
    return DescribableLogDirTopic(topic, partitions), pos


def _write_describable_log_dir_topic_v2(w: Append, x: DescribableLogDirTopic) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    count = len(topic_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_describe_log_dirs_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeLogDirsRequest, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        topics: list[DescribableLogDirTopic] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_describable_log_dir_topic_v1(data, pos, size, limit)
                topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsRequest", at, pos, error) from None
    return DescribeLogDirsRequest(topics), pos


def _write_describe_log_dirs_request_v1(w: Append, x: DescribeLogDirsRequest) -> None:
    topics = x.topics
    w(_pack_i(-1 if topics is None else len(topics)))
    if topics is not None:
        for topics_item in topics:
            _write_describable_log_dir_topic_v1(w, topics_item)


def _read_describe_log_dirs_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeLogDirsRequest, int]:
    at = "topics"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        topics: list[DescribableLogDirTopic] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_describable_log_dir_topic_v2(data, pos, size, limit)
                topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsRequest", at, pos, error) from None
    return DescribeLogDirsRequest(topics), pos


def _write_describe_log_dirs_request_v2(w: Append, x: DescribeLogDirsRequest) -> None:
    topics = x.topics
    if topics is None:
        w(b"\0")
    else:
        count = len(topics) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for topics_item in topics:
            _write_describable_log_dir_topic_v2(w, topics_item)
    w(b"\0")
DescribeLogDirsRequest._READERS = {
    1: _read_describe_log_dirs_request_v1,
    2: _read_describe_log_dirs_request_v2,
    3: _read_describe_log_dirs_request_v2,
    4: _read_describe_log_dirs_request_v2,
    5: _read_describe_log_dirs_request_v2,
}
DescribeLogDirsRequest._WRITERS = {
    1: _write_describe_log_dirs_request_v1,
    2: _write_describe_log_dirs_request_v2,
    3: _write_describe_log_dirs_request_v2,
    4: _write_describe_log_dirs_request_v2,
    5: _write_describe_log_dirs_request_v2,
}
