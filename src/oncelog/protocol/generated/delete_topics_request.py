# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class DeleteTopicState(Struct):
    __slots__ = ("name", "topic_id")
    FIELDS = (
        Field("name", "string", "6+", nullable="6+", default=None),
        Field("topic_id", "uuid", "6+"),
    )

    def __init__(
        self,
        name: str | None = None,
        topic_id: Uuid = ZERO_UUID,
    ) -> None:
        self.name = name
        self.topic_id = topic_id


class DeleteTopicsRequest(Message):
    API_KEY = 20
    MIN_VERSION = 1
    MAX_VERSION = 6
    FLEXIBLE_FROM = 4
    __slots__ = ("topics", "topic_names", "timeout_ms")
    FIELDS = (
        Field("topics", DeleteTopicState, "6+", is_array=True),
        Field("topic_names", "string", "0-5", is_array=True, is_ignorable=True),
        Field("timeout_ms", "int32", "0+"),
    )

    def __init__(
        self,
        topics: list[DeleteTopicState] = EMPTY,
        topic_names: list[str] = EMPTY,
        timeout_ms: int = 0,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.topic_names = [] if topic_names is EMPTY else topic_names
        self.timeout_ms = timeout_ms
