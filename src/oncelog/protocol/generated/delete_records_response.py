# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class DeleteRecordsPartitionResult(Struct):
    __slots__ = ("partition_index", "low_watermark", "error_code")
    FIELDS = (
        Field("partition_index", "int32", "0+"),
        Field("low_watermark", "int64", "0+"),
        Field("error_code", "int16", "0+"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        low_watermark: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.low_watermark = low_watermark
        self.error_code = error_code


class DeleteRecordsTopicResult(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("partitions", DeleteRecordsPartitionResult, "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartitionResult] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class DeleteRecordsResponse(Message):
    API_KEY = 21
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("throttle_time_ms", "topics")
    FIELDS = (
        Field("throttle_time_ms", "int32", "0+"),
        Field("topics", DeleteRecordsTopicResult, "0+", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DeleteRecordsTopicResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
