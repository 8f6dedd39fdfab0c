# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class ReassignablePartition(Struct):
    __slots__ = ("partition_index", "replicas")
    FIELDS = (
        Field("partition_index", "int32", "0+"),
        Field("replicas", "int32", "0+", nullable="0+", default=None, is_array=True),
    )

    def __init__(
        self,
        partition_index: int = 0,
        replicas: list[int] | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.replicas = replicas


class ReassignableTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("partitions", ReassignablePartition, "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[ReassignablePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class AlterPartitionReassignmentsRequest(Message):
    API_KEY = 45
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("timeout_ms", "allow_replication_factor_change", "topics")
    FIELDS = (
        Field("timeout_ms", "int32", "0+", default=60000),
        Field("allow_replication_factor_change", "bool", "1+", default=True),
        Field("topics", ReassignableTopic, "0+", is_array=True),
    )

    def __init__(
        self,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: list[ReassignableTopic] = EMPTY,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics = [] if topics is EMPTY else topics
