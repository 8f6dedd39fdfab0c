# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, Append, Message, Struct, malformed, null_value, overrun

_pack_h = _Struct(">h").pack
_pack_hii = _Struct(">hii").pack
_pack_i = _Struct(">i").pack
_pack_ih = _Struct(">ih").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_hii = _Struct(">hii").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_ih = _Struct(">ih").unpack_from


class OffsetDeleteResponsePartition(Struct):
    __slots__ = ("partition_index", "error_code")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        error_code: int = 0,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


class OffsetDeleteResponseTopic(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: list[OffsetDeleteResponsePartition] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetDeleteResponse(Message):
    API_KEY = 47
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("error_code", "throttle_time_ms", "topics")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        throttle_time_ms: int = 0,  # 0+, ignorable
        topics: list[OffsetDeleteResponseTopic] = EMPTY,  # 0+
    ) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics


def _read_offset_delete_response_partition_v0(data: bytes, pos: int, size: int) -> tuple[OffsetDeleteResponsePartition, int]:
    at = "partition_index"
    try:
        partition_index, error_code = _unpack_ih(data, pos)
        pos += 6
    except READ_ERRORS as error:
        raise malformed("OffsetDeleteResponse.OffsetDeleteResponsePartition", at, pos, error) from None
    return OffsetDeleteResponsePartition(partition_index, error_code), pos


def _write_offset_delete_response_partition_v0(w: Append, x: OffsetDeleteResponsePartition) -> None:
    w(_pack_ih(x.partition_index, x.error_code))


def _read_offset_delete_response_topic_v0(data: bytes, pos: int, size: int) -> tuple[OffsetDeleteResponseTopic, int]:
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
        partitions: list[OffsetDeleteResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_delete_response_partition_v0(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("OffsetDeleteResponse.OffsetDeleteResponseTopic", at, pos, error) from None
    return OffsetDeleteResponseTopic(name, partitions), pos


def _write_offset_delete_response_topic_v0(w: Append, x: OffsetDeleteResponseTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_offset_delete_response_partition_v0(w, partitions_item)


def _read_offset_delete_response_v0(data: bytes, pos: int, size: int) -> tuple[OffsetDeleteResponse, int]:
    at = "error_code"
    try:
        error_code, throttle_time_ms, count = _unpack_hii(data, pos)
        pos += 10
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[OffsetDeleteResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_delete_response_topic_v0(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("OffsetDeleteResponse", at, pos, error) from None
    return OffsetDeleteResponse(error_code, throttle_time_ms, topics), pos


def _write_offset_delete_response_v0(w: Append, x: OffsetDeleteResponse) -> None:
    topics = x.topics
    w(_pack_hii(x.error_code, x.throttle_time_ms, len(topics)))
    for topics_item in topics:
        _write_offset_delete_response_topic_v0(w, topics_item)
OffsetDeleteResponse._READERS = {
    0: _read_offset_delete_response_v0,
}
OffsetDeleteResponse._WRITERS = {
    0: _write_offset_delete_response_v0,
}
