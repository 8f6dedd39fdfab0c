# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class DescribeShareGroupOffsetsRequestTopic(Struct):
    __slots__ = ("topic_name", "partitions")
    FIELDS = (
        Field("topic_name", "string", "0+"),
        Field("partitions", "int32", "0+", is_array=True),
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[int] = EMPTY,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions


class DescribeShareGroupOffsetsRequestGroup(Struct):
    __slots__ = ("group_id", "topics")
    FIELDS = (
        Field("group_id", "string", "0+"),
        Field("topics", DescribeShareGroupOffsetsRequestTopic, "0+", nullable="0+", is_array=True),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[DescribeShareGroupOffsetsRequestTopic] | None = EMPTY,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics


class DescribeShareGroupOffsetsRequest(Message):
    API_KEY = 90
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("groups",)
    FIELDS = (
        Field("groups", DescribeShareGroupOffsetsRequestGroup, "0+", is_array=True),
    )

    def __init__(
        self,
        groups: list[DescribeShareGroupOffsetsRequestGroup] = EMPTY,
    ) -> None:
        self.groups = [] if groups is EMPTY else groups
