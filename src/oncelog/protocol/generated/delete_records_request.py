# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class DeleteRecordsPartition(Struct):
    __slots__ = ("partition_index", "offset")
    FIELDS = (
        Field("partition_index", "int32", "0+"),
        Field("offset", "int64", "0+"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        offset: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.offset = offset


class DeleteRecordsTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("partitions", DeleteRecordsPartition, "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[DeleteRecordsPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class DeleteRecordsRequest(Message):
    API_KEY = 21
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("topics", "timeout_ms")
    FIELDS = (
        Field("topics", DeleteRecordsTopic, "0+", is_array=True),
        Field("timeout_ms", "int32", "0+"),
    )

    def __init__(
        self,
        topics: list[DeleteRecordsTopic] = EMPTY,
        timeout_ms: int = 0,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms
