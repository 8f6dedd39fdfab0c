# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, ZERO_UUID, Field, Struct, Uuid
from oncelog.protocol.wire import Message


class PartitionProduceData(Struct):
    __slots__ = ("index", "records")
    FIELDS = (
        Field("index", "int32", "0+"),
        Field("records", "records", "0+", nullable="0+"),
    )

    def __init__(
        self,
        index: int = 0,
        records: bytes | memoryview | None = None,
    ) -> None:
        self.index = index
        self.records = records


class TopicProduceData(Struct):
    __slots__ = ("name", "topic_id", "partition_data")
    FIELDS = (
        Field("name", "string", "0-12", is_ignorable=True),
        Field("topic_id", "uuid", "13+", is_ignorable=True),
        Field("partition_data", PartitionProduceData, "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        topic_id: Uuid = ZERO_UUID,
        partition_data: list[PartitionProduceData] = EMPTY,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data = [] if partition_data is EMPTY else partition_data


class ProduceRequest(Message):
    API_KEY = 0
    MIN_VERSION = 3
    MAX_VERSION = 13
    FLEXIBLE_FROM = 9
    __slots__ = ("transactional_id", "acks", "timeout_ms", "topic_data")
    FIELDS = (
        Field("transactional_id", "string", "3+", nullable="3+", default=None),
        Field("acks", "int16", "0+"),
        Field("timeout_ms", "int32", "0+"),
        Field("topic_data", TopicProduceData, "0+", is_array=True),
    )

    def __init__(
        self,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[TopicProduceData] = EMPTY,
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data = [] if topic_data is EMPTY else topic_data
