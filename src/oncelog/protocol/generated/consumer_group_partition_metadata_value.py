# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class PartitionMetadata(Struct):
    __slots__ = ("partition", "racks")
    FIELDS = (
        Field("partition", "int32", "0+"),
        Field("racks", "string", "0+", is_array=True),
    )

    def __init__(
        self,
        partition: int = 0,
        racks: list[str] = EMPTY,
    ) -> None:
        self.partition = partition
        self.racks = [] if racks is EMPTY else racks


class TopicMetadata(Struct):
    __slots__ = ("topic_id", "topic_name", "num_partitions", "partition_metadata")
    FIELDS = (
        Field("topic_id", "uuid", "0+"),
        Field("topic_name", "string", "0+"),
        Field("num_partitions", "int32", "0+"),
        Field("partition_metadata", PartitionMetadata, "0+", is_array=True),
    )

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        topic_name: str = "",
        num_partitions: int = 0,
        partition_metadata: list[PartitionMetadata] = EMPTY,
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
    FIELDS = (
        Field("topics", TopicMetadata, "0+", is_array=True),
    )

    def __init__(
        self,
        topics: list[TopicMetadata] = EMPTY,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
