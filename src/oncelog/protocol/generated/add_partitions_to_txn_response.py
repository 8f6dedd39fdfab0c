# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import EMPTY, Field, Struct
from oncelog.protocol.wire import Message


class AddPartitionsToTxnPartitionResult(Struct):
    __slots__ = ("partition_index", "partition_error_code")
    FIELDS = (
        Field("partition_index", "int32", "0+"),
        Field("partition_error_code", "int16", "0+"),
    )

    def __init__(
        self,
        partition_index: int = 0,
        partition_error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code


class AddPartitionsToTxnTopicResult(Struct):
    __slots__ = ("name", "results_by_partition")
    FIELDS = (
        Field("name", "string", "0+"),
        Field("results_by_partition", AddPartitionsToTxnPartitionResult, "0+", is_array=True),
    )

    def __init__(
        self,
        name: str = "",
        results_by_partition: list[AddPartitionsToTxnPartitionResult] = EMPTY,
    ) -> None:
        self.name = name
        self.results_by_partition = [] if results_by_partition is EMPTY else results_by_partition


class AddPartitionsToTxnResult(Struct):
    __slots__ = ("transactional_id", "topic_results")
    FIELDS = (
        Field("transactional_id", "string", "4+"),
        Field("topic_results", AddPartitionsToTxnTopicResult, "4+", is_array=True),
    )

    def __init__(
        self,
        transactional_id: str = "",
        topic_results: list[AddPartitionsToTxnTopicResult] = EMPTY,
    ) -> None:
        self.transactional_id = transactional_id
        self.topic_results = [] if topic_results is EMPTY else topic_results


class AddPartitionsToTxnResponse(Message):
    API_KEY = 24
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    __slots__ = ("throttle_time_ms", "error_code", "results_by_transaction", "results_by_topic_v3_and_below")
    FIELDS = (
        Field("throttle_time_ms", "int32", "0+"),
        Field("error_code", "int16", "4+", is_ignorable=True),
        Field("results_by_transaction", AddPartitionsToTxnResult, "4+", is_array=True),
        Field("results_by_topic_v3_and_below", AddPartitionsToTxnTopicResult, "0-3", is_array=True),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: list[AddPartitionsToTxnResult] = EMPTY,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = EMPTY,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction = [] if results_by_transaction is EMPTY else results_by_transaction
        self.results_by_topic_v3_and_below = [] if results_by_topic_v3_and_below is EMPTY else results_by_topic_v3_and_below
