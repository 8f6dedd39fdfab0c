# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class TopicPartition(Struct):
    __slots__ = ("topic_id", "partitions")
    FIELDS = (
        Field("topic_id", "uuid", "0+"),
        Field("partitions", "int32", "0+", is_array=True),
    )

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        partitions: list[int] = EMPTY,
    ) -> None:
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class ConsumerGroupTargetAssignmentMemberValue(Message):
    API_KEY = 7
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("topic_partitions",)
    FIELDS = (
        Field("topic_partitions", TopicPartition, "0+", is_array=True),
    )

    def __init__(
        self,
        topic_partitions: list[TopicPartition] = EMPTY,
    ) -> None:
        self.topic_partitions = [] if topic_partitions is EMPTY else topic_partitions
