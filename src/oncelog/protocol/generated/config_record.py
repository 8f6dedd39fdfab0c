# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import Field
from oncelog.protocol.wire import Message


class ConfigRecord(Message):
    API_KEY = 4
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("resource_type", "resource_name", "name", "value")
    FIELDS = (
        Field("resource_type", "int8", "0+"),
        Field("resource_name", "string", "0+"),
        Field("name", "string", "0+"),
        Field("value", "string", "0+", nullable="0+"),
    )

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        name: str = "",
        value: str | None = "",
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.name = name
        self.value = value
