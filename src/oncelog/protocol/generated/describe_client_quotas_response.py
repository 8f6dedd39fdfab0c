# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class EntityData(Struct):
    __slots__ = ("entity_type", "entity_name")
    FIELDS = (
        Field("entity_type", "string", "0+"),
        Field("entity_name", "string", "0+", nullable="0+"),
    )

    def __init__(
        self,
        entity_type: str = "",
        entity_name: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name


class ValueData(Struct):
    __slots__ = ("key", "value")
    FIELDS = (
        Field("key", "string", "0+"),
        Field("value", "float64", "0+"),
    )

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
    ) -> None:
        self.key = key
        self.value = value


class EntryData(Struct):
    __slots__ = ("entity", "values")
    FIELDS = (
        Field("entity", EntityData, "0+", is_array=True),
        Field("values", ValueData, "0+", is_array=True),
    )

    def __init__(
        self,
        entity: list[EntityData] = EMPTY,
        values: list[ValueData] = EMPTY,
    ) -> None:
        self.entity = [] if entity is EMPTY else entity
        self.values = [] if values is EMPTY else values


class DescribeClientQuotasResponse(Message):
    API_KEY = 48
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "entries")
    FIELDS = (
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("entries", EntryData, "0+", nullable="0+", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: list[EntryData] | None = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries = [] if entries is EMPTY else entries
