# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class ReplicaState(Struct):
    __slots__ = ("replica_id", "replica_directory_id", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp")
    FIELDS = (
        Field("replica_id", "int32", "0+"),
        Field("replica_directory_id", "uuid", "2+"),
        Field("log_end_offset", "int64", "0+"),
        Field("last_fetch_timestamp", "int64", "1+", default=-1, is_ignorable=True),
        Field("last_caught_up_timestamp", "int64", "1+", default=-1, is_ignorable=True),
    )

    def __init__(
        self,
        replica_id: int = 0,
        replica_directory_id: Uuid = ZERO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp


class PartitionData(Struct):
    __slots__ = ("partition_index", "error_code", "error_message", "leader_id", "leader_epoch", "high_watermark", "current_voters", "observers")
    FIELDS = (
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "2+", nullable="2+", is_ignorable=True),
        Field("leader_id", "int32", "0+"),
        Field("leader_epoch", "int32", "0+"),
        Field("high_watermark", "int64", "0+"),
        Field("current_voters", ReplicaState, "0+", is_array=True),
        Field("observers", ReplicaState, "0+", is_array=True),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: list[ReplicaState] = EMPTY,
        observers: list[ReplicaState] = EMPTY,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = high_watermark
        self.current_voters = [] if current_voters is EMPTY else current_voters
        self.observers = [] if observers is EMPTY else observers


class TopicData(Struct):
    __slots__ = ("topic_name", "partitions")
    FIELDS = (
        Field("topic_name", "string", "0+"),
        Field("partitions", PartitionData, "0+", is_array=True),
    )

    def __init__(
        self,
        topic_name: str = "",
        partitions: list[PartitionData] = EMPTY,
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions


class Listener(Struct):
    __slots__ = ("name", "host", "port")
    FIELDS = (
        Field("name", "string", "2+"),
        Field("host", "string", "2+"),
        Field("port", "uint16", "2+"),
    )

    def __init__(
        self,
        name: str = "",
        host: str = "",
        port: int = 0,
    ) -> None:
        self.name = name
        self.host = host
        self.port = port


class Node(Struct):
    __slots__ = ("node_id", "listeners")
    FIELDS = (
        Field("node_id", "int32", "2+"),
        Field("listeners", Listener, "2+", is_array=True),
    )

    def __init__(
        self,
        node_id: int = 0,
        listeners: list[Listener] = EMPTY,
    ) -> None:
        self.node_id = node_id
        self.listeners = [] if listeners is EMPTY else listeners


class DescribeQuorumResponse(Message):
    API_KEY = 55
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("error_code", "error_message", "topics", "nodes")
    FIELDS = (
        Field("error_code", "int16", "0+"),
        Field("error_message", "string", "2+", nullable="2+", is_ignorable=True),
        Field("topics", TopicData, "0+", is_array=True),
        Field("nodes", Node, "2+", is_array=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[TopicData] = EMPTY,
        nodes: list[Node] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is EMPTY else topics
        self.nodes = [] if nodes is EMPTY else nodes
