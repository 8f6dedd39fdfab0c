# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import Field
from oncelog.protocol.wire import Message


class OffsetCommitKey(Message):
    API_KEY = 1
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 32767
    __slots__ = ("group", "topic", "partition")
    FIELDS = (
        Field("group", "string", "0"),
        Field("topic", "string", "0"),
        Field("partition", "int32", "0"),
    )

    def __init__(
        self,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition
