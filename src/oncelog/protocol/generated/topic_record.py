# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import ZERO_UUID, Field, Uuid
from oncelog.protocol.wire import Message


class TopicRecord(Message):
    API_KEY = 2
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("name", "topic_id")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("topic_id", "uuid", "0+"),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
