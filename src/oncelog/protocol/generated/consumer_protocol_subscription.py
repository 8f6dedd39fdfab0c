# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class TopicPartition(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS = (
        Field("topic", "string", "1+"),
        Field("partitions", "int32", "1+", is_array=True),
    )

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = EMPTY,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is EMPTY else partitions


class ConsumerProtocolSubscription(Message):
    API_KEY = -1
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 32767
    __slots__ = ("topics", "user_data", "owned_partitions", "generation_id", "rack_id")
    FIELDS = (
        Field("topics", "string", "0+", is_array=True),
        Field("user_data", "bytes", "0+", nullable="0+", default=None),
        Field("owned_partitions", TopicPartition, "1+", is_array=True, is_ignorable=True),
        Field("generation_id", "int32", "2+", default=-1, is_ignorable=True),
        Field("rack_id", "string", "3+", nullable="3+", default=None, is_ignorable=True),
    )

    def __init__(
        self,
        topics: list[str] = EMPTY,
        user_data: bytes | None = None,
        owned_partitions: list[TopicPartition] = EMPTY,
        generation_id: int = -1,
        rack_id: str | None = None,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.user_data = user_data
        self.owned_partitions = [] if owned_partitions is EMPTY else owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id
