# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class MetadataResponseBroker(Struct):
    __slots__ = ("node_id", "host", "port", "rack")
    FIELDS = (
        Field("node_id", "int32", "0+"),
        Field("host", "string", "0+"),
        Field("port", "int32", "0+"),
        Field("rack", "string", "1+", nullable="1+", default=None, is_ignorable=True),
    )

    def __init__(
        self,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack


class MetadataResponsePartition(Struct):
    __slots__ = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "offline_replicas")
    FIELDS = (
        Field("error_code", "int16", "0+"),
        Field("partition_index", "int32", "0+"),
        Field("leader_id", "int32", "0+"),
        Field("leader_epoch", "int32", "7+", default=-1, is_ignorable=True),
        Field("replica_nodes", "int32", "0+", is_array=True),
        Field("isr_nodes", "int32", "0+", is_array=True),
        Field("offline_replicas", "int32", "5+", is_array=True, is_ignorable=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = EMPTY,
        isr_nodes: list[int] = EMPTY,
        offline_replicas: list[int] = EMPTY,
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes = [] if replica_nodes is EMPTY else replica_nodes
        self.isr_nodes = [] if isr_nodes is EMPTY else isr_nodes
        self.offline_replicas = [] if offline_replicas is EMPTY else offline_replicas


class MetadataResponseTopic(Struct):
    __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")
    FIELDS = (
        Field("error_code", "int16", "0+"),
        Field("name", "string", "0+", nullable="12+"),
        Field("topic_id", "uuid", "10+", is_ignorable=True),
        Field("is_internal", "bool", "1+", is_ignorable=True),
        Field("partitions", MetadataResponsePartition, "0+", is_array=True),
        Field("topic_authorized_operations", "int32", "8+", default=-2147483648),
    )

    def __init__(
        self,
        error_code: int = 0,
        name: str | None = "",
        topic_id: Uuid = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[MetadataResponsePartition] = EMPTY,
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = [] if partitions is EMPTY else partitions
        self.topic_authorized_operations = topic_authorized_operations


class MetadataResponse(Message):
    API_KEY = 3
    MIN_VERSION = 0
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9
    __slots__ = ("throttle_time_ms", "brokers", "cluster_id", "controller_id", "topics", "cluster_authorized_operations", "error_code")
    FIELDS = (
        Field("throttle_time_ms", "int32", "3+", is_ignorable=True),
        Field("brokers", MetadataResponseBroker, "0+", is_array=True),
        Field("cluster_id", "string", "2+", nullable="2+", default=None, is_ignorable=True),
        Field("controller_id", "int32", "1+", default=-1, is_ignorable=True),
        Field("topics", MetadataResponseTopic, "0+", is_array=True),
        Field("cluster_authorized_operations", "int32", "8-10", default=-2147483648),
        Field("error_code", "int16", "13+", is_ignorable=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponseBroker] = EMPTY,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponseTopic] = EMPTY,
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers = [] if brokers is EMPTY else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics = [] if topics is EMPTY else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code
