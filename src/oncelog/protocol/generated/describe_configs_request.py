# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class DescribeConfigsResource(Struct):
    __slots__ = ("resource_type", "resource_name", "configuration_keys")
    FIELDS = (
        Field("resource_type", "int8", "0+"),
        Field("resource_name", "string", "0+"),
        Field("configuration_keys", "string", "0+", nullable="0+", is_array=True),
    )

    def __init__(
        self,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: list[str] | None = EMPTY,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys = [] if configuration_keys is EMPTY else configuration_keys


class DescribeConfigsRequest(Message):
    API_KEY = 32
    MIN_VERSION = 1
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    __slots__ = ("resources", "include_synonyms", "include_documentation")
    FIELDS = (
        Field("resources", DescribeConfigsResource, "0+", is_array=True),
        Field("include_synonyms", "bool", "1+"),
        Field("include_documentation", "bool", "3+"),
    )

    def __init__(
        self,
        resources: list[DescribeConfigsResource] = EMPTY,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources = [] if resources is EMPTY else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation
