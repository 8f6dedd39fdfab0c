# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_iqx = _Struct(">iqx").pack
_unpack_iqB = _Struct(">iqB").unpack_from


class AlterShareGroupOffsetsRequestPartition(Struct):
    __slots__ = ("partition_index", "start_offset")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        start_offset: int = 0,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset


class AlterShareGroupOffsetsRequestTopic(Struct):
    __slots__ = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",  # 0+
        partitions: list[AlterShareGroupOffsetsRequestPartition] = EMPTY,  # 0+
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions


class AlterShareGroupOffsetsRequest(Message):
    API_KEY = 91
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("group_id", "topics")

    def __init__(
        self,
        group_id: str = "",  # 0+
        topics: list[AlterShareGroupOffsetsRequestTopic] = EMPTY,  # 0+
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics


def _read_alter_share_group_offsets_request_partition_v0(data: bytes, pos: int, size: int) -> tuple[AlterShareGroupOffsetsRequestPartition, int]:
    at = "partition_index"
    try:
        partition_index, start_offset, tags = _unpack_iqB(data, pos)
        pos += 13
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition", at, pos, error) from None
    return AlterShareGroupOffsetsRequestPartition(partition_index, start_offset), pos


def _write_alter_share_group_offsets_request_partition_v0(w: Append, x: AlterShareGroupOffsetsRequestPartition) -> None:
    w(_pack_iqx(x.partition_index, x.start_offset))


def _read_alter_share_group_offsets_request_topic_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterShareGroupOffsetsRequestTopic, int]:
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
        partitions: list[AlterShareGroupOffsetsRequestPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_alter_share_group_offsets_request_partition_v0(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic", at, pos, error) from None
    return AlterShareGroupOffsetsRequestTopic(topic_name, partitions), pos


def _write_alter_share_group_offsets_request_topic_v0(w: Append, x: AlterShareGroupOffsetsRequestTopic) -> None:
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_alter_share_group_offsets_request_partition_v0(w, partitions_item)
    w(b"\0")


def _read_alter_share_group_offsets_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterShareGroupOffsetsRequest, int]:
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
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[AlterShareGroupOffsetsRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_alter_share_group_offsets_request_topic_v0(data, pos, size, limit)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterShareGroupOffsetsRequest", at, pos, error) from None
    return AlterShareGroupOffsetsRequest(group_id, topics), pos


def _write_alter_share_group_offsets_request_v0(w: Append, x: AlterShareGroupOffsetsRequest) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_alter_share_group_offsets_request_topic_v0(w, topics_item)
    w(b"\0")
AlterShareGroupOffsetsRequest._READERS = {
    0: _read_alter_share_group_offsets_request_v0,
}
AlterShareGroupOffsetsRequest._WRITERS = {
    0: _write_alter_share_group_offsets_request_v0,
}
