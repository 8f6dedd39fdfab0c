# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class OffsetDeleteResponsePartition(Struct):
    __slots__ = ("partition_index", "error_code")
    FIELDS = (
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


class OffsetDeleteResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("partitions", OffsetDeleteResponsePartition, "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetDeleteResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetDeleteResponse(Message):
    API_KEY = 47
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("error_code", "throttle_time_ms", "topics")
    FIELDS = (
        Field("error_code", "int16", "0+"),
        Field("throttle_time_ms", "int32", "0+", is_ignorable=True),
        Field("topics", OffsetDeleteResponseTopic, "0+", is_array=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        throttle_time_ms: int = 0,
        topics: list[OffsetDeleteResponseTopic] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
