# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class CreatableReplicaAssignment(Struct):
    __slots__ = ("partition_index", "broker_ids")
    FIELDS = (
        Field("partition_index", "int32", "0+"),
        Field("broker_ids", "int32", "0+", is_array=True),
    )

    def __init__(
        self,
        partition_index: int = 0,
        broker_ids: list[int] = EMPTY,
    ) -> None:
        self.partition_index = partition_index
        self.broker_ids = [] if broker_ids is EMPTY else broker_ids


class CreatableTopicConfig(Struct):
    __slots__ = ("name", "value")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("value", "string", "0+", nullable="0+"),
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.name = name
        self.value = value


class CreatableTopic(Struct):
    __slots__ = ("name", "num_partitions", "replication_factor", "assignments", "configs")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("num_partitions", "int32", "0+"),
        Field("replication_factor", "int16", "0+"),
        Field("assignments", CreatableReplicaAssignment, "0+", is_array=True),
        Field("configs", CreatableTopicConfig, "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: list[CreatableReplicaAssignment] = EMPTY,
        configs: list[CreatableTopicConfig] = EMPTY,
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments = [] if assignments is EMPTY else assignments
        self.configs = [] if configs is EMPTY else configs


class CreateTopicsRequest(Message):
    API_KEY = 19
    MIN_VERSION = 2
    MAX_VERSION = 7
    FLEXIBLE_FROM = 5
    __slots__ = ("topics", "timeout_ms", "validate_only")
    FIELDS = (
        Field("topics", CreatableTopic, "0+", is_array=True),
        Field("timeout_ms", "int32", "0+", default=60000),
        Field("validate_only", "bool", "1+"),
    )

    def __init__(
        self,
        topics: list[CreatableTopic] = EMPTY,
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
