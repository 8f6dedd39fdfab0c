# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_ihx = _Struct(">ihx").pack
_pack_ii = _Struct(">ii").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ih = _Struct(">ih").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class OffsetCommitResponsePartition(Struct):
    __slots__ = ("partition_index", "error_code")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        error_code: int = 0,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


class OffsetCommitResponseTopic(Struct):
    __slots__ = ("name", "topic_id", "partitions")

    def __init__(
        self,
        name: str = "",  # 0-9, ignorable
        topic_id: Uuid = ZERO_UUID,  # 10+, ignorable
        partitions: list[OffsetCommitResponsePartition] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetCommitResponse(Message):
    API_KEY = 8
    MIN_VERSION = 2
    MAX_VERSION = 10
    FLEXIBLE_FROM = 8
    __slots__ = ("throttle_time_ms", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 3+, ignorable
        topics: list[OffsetCommitResponseTopic] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics


def _read_offset_commit_response_partition_v2(data: bytes, pos: int, size: int) -> tuple[OffsetCommitResponsePartition, int]:
    at = "partition_index"
    try:
        partition_index, error_code = _unpack_ih(data, pos)
        pos += 6
    except READ_ERRORS as error:
        raise malformed("OffsetCommitResponse.OffsetCommitResponsePartition", at, pos, error) from None
    return OffsetCommitResponsePartition(partition_index, error_code), pos


def _write_offset_commit_response_partition_v2(w: Append, x: OffsetCommitResponsePartition) -> None:
    w(_pack_ih(x.partition_index, x.error_code))


def _read_offset_commit_response_partition_v8(data: bytes, pos: int, size: int) -> tuple[OffsetCommitResponsePartition, int]:
    at = "partition_index"
    try:
        partition_index, error_code, tags = _unpack_ihB(data, pos)
        pos += 7
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitResponse.OffsetCommitResponsePartition", at, pos, error) from None
    return OffsetCommitResponsePartition(partition_index, error_code), pos


def _write_offset_commit_response_partition_v8(w: Append, x: OffsetCommitResponsePartition) -> None:
    w(_pack_ihx(x.partition_index, x.error_code))


def _read_offset_commit_response_topic_v2(data: bytes, pos: int, size: int) -> tuple[OffsetCommitResponseTopic, int]:
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
        partitions: list[OffsetCommitResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_commit_response_partition_v2(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitResponse.OffsetCommitResponseTopic", at, pos, error) from None
    return OffsetCommitResponseTopic(name, ZERO_UUID, partitions), pos


def _write_offset_commit_response_topic_v2(w: Append, x: OffsetCommitResponseTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_offset_commit_response_partition_v2(w, partitions_item)


def _read_offset_commit_response_topic_v8(data: bytes, pos: int, size: int) -> tuple[OffsetCommitResponseTopic, int]:
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
        partitions: list[OffsetCommitResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_commit_response_partition_v8(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitResponse.OffsetCommitResponseTopic", at, pos, error) from None
    return OffsetCommitResponseTopic(name, ZERO_UUID, partitions), pos


def _write_offset_commit_response_topic_v8(w: Append, x: OffsetCommitResponseTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_offset_commit_response_partition_v8(w, partitions_item)
    w(b"\0")


def _read_offset_commit_response_topic_v10(data: bytes, pos: int, size: int) -> tuple[OffsetCommitResponseTopic, int]:
    at = "topic_id"
    try:
        topic_id, count = _unpack_UB(data, pos)
        pos += 17
        at = "partitions"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[OffsetCommitResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_commit_response_partition_v8(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitResponse.OffsetCommitResponseTopic", at, pos, error) from None
    return OffsetCommitResponseTopic("", topic_id, partitions), pos


def _write_offset_commit_response_topic_v10(w: Append, x: OffsetCommitResponseTopic) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("OffsetCommitResponse", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_offset_commit_response_partition_v8(w, partitions_item)
    w(b"\0")


def _read_offset_commit_response_v2(data: bytes, pos: int, size: int) -> tuple[OffsetCommitResponse, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[OffsetCommitResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_commit_response_topic_v2(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitResponse", at, pos, error) from None
    return OffsetCommitResponse(0, topics), pos


def _write_offset_commit_response_v2(w: Append, x: OffsetCommitResponse) -> None:
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_offset_commit_response_topic_v2(w, topics_item)


def _read_offset_commit_response_v3(data: bytes, pos: int, size: int) -> tuple[OffsetCommitResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[OffsetCommitResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_commit_response_topic_v2(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitResponse", at, pos, error) from None
    return OffsetCommitResponse(throttle_time_ms, topics), pos


def _write_offset_commit_response_v3(w: Append, x: OffsetCommitResponse) -> None:
    topics = x.topics
    w(_pack_ii(x.throttle_time_ms, len(topics)))
    for topics_item in topics:
        _write_offset_commit_response_topic_v2(w, topics_item)


def _read_offset_commit_response_v8(data: bytes, pos: int, size: int) -> tuple[OffsetCommitResponse, int]:
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
        topics: list[OffsetCommitResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_commit_response_topic_v8(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitResponse", at, pos, error) from None
    return OffsetCommitResponse(throttle_time_ms, topics), pos


def _write_offset_commit_response_v8(w: Append, x: OffsetCommitResponse) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for topics_item in topics:
        _write_offset_commit_response_topic_v8(w, topics_item)
    w(b"\0")


def _read_offset_commit_response_v10(data: bytes, pos: int, size: int) -> tuple[OffsetCommitResponse, int]:
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
        topics: list[OffsetCommitResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_commit_response_topic_v10(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitResponse", at, pos, error) from None
    return OffsetCommitResponse(throttle_time_ms, topics), pos


def _write_offset_commit_response_v10(w: Append, x: OffsetCommitResponse) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for topics_item in topics:
        _write_offset_commit_response_topic_v10(w, topics_item)
    w(b"\0")
OffsetCommitResponse._READERS = {
    2: _read_offset_commit_response_v2,
    3: _read_offset_commit_response_v3,
    4: _read_offset_commit_response_v3,
    5: _read_offset_commit_response_v3,
    6: _read_offset_commit_response_v3,
    7: _read_offset_commit_response_v3,
    8: _read_offset_commit_response_v8,
    9: _read_offset_commit_response_v8,
    10: _read_offset_commit_response_v10,
}
OffsetCommitResponse._WRITERS = {
    2: _write_offset_commit_response_v2,
    3: _write_offset_commit_response_v3,
    4: _write_offset_commit_response_v3,
    5: _write_offset_commit_response_v3,
    6: _write_offset_commit_response_v3,
    7: _write_offset_commit_response_v3,
    8: _write_offset_commit_response_v8,
    9: _write_offset_commit_response_v8,
    10: _write_offset_commit_response_v10,
}
