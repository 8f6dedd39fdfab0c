# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class OffsetFetchResponsePartition(Struct):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")
    FIELDS = (
        Field("partition_index", "int32", "0-7"),
        Field("committed_offset", "int64", "0-7"),
        Field("committed_leader_epoch", "int32", "5-7", default=-1, is_ignorable=True),
        Field("metadata", "string", "0-7", nullable="0-7"),
        Field("error_code", "int16", "0-7"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


class OffsetFetchResponseTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = (
        Field("name", "string", "0-7"),
        Field("partitions", OffsetFetchResponsePartition, "0-7", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[OffsetFetchResponsePartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetFetchResponsePartitions(Struct):
    __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")
    FIELDS = (
        Field("partition_index", "int32", "8+"),
        Field("committed_offset", "int64", "8+"),
        Field("committed_leader_epoch", "int32", "8+", default=-1, is_ignorable=True),
        Field("metadata", "string", "8+", nullable="8+"),
        Field("error_code", "int16", "8+"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        metadata: str | None = "",
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.committed_offset = committed_offset
        self.committed_leader_epoch = committed_leader_epoch
        self.metadata = metadata
        self.error_code = error_code


class OffsetFetchResponseTopics(Struct):
    __slots__ = ("name", "topic_id", "partitions")
    FIELDS = (
        Field("name", "string", "8-9", is_ignorable=True),
        Field("topic_id", "uuid", "10+", is_ignorable=True),
        Field("partitions", OffsetFetchResponsePartitions, "8+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[OffsetFetchResponsePartitions] = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class OffsetFetchResponseGroup(Struct):
    __slots__ = ("group_id", "topics", "error_code")
    FIELDS = (
        Field("group_id", "string", "8+"),
        Field("topics", OffsetFetchResponseTopics, "8+", is_array=True),
        Field("error_code", "int16", "8+"),
    )

    def __init__(
        self,
        group_id: str = "",
        topics: list[OffsetFetchResponseTopics] = EMPTY,
        error_code: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topics = [] if topics is EMPTY else topics
        self.error_code = error_code


class OffsetFetchResponse(Message):
    API_KEY = 9
    MIN_VERSION = 1
    MAX_VERSION = 10
    FLEXIBLE_FROM = 6
    __slots__ = ("throttle_time_ms", "topics", "error_code", "groups")
    FIELDS = (
        Field("throttle_time_ms", "int32", "3+", is_ignorable=True),
        Field("topics", OffsetFetchResponseTopic, "0-7", is_array=True),
        Field("error_code", "int16", "2-7", is_ignorable=True),
        Field("groups", OffsetFetchResponseGroup, "8+", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponseTopic] = EMPTY,
        error_code: int = 0,
        groups: list[OffsetFetchResponseGroup] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.error_code = error_code
        self.groups = [] if groups is EMPTY else groups
