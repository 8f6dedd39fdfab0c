# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class ReplicaState(Struct):
    __slots__ = ("replica_id", "replica_epoch")
    FIELDS = (
        Field("replica_id", "int32", "15+", default=-1),
        Field("replica_epoch", "int64", "15+", default=-1),
    )

    def __init__(
        self,
        replica_id: int = -1,
        replica_epoch: int = -1,
    ) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch


class FetchPartition(Struct):
    __slots__ = ("partition", "current_leader_epoch", "fetch_offset", "last_fetched_epoch", "log_start_offset", "partition_max_bytes", "replica_directory_id", "high_watermark")
    FIELDS = (
        Field("partition", "int32", "0+"),
        Field("current_leader_epoch", "int32", "9+", default=-1, is_ignorable=True),
        Field("fetch_offset", "int64", "0+"),
        Field("last_fetched_epoch", "int32", "12+", default=-1),
        Field("log_start_offset", "int64", "5+", default=-1, is_ignorable=True),
        Field("partition_max_bytes", "int32", "0+"),
        Field("replica_directory_id", "uuid", "17+", tag=0, tagged="17+", is_ignorable=True),
        Field("high_watermark", "int64", "18+", tag=1, tagged="18+", default=9223372036854775807, is_ignorable=True),
    )

    def __init__(
        self,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: Uuid = ZERO_UUID,
        high_watermark: int = 9223372036854775807,
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark


class FetchTopic(Struct):
    __slots__ = ("topic", "topic_id", "partitions")
    FIELDS = (
        Field("topic", "string", "0-12", is_ignorable=True),
        Field("topic_id", "uuid", "13+", is_ignorable=True),
        Field("partitions", FetchPartition, "0+", is_array=True),
    )

    def __init__(
        self,
        topic: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[FetchPartition] = EMPTY,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class ForgottenTopic(Struct):
    __slots__ = ("topic", "topic_id", "partitions")
    FIELDS = (
        Field("topic", "string", "7-12", is_ignorable=True),
        Field("topic_id", "uuid", "13+", is_ignorable=True),
        Field("partitions", "int32", "7+", is_array=True),
    )

    def __init__(
        self,
        topic: str = "",
        topic_id: Uuid = ZERO_UUID,
        partitions: list[int] = EMPTY,
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class FetchRequest(Message):
    API_KEY = 1
    MIN_VERSION = 4
    MAX_VERSION = 18
    FLEXIBLE_FROM = 12
    __slots__ = ("cluster_id", "replica_id", "replica_state", "max_wait_ms", "min_bytes", "max_bytes", "isolation_level", "session_id", "session_epoch", "topics", "forgotten_topics_data", "rack_id")
    FIELDS = (
        Field("cluster_id", "string", "12+", nullable="12+", tag=0, tagged="12+", default=None, is_ignorable=True),
        Field("replica_id", "int32", "0-14", default=-1),
        Field("replica_state", ReplicaState, "15+", tag=1, tagged="15+"),
        Field("max_wait_ms", "int32", "0+"),
        Field("min_bytes", "int32", "0+"),
        Field("max_bytes", "int32", "3+", default=2147483647, is_ignorable=True),
        Field("isolation_level", "int8", "4+", is_ignorable=True),
        Field("session_id", "int32", "7+", is_ignorable=True),
        Field("session_epoch", "int32", "7+", default=-1, is_ignorable=True),
        Field("topics", FetchTopic, "0+", is_array=True),
        Field("forgotten_topics_data", ForgottenTopic, "7+", is_array=True),
        Field("rack_id", "string", "11+", is_ignorable=True),
    )

    def __init__(
        self,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState | None = None,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchTopic] = EMPTY,
        forgotten_topics_data: list[ForgottenTopic] = EMPTY,
        rack_id: str = "",
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state = ReplicaState() if replica_state is None else replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics = [] if topics is EMPTY else topics
        self.forgotten_topics_data = [] if forgotten_topics_data is EMPTY else forgotten_topics_data
        self.rack_id = rack_id
