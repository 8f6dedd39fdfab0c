# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import ZERO_UUID, Field, Uuid
from oncelog.protocol.wire import Message


class AccessControlEntryRecord(Message):
    API_KEY = 18
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("id", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type")
    FIELDS = (
        Field("id", "uuid", "0+"),
        Field("resource_type", "int8", "0+"),
        Field("resource_name", "string", "0+"),
        Field("pattern_type", "int8", "0+"),
        Field("principal", "string", "0+"),
        Field("host", "string", "0+"),
        Field("operation", "int8", "0+"),
        Field("permission_type", "int8", "0+"),
    )

    def __init__(
        self,
        id: Uuid = ZERO_UUID,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 0,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.id = id
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
