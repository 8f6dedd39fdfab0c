# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from


class PartitionMetadata(Struct):
    __slots__ = ("partition", "racks")

    def __init__(
        self,
        partition: int = 0,  # 0+
        racks: list[str] = EMPTY,  # 0+
    ) -> None:
        self.partition = partition
        self.racks = [] if racks is EMPTY else racks


class TopicMetadata(Struct):
    __slots__ = ("topic_id", "topic_name", "num_partitions", "partition_metadata")

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,  # 0+
        topic_name: str = "",  # 0+
        num_partitions: int = 0,  # 0+
        partition_metadata: list[PartitionMetadata] = EMPTY,  # 0+
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.num_partitions = num_partitions
        self.partition_metadata = [] if partition_metadata is EMPTY else partition_metadata


class ConsumerGroupPartitionMetadataValue(Message):
    API_KEY = 4
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("topics",)

    def __init__(
        self,
        topics: list[TopicMetadata] = EMPTY,  # 0+
    ) -> None:
        self.topics = [] if topics is EMPTY else topics


def _read_partition_metadata_v0(data: bytes, pos: int, size: int) -> tuple[PartitionMetadata, int]:
    at = "partition"
    try:
        partition, count = _unpack_iB(data, pos)
        pos += 5
        at = "racks"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        racks: list[str] = []
        for _ in range(count):
            count = data[pos]
            pos += 1
            if count > 127:
                count, pos = string_length_tail(data, pos, count)
            if not count:
                raise null_value(count)
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            racks_item = data[pos:end].decode()
            pos = end
            racks.append(racks_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ConsumerGroupPartitionMetadataValue.PartitionMetadata", at, pos, error) from None
    return PartitionMetadata(partition, racks), pos


def _write_partition_metadata_v0(w: Append, x: PartitionMetadata) -> None:
    racks = x.racks
    count = len(racks) + 1
    w(_pack_iB(x.partition, count) if count < 128 else _pack_i(x.partition) + uvarint(count))
    for racks_item in racks:
        racks_item_bytes = racks_item.encode()
        count = len(racks_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(racks_item_bytes)
    w(b"\0")


def _read_topic_metadata_v0(data: bytes, pos: int, size: int) -> tuple[TopicMetadata, int]:
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
        at = "num_partitions"
        num_partitions, count = _unpack_iB(data, pos)
        pos += 5
        at = "partition_metadata"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        partition_metadata: list[PartitionMetadata] = []
        for _ in range(count):
            partition_metadata_item, pos = _read_partition_metadata_v0(data, pos, size)
            partition_metadata.append(partition_metadata_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ConsumerGroupPartitionMetadataValue.TopicMetadata", at, pos, error) from None
    return TopicMetadata(topic_id, topic_name, num_partitions, partition_metadata), pos


def _write_topic_metadata_v0(w: Append, x: TopicMetadata) -> None:
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("ConsumerGroupPartitionMetadataValue", "topic_id", topic_id)
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + string_length(count))
    w(topic_name_bytes)
    partition_metadata = x.partition_metadata
    count = len(partition_metadata) + 1
    w(_pack_iB(x.num_partitions, count) if count < 128 else _pack_i(x.num_partitions) + uvarint(count))
    for partition_metadata_item in partition_metadata:
        _write_partition_metadata_v0(w, partition_metadata_item)
    w(b"\0")


def _read_consumer_group_partition_metadata_value_v0(data: bytes, pos: int, size: int) -> tuple[ConsumerGroupPartitionMetadataValue, int]:
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
        topics: list[TopicMetadata] = []
        for _ in range(count):
            topics_item, pos = _read_topic_metadata_v0(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ConsumerGroupPartitionMetadataValue", at, pos, error) from None
    return ConsumerGroupPartitionMetadataValue(topics), pos


def _write_consumer_group_partition_metadata_value_v0(w: Append, x: ConsumerGroupPartitionMetadataValue) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_topic_metadata_v0(w, topics_item)
    w(b"\0")
ConsumerGroupPartitionMetadataValue._READERS = {
    0: _read_consumer_group_partition_metadata_value_v0,
}
ConsumerGroupPartitionMetadataValue._WRITERS = {
    0: _write_consumer_group_partition_metadata_value_v0,
}
