# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class OffsetCommitResponsePartition(Struct):
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


class OffsetCommitResponseTopic(Struct):
    __slots__ = ("name", "topic_id", "partitions")
    FIELDS = (
        Field("name", "string", "0-9", is_ignorable=True),
        Field("topic_id", "uuid", "10+", is_ignorable=True),
        Field("partitions", OffsetCommitResponsePartition, "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[OffsetCommitResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetCommitResponse(Message):
    API_KEY = 8
    MIN_VERSION = 2
    MAX_VERSION = 10
    FLEXIBLE_FROM = 8
    __slots__ = ("throttle_time_ms", "topics")
    FIELDS = (
        Field("throttle_time_ms", "int32", "3+", is_ignorable=True),
        Field("topics", OffsetCommitResponseTopic, "0+", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetCommitResponseTopic] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
