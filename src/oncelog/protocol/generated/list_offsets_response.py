# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ihqq = _Struct(">ihqq").pack
_pack_ihqqi = _Struct(">ihqqi").pack
_pack_ihqqix = _Struct(">ihqqix").pack
_pack_ii = _Struct(">ii").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ihqq = _Struct(">ihqq").unpack_from
_unpack_ihqqi = _Struct(">ihqqi").unpack_from
_unpack_ihqqiB = _Struct(">ihqqiB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class ListOffsetsPartitionResponse(Struct):
    __slots__ = ("partition_index", "error_code", "timestamp", "offset", "leader_epoch")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        error_code: int = 0,  # 0+
        timestamp: int = -1,  # 1+
        offset: int = -1,  # 1+
        leader_epoch: int = -1,  # 4+
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch


class ListOffsetsTopicResponse(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: list[ListOffsetsPartitionResponse] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class ListOffsetsResponse(Message):
    API_KEY = 2
    MIN_VERSION = 1
    MAX_VERSION = 11
    FLEXIBLE_FROM = 6
    __slots__ = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 2+, ignorable
        topics: list[ListOffsetsTopicResponse] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics


def _read_list_offsets_partition_response_v1(data: bytes, pos: int, size: int) -> tuple[ListOffsetsPartitionResponse, int]:
    at = "partition_index"
    try:
        partition_index, error_code, timestamp, offset = _unpack_ihqq(data, pos)
        pos += 22
    except READ_ERRORS as error:
        raise malformed("ListOffsetsResponse.ListOffsetsPartitionResponse", at, pos, error) from None
    return ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, -1), pos


def _write_list_offsets_partition_response_v1(w: Append, x: ListOffsetsPartitionResponse) -> None:
    if x.leader_epoch != -1:
        raise unsupported_field("ListOffsetsResponse.ListOffsetsPartitionResponse", "leader_epoch", "1-3")
    w(_pack_ihqq(x.partition_index, x.error_code, x.timestamp, x.offset))


def _read_list_offsets_partition_response_v4(data: bytes, pos: int, size: int) -> tuple[ListOffsetsPartitionResponse, int]:
    at = "partition_index"
    try:
        partition_index, error_code, timestamp, offset, leader_epoch = _unpack_ihqqi(data, pos)
        pos += 26
    except READ_ERRORS as error:
        raise malformed("ListOffsetsResponse.ListOffsetsPartitionResponse", at, pos, error) from None
    return ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, leader_epoch), pos


def _write_list_offsets_partition_response_v4(w: Append, x: ListOffsetsPartitionResponse) -> None:
    w(_pack_ihqqi(x.partition_index, x.error_code, x.timestamp, x.offset, x.leader_epoch))


def _read_list_offsets_partition_response_v6(data: bytes, pos: int, size: int) -> tuple[ListOffsetsPartitionResponse, int]:
    at = "partition_index"
    try:
        partition_index, error_code, timestamp, offset, leader_epoch, tags = _unpack_ihqqiB(data, pos)
        pos += 27
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsResponse.ListOffsetsPartitionResponse", at, pos, error) from None
    return ListOffsetsPartitionResponse(partition_index, error_code, timestamp, offset, leader_epoch), pos


def _write_list_offsets_partition_response_v6(w: Append, x: ListOffsetsPartitionResponse) -> None:
    w(_pack_ihqqix(x.partition_index, x.error_code, x.timestamp, x.offset, x.leader_epoch))


def _read_list_offsets_topic_response_v1(data: bytes, pos: int, size: int) -> tuple[ListOffsetsTopicResponse, int]:
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
        partitions: list[ListOffsetsPartitionResponse] = []
        for _ in range(count):
            partitions_item, pos = _read_list_offsets_partition_response_v1(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsResponse.ListOffsetsTopicResponse", at, pos, error) from None
    return ListOffsetsTopicResponse(name, partitions), pos


def _write_list_offsets_topic_response_v1(w: Append, x: ListOffsetsTopicResponse) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_list_offsets_partition_response_v1(w, partitions_item)


def _read_list_offsets_topic_response_v4(data: bytes, pos: int, size: int) -> tuple[ListOffsetsTopicResponse, int]:
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
        partitions: list[ListOffsetsPartitionResponse] = []
        for _ in range(count):
            partitions_item, pos = _read_list_offsets_partition_response_v4(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsResponse.ListOffsetsTopicResponse", at, pos, error) from None
    return ListOffsetsTopicResponse(name, partitions), pos


def _write_list_offsets_topic_response_v4(w: Append, x: ListOffsetsTopicResponse) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_list_offsets_partition_response_v4(w, partitions_item)


def _read_list_offsets_topic_response_v6(data: bytes, pos: int, size: int) -> tuple[ListOffsetsTopicResponse, int]:
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
        partitions: list[ListOffsetsPartitionResponse] = []
        for _ in range(count):
            partitions_item, pos = _read_list_offsets_partition_response_v6(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsResponse.ListOffsetsTopicResponse", at, pos, error) from None
    return ListOffsetsTopicResponse(name, partitions), pos


def _write_list_offsets_topic_response_v6(w: Append, x: ListOffsetsTopicResponse) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_list_offsets_partition_response_v6(w, partitions_item)
    w(b"\0")


def _read_list_offsets_response_v1(data: bytes, pos: int, size: int) -> tuple[ListOffsetsResponse, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[ListOffsetsTopicResponse] = []
        for _ in range(count):
            topics_item, pos = _read_list_offsets_topic_response_v1(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsResponse", at, pos, error) from None
    return ListOffsetsResponse(0, topics), pos


def _write_list_offsets_response_v1(w: Append, x: ListOffsetsResponse) -> None:
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_list_offsets_topic_response_v1(w, topics_item)


def _read_list_offsets_response_v2(data: bytes, pos: int, size: int) -> tuple[ListOffsetsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[ListOffsetsTopicResponse] = []
        for _ in range(count):
            topics_item, pos = _read_list_offsets_topic_response_v1(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsResponse", at, pos, error) from None
    return ListOffsetsResponse(throttle_time_ms, topics), pos


def _write_list_offsets_response_v2(w: Append, x: ListOffsetsResponse) -> None:
    topics = x.topics
    w(_pack_ii(x.throttle_time_ms, len(topics)))
    for topics_item in topics:
        _write_list_offsets_topic_response_v1(w, topics_item)


def _read_list_offsets_response_v4(data: bytes, pos: int, size: int) -> tuple[ListOffsetsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[ListOffsetsTopicResponse] = []
        for _ in range(count):
            topics_item, pos = _read_list_offsets_topic_response_v4(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsResponse", at, pos, error) from None
    return ListOffsetsResponse(throttle_time_ms, topics), pos


def _write_list_offsets_response_v4(w: Append, x: ListOffsetsResponse) -> None:
    topics = x.topics
    w(_pack_ii(x.throttle_time_ms, len(topics)))
    for topics_item in topics:
        _write_list_offsets_topic_response_v4(w, topics_item)


def _read_list_offsets_response_v6(data: bytes, pos: int, size: int) -> tuple[ListOffsetsResponse, int]:
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
        topics: list[ListOffsetsTopicResponse] = []
        for _ in range(count):
            topics_item, pos = _read_list_offsets_topic_response_v6(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListOffsetsResponse", at, pos, error) from None
    return ListOffsetsResponse(throttle_time_ms, topics), pos


def _write_list_offsets_response_v6(w: Append, x: ListOffsetsResponse) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for topics_item in topics:
        _write_list_offsets_topic_response_v6(w, topics_item)
    w(b"\0")
ListOffsetsResponse._READERS = {
    1: _read_list_offsets_response_v1,
    2: _read_list_offsets_response_v2,
    3: _read_list_offsets_response_v2,
    4: _read_list_offsets_response_v4,
    5: _read_list_offsets_response_v4,
    6: _read_list_offsets_response_v6,
    7: _read_list_offsets_response_v6,
    8: _read_list_offsets_response_v6,
    9: _read_list_offsets_response_v6,
    10: _read_list_offsets_response_v6,
    11: _read_list_offsets_response_v6,
}
ListOffsetsResponse._WRITERS = {
    1: _write_list_offsets_response_v1,
    2: _write_list_offsets_response_v2,
    3: _write_list_offsets_response_v2,
    4: _write_list_offsets_response_v4,
    5: _write_list_offsets_response_v4,
    6: _write_list_offsets_response_v6,
    7: _write_list_offsets_response_v6,
    8: _write_list_offsets_response_v6,
    9: _write_list_offsets_response_v6,
    10: _write_list_offsets_response_v6,
    11: _write_list_offsets_response_v6,
}
