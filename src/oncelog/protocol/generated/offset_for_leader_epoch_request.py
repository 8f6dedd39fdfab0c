# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class OffsetForLeaderPartition(Struct):
    __slots__ = ("partition", "current_leader_epoch", "leader_epoch")
    FIELDS = (
        Field("partition", "int32", "0+"),
        Field("current_leader_epoch", "int32", "2+", default=-1, is_ignorable=True),
        Field("leader_epoch", "int32", "0+"),
    )

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch


class OffsetForLeaderTopic(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS = (
        Field("topic", "string", "0+"),
        Field("partitions", OffsetForLeaderPartition, "0+", is_array=True),
    )

    def __init__(
        self,
        topic: str = "",
        partitions: list[OffsetForLeaderPartition] = EMPTY,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetForLeaderEpochRequest(Message):
    API_KEY = 23
    MIN_VERSION = 2
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    __slots__ = ("replica_id", "topics")
    FIELDS = (
        Field("replica_id", "int32", "3+", default=-2, is_ignorable=True),
        Field("topics", OffsetForLeaderTopic, "0+", is_array=True),
    )

    def __init__(
        self,
        replica_id: int = -2,
        topics: list[OffsetForLeaderTopic] = EMPTY,
    ) -> None:
        self.replica_id = replica_id
        self.topics = [] if topics is EMPTY else topics
