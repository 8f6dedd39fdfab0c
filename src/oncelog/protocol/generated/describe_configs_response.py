# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class DescribeConfigsSynonym(Struct):
    __slots__ = ("name", "value", "source")
    FIELDS = (
        Field("name", "string", "1+"),
        Field("value", "string", "1+", nullable="0+"),
        Field("source", "int8", "1+"),
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        source: int = 0,
    ) -> None:
        self.name = name
        self.value = value
        self.source = source


class DescribeConfigsResourceResult(Struct):
    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive", "synonyms", "config_type", "documentation")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("value", "string", "0+", nullable="0+"),
        Field("read_only", "bool", "0+"),
        Field("config_source", "int8", "1+", default=-1, is_ignorable=True),
        Field("is_sensitive", "bool", "0+"),
        Field("synonyms", DescribeConfigsSynonym, "1+", is_array=True, is_ignorable=True),
        Field("config_type", "int8", "3+", is_ignorable=True),
        Field("documentation", "string", "3+", nullable="0+", is_ignorable=True),
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: list[DescribeConfigsSynonym] = EMPTY,
        config_type: int = 0,
        documentation: str | None = "",
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms = [] if synonyms is EMPTY else synonyms
        self.config_type = config_type
        self.documentation = documentation


class DescribeConfigsResult(Struct):
    __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "configs")
    FIELDS = (
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "0+", nullable="0+"),
        Field("resource_type", "int8", "0+"),
        Field("resource_name", "string", "0+"),
        Field("configs", DescribeConfigsResourceResult, "0+", is_array=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[DescribeConfigsResourceResult] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is EMPTY else configs


class DescribeConfigsResponse(Message):
    API_KEY = 32
    MIN_VERSION = 1
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    __slots__ = ("throttle_time_ms", "results")
    FIELDS = (
        Field("throttle_time_ms", "int32", "0+"),
        Field("results", DescribeConfigsResult, "0+", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DescribeConfigsResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results
