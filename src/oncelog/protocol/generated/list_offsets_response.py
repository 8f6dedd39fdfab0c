# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class ListOffsetsPartitionResponse(Struct):
    __slots__ = ("partition_index", "error_code", "timestamp", "offset", "leader_epoch")
    FIELDS = (
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("timestamp", "int64", "1+", default=-1),
        Field("offset", "int64", "1+", default=-1),
        Field("leader_epoch", "int32", "4+", default=-1),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        timestamp: int = -1,
        offset: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.timestamp = timestamp
        self.offset = offset
        self.leader_epoch = leader_epoch


class ListOffsetsTopicResponse(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("partitions", ListOffsetsPartitionResponse, "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[ListOffsetsPartitionResponse] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class ListOffsetsResponse(Message):
    API_KEY = 2
    MIN_VERSION = 1
    MAX_VERSION = 11
    FLEXIBLE_FROM = 6
    __slots__ = ("throttle_time_ms", "topics")
    FIELDS = (
        Field("throttle_time_ms", "int32", "2+", is_ignorable=True),
        Field("topics", ListOffsetsTopicResponse, "0+", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[ListOffsetsTopicResponse] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
