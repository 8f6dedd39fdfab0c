# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_iqih = _Struct(">iqih").pack
_pack_iqiqh = _Struct(">iqiqh").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_iqihB = _Struct(">iqihB").unpack_from
_unpack_iqiqhB = _Struct(">iqiqhB").unpack_from


class DescribeShareGroupOffsetsResponsePartition(Struct):
    __slots__ = ("partition_index", "start_offset", "leader_epoch", "lag", "error_code", "error_message")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        start_offset: int = 0,  # 0+
        leader_epoch: int = 0,  # 0+
        lag: int = -1,  # 1+, ignorable
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.start_offset = start_offset
        self.leader_epoch = leader_epoch
        self.lag = lag
        self.error_code = error_code
        self.error_message = error_message


class DescribeShareGroupOffsetsResponseTopic(Struct):
    __slots__ = ("topic_name", "topic_id", "partitions")

    def __init__(
        self,
        topic_name: str = "",  # 0+
        topic_id: Uuid = ZERO_UUID,  # 0+
        partitions: list[DescribeShareGroupOffsetsResponsePartition] = EMPTY,  # 0+
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class DescribeShareGroupOffsetsResponseGroup(Struct):
    __slots__ = ("group_id", "topics", "error_code", "error_message")

    def __init__(
        self,
        group_id: str = "",  # 0+
        topics: list[DescribeShareGroupOffsetsResponseTopic] = EMPTY,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 0+
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.error_code = error_code
        self.error_message = error_message


class DescribeShareGroupOffsetsResponse(Message):
    API_KEY = 90
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        groups: list[DescribeShareGroupOffsetsResponseGroup] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups = [] if groups is EMPTY else groups


def _read_describe_share_group_offsets_response_partition_v0(data: bytes, pos: int, size: int) -> tuple[DescribeShareGroupOffsetsResponsePartition, int]:
    at = "partition_index"
    try:
        partition_index, start_offset, leader_epoch, error_code, count = _unpack_iqihB(data, pos)
        pos += 19
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition", at, pos, error) from None
    return DescribeShareGroupOffsetsResponsePartition(partition_index, start_offset, leader_epoch, -1, error_code, error_message), pos


def _write_describe_share_group_offsets_response_partition_v0(w: Append, x: DescribeShareGroupOffsetsResponsePartition) -> None:
    error_message = x.error_message
    w(_pack_iqih(x.partition_index, x.start_offset, x.leader_epoch, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    w(b"\0")


def _read_describe_share_group_offsets_response_partition_v1(data: bytes, pos: int, size: int) -> tuple[DescribeShareGroupOffsetsResponsePartition, int]:
    at = "partition_index"
    try:
        partition_index, start_offset, leader_epoch, lag, error_code, count = _unpack_iqiqhB(data, pos)
        pos += 27
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition", at, pos, error) from None
    return DescribeShareGroupOffsetsResponsePartition(partition_index, start_offset, leader_epoch, lag, error_code, error_message), pos


def _write_describe_share_group_offsets_response_partition_v1(w: Append, x: DescribeShareGroupOffsetsResponsePartition) -> None:
    error_message = x.error_message
    w(_pack_iqiqh(x.partition_index, x.start_offset, x.leader_epoch, x.lag, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    w(b"\0")


def _read_describe_share_group_offsets_response_topic_v0(data: bytes, pos: int, size: int) -> tuple[DescribeShareGroupOffsetsResponseTopic, int]:
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
        at = "topic_id"
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
        partitions: list[DescribeShareGroupOffsetsResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_describe_share_group_offsets_response_partition_v0(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic", at, pos, error) from None
    return DescribeShareGroupOffsetsResponseTopic(topic_name, topic_id, partitions), pos


def _write_describe_share_group_offsets_response_topic_v0(w: Append, x: DescribeShareGroupOffsetsResponseTopic) -> None:
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_name_bytes)
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("DescribeShareGroupOffsetsResponse", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_describe_share_group_offsets_response_partition_v0(w, partitions_item)
    w(b"\0")


def _read_describe_share_group_offsets_response_topic_v1(data: bytes, pos: int, size: int) -> tuple[DescribeShareGroupOffsetsResponseTopic, int]:
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
        at = "topic_id"
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
        partitions: list[DescribeShareGroupOffsetsResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_describe_share_group_offsets_response_partition_v1(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic", at, pos, error) from None
    return DescribeShareGroupOffsetsResponseTopic(topic_name, topic_id, partitions), pos


def _write_describe_share_group_offsets_response_topic_v1(w: Append, x: DescribeShareGroupOffsetsResponseTopic) -> None:
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_name_bytes)
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("DescribeShareGroupOffsetsResponse", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_describe_share_group_offsets_response_partition_v1(w, partitions_item)
    w(b"\0")


def _read_describe_share_group_offsets_response_group_v0(data: bytes, pos: int, size: int) -> tuple[DescribeShareGroupOffsetsResponseGroup, int]:
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
        topics: list[DescribeShareGroupOffsetsResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_describe_share_group_offsets_response_topic_v0(data, pos, size)
            topics.append(topics_item)
        at = "error_code"
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup", at, pos, error) from None
    return DescribeShareGroupOffsetsResponseGroup(group_id, topics, error_code, error_message), pos


def _write_describe_share_group_offsets_response_group_v0(w: Append, x: DescribeShareGroupOffsetsResponseGroup) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_describe_share_group_offsets_response_topic_v0(w, topics_item)
    error_message = x.error_message
    w(_pack_h(x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    w(b"\0")


def _read_describe_share_group_offsets_response_group_v1(data: bytes, pos: int, size: int) -> tuple[DescribeShareGroupOffsetsResponseGroup, int]:
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
        topics: list[DescribeShareGroupOffsetsResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_describe_share_group_offsets_response_topic_v1(data, pos, size)
            topics.append(topics_item)
        at = "error_code"
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup", at, pos, error) from None
    return DescribeShareGroupOffsetsResponseGroup(group_id, topics, error_code, error_message), pos


def _write_describe_share_group_offsets_response_group_v1(w: Append, x: DescribeShareGroupOffsetsResponseGroup) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_describe_share_group_offsets_response_topic_v1(w, topics_item)
    error_message = x.error_message
    w(_pack_h(x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    w(b"\0")


def _read_describe_share_group_offsets_response_v0(data: bytes, pos: int, size: int) -> tuple[DescribeShareGroupOffsetsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "groups"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        groups: list[DescribeShareGroupOffsetsResponseGroup] = []
        for _ in range(count):
            groups_item, pos = _read_describe_share_group_offsets_response_group_v0(data, pos, size)
            groups.append(groups_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeShareGroupOffsetsResponse", at, pos, error) from None
    return DescribeShareGroupOffsetsResponse(throttle_time_ms, groups), pos


def _write_describe_share_group_offsets_response_v0(w: Append, x: DescribeShareGroupOffsetsResponse) -> None:
    groups = x.groups
    count = len(groups) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for groups_item in groups:
        _write_describe_share_group_offsets_response_group_v0(w, groups_item)
    w(b"\0")


def _read_describe_share_group_offsets_response_v1(data: bytes, pos: int, size: int) -> tuple[DescribeShareGroupOffsetsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "groups"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        groups: list[DescribeShareGroupOffsetsResponseGroup] = []
        for _ in range(count):
            groups_item, pos = _read_describe_share_group_offsets_response_group_v1(data, pos, size)
            groups.append(groups_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeShareGroupOffsetsResponse", at, pos, error) from None
    return DescribeShareGroupOffsetsResponse(throttle_time_ms, groups), pos


def _write_describe_share_group_offsets_response_v1(w: Append, x: DescribeShareGroupOffsetsResponse) -> None:
    groups = x.groups
    count = len(groups) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for groups_item in groups:
        _write_describe_share_group_offsets_response_group_v1(w, groups_item)
    w(b"\0")
DescribeShareGroupOffsetsResponse._READERS = {
    0: _read_describe_share_group_offsets_response_v0,
    1: _read_describe_share_group_offsets_response_v1,
}
DescribeShareGroupOffsetsResponse._WRITERS = {
    0: _write_describe_share_group_offsets_response_v0,
    1: _write_describe_share_group_offsets_response_v1,
}
