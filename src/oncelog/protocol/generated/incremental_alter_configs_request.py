# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class AlterableConfig(Struct):
    __slots__ = ("name", "config_operation", "value")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("config_operation", "int8", "0+"),
        Field("value", "string", "0+", nullable="0+"),
    )

    def __init__(
        self,
        name: str = "",
        config_operation: int = 0,
        value: str | None = "",
    ) -> None:
        self.name = name
        self.config_operation = config_operation
        self.value = value


class AlterConfigsResource(Struct):
    __slots__ = ("resource_type", "resource_name", "configs")
    FIELDS = (
        Field("resource_type", "int8", "0+"),
        Field("resource_name", "string", "0+"),
        Field("configs", AlterableConfig, "0+", is_array=True),
    )

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[AlterableConfig] = EMPTY,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is EMPTY else configs


class IncrementalAlterConfigsRequest(Message):
    API_KEY = 44
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    __slots__ = ("resources", "validate_only")
    FIELDS = (
        Field("resources", AlterConfigsResource, "0+", is_array=True),
        Field("validate_only", "bool", "0+"),
    )

    def __init__(
        self,
        resources: list[AlterConfigsResource] = EMPTY,
        validate_only: bool = False,
    ) -> None:
        self.resources = [] if resources is EMPTY else resources
        self.validate_only = validate_only
