# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ii = _Struct(">ii").pack
_pack_iqh = _Struct(">iqh").pack
_pack_iqhx = _Struct(">iqhx").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from
_unpack_iqh = _Struct(">iqh").unpack_from
_unpack_iqhB = _Struct(">iqhB").unpack_from


class DeleteRecordsPartitionResult(Struct):
    __slots__ = ("partition_index", "low_watermark", "error_code")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        low_watermark: int = 0,  # 0+
        error_code: int = 0,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code


class DeleteRecordsTopicResult(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: list[DeleteRecordsPartitionResult] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class DeleteRecordsResponse(Message):
    API_KEY = 21
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        topics: list[DeleteRecordsTopicResult] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics


def _read_delete_records_partition_result_v0(data: bytes, pos: int, size: int) -> tuple[DeleteRecordsPartitionResult, int]:
    at = "partition_index"
    try:
        partition_index, low_watermark, error_code = _unpack_iqh(data, pos)
        pos += 14
    except READ_ERRORS as error:
        raise malformed("DeleteRecordsResponse.DeleteRecordsPartitionResult", at, pos, error) from None
    return DeleteRecordsPartitionResult(partition_index, low_watermark, error_code), pos


def _write_delete_records_partition_result_v0(w: Append, x: DeleteRecordsPartitionResult) -> None:
    w(_pack_iqh(x.partition_index, x.low_watermark, x.error_code))


def _read_delete_records_partition_result_v2(data: bytes, pos: int, size: int) -> tuple[DeleteRecordsPartitionResult, int]:
    at = "partition_index"
    try:
        partition_index, low_watermark, error_code, tags = _unpack_iqhB(data, pos)
        pos += 15
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteRecordsResponse.DeleteRecordsPartitionResult", at, pos, error) from None
    return DeleteRecordsPartitionResult(partition_index, low_watermark, error_code), pos


def _write_delete_records_partition_result_v2(w: Append, x: DeleteRecordsPartitionResult) -> None:
    w(_pack_iqhx(x.partition_index, x.low_watermark, x.error_code))


def _read_delete_records_topic_result_v0(data: bytes, pos: int, size: int) -> tuple[DeleteRecordsTopicResult, int]:
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
        partitions: list[DeleteRecordsPartitionResult] = []
        for _ in range(count):
            partitions_item, pos = _read_delete_records_partition_result_v0(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("DeleteRecordsResponse.DeleteRecordsTopicResult", at, pos, error) from None
    return DeleteRecordsTopicResult(name, partitions), pos


def _write_delete_records_topic_result_v0(w: Append, x: DeleteRecordsTopicResult) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_delete_records_partition_result_v0(w, partitions_item)


def _read_delete_records_topic_result_v2(data: bytes, pos: int, size: int) -> tuple[DeleteRecordsTopicResult, int]:
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
        partitions: list[DeleteRecordsPartitionResult] = []
        for _ in range(count):
            partitions_item, pos = _read_delete_records_partition_result_v2(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteRecordsResponse.DeleteRecordsTopicResult", at, pos, error) from None
    return DeleteRecordsTopicResult(name, partitions), pos


def _write_delete_records_topic_result_v2(w: Append, x: DeleteRecordsTopicResult) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_delete_records_partition_result_v2(w, partitions_item)
    w(b"\0")


def _read_delete_records_response_v0(data: bytes, pos: int, size: int) -> tuple[DeleteRecordsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[DeleteRecordsTopicResult] = []
        for _ in range(count):
            topics_item, pos = _read_delete_records_topic_result_v0(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("DeleteRecordsResponse", at, pos, error) from None
    return DeleteRecordsResponse(throttle_time_ms, topics), pos


def _write_delete_records_response_v0(w: Append, x: DeleteRecordsResponse) -> None:
    topics = x.topics
    w(_pack_ii(x.throttle_time_ms, len(topics)))
    for topics_item in topics:
        _write_delete_records_topic_result_v0(w, topics_item)


def _read_delete_records_response_v2(data: bytes, pos: int, size: int) -> tuple[DeleteRecordsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[DeleteRecordsTopicResult] = []
        for _ in range(count):
            topics_item, pos = _read_delete_records_topic_result_v2(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteRecordsResponse", at, pos, error) from None
    return DeleteRecordsResponse(throttle_time_ms, topics), pos


def _write_delete_records_response_v2(w: Append, x: DeleteRecordsResponse) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for topics_item in topics:
        _write_delete_records_topic_result_v2(w, topics_item)
    w(b"\0")
DeleteRecordsResponse._READERS = {
    0: _read_delete_records_response_v0,
    1: _read_delete_records_response_v0,
    2: _read_delete_records_response_v2,
}
DeleteRecordsResponse._WRITERS = {
    0: _write_delete_records_response_v0,
    1: _write_delete_records_response_v0,
    2: _write_delete_records_response_v2,
}
