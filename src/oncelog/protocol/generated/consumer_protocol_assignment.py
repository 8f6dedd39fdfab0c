# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class TopicPartition(Struct):
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


class ConsumerProtocolAssignment(Message):
    API_KEY = -1
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 32767
    __slots__ = ("assigned_partitions", "user_data")
    FIELDS = (
        Field("assigned_partitions", TopicPartition, "0+", is_array=True),
        Field("user_data", "bytes", "0+", nullable="0+", default=None),
    )

    def __init__(
        self,
        assigned_partitions: list[TopicPartition] = EMPTY,
        user_data: bytes | None = None,
    ) -> None:
        self.assigned_partitions = [] if assigned_partitions is EMPTY else assigned_partitions
        self.user_data = user_data
