# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class TopicPartitionsInfo(Struct):
    __slots__ = ("topic_id", "topic_name", "partitions")
    FIELDS = (
        Field("topic_id", "uuid", "0+"),
        Field("topic_name", "string", "0+"),
        Field("partitions", "int32", "0+", is_array=True),
    )

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        topic_name: str = "",
        partitions: list[int] = EMPTY,
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions


class TopicInfo(Struct):
    __slots__ = ("topic_id", "topic_name")
    FIELDS = (
        Field("topic_id", "uuid", "0+"),
        Field("topic_name", "string", "0+"),
    )

    def __init__(
        self,
        topic_id: Uuid = ZERO_UUID,
        topic_name: str = "",
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name


class ShareGroupStatePartitionMetadataValue(Message):
    API_KEY = 15
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("initializing_topics", "initialized_topics", "deleting_topics")
    FIELDS = (
        Field("initializing_topics", TopicPartitionsInfo, "0+", is_array=True),
        Field("initialized_topics", TopicPartitionsInfo, "0+", is_array=True),
        Field("deleting_topics", TopicInfo, "0+", is_array=True),
    )

    def __init__(
        self,
        initializing_topics: list[TopicPartitionsInfo] = EMPTY,
        initialized_topics: list[TopicPartitionsInfo] = EMPTY,
        deleting_topics: list[TopicInfo] = EMPTY,
    ) -> None:
        self.initializing_topics = [] if initializing_topics is EMPTY else initializing_topics
        self.initialized_topics = [] if initialized_topics is EMPTY else initialized_topics
        self.deleting_topics = [] if deleting_topics is EMPTY else deleting_topics
