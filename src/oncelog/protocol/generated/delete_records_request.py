# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iq = _Struct(">iq").pack
_pack_iqx = _Struct(">iqx").pack
_pack_ix = _Struct(">ix").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_iq = _Struct(">iq").unpack_from
_unpack_iqB = _Struct(">iqB").unpack_from


class DeleteRecordsPartition(Struct):
    __slots__ = ("partition_index", "offset")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        offset: int = 0,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.offset = offset


class DeleteRecordsTopic(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: list[DeleteRecordsPartition] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class DeleteRecordsRequest(Message):
    API_KEY = 21
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("topics", "timeout_ms")

    def __init__(
        self,
        topics: list[DeleteRecordsTopic] = EMPTY,  # 0+
        timeout_ms: int = 0,  # 0+
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms


def _read_delete_records_partition_v0(data: bytes, pos: int, size: int) -> tuple[DeleteRecordsPartition, int]:
    at = "partition_index"
    try:
        partition_index, offset = _unpack_iq(data, pos)
        pos += 12
    except READ_ERRORS as error:
        raise malformed("DeleteRecordsRequest.DeleteRecordsPartition", at, pos, error) from None
    return DeleteRecordsPartition(partition_index, offset), pos


def _write_delete_records_partition_v0(w: Append, x: DeleteRecordsPartition) -> None:
    w(_pack_iq(x.partition_index, x.offset))


def _read_delete_records_partition_v2(data: bytes, pos: int, size: int) -> tuple[DeleteRecordsPartition, int]:
    at = "partition_index"
    try:
        partition_index, offset, tags = _unpack_iqB(data, pos)
        pos += 13
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteRecordsRequest.DeleteRecordsPartition", at, pos, error) from None
    return DeleteRecordsPartition(partition_index, offset), pos


def _write_delete_records_partition_v2(w: Append, x: DeleteRecordsPartition) -> None:
    w(_pack_iqx(x.partition_index, x.offset))


def _read_delete_records_topic_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DeleteRecordsTopic, int]:
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
        partitions: list[DeleteRecordsPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_delete_records_partition_v0(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("DeleteRecordsRequest.DeleteRecordsTopic", at, pos, error) from None
    return DeleteRecordsTopic(name, partitions), pos


def _write_delete_records_topic_v0(w: Append, x: DeleteRecordsTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_delete_records_partition_v0(w, partitions_item)


def _read_delete_records_topic_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DeleteRecordsTopic, int]:
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
        partitions: list[DeleteRecordsPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_delete_records_partition_v2(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteRecordsRequest.DeleteRecordsTopic", at, pos, error) from None
    return DeleteRecordsTopic(name, partitions), pos


def _write_delete_records_topic_v2(w: Append, x: DeleteRecordsTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_delete_records_partition_v2(w, partitions_item)
    w(b"\0")


def _read_delete_records_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DeleteRecordsRequest, int]:
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
        topics: list[DeleteRecordsTopic] = []
        for _ in range(count):
            topics_item, pos = _read_delete_records_topic_v0(data, pos, size, limit)
            topics.append(topics_item)
        at = "timeout_ms"
        timeout_ms, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("DeleteRecordsRequest", at, pos, error) from None
    return DeleteRecordsRequest(topics, timeout_ms), pos


def _write_delete_records_request_v0(w: Append, x: DeleteRecordsRequest) -> None:
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_delete_records_topic_v0(w, topics_item)
    w(_pack_i(x.timeout_ms))


def _read_delete_records_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DeleteRecordsRequest, int]:
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
        topics: list[DeleteRecordsTopic] = []
        for _ in range(count):
            topics_item, pos = _read_delete_records_topic_v2(data, pos, size, limit)
            topics.append(topics_item)
        at = "timeout_ms"
        timeout_ms, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteRecordsRequest", at, pos, error) from None
    return DeleteRecordsRequest(topics, timeout_ms), pos


def _write_delete_records_request_v2(w: Append, x: DeleteRecordsRequest) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_delete_records_topic_v2(w, topics_item)
    w(_pack_ix(x.timeout_ms))
DeleteRecordsRequest._READERS = {
    0: _read_delete_records_request_v0,
    1: _read_delete_records_request_v0,
    2: _read_delete_records_request_v2,
}
DeleteRecordsRequest._WRITERS = {
    0: _write_delete_records_request_v0,
    1: _write_delete_records_request_v0,
    2: _write_delete_records_request_v2,
}
