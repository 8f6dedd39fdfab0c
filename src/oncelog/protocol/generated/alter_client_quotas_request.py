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


class OpData(Struct):
    __slots__ = ("key", "value", "remove")
    FIELDS = (
        Field("key", "string", "0+"),
        Field("value", "float64", "0+"),
        Field("remove", "bool", "0+"),
    )

    def __init__(
        self,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
    ) -> None:
        self.key = key
        self.value = value
        self.remove = remove


class EntryData(Struct):
    __slots__ = ("entity", "ops")
    FIELDS = (
        Field("entity", EntityData, "0+", is_array=True),
        Field("ops", OpData, "0+", is_array=True),
    )

    def __init__(
        self,
        entity: list[EntityData] = EMPTY,
        ops: list[OpData] = EMPTY,
    ) -> None:
        self.entity = [] if entity is EMPTY else entity
        self.ops = [] if ops is EMPTY else ops


class AlterClientQuotasRequest(Message):
    API_KEY = 49
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    __slots__ = ("entries", "validate_only")
    FIELDS = (
        Field("entries", EntryData, "0+", is_array=True),
        Field("validate_only", "bool", "0+"),
    )

    def __init__(
        self,
        entries: list[EntryData] = EMPTY,
        validate_only: bool = False,
    ) -> None:
        self.entries = [] if entries is EMPTY else entries
        self.validate_only = validate_only
