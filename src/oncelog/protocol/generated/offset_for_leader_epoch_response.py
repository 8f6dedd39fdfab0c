# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class EpochEndOffset(Struct):
    __slots__ = ("error_code", "partition", "leader_epoch", "end_offset")
    FIELDS = (
        Field("error_code", "int16", "0+"),
        Field("partition", "int32", "0+"),
        Field("leader_epoch", "int32", "1+", default=-1, is_ignorable=True),
        Field("end_offset", "int64", "0+", default=-1),
    )

    def __init__(
        self,
        error_code: int = 0,
        partition: int = 0,
        leader_epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.error_code = error_code
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.end_offset = end_offset


class OffsetForLeaderTopicResult(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS = (
        Field("topic", "string", "0+"),
        Field("partitions", EpochEndOffset, "0+", is_array=True),
    )

    def __init__(
        self,
        topic: str = "",
        partitions: list[EpochEndOffset] = EMPTY,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetForLeaderEpochResponse(Message):
    API_KEY = 23
    MIN_VERSION = 2
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    __slots__ = ("throttle_time_ms", "topics")
    FIELDS = (
        Field("throttle_time_ms", "int32", "2+", is_ignorable=True),
        Field("topics", OffsetForLeaderTopicResult, "0+", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetForLeaderTopicResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
