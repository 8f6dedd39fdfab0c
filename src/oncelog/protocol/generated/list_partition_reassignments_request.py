# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class ListPartitionReassignmentsTopics(Struct):
    __slots__ = ("name", "partition_indexes")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("partition_indexes", "int32", "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = EMPTY,
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is EMPTY else partition_indexes


class ListPartitionReassignmentsRequest(Message):
    API_KEY = 46
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("timeout_ms", "topics")
    FIELDS = (
        Field("timeout_ms", "int32", "0+", default=60000),
        Field("topics", ListPartitionReassignmentsTopics, "0+", nullable="0+", default=None, is_array=True),
    )

    def __init__(
        self,
        timeout_ms: int = 60000,
        topics: list[ListPartitionReassignmentsTopics] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics
