# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_h = _Struct(">h").pack
_pack_hx = _Struct(">hx").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ii = _Struct(">ii").pack
_pack_iqh = _Struct(">iqh").pack
_pack_iqi = _Struct(">iqi").pack
_pack_iqih = _Struct(">iqih").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from
_unpack_iqh = _Struct(">iqh").unpack_from
_unpack_iqiB = _Struct(">iqiB").unpack_from
_unpack_iqih = _Struct(">iqih").unpack_from


class OffsetFetchResponsePartition(Struct):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")

    def __init__(
        self,
        partition_index: int = 0,  # 0-7
        committed_offset: int = 0,  # 0-7
        committed_leader_epoch: int = -1,  # 5-7, ignorable
        metadata: str | None = "",  # 0-7
        error_code: int = 0,  # 0-7
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


class OffsetFetchResponsePartitions(Struct):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")

    def __init__(
        self,
        partition_index: int = 0,  # 8+
        committed_offset: int = 0,  # 8+
        committed_leader_epoch: int = -1,  # 8+, ignorable
        metadata: str | None = "",  # 8+
        error_code: int = 0,  # 8+
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


class OffsetFetchResponseTopic(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0-7
        partitions: list[OffsetFetchResponsePartition] = EMPTY,  # 0-7
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetFetchResponseTopics(Struct):
    __slots__ = ("name", "topic_id", "partitions")

    def __init__(
        self,
        name: str = "",  # 8-9, ignorable
        topic_id: Uuid = ZERO_UUID,  # 10+, ignorable
        partitions: list[OffsetFetchResponsePartitions] = EMPTY,  # 8+
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetFetchResponse(Message):
    API_KEY = 9
    MIN_VERSION = 1
    MAX_VERSION = 10
    FLEXIBLE_FROM = 6
    __slots__ = ("throttle_time_ms", "topics", "error_code", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 3+, ignorable
        topics: list[OffsetFetchResponseTopic] = EMPTY,  # 0-7
        error_code: int = 0,  # 2-7, ignorable
        groups: list[OffsetFetchResponseGroup] = EMPTY,  # 8+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.error_code = error_code
        self.groups = [] if groups is EMPTY else groups


class OffsetFetchResponseGroup(Struct):
    __slots__ = ("group_id", "topics", "error_code")

    def __init__(
        self,
        group_id: str = "",  # 8+
        topics: list[OffsetFetchResponseTopics] = EMPTY,  # 8+
        error_code: int = 0,  # 8+
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.error_code = error_code


def _read_offset_fetch_response_partition_v1(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponsePartition, int]:
    at = "partition_index"
    try:
        partition_index, committed_offset, count = _unpack_iqh(data, pos)
        pos += 14
        at = "metadata"
        metadata: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            metadata = data[pos:end].decode()
            pos = end
        at = "error_code"
        error_code, = _unpack_h(data, pos)
        pos += 2
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse.OffsetFetchResponsePartition", at, pos, error) from None
    return OffsetFetchResponsePartition(partition_index, committed_offset, -1, metadata, error_code), pos


def _write_offset_fetch_response_partition_v1(w: Append, x: OffsetFetchResponsePartition) -> None:
    metadata = x.metadata
    metadata_bytes = b"" if metadata is None else metadata.encode()
    w(_pack_iqh(x.partition_index, x.committed_offset, -1 if metadata is None else len(metadata_bytes)))
    w(metadata_bytes)
    w(_pack_h(x.error_code))


def _read_offset_fetch_response_partition_v5(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponsePartition, int]:
    at = "partition_index"
    try:
        partition_index, committed_offset, committed_leader_epoch, count = _unpack_iqih(data, pos)
        pos += 18
        at = "metadata"
        metadata: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            metadata = data[pos:end].decode()
            pos = end
        at = "error_code"
        error_code, = _unpack_h(data, pos)
        pos += 2
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse.OffsetFetchResponsePartition", at, pos, error) from None
    return OffsetFetchResponsePartition(partition_index, committed_offset, committed_leader_epoch, metadata, error_code), pos


def _write_offset_fetch_response_partition_v5(w: Append, x: OffsetFetchResponsePartition) -> None:
    metadata = x.metadata
    metadata_bytes = b"" if metadata is None else metadata.encode()
    w(_pack_iqih(x.partition_index, x.committed_offset, x.committed_leader_epoch, -1 if metadata is None else len(metadata_bytes)))
    w(metadata_bytes)
    w(_pack_h(x.error_code))


def _read_offset_fetch_response_partition_v6(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponsePartition, int]:
    at = "partition_index"
    try:
        partition_index, committed_offset, committed_leader_epoch, count = _unpack_iqiB(data, pos)
        pos += 17
        at = "metadata"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        metadata: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            metadata = data[pos:end].decode()
            pos = end
        at = "error_code"
        error_code, tags = _unpack_hB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse.OffsetFetchResponsePartition", at, pos, error) from None
    return OffsetFetchResponsePartition(partition_index, committed_offset, committed_leader_epoch, metadata, error_code), pos


def _write_offset_fetch_response_partition_v6(w: Append, x: OffsetFetchResponsePartition) -> None:
    metadata = x.metadata
    w(_pack_iqi(x.partition_index, x.committed_offset, x.committed_leader_epoch))
    if metadata is None:
        w(b"\0")
    else:
        metadata_bytes = metadata.encode()
        count = len(metadata_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(metadata_bytes)
    w(_pack_hx(x.error_code))


def _read_offset_fetch_response_partitions_v8(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponsePartitions, int]:
    at = "partition_index"
    try:
        partition_index, committed_offset, committed_leader_epoch, count = _unpack_iqiB(data, pos)
        pos += 17
        at = "metadata"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        metadata: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            metadata = data[pos:end].decode()
            pos = end
        at = "error_code"
        error_code, tags = _unpack_hB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse.OffsetFetchResponsePartitions", at, pos, error) from None
    return OffsetFetchResponsePartitions(partition_index, committed_offset, committed_leader_epoch, metadata, error_code), pos


def _write_offset_fetch_response_partitions_v8(w: Append, x: OffsetFetchResponsePartitions) -> None:
    metadata = x.metadata
    w(_pack_iqi(x.partition_index, x.committed_offset, x.committed_leader_epoch))
    if metadata is None:
        w(b"\0")
    else:
        metadata_bytes = metadata.encode()
        count = len(metadata_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(metadata_bytes)
    w(_pack_hx(x.error_code))


def _read_offset_fetch_response_topic_v1(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponseTopic, int]:
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
        partitions: list[OffsetFetchResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_fetch_response_partition_v1(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse.OffsetFetchResponseTopic", at, pos, error) from None
    return OffsetFetchResponseTopic(name, partitions), pos


def _write_offset_fetch_response_topic_v1(w: Append, x: OffsetFetchResponseTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_offset_fetch_response_partition_v1(w, partitions_item)


def _read_offset_fetch_response_topic_v5(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponseTopic, int]:
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
        partitions: list[OffsetFetchResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_fetch_response_partition_v5(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse.OffsetFetchResponseTopic", at, pos, error) from None
    return OffsetFetchResponseTopic(name, partitions), pos


def _write_offset_fetch_response_topic_v5(w: Append, x: OffsetFetchResponseTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_offset_fetch_response_partition_v5(w, partitions_item)


def _read_offset_fetch_response_topic_v6(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponseTopic, int]:
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
        partitions: list[OffsetFetchResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_fetch_response_partition_v6(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse.OffsetFetchResponseTopic", at, pos, error) from None
    return OffsetFetchResponseTopic(name, partitions), pos


def _write_offset_fetch_response_topic_v6(w: Append, x: OffsetFetchResponseTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_offset_fetch_response_partition_v6(w, partitions_item)
    w(b"\0")


def _read_offset_fetch_response_topics_v8(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponseTopics, int]:
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
        partitions: list[OffsetFetchResponsePartitions] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_fetch_response_partitions_v8(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse.OffsetFetchResponseTopics", at, pos, error) from None
    return OffsetFetchResponseTopics(name, ZERO_UUID, partitions), pos


def _write_offset_fetch_response_topics_v8(w: Append, x: OffsetFetchResponseTopics) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_offset_fetch_response_partitions_v8(w, partitions_item)
    w(b"\0")


def _read_offset_fetch_response_topics_v10(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponseTopics, int]:
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
        partitions: list[OffsetFetchResponsePartitions] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_fetch_response_partitions_v8(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse.OffsetFetchResponseTopics", at, pos, error) from None
    return OffsetFetchResponseTopics("", topic_id, partitions), pos


def _write_offset_fetch_response_topics_v10(w: Append, x: OffsetFetchResponseTopics) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("OffsetFetchResponse", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_offset_fetch_response_partitions_v8(w, partitions_item)
    w(b"\0")


def _read_offset_fetch_response_v1(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponse, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[OffsetFetchResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_fetch_response_topic_v1(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse", at, pos, error) from None
    return OffsetFetchResponse(0, topics, 0, EMPTY), pos


def _write_offset_fetch_response_v1(w: Append, x: OffsetFetchResponse) -> None:
    if x.groups:
        raise unsupported_field("OffsetFetchResponse", "groups", "1")
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_offset_fetch_response_topic_v1(w, topics_item)


def _read_offset_fetch_response_v2(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponse, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[OffsetFetchResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_fetch_response_topic_v1(data, pos, size)
            topics.append(topics_item)
        at = "error_code"
        error_code, = _unpack_h(data, pos)
        pos += 2
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse", at, pos, error) from None
    return OffsetFetchResponse(0, topics, error_code, EMPTY), pos


def _write_offset_fetch_response_v2(w: Append, x: OffsetFetchResponse) -> None:
    if x.groups:
        raise unsupported_field("OffsetFetchResponse", "groups", "2")
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_offset_fetch_response_topic_v1(w, topics_item)
    w(_pack_h(x.error_code))


def _read_offset_fetch_response_v3(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[OffsetFetchResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_fetch_response_topic_v1(data, pos, size)
            topics.append(topics_item)
        at = "error_code"
        error_code, = _unpack_h(data, pos)
        pos += 2
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse", at, pos, error) from None
    return OffsetFetchResponse(throttle_time_ms, topics, error_code, EMPTY), pos


def _write_offset_fetch_response_v3(w: Append, x: OffsetFetchResponse) -> None:
    if x.groups:
        raise unsupported_field("OffsetFetchResponse", "groups", "3-4")
    topics = x.topics
    w(_pack_ii(x.throttle_time_ms, len(topics)))
    for topics_item in topics:
        _write_offset_fetch_response_topic_v1(w, topics_item)
    w(_pack_h(x.error_code))


def _read_offset_fetch_response_v5(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[OffsetFetchResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_fetch_response_topic_v5(data, pos, size)
            topics.append(topics_item)
        at = "error_code"
        error_code, = _unpack_h(data, pos)
        pos += 2
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse", at, pos, error) from None
    return OffsetFetchResponse(throttle_time_ms, topics, error_code, EMPTY), pos


def _write_offset_fetch_response_v5(w: Append, x: OffsetFetchResponse) -> None:
    if x.groups:
        raise unsupported_field("OffsetFetchResponse", "groups", "5")
    topics = x.topics
    w(_pack_ii(x.throttle_time_ms, len(topics)))
    for topics_item in topics:
        _write_offset_fetch_response_topic_v5(w, topics_item)
    w(_pack_h(x.error_code))


def _read_offset_fetch_response_v6(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponse, int]:
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
        topics: list[OffsetFetchResponseTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_fetch_response_topic_v6(data, pos, size)
            topics.append(topics_item)
        at = "error_code"
        error_code, tags = _unpack_hB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse", at, pos, error) from None
    return OffsetFetchResponse(throttle_time_ms, topics, error_code, EMPTY), pos


def _write_offset_fetch_response_v6(w: Append, x: OffsetFetchResponse) -> None:
    if x.groups:
        raise unsupported_field("OffsetFetchResponse", "groups", "6-7")
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for topics_item in topics:
        _write_offset_fetch_response_topic_v6(w, topics_item)
    w(_pack_hx(x.error_code))


def _read_offset_fetch_response_group_v8(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponseGroup, int]:
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
        topics: list[OffsetFetchResponseTopics] = []
        for _ in range(count):
            topics_item, pos = _read_offset_fetch_response_topics_v8(data, pos, size)
            topics.append(topics_item)
        at = "error_code"
        error_code, tags = _unpack_hB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse.OffsetFetchResponseGroup", at, pos, error) from None
    return OffsetFetchResponseGroup(group_id, topics, error_code), pos


def _write_offset_fetch_response_group_v8(w: Append, x: OffsetFetchResponseGroup) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_offset_fetch_response_topics_v8(w, topics_item)
    w(_pack_hx(x.error_code))


def _read_offset_fetch_response_group_v10(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponseGroup, int]:
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
        topics: list[OffsetFetchResponseTopics] = []
        for _ in range(count):
            topics_item, pos = _read_offset_fetch_response_topics_v10(data, pos, size)
            topics.append(topics_item)
        at = "error_code"
        error_code, tags = _unpack_hB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse.OffsetFetchResponseGroup", at, pos, error) from None
    return OffsetFetchResponseGroup(group_id, topics, error_code), pos


def _write_offset_fetch_response_group_v10(w: Append, x: OffsetFetchResponseGroup) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_offset_fetch_response_topics_v10(w, topics_item)
    w(_pack_hx(x.error_code))


def _read_offset_fetch_response_v8(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponse, int]:
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
        groups: list[OffsetFetchResponseGroup] = []
        for _ in range(count):
            groups_item, pos = _read_offset_fetch_response_group_v8(data, pos, size)
            groups.append(groups_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse", at, pos, error) from None
    return OffsetFetchResponse(throttle_time_ms, EMPTY, 0, groups), pos


def _write_offset_fetch_response_v8(w: Append, x: OffsetFetchResponse) -> None:
    if x.topics:
        raise unsupported_field("OffsetFetchResponse", "topics", "8-9")
    groups = x.groups
    count = len(groups) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for groups_item in groups:
        _write_offset_fetch_response_group_v8(w, groups_item)
    w(b"\0")


def _read_offset_fetch_response_v10(data: bytes, pos: int, size: int) -> tuple[OffsetFetchResponse, int]:
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
        groups: list[OffsetFetchResponseGroup] = []
        for _ in range(count):
            groups_item, pos = _read_offset_fetch_response_group_v10(data, pos, size)
            groups.append(groups_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetFetchResponse", at, pos, error) from None
    return OffsetFetchResponse(throttle_time_ms, EMPTY, 0, groups), pos


def _write_offset_fetch_response_v10(w: Append, x: OffsetFetchResponse) -> None:
    if x.topics:
        raise unsupported_field("OffsetFetchResponse", "topics", "10")
    groups = x.groups
    count = len(groups) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for groups_item in groups:
        _write_offset_fetch_response_group_v10(w, groups_item)
    w(b"\0")
OffsetFetchResponse._READERS = {
    1: _read_offset_fetch_response_v1,
    2: _read_offset_fetch_response_v2,
    3: _read_offset_fetch_response_v3,
    4: _read_offset_fetch_response_v3,
    5: _read_offset_fetch_response_v5,
    6: _read_offset_fetch_response_v6,
    7: _read_offset_fetch_response_v6,
    8: _read_offset_fetch_response_v8,
    9: _read_offset_fetch_response_v8,
    10: _read_offset_fetch_response_v10,
}
OffsetFetchResponse._WRITERS = {
    1: _write_offset_fetch_response_v1,
    2: _write_offset_fetch_response_v2,
    3: _write_offset_fetch_response_v3,
    4: _write_offset_fetch_response_v3,
    5: _write_offset_fetch_response_v5,
    6: _write_offset_fetch_response_v6,
    7: _write_offset_fetch_response_v6,
    8: _write_offset_fetch_response_v8,
    9: _write_offset_fetch_response_v8,
    10: _write_offset_fetch_response_v10,
}
