# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_unpack_UB = _Struct(">16sB").unpack_from


class TopicPartitionsInfo(Struct):
    __slots__ = ("topic_id", "topic_name", "partitions")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 0+
        topic_name: str = "",  # 0+
        partitions: list[int] = EMPTY,  # 0+
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions


class TopicInfo(Struct):
    __slots__ = ("topic_id", "topic_name")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 0+
        topic_name: str = "",  # 0+
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name


class ShareGroupStatePartitionMetadataValue(Message):
    API_KEY = 15
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("initializing_topics", "initialized_topics", "deleting_topics")

    def __init__(
        self,
        initializing_topics: list[TopicPartitionsInfo] = EMPTY,  # 0+
        initialized_topics: list[TopicPartitionsInfo] = EMPTY,  # 0+
        deleting_topics: list[TopicInfo] = EMPTY,  # 0+
    ) -> None:
        self.initializing_topics = [] if initializing_topics is EMPTY else initializing_topics
        self.initialized_topics = [] if initialized_topics is EMPTY else initialized_topics
        self.deleting_topics = [] if deleting_topics is EMPTY else deleting_topics


def _read_topic_partitions_info_v0(data: bytes, pos: int, size: int) -> tuple[TopicPartitionsInfo, int]:
    at = "topic_id"
    try:
        topic_id, count = _unpack_UB(data, pos)
        pos += 17
        at = "topic_name"
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
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        partitions: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo", at, pos, error) from None
    return TopicPartitionsInfo(topic_id, topic_name, partitions), pos


def _write_topic_partitions_info_v0(w: Append, x: TopicPartitionsInfo) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ShareGroupStatePartitionMetadataValue", "topic_id", topic_id)
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + string_length(count))
    w(topic_name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(partitions)](*partitions) if len(partitions) < 8 else pack(f">{len(partitions)}i", *partitions))
    w(b"\0")


def _read_topic_info_v0(data: bytes, pos: int, size: int) -> tuple[TopicInfo, int]:
    at = "topic_id"
    try:
        topic_id, count = _unpack_UB(data, pos)
        pos += 17
        at = "topic_name"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        topic_name = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareGroupStatePartitionMetadataValue.TopicInfo", at, pos, error) from None
    return TopicInfo(topic_id, topic_name), pos


def _write_topic_info_v0(w: Append, x: TopicInfo) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ShareGroupStatePartitionMetadataValue", "topic_id", topic_id)
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + string_length(count))
    w(topic_name_bytes)
    w(b"\0")


def _read_share_group_state_partition_metadata_value_v0(data: bytes, pos: int, size: int) -> tuple[ShareGroupStatePartitionMetadataValue, int]:
    at = "initializing_topics"
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
        initializing_topics: list[TopicPartitionsInfo] = []
        for _ in range(count):
            initializing_topics_item, pos = _read_topic_partitions_info_v0(data, pos, size)
            initializing_topics.append(initializing_topics_item)
        at = "initialized_topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        initialized_topics: list[TopicPartitionsInfo] = []
        for _ in range(count):
            initialized_topics_item, pos = _read_topic_partitions_info_v0(data, pos, size)
            initialized_topics.append(initialized_topics_item)
        at = "deleting_topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        deleting_topics: list[TopicInfo] = []
        for _ in range(count):
            deleting_topics_item, pos = _read_topic_info_v0(data, pos, size)
            deleting_topics.append(deleting_topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareGroupStatePartitionMetadataValue", at, pos, error) from None
    return ShareGroupStatePartitionMetadataValue(initializing_topics, initialized_topics, deleting_topics), pos


def _write_share_group_state_partition_metadata_value_v0(w: Append, x: ShareGroupStatePartitionMetadataValue) -> None:
    initializing_topics = x.initializing_topics
    count = len(initializing_topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for initializing_topics_item in initializing_topics:
        _write_topic_partitions_info_v0(w, initializing_topics_item)
    initialized_topics = x.initialized_topics
    count = len(initialized_topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for initialized_topics_item in initialized_topics:
        _write_topic_partitions_info_v0(w, initialized_topics_item)
    deleting_topics = x.deleting_topics
    count = len(deleting_topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for deleting_topics_item in deleting_topics:
        _write_topic_info_v0(w, deleting_topics_item)
    w(b"\0")
ShareGroupStatePartitionMetadataValue._READERS = {
    0: _read_share_group_state_partition_metadata_value_v0,
}
ShareGroupStatePartitionMetadataValue._WRITERS = {
    0: _write_share_group_state_partition_metadata_value_v0,
}
