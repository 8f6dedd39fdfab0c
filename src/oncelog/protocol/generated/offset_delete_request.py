# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, Append, ElementLimit, Message, Struct, malformed, null_value, overrun

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class OffsetDeleteRequestPartition(Struct):
    __slots__ = ("partition_index",)

    def __init__(
        self,
        partition_index: int = 0,  # 0+
    ) -> None:
        self.partition_index = partition_index


class OffsetDeleteRequestTopic(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: list[OffsetDeleteRequestPartition] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetDeleteRequest(Message):
    API_KEY = 47
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("group_id", "topics")

    def __init__(
        self,
        group_id: str = "",  # 0+
        topics: list[OffsetDeleteRequestTopic] = EMPTY,  # 0+
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics


def _read_offset_delete_request_partition_v0(data: bytes, pos: int, size: int) -> tuple[OffsetDeleteRequestPartition, int]:
    at = "partition_index"
    try:
        partition_index, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("OffsetDeleteRequest.OffsetDeleteRequestPartition", at, pos, error) from None
    return OffsetDeleteRequestPartition(partition_index), pos


def _write_offset_delete_request_partition_v0(w: Append, x: OffsetDeleteRequestPartition) -> None:
    w(_pack_i(x.partition_index))


def _read_offset_delete_request_topic_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetDeleteRequestTopic, int]:
    at = "name"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = data[pos:end].decode()
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
        partitions: list[OffsetDeleteRequestPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_delete_request_partition_v0(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("OffsetDeleteRequest.OffsetDeleteRequestTopic", at, pos, error) from None
    return OffsetDeleteRequestTopic(name, partitions), pos


def _write_offset_delete_request_topic_v0(w: Append, x: OffsetDeleteRequestTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_offset_delete_request_partition_v0(w, partitions_item)


def _read_offset_delete_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetDeleteRequest, int]:
    at = "group_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "topics"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[OffsetDeleteRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_delete_request_topic_v0(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("OffsetDeleteRequest", at, pos, error) from None
    return OffsetDeleteRequest(group_id, topics), pos


def _write_offset_delete_request_v0(w: Append, x: OffsetDeleteRequest) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_offset_delete_request_topic_v0(w, topics_item)
OffsetDeleteRequest._READERS = {
    0: _read_offset_delete_request_v0,
}
OffsetDeleteRequest._WRITERS = {
    0: _write_offset_delete_request_v0,
}
