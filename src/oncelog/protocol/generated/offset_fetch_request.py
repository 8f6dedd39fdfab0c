# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class OffsetFetchRequestTopic(Struct):
    __slots__ = ("name", "partition_indexes")
    FIELDS = (
        Field("name", "string", "0-7"),
        Field("partition_indexes", "int32", "0-7", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        partition_indexes: list[int] = EMPTY,
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is EMPTY else partition_indexes


class OffsetFetchRequestTopics(Struct):
    __slots__ = ("name", "topic_id", "partition_indexes")
    FIELDS = (
        Field("name", "string", "8-9", is_ignorable=True),
        Field("topic_id", "uuid", "10+", is_ignorable=True),
        Field("partition_indexes", "int32", "8+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partition_indexes: list[int] = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes = [] if partition_indexes is EMPTY else partition_indexes


class OffsetFetchRequestGroup(Struct):
    __slots__ = ("group_id", "member_id", "member_epoch", "topics")
    FIELDS = (
        Field("group_id", "string", "8+"),
        Field("member_id", "string", "9+", nullable="9+", default=None, is_ignorable=True),
        Field("member_epoch", "int32", "9+", default=-1, is_ignorable=True),
        Field("topics", OffsetFetchRequestTopics, "8+", nullable="8+", is_array=True),
    )

    def __init__(
        self,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: list[OffsetFetchRequestTopics] | None = EMPTY,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics = [] if topics is EMPTY else topics


class OffsetFetchRequest(Message):
    API_KEY = 9
    MIN_VERSION = 1
    MAX_VERSION = 10
    FLEXIBLE_FROM = 6
    __slots__ = ("group_id", "topics", "groups", "require_stable")
    FIELDS = (
        Field("group_id", "string", "0-7"),
        Field("topics", OffsetFetchRequestTopic, "0-7", nullable="2-7", is_array=True),
        Field("groups", OffsetFetchRequestGroup, "8+", is_array=True),
        Field("require_stable", "bool", "7+"),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchRequestTopic] | None = EMPTY,
        groups: list[OffsetFetchRequestGroup] = EMPTY,
        require_stable: bool = False,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.groups = [] if groups is EMPTY else groups
        self.require_stable = require_stable
