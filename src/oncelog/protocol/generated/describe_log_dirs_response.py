# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class DescribeLogDirsPartition(Struct):
    __slots__ = ("partition_index", "partition_size", "offset_lag", "is_future_key")
    FIELDS = (
        Field("partition_index", "int32", "0+"),
        Field("partition_size", "int64", "0+"),
        Field("offset_lag", "int64", "0+"),
        Field("is_future_key", "bool", "0+"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
    ) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key


class DescribeLogDirsTopic(Struct):
    __slots__ = ("name", "partitions")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("partitions", DescribeLogDirsPartition, "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        partitions: list[DescribeLogDirsPartition] = EMPTY,
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class DescribeLogDirsResult(Struct):
    __slots__ = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned")
    FIELDS = (
        Field("error_code", "int16", "0+"),
        Field("log_dir", "string", "0+"),
        Field("topics", DescribeLogDirsTopic, "0+", is_array=True),
        Field("total_bytes", "int64", "4+", default=-1, is_ignorable=True),
        Field("usable_bytes", "int64", "4+", default=-1, is_ignorable=True),
        Field("is_cordoned", "bool", "5+", is_ignorable=True),
    )

    def __init__(
        self,
        error_code: int = 0,
        log_dir: str = "",
        topics: list[DescribeLogDirsTopic] = EMPTY,
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
    ) -> None:
        self.error_code = error_code
        self.log_dir = log_dir
        self.topics = [] if topics is EMPTY else topics
        self.total_bytes = total_bytes
        self.usable_bytes = usable_bytes
        self.is_cordoned = is_cordoned


class DescribeLogDirsResponse(Message):
    API_KEY = 35
    MIN_VERSION = 1
    MAX_VERSION = 5
    FLEXIBLE_FROM = 2
    __slots__ = ("throttle_time_ms", "error_code", "results")
    FIELDS = (
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "3+", is_ignorable=True),
        Field("results", DescribeLogDirsResult, "0+", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: list[DescribeLogDirsResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results = [] if results is EMPTY else results
