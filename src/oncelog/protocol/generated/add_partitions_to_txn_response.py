# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_ihB = _Struct(">ihB").pack
_pack_ihx = _Struct(">ihx").pack
_pack_ii = _Struct(">ii").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ih = _Struct(">ih").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class AddPartitionsToTxnPartitionResult(Struct):
    __slots__ = ("partition_index", "partition_error_code")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        partition_error_code: int = 0,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code


class AddPartitionsToTxnTopicResult(Struct):
    __slots__ = ("name", "results_by_partition")

    def __init__(
        self,
        name: str = "",  # 0+
        results_by_partition: list[AddPartitionsToTxnPartitionResult] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.results_by_partition = [] if results_by_partition is EMPTY else results_by_partition


class AddPartitionsToTxnResponse(Message):
    API_KEY = 24
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    __slots__ = ("throttle_time_ms", "error_code", "results_by_transaction", "results_by_topic_v3_and_below")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 4+, ignorable
        results_by_transaction: list[AddPartitionsToTxnResult] = EMPTY,  # 4+
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = EMPTY,  # 0-3
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction = [] if results_by_transaction is EMPTY else results_by_transaction
        self.results_by_topic_v3_and_below = [] if results_by_topic_v3_and_below is EMPTY else results_by_topic_v3_and_below


class AddPartitionsToTxnResult(Struct):
    __slots__ = ("transactional_id", "topic_results")

    def __init__(
        self,
        transactional_id: str = "",  # 4+
        topic_results: list[AddPartitionsToTxnTopicResult] = EMPTY,  # 4+
    ) -> None:
        self.transactional_id = transactional_id
        self.topic_results = [] if topic_results is EMPTY else topic_results


def _read_add_partitions_to_txn_partition_result_v0(data: bytes, pos: int, size: int) -> tuple[AddPartitionsToTxnPartitionResult, int]:
    at = "partition_index"
    try:
        partition_index, partition_error_code = _unpack_ih(data, pos)
        pos += 6
    except READ_ERRORS as error:
        raise malformed("AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult", at, pos, error) from None
    return AddPartitionsToTxnPartitionResult(partition_index, partition_error_code), pos


def _write_add_partitions_to_txn_partition_result_v0(w: Append, x: AddPartitionsToTxnPartitionResult) -> None:
    w(_pack_ih(x.partition_index, x.partition_error_code))


def _read_add_partitions_to_txn_partition_result_v3(data: bytes, pos: int, size: int) -> tuple[AddPartitionsToTxnPartitionResult, int]:
    at = "partition_index"
    try:
        partition_index, partition_error_code, tags = _unpack_ihB(data, pos)
        pos += 7
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult", at, pos, error) from None
    return AddPartitionsToTxnPartitionResult(partition_index, partition_error_code), pos


def _write_add_partitions_to_txn_partition_result_v3(w: Append, x: AddPartitionsToTxnPartitionResult) -> None:
    w(_pack_ihx(x.partition_index, x.partition_error_code))


def _read_add_partitions_to_txn_topic_result_v0(data: bytes, pos: int, size: int) -> tuple[AddPartitionsToTxnTopicResult, int]:
    at = "name"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "results_by_partition"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        results_by_partition: list[AddPartitionsToTxnPartitionResult] = []
        for _ in range(count):
            results_by_partition_item, pos = _read_add_partitions_to_txn_partition_result_v0(data, pos, size)
            results_by_partition.append(results_by_partition_item)
    except READ_ERRORS as error:
        raise malformed("AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult", at, pos, error) from None
    return AddPartitionsToTxnTopicResult(name, results_by_partition), pos


def _write_add_partitions_to_txn_topic_result_v0(w: Append, x: AddPartitionsToTxnTopicResult) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    results_by_partition = x.results_by_partition
    w(_pack_i(len(results_by_partition)))
    for results_by_partition_item in results_by_partition:
        _write_add_partitions_to_txn_partition_result_v0(w, results_by_partition_item)


def _read_add_partitions_to_txn_topic_result_v3(data: bytes, pos: int, size: int) -> tuple[AddPartitionsToTxnTopicResult, int]:
    at = "name"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "results_by_partition"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        results_by_partition: list[AddPartitionsToTxnPartitionResult] = []
        for _ in range(count):
            results_by_partition_item, pos = _read_add_partitions_to_txn_partition_result_v3(data, pos, size)
            results_by_partition.append(results_by_partition_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult", at, pos, error) from None
    return AddPartitionsToTxnTopicResult(name, results_by_partition), pos


def _write_add_partitions_to_txn_topic_result_v3(w: Append, x: AddPartitionsToTxnTopicResult) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    results_by_partition = x.results_by_partition
    count = len(results_by_partition) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for results_by_partition_item in results_by_partition:
        _write_add_partitions_to_txn_partition_result_v3(w, results_by_partition_item)
    w(b"\0")


def _read_add_partitions_to_txn_response_v0(data: bytes, pos: int, size: int) -> tuple[AddPartitionsToTxnResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "results_by_topic_v3_and_below"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []
        for _ in range(count):
            results_by_topic_v3_and_below_item, pos = _read_add_partitions_to_txn_topic_result_v0(data, pos, size)
            results_by_topic_v3_and_below.append(results_by_topic_v3_and_below_item)
    except READ_ERRORS as error:
        raise malformed("AddPartitionsToTxnResponse", at, pos, error) from None
    return AddPartitionsToTxnResponse(throttle_time_ms, 0, EMPTY, results_by_topic_v3_and_below), pos


def _write_add_partitions_to_txn_response_v0(w: Append, x: AddPartitionsToTxnResponse) -> None:
    if x.results_by_transaction:
        raise unsupported_field("AddPartitionsToTxnResponse", "results_by_transaction", "0-2")
    results_by_topic_v3_and_below = x.results_by_topic_v3_and_below
    w(_pack_ii(x.throttle_time_ms, len(results_by_topic_v3_and_below)))
    for results_by_topic_v3_and_below_item in results_by_topic_v3_and_below:
        _write_add_partitions_to_txn_topic_result_v0(w, results_by_topic_v3_and_below_item)


def _read_add_partitions_to_txn_response_v3(data: bytes, pos: int, size: int) -> tuple[AddPartitionsToTxnResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "results_by_topic_v3_and_below"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []
        for _ in range(count):
            results_by_topic_v3_and_below_item, pos = _read_add_partitions_to_txn_topic_result_v3(data, pos, size)
            results_by_topic_v3_and_below.append(results_by_topic_v3_and_below_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AddPartitionsToTxnResponse", at, pos, error) from None
    return AddPartitionsToTxnResponse(throttle_time_ms, 0, EMPTY, results_by_topic_v3_and_below), pos


def _write_add_partitions_to_txn_response_v3(w: Append, x: AddPartitionsToTxnResponse) -> None:
    if x.results_by_transaction:
        raise unsupported_field("AddPartitionsToTxnResponse", "results_by_transaction", "3")
    results_by_topic_v3_and_below = x.results_by_topic_v3_and_below
    count = len(results_by_topic_v3_and_below) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for results_by_topic_v3_and_below_item in results_by_topic_v3_and_below:
        _write_add_partitions_to_txn_topic_result_v3(w, results_by_topic_v3_and_below_item)
    w(b"\0")


def _read_add_partitions_to_txn_result_v4(data: bytes, pos: int, size: int) -> tuple[AddPartitionsToTxnResult, int]:
    at = "transactional_id"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        transactional_id = data[pos:end].decode()
        pos = end
        at = "topic_results"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topic_results: list[AddPartitionsToTxnTopicResult] = []
        for _ in range(count):
            topic_results_item, pos = _read_add_partitions_to_txn_topic_result_v3(data, pos, size)
            topic_results.append(topic_results_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AddPartitionsToTxnResponse.AddPartitionsToTxnResult", at, pos, error) from None
    return AddPartitionsToTxnResult(transactional_id, topic_results), pos


def _write_add_partitions_to_txn_result_v4(w: Append, x: AddPartitionsToTxnResult) -> None:
    transactional_id = x.transactional_id
    transactional_id_bytes = transactional_id.encode()
    count = len(transactional_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(transactional_id_bytes)
    topic_results = x.topic_results
    count = len(topic_results) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topic_results_item in topic_results:
        _write_add_partitions_to_txn_topic_result_v3(w, topic_results_item)
    w(b"\0")


def _read_add_partitions_to_txn_response_v4(data: bytes, pos: int, size: int) -> tuple[AddPartitionsToTxnResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "results_by_transaction"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        results_by_transaction: list[AddPartitionsToTxnResult] = []
        for _ in range(count):
            results_by_transaction_item, pos = _read_add_partitions_to_txn_result_v4(data, pos, size)
            results_by_transaction.append(results_by_transaction_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AddPartitionsToTxnResponse", at, pos, error) from None
    return AddPartitionsToTxnResponse(throttle_time_ms, error_code, results_by_transaction, EMPTY), pos


def _write_add_partitions_to_txn_response_v4(w: Append, x: AddPartitionsToTxnResponse) -> None:
    if x.results_by_topic_v3_and_below:
        raise unsupported_field("AddPartitionsToTxnResponse", "results_by_topic_v3_and_below", "4-5")
    results_by_transaction = x.results_by_transaction
    count = len(results_by_transaction) + 1
    w(_pack_ihB(x.throttle_time_ms, x.error_code, count) if count < 128 else _pack_ih(x.throttle_time_ms, x.error_code) + uvarint(count))
    for results_by_transaction_item in results_by_transaction:
        _write_add_partitions_to_txn_result_v4(w, results_by_transaction_item)
    w(b"\0")
AddPartitionsToTxnResponse._READERS = {
    0: _read_add_partitions_to_txn_response_v0,
    1: _read_add_partitions_to_txn_response_v0,
    2: _read_add_partitions_to_txn_response_v0,
    3: _read_add_partitions_to_txn_response_v3,
    4: _read_add_partitions_to_txn_response_v4,
    5: _read_add_partitions_to_txn_response_v4,
}
AddPartitionsToTxnResponse._WRITERS = {
    0: _write_add_partitions_to_txn_response_v0,
    1: _write_add_partitions_to_txn_response_v0,
    2: _write_add_partitions_to_txn_response_v0,
    3: _write_add_partitions_to_txn_response_v3,
    4: _write_add_partitions_to_txn_response_v4,
    5: _write_add_partitions_to_txn_response_v4,
}
