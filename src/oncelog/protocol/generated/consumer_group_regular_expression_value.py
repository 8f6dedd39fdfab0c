# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field
from oncelog.protocol.wire import Message


class ConsumerGroupRegularExpressionValue(Message):
    API_KEY = 16
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("topics", "version", "timestamp")
    FIELDS = (
        Field("topics", "string", "0+", is_array=True),
        Field("version", "int64", "0+"),
        Field("timestamp", "int64", "0+"),
    )

    def __init__(
        self,
        topics: list[str] = EMPTY,
        version: int = 0,
        timestamp: int = 0,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.version = version
        self.timestamp = timestamp
