# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class TopicRequest(Struct):
    __slots__ = ("name", "partition_indexes")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("partition_indexes", "int32", "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = EMPTY,
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is EMPTY else partition_indexes


class DescribeProducersRequest(Message):
    API_KEY = 61
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("topics",)
    FIELDS = (
        Field("topics", TopicRequest, "0+", is_array=True),
    )

    def __init__(
        self,
        topics: list[TopicRequest] = EMPTY,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
