# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class WritableTxnMarkerPartitionResult(Struct):
    __slots__ = ("partition_index", "error_code")
    FIELDS = (
        Field("partition_index", "int32", "0+"),
        Field("error_code", "int16", "0+"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


class WritableTxnMarkerTopicResult(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("partitions", WritableTxnMarkerPartitionResult, "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[WritableTxnMarkerPartitionResult] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class WritableTxnMarkerResult(Struct):
    __slots__ = ("producer_id", "topics")
    FIELDS = (
        Field("producer_id", "int64", "0+"),
        Field("topics", WritableTxnMarkerTopicResult, "0+", is_array=True),
    )

    def __init__(
        self,
        producer_id: int = 0,
        topics: list[WritableTxnMarkerTopicResult] = EMPTY,
    ) -> None:
        self.producer_id = producer_id
        self.topics = [] if topics is EMPTY else topics


class WriteTxnMarkersResponse(Message):
    API_KEY = 27
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 1
    __slots__ = ("markers",)
    FIELDS = (
        Field("markers", WritableTxnMarkerResult, "0+", is_array=True),
    )

    def __init__(
        self,
        markers: list[WritableTxnMarkerResult] = EMPTY,
    ) -> None:
        self.markers = [] if markers is EMPTY else markers
