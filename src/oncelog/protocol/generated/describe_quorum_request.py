# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class PartitionData(Struct):
    __slots__ = ("partition_index",)
    FIELDS = (
        Field("partition_index", "int32", "0+"),
    )

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


class TopicData(Struct):
    __slots__ = ("topic_name", "partitions")
    FIELDS = (
        Field("topic_name", "string", "0+"),
        Field("partitions", PartitionData, "0+", is_array=True),
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[PartitionData] = EMPTY,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions


class DescribeQuorumRequest(Message):
    API_KEY = 55
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("topics",)
    FIELDS = (
        Field("topics", TopicData, "0+", is_array=True),
    )

    def __init__(
        self,
        topics: list[TopicData] = EMPTY,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
