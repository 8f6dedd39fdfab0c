# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class DescribeTopicPartitionsResponsePartition(Struct):
    __slots__ = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "eligible_leader_replicas", "last_known_elr", "offline_replicas")
    FIELDS = (
        Field("error_code", "int16", "0+"),
        Field("partition_index", "int32", "0+"),
        Field("leader_id", "int32", "0+"),
        Field("leader_epoch", "int32", "0+", default=-1, is_ignorable=True),
        Field("replica_nodes", "int32", "0+", is_array=True),
        Field("isr_nodes", "int32", "0+", is_array=True),
        Field("eligible_leader_replicas", "int32", "0+", nullable="0+", default=None, is_array=True),
        Field("last_known_elr", "int32", "0+", nullable="0+", default=None, is_array=True),
        Field("offline_replicas", "int32", "0+", is_array=True, is_ignorable=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = EMPTY,
        isr_nodes: list[int] = EMPTY,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        offline_replicas: list[int] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is EMPTY else replica_nodes
        self.isr_nodes = [] if isr_nodes is EMPTY else isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas = [] if offline_replicas is EMPTY else offline_replicas


class DescribeTopicPartitionsResponseTopic(Struct):
    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")
    FIELDS = (
        Field("error_code", "int16", "0+"),
        Field("name", "string", "0+", nullable="0+"),
        Field("topic_id", "uuid", "0+", is_ignorable=True),
        Field("is_internal", "bool", "0+", is_ignorable=True),
        Field("partitions", DescribeTopicPartitionsResponsePartition, "0+", is_array=True),
        Field("topic_authorized_operations", "int32", "0+", default=-2147483648),
    )

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: Uuid = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[DescribeTopicPartitionsResponsePartition] = EMPTY,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is EMPTY else partitions
        self.topic_authorized_operations = topic_authorized_operations


class Cursor(Struct):
    __slots__ = ("topic_name", "partition_index")
    FIELDS = (
        Field("topic_name", "string", "0+"),
        Field("partition_index", "int32", "0+"),
    )

    def __init__(
        self,
        topic_name: str = "",
        partition_index: int = 0,
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index


class DescribeTopicPartitionsResponse(Message):
    API_KEY = 75
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "topics", "next_cursor")
    FIELDS = (
        Field("throttle_time_ms", "int32", "0+", is_ignorable=True),
        Field("topics", DescribeTopicPartitionsResponseTopic, "0+", is_array=True),
        Field("next_cursor", Cursor, "0+", nullable="0+", default=None),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponseTopic] = EMPTY,
        next_cursor: Cursor | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics = [] if topics is EMPTY else topics
        self.next_cursor = next_cursor
