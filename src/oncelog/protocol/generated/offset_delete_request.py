# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class OffsetDeleteRequestPartition(Struct):
    __slots__ = ("partition_index",)
    FIELDS = (
        Field("partition_index", "int32", "0+"),
    )

    def __init__(
        self,
        partition_index: int = 0,
    ) -> None:
        self.partition_index = partition_index


class OffsetDeleteRequestTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("partitions", OffsetDeleteRequestPartition, "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteRequestPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetDeleteRequest(Message):
    API_KEY = 47
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("group_id", "topics")
    FIELDS = (
        Field("group_id", "string", "0+"),
        Field("topics", OffsetDeleteRequestTopic, "0+", is_array=True),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetDeleteRequestTopic] = EMPTY,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
