# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, ElementLimit, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_iqh = _Struct(">iqh").pack
_pack_iqi = _Struct(">iqi").pack
_pack_iqih = _Struct(">iqih").pack
_pack_qi = _Struct(">qi").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ih = _Struct(">ih").unpack_from
_unpack_iqh = _Struct(">iqh").unpack_from
_unpack_iqiB = _Struct(">iqiB").unpack_from
_unpack_iqih = _Struct(">iqih").unpack_from
_unpack_qi = _Struct(">qi").unpack_from


class OffsetCommitRequestPartition(Struct):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        committed_offset: int = 0,  # 0+
        committed_leader_epoch: int = -1,  # 6+, ignorable
        committed_metadata: str | None = "",  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.committed_metadata = committed_metadata


class OffsetCommitRequestTopic(Struct):
    __slots__ = ("name", "topic_id", "partitions")

    def __init__(
        self,
        name: str = "",  # 0-9, ignorable
        topic_id: Uuid = ZERO_UUID,  # 10+, ignorable
        partitions: list[OffsetCommitRequestPartition] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetCommitRequest(Message):
    API_KEY = 8
    MIN_VERSION = 2
    MAX_VERSION = 10
    FLEXIBLE_FROM = 8
    __slots__ = ("group_id", "generation_id_or_member_epoch", "member_id", "group_instance_id", "retention_time_ms", "topics")

    def __init__(
        self,
        group_id: str = "",  # 0+
        generation_id_or_member_epoch: int = -1,  # 1+, ignorable
        member_id: str = "",  # 1+, ignorable
        group_instance_id: str | None = None,  # 7+
        retention_time_ms: int = -1,  # 2-4, ignorable
        topics: list[OffsetCommitRequestTopic] = EMPTY,  # 0+
    ) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.retention_time_ms = retention_time_ms
        self.topics = [] if topics is EMPTY else topics


def _read_offset_commit_request_partition_v2(data: bytes, pos: int, size: int) -> tuple[OffsetCommitRequestPartition, int]:
    at = "partition_index"
    try:
        partition_index, committed_offset, count = _unpack_iqh(data, pos)
        pos += 14
        at = "committed_metadata"
        committed_metadata: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            committed_metadata = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("OffsetCommitRequest.OffsetCommitRequestPartition", at, pos, error) from None
    return OffsetCommitRequestPartition(partition_index, committed_offset, -1, committed_metadata), pos


def _write_offset_commit_request_partition_v2(w: Append, x: OffsetCommitRequestPartition) -> None:
    committed_metadata = x.committed_metadata
    committed_metadata_bytes = b"" if committed_metadata is None else committed_metadata.encode()
    w(_pack_iqh(x.partition_index, x.committed_offset, -1 if committed_metadata is None else len(committed_metadata_bytes)))
    w(committed_metadata_bytes)


def _read_offset_commit_request_partition_v6(data: bytes, pos: int, size: int) -> tuple[OffsetCommitRequestPartition, int]:
    at = "partition_index"
    try:
        partition_index, committed_offset, committed_leader_epoch, count = _unpack_iqih(data, pos)
        pos += 18
        at = "committed_metadata"
        committed_metadata: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            committed_metadata = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("OffsetCommitRequest.OffsetCommitRequestPartition", at, pos, error) from None
    return OffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata), pos


def _write_offset_commit_request_partition_v6(w: Append, x: OffsetCommitRequestPartition) -> None:
    committed_metadata = x.committed_metadata
    committed_metadata_bytes = b"" if committed_metadata is None else committed_metadata.encode()
    w(_pack_iqih(x.partition_index, x.committed_offset, x.committed_leader_epoch, -1 if committed_metadata is None else len(committed_metadata_bytes)))
    w(committed_metadata_bytes)


def _read_offset_commit_request_partition_v8(data: bytes, pos: int, size: int) -> tuple[OffsetCommitRequestPartition, int]:
    at = "partition_index"
    try:
        partition_index, committed_offset, committed_leader_epoch, count = _unpack_iqiB(data, pos)
        pos += 17
        at = "committed_metadata"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        committed_metadata: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            committed_metadata = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitRequest.OffsetCommitRequestPartition", at, pos, error) from None
    return OffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata), pos


def _write_offset_commit_request_partition_v8(w: Append, x: OffsetCommitRequestPartition) -> None:
    committed_metadata = x.committed_metadata
    w(_pack_iqi(x.partition_index, x.committed_offset, x.committed_leader_epoch))
    if committed_metadata is None:
        w(b"\0")
    else:
        committed_metadata_bytes = committed_metadata.encode()
        count = len(committed_metadata_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(committed_metadata_bytes)
    w(b"\0")


def _read_offset_commit_request_topic_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetCommitRequestTopic, int]:
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
        partitions: list[OffsetCommitRequestPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_commit_request_partition_v2(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitRequest.OffsetCommitRequestTopic", at, pos, error) from None
    return OffsetCommitRequestTopic(name, ZERO_UUID, partitions), pos


def _write_offset_commit_request_topic_v2(w: Append, x: OffsetCommitRequestTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_offset_commit_request_partition_v2(w, partitions_item)


def _read_offset_commit_request_topic_v6(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetCommitRequestTopic, int]:
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
        partitions: list[OffsetCommitRequestPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_commit_request_partition_v6(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitRequest.OffsetCommitRequestTopic", at, pos, error) from None
    return OffsetCommitRequestTopic(name, ZERO_UUID, partitions), pos


def _write_offset_commit_request_topic_v6(w: Append, x: OffsetCommitRequestTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_offset_commit_request_partition_v6(w, partitions_item)


def _read_offset_commit_request_topic_v8(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetCommitRequestTopic, int]:
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
        partitions: list[OffsetCommitRequestPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_commit_request_partition_v8(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitRequest.OffsetCommitRequestTopic", at, pos, error) from None
    return OffsetCommitRequestTopic(name, ZERO_UUID, partitions), pos


def _write_offset_commit_request_topic_v8(w: Append, x: OffsetCommitRequestTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_offset_commit_request_partition_v8(w, partitions_item)
    w(b"\0")


def _read_offset_commit_request_topic_v10(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetCommitRequestTopic, int]:
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
        if limit is not None:
            limit.take(count)
        partitions: list[OffsetCommitRequestPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_offset_commit_request_partition_v8(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitRequest.OffsetCommitRequestTopic", at, pos, error) from None
    return OffsetCommitRequestTopic("", topic_id, partitions), pos


def _write_offset_commit_request_topic_v10(w: Append, x: OffsetCommitRequestTopic) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("OffsetCommitRequest", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_offset_commit_request_partition_v8(w, partitions_item)
    w(b"\0")


def _read_offset_commit_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetCommitRequest, int]:
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
        at = "generation_id_or_member_epoch"
        generation_id_or_member_epoch, count = _unpack_ih(data, pos)
        pos += 6
        at = "member_id"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_id = data[pos:end].decode()
        pos = end
        at = "retention_time_ms"
        retention_time_ms, count = _unpack_qi(data, pos)
        pos += 12
        at = "topics"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[OffsetCommitRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_commit_request_topic_v2(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitRequest", at, pos, error) from None
    return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, None, retention_time_ms, topics), pos


def _write_offset_commit_request_v2(w: Append, x: OffsetCommitRequest) -> None:
    if x.group_instance_id is not None:
        raise unsupported_field("OffsetCommitRequest", "group_instance_id", "2-4")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_ih(x.generation_id_or_member_epoch, len(member_id_bytes)))
    w(member_id_bytes)
    topics = x.topics
    w(_pack_qi(x.retention_time_ms, len(topics)))
    for topics_item in topics:
        _write_offset_commit_request_topic_v2(w, topics_item)


def _read_offset_commit_request_v5(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetCommitRequest, int]:
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
        at = "generation_id_or_member_epoch"
        generation_id_or_member_epoch, count = _unpack_ih(data, pos)
        pos += 6
        at = "member_id"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_id = data[pos:end].decode()
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
        topics: list[OffsetCommitRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_commit_request_topic_v2(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitRequest", at, pos, error) from None
    return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, None, -1, topics), pos


def _write_offset_commit_request_v5(w: Append, x: OffsetCommitRequest) -> None:
    if x.group_instance_id is not None:
        raise unsupported_field("OffsetCommitRequest", "group_instance_id", "5")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_ih(x.generation_id_or_member_epoch, len(member_id_bytes)))
    w(member_id_bytes)
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_offset_commit_request_topic_v2(w, topics_item)


def _read_offset_commit_request_v6(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetCommitRequest, int]:
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
        at = "generation_id_or_member_epoch"
        generation_id_or_member_epoch, count = _unpack_ih(data, pos)
        pos += 6
        at = "member_id"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_id = data[pos:end].decode()
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
        topics: list[OffsetCommitRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_commit_request_topic_v6(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitRequest", at, pos, error) from None
    return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, None, -1, topics), pos


def _write_offset_commit_request_v6(w: Append, x: OffsetCommitRequest) -> None:
    if x.group_instance_id is not None:
        raise unsupported_field("OffsetCommitRequest", "group_instance_id", "6")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_ih(x.generation_id_or_member_epoch, len(member_id_bytes)))
    w(member_id_bytes)
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_offset_commit_request_topic_v6(w, topics_item)


def _read_offset_commit_request_v7(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetCommitRequest, int]:
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
        at = "generation_id_or_member_epoch"
        generation_id_or_member_epoch, count = _unpack_ih(data, pos)
        pos += 6
        at = "member_id"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_id = data[pos:end].decode()
        pos = end
        at = "group_instance_id"
        count, = _unpack_h(data, pos)
        pos += 2
        group_instance_id: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            group_instance_id = data[pos:end].decode()
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
        topics: list[OffsetCommitRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_commit_request_topic_v6(data, pos, size, limit)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitRequest", at, pos, error) from None
    return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, group_instance_id, -1, topics), pos


def _write_offset_commit_request_v7(w: Append, x: OffsetCommitRequest) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_ih(x.generation_id_or_member_epoch, len(member_id_bytes)))
    w(member_id_bytes)
    group_instance_id = x.group_instance_id
    group_instance_id_bytes = b"" if group_instance_id is None else group_instance_id.encode()
    w(_pack_h(-1 if group_instance_id is None else len(group_instance_id_bytes)))
    w(group_instance_id_bytes)
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_offset_commit_request_topic_v6(w, topics_item)


def _read_offset_commit_request_v8(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetCommitRequest, int]:
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
        at = "generation_id_or_member_epoch"
        generation_id_or_member_epoch, count = _unpack_iB(data, pos)
        pos += 5
        at = "member_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        member_id = data[pos:end].decode()
        pos = end
        at = "group_instance_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        group_instance_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            group_instance_id = data[pos:end].decode()
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
        topics: list[OffsetCommitRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_commit_request_topic_v8(data, pos, size, limit)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitRequest", at, pos, error) from None
    return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, group_instance_id, -1, topics), pos


def _write_offset_commit_request_v8(w: Append, x: OffsetCommitRequest) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(_pack_iB(x.generation_id_or_member_epoch, count) if count < 128 else _pack_i(x.generation_id_or_member_epoch) + string_length(count))
    w(member_id_bytes)
    group_instance_id = x.group_instance_id
    if group_instance_id is None:
        w(b"\0")
    else:
        group_instance_id_bytes = group_instance_id.encode()
        count = len(group_instance_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(group_instance_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_offset_commit_request_topic_v8(w, topics_item)
    w(b"\0")


def _read_offset_commit_request_v10(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[OffsetCommitRequest, int]:
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
        at = "generation_id_or_member_epoch"
        generation_id_or_member_epoch, count = _unpack_iB(data, pos)
        pos += 5
        at = "member_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        member_id = data[pos:end].decode()
        pos = end
        at = "group_instance_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        group_instance_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            group_instance_id = data[pos:end].decode()
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
        topics: list[OffsetCommitRequestTopic] = []
        for _ in range(count):
            topics_item, pos = _read_offset_commit_request_topic_v10(data, pos, size, limit)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("OffsetCommitRequest", at, pos, error) from None
    return OffsetCommitRequest(group_id, generation_id_or_member_epoch, member_id, group_instance_id, -1, topics), pos


def _write_offset_commit_request_v10(w: Append, x: OffsetCommitRequest) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(_pack_iB(x.generation_id_or_member_epoch, count) if count < 128 else _pack_i(x.generation_id_or_member_epoch) + string_length(count))
    w(member_id_bytes)
    group_instance_id = x.group_instance_id
    if group_instance_id is None:
        w(b"\0")
    else:
        group_instance_id_bytes = group_instance_id.encode()
        count = len(group_instance_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(group_instance_id_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_offset_commit_request_topic_v10(w, topics_item)
    w(b"\0")
OffsetCommitRequest._READERS = {
    2: _read_offset_commit_request_v2,
    3: _read_offset_commit_request_v2,
    4: _read_offset_commit_request_v2,
    5: _read_offset_commit_request_v5,
    6: _read_offset_commit_request_v6,
    7: _read_offset_commit_request_v7,
    8: _read_offset_commit_request_v8,
    9: _read_offset_commit_request_v8,
    10: _read_offset_commit_request_v10,
}
OffsetCommitRequest._WRITERS = {
    2: _write_offset_commit_request_v2,
    3: _write_offset_commit_request_v2,
    4: _write_offset_commit_request_v2,
    5: _write_offset_commit_request_v5,
    6: _write_offset_commit_request_v6,
    7: _write_offset_commit_request_v7,
    8: _write_offset_commit_request_v8,
    9: _write_offset_commit_request_v8,
    10: _write_offset_commit_request_v10,
}
