# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class CreatePartitionsAssignment(Struct):
    __slots__ = ("broker_ids",)
    FIELDS = (
        Field("broker_ids", "int32", "0+", is_array=True),
    )

    def __init__(
        self,
        broker_ids: list[int] = EMPTY,
    ) -> None:
        self.broker_ids = [] if broker_ids is EMPTY else broker_ids


class CreatePartitionsTopic(Struct):
    __slots__ = ("name", "count", "assignments")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("count", "int32", "0+"),
        Field("assignments", CreatePartitionsAssignment, "0+", nullable="0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        count: int = 0,
        assignments: list[CreatePartitionsAssignment] | None = EMPTY,
    ) -> None:
        self.name = name
        self.count = count
        self.assignments = [] if assignments is EMPTY else assignments


class CreatePartitionsRequest(Message):
    API_KEY = 37
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("topics", "timeout_ms", "validate_only")
    FIELDS = (
        Field("topics", CreatePartitionsTopic, "0+", is_array=True),
        Field("timeout_ms", "int32", "0+"),
        Field("validate_only", "bool", "0+"),
    )

    def __init__(
        self,
        topics: list[CreatePartitionsTopic] = EMPTY,
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
