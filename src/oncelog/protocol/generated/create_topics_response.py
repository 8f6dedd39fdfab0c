# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class CreatableTopicConfigs(Struct):
    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive")
    FIELDS = (
        Field("name", "string", "5+"),
        Field("value", "string", "5+", nullable="5+"),
        Field("read_only", "bool", "5+"),
        Field("config_source", "int8", "5+", default=-1, is_ignorable=True),
        Field("is_sensitive", "bool", "5+"),
    )

    def __init__(
        self,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive


class CreatableTopicResult(Struct):
    __slots__ = ("name", "topic_id", "error_code", "error_message", "topic_config_error_code", "num_partitions", "replication_factor", "configs")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("topic_id", "uuid", "7+", is_ignorable=True),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "1+", nullable="0+", is_ignorable=True),
        Field("topic_config_error_code", "int16", "5+", tag=0, tagged="5+", is_ignorable=True),
        Field("num_partitions", "int32", "5+", default=-1, is_ignorable=True),
        Field("replication_factor", "int16", "5+", default=-1, is_ignorable=True),
        Field("configs", CreatableTopicConfigs, "5+", nullable="5+", is_array=True, is_ignorable=True),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: list[CreatableTopicConfigs] | None = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.topic_config_error_code = topic_config_error_code
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs = [] if configs is EMPTY else configs


class CreateTopicsResponse(Message):
    API_KEY = 19
    MIN_VERSION = 2
    MAX_VERSION = 7
    FLEXIBLE_FROM = 5
    __slots__ = ("throttle_time_ms", "topics")
    FIELDS = (
        Field("throttle_time_ms", "int32", "2+", is_ignorable=True),
        Field("topics", CreatableTopicResult, "0+", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[CreatableTopicResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
