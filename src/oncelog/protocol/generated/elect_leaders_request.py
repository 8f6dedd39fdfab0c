# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class TopicPartitions(Struct):
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


class ElectLeadersRequest(Message):
    API_KEY = 43
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("election_type", "topic_partitions", "timeout_ms")
    FIELDS = (
        Field("election_type", "int8", "1+"),
        Field("topic_partitions", TopicPartitions, "0+", nullable="0+", is_array=True),
        Field("timeout_ms", "int32", "0+", default=60000),
    )

    def __init__(
        self,
        election_type: int = 0,
        topic_partitions: list[TopicPartitions] | None = EMPTY,
        timeout_ms: int = 60000,
    ) -> None:
        self.election_type = election_type
        self.topic_partitions = [] if topic_partitions is EMPTY else topic_partitions
        self.timeout_ms = timeout_ms
