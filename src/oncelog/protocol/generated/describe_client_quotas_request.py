# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class ComponentData(Struct):
    __slots__ = ("entity_type", "match_type", "match")
    FIELDS = (
        Field("entity_type", "string", "0+"),
        Field("match_type", "int8", "0+"),
        Field("match", "string", "0+", nullable="0+"),
    )

    def __init__(
        self,
        entity_type: str = "",
        match_type: int = 0,
        match: str | None = "",
    ) -> None:
        self.entity_type = entity_type
        self.match_type = match_type
        self.match = match


class DescribeClientQuotasRequest(Message):
    API_KEY = 48
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    __slots__ = ("components", "strict")
    FIELDS = (
        Field("components", ComponentData, "0+", is_array=True),
        Field("strict", "bool", "0+"),
    )

    def __init__(
        self,
        components: list[ComponentData] = EMPTY,
        strict: bool = False,
    ) -> None:
        self.components = [] if components is EMPTY else components
        self.strict = strict
