# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class EpochEndOffset(Struct):
    __slots__ = ("epoch", "end_offset")
    FIELDS = (
        Field("epoch", "int32", "12+", default=-1),
        Field("end_offset", "int64", "12+", default=-1),
    )

    def __init__(
        self,
        epoch: int = -1,
        end_offset: int = -1,
    ) -> None:
        self.epoch = epoch
        self.end_offset = end_offset


class LeaderIdAndEpoch(Struct):
    __slots__ = ("leader_id", "leader_epoch")
    FIELDS = (
        Field("leader_id", "int32", "12+", default=-1),
        Field("leader_epoch", "int32", "12+", default=-1),
    )

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch


class SnapshotId(Struct):
    __slots__ = ("end_offset", "epoch")
    FIELDS = (
        Field("end_offset", "int64", "0+", default=-1),
        Field("epoch", "int32", "0+", default=-1),
    )

    def __init__(
        self,
        end_offset: int = -1,
        epoch: int = -1,
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch


class AbortedTransaction(Struct):
    __slots__ = ("producer_id", "first_offset")
    FIELDS = (
        Field("producer_id", "int64", "4+"),
        Field("first_offset", "int64", "4+"),
    )

    def __init__(
        self,
        producer_id: int = 0,
        first_offset: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset


class PartitionData(Struct):
    __slots__ = ("partition_index", "error_code", "high_watermark", "last_stable_offset", "log_start_offset", "diverging_epoch", "current_leader", "snapshot_id", "aborted_transactions", "preferred_read_replica", "records")
    FIELDS = (
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
        Field("high_watermark", "int64", "0+"),
        Field("last_stable_offset", "int64", "4+", default=-1, is_ignorable=True),
        Field("log_start_offset", "int64", "5+", default=-1, is_ignorable=True),
        Field("diverging_epoch", EpochEndOffset, "12+", tag=0, tagged="12+"),
        Field("current_leader", LeaderIdAndEpoch, "12+", tag=1, tagged="12+"),
        Field("snapshot_id", SnapshotId, "12+", tag=2, tagged="12+"),
        Field("aborted_transactions", AbortedTransaction, "4+", nullable="4+", is_array=True, is_ignorable=True),
        Field("preferred_read_replica", "int32", "11+", default=-1),
        Field("records", "records", "0+", nullable="0+"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset | None = None,
        current_leader: LeaderIdAndEpoch | None = None,
        snapshot_id: SnapshotId | None = None,
        aborted_transactions: list[AbortedTransaction] | None = EMPTY,
        preferred_read_replica: int = -1,
        records: bytes | memoryview | None = None,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.diverging_epoch = EpochEndOffset() if diverging_epoch is None else diverging_epoch
        self.current_leader = LeaderIdAndEpoch() if current_leader is None else current_leader
        self.snapshot_id = SnapshotId() if snapshot_id is None else snapshot_id
        self.aborted_transactions = [] if aborted_transactions is EMPTY else aborted_transactions
        self.preferred_read_replica = preferred_read_replica
        self.records = records


class FetchableTopicResponse(Struct):
    __slots__ = ("topic", "topic_id", "partitions")
    FIELDS = (
        Field("topic", "string", "0-12", is_ignorable=True),
        Field("topic_id", "uuid", "13+", is_ignorable=True),
        Field("partitions", PartitionData, "0+", is_array=True),
    )

    def __init__(
        self,
        topic: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[PartitionData] = EMPTY,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class NodeEndpoint(Struct):
    __slots__ = ("node_id", "host", "port", "rack")
    FIELDS = (
        Field("node_id", "int32", "16+"),
        Field("host", "string", "16+"),
        Field("port", "int32", "16+"),
        Field("rack", "string", "16+", nullable="16+", default=None),
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


class FetchResponse(Message):
    API_KEY = 1
    MIN_VERSION = 4
    MAX_VERSION = 18
    FLEXIBLE_FROM = 12
    __slots__ = ("throttle_time_ms", "error_code", "session_id", "responses", "node_endpoints")
    FIELDS = (
        Field("throttle_time_ms", "int32", "1+", is_ignorable=True),
        Field("error_code", "int16", "7+", is_ignorable=True),
        Field("session_id", "int32", "7+"),
        Field("responses", FetchableTopicResponse, "0+", is_array=True),
        Field("node_endpoints", NodeEndpoint, "16+", tag=0, tagged="16+", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchableTopicResponse] = EMPTY,
        node_endpoints: list[NodeEndpoint] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses = [] if responses is EMPTY else responses
        self.node_endpoints = [] if node_endpoints is EMPTY else node_endpoints
