# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class BatchIndexAndErrorMessage(Struct):
    __slots__ = ("batch_index", "batch_index_error_message")
    FIELDS = (
        Field("batch_index", "int32", "8+"),
        Field("batch_index_error_message", "string", "8+", nullable="8+", default=None),
    )

    def __init__(
        self,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
    ) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message


class LeaderIdAndEpoch(Struct):
    __slots__ = ("leader_id", "leader_epoch")
    FIELDS = (
        Field("leader_id", "int32", "10+", default=-1),
        Field("leader_epoch", "int32", "10+", default=-1),
    )

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class PartitionProduceResponse(Struct):
    __slots__ = ("index", "error_code", "base_offset", "log_append_time_ms", "log_start_offset", "record_errors", "error_message", "current_leader")
    FIELDS = (
        Field("index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("base_offset", "int64", "0+"),
        Field("log_append_time_ms", "int64", "2+", default=-1, is_ignorable=True),
        Field("log_start_offset", "int64", "5+", default=-1, is_ignorable=True),
        Field("record_errors", BatchIndexAndErrorMessage, "8+", is_array=True, is_ignorable=True),
        Field("error_message", "string", "8+", nullable="8+", default=None, is_ignorable=True),
        Field("current_leader", LeaderIdAndEpoch, "10+", tag=0, tagged="10+"),
    )

    def __init__(
        self,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: list[BatchIndexAndErrorMessage] = EMPTY,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors = [] if record_errors is EMPTY else record_errors
        self.error_message = error_message
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader


class TopicProduceResponse(Struct):
    __slots__ = ("name", "topic_id", "partition_responses")
    FIELDS = (
        Field("name", "string", "0-12", is_ignorable=True),
        Field("topic_id", "uuid", "13+", is_ignorable=True),
        Field("partition_responses", PartitionProduceResponse, "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partition_responses: list[PartitionProduceResponse] = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses = [] if partition_responses is EMPTY else partition_responses


class NodeEndpoint(Struct):
    __slots__ = ("node_id", "host", "port", "rack")
    FIELDS = (
        Field("node_id", "int32", "10+"),
        Field("host", "string", "10+"),
        Field("port", "int32", "10+"),
        Field("rack", "string", "10+", nullable="10+", default=None),
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


class ProduceResponse(Message):
    API_KEY = 0
    MIN_VERSION = 3
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9
    __slots__ = ("responses", "throttle_time_ms", "node_endpoints")
    FIELDS = (
        Field("responses", TopicProduceResponse, "0+", is_array=True),
        Field("throttle_time_ms", "int32", "1+", is_ignorable=True),
        Field("node_endpoints", NodeEndpoint, "10+", tag=0, tagged="10+", is_array=True),
    )

    def __init__(
        self,
        responses: list[TopicProduceResponse] = EMPTY,
        throttle_time_ms: int = 0,
        node_endpoints: list[NodeEndpoint] = EMPTY,
    ) -> None:
        self.responses = [] if responses is EMPTY else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints
