# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail



class DescribeShareGroupOffsetsRequestTopic(Struct):
    __slots__ = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions


class DescribeShareGroupOffsetsRequestGroup(Struct):
    __slots__ = ("group_id", "topics")

    def __init__(
        self,
        group_id: str = "",  # 0+
        topics: list[DescribeShareGroupOffsetsRequestTopic] | None = EMPTY,  # 0+
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics


class DescribeShareGroupOffsetsRequest(Message):
    API_KEY = 90
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("groups",)

    def __init__(
        self,
        groups: list[DescribeShareGroupOffsetsRequestGroup] = EMPTY,  # 0+
    ) -> None:
        self.groups = [] if groups is EMPTY else groups


def _read_describe_share_group_offsets_request_topic_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeShareGroupOffsetsRequestTopic, int]:
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
        raise malformed("DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic", at, pos, error) from None
    return DescribeShareGroupOffsetsRequestTopic(topic_name, partitions), pos


def _write_describe_share_group_offsets_request_topic_v0(w: Append, x: DescribeShareGroupOffsetsRequestTopic) -> None:
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_describe_share_group_offsets_request_group_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeShareGroupOffsetsRequestGroup, int]:
    at = "group_id"
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
        group_id = data[pos:end].decode()
        pos = end
        at = "topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        topics: list[DescribeShareGroupOffsetsRequestTopic] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_describe_share_group_offsets_request_topic_v0(data, pos, size, limit)
                topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup", at, pos, error) from None
    return DescribeShareGroupOffsetsRequestGroup(group_id, topics), pos


def _write_describe_share_group_offsets_request_group_v0(w: Append, x: DescribeShareGroupOffsetsRequestGroup) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    topics = x.topics
    if topics is None:
        w(b"\0")
    else:
        count = len(topics) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for topics_item in topics:
            _write_describe_share_group_offsets_request_topic_v0(w, topics_item)
    w(b"\0")


def _read_describe_share_group_offsets_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeShareGroupOffsetsRequest, int]:
    at = "groups"
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
        groups: list[DescribeShareGroupOffsetsRequestGroup] = []
        for _ in range(count):
            groups_item, pos = _read_describe_share_group_offsets_request_group_v0(data, pos, size, limit)
            groups.append(groups_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeShareGroupOffsetsRequest", at, pos, error) from None
    return DescribeShareGroupOffsetsRequest(groups), pos


def _write_describe_share_group_offsets_request_v0(w: Append, x: DescribeShareGroupOffsetsRequest) -> None:
    groups = x.groups
    count = len(groups) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for groups_item in groups:
        _write_describe_share_group_offsets_request_group_v0(w, groups_item)
    w(b"\0")
DescribeShareGroupOffsetsRequest._READERS = {
    0: _read_describe_share_group_offsets_request_v0,
    1: _read_describe_share_group_offsets_request_v0,
}
DescribeShareGroupOffsetsRequest._WRITERS = {
    0: _write_describe_share_group_offsets_request_v0,
    1: _write_describe_share_group_offsets_request_v0,
}
