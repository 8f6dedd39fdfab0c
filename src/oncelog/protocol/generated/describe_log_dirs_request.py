# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class DescribableLogDirTopic(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS = (
        Field("topic", "string", "0+"),
        Field("partitions", "int32", "0+", is_array=True),
    )

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = EMPTY,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions


class DescribeLogDirsRequest(Message):
    API_KEY = 35
    MIN_VERSION = 1
    MAX_VERSION = 5
    FLEXIBLE_FROM = 2
    __slots__ = ("topics",)
    FIELDS = (
        Field("topics", DescribableLogDirTopic, "0+", nullable="0+", is_array=True),
    )

    def __init__(
        self,
        topics: list[DescribableLogDirTopic] | None = EMPTY,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
