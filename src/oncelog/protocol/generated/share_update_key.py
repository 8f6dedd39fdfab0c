# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import ZERO_UUID, Field, Uuid
from oncelog.protocol.wire import Message


class ShareUpdateKey(Message):
    API_KEY = 1
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("group_id", "topic_id", "partition")
    FIELDS = (
        Field("group_id", "string", "0"),
        Field("topic_id", "uuid", "0"),
        Field("partition", "int32", "0"),
    )

    def __init__(
        self,
        group_id: str = "",
        topic_id: Uuid = ZERO_UUID,
        partition: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition
