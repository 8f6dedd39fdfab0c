# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class TopicRequest(Struct):
    __slots__ = ("name",)
    FIELDS = (
        Field("name", "string", "0+"),
    )

    def __init__(
        self,
        name: str = "",
    ) -> None:
        self.name = name


class Cursor(Struct):
    __slots__ = ("topic_name", "partition_index")
    FIELDS = (
        Field("topic_name", "string", "0+"),
        Field("partition_index", "int32", "0+"),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class DescribeTopicPartitionsRequest(Message):
    API_KEY = 75
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("topics", "response_partition_limit", "cursor")
    FIELDS = (
        Field("topics", TopicRequest, "0+", is_array=True),
        Field("response_partition_limit", "int32", "0+", default=2000),
        Field("cursor", Cursor, "0+", nullable="0+", default=None),
    )

    def __init__(
        self,
        topics: list[TopicRequest] = EMPTY,
        response_partition_limit: int = 2000,
        cursor: Cursor | None = None,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor
