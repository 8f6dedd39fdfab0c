# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_ihx = _Struct(">ihx").pack
_pack_ii = _Struct(">ii").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ih = _Struct(">ih").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class AlterReplicaLogDirPartitionResult(Struct):
    __slots__ = ("partition_index", "error_code")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        error_code: int = 0,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code


class AlterReplicaLogDirTopicResult(Struct):
    __slots__ = ("topic_name", "partitions")

    def __init__(
        self,
        topic_name: str = "",  # 0+
        partitions: list[AlterReplicaLogDirPartitionResult] = EMPTY,  # 0+
    ) -> None:
        self.topic_name = topic_name
        self.partitions = [] if partitions is EMPTY else partitions


class AlterReplicaLogDirsResponse(Message):
    API_KEY = 34
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        results: list[AlterReplicaLogDirTopicResult] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results


def _read_alter_replica_log_dir_partition_result_v1(data: bytes, pos: int, size: int) -> tuple[AlterReplicaLogDirPartitionResult, int]:
    at = "partition_index"
    try:
        partition_index, error_code = _unpack_ih(data, pos)
        pos += 6
    except READ_ERRORS as error:
        raise malformed("AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult", at, pos, error) from None
    return AlterReplicaLogDirPartitionResult(partition_index, error_code), pos


def _write_alter_replica_log_dir_partition_result_v1(w: Append, x: AlterReplicaLogDirPartitionResult) -> None:
    w(_pack_ih(x.partition_index, x.error_code))


def _read_alter_replica_log_dir_partition_result_v2(data: bytes, pos: int, size: int) -> tuple[AlterReplicaLogDirPartitionResult, int]:
    at = "partition_index"
    try:
        partition_index, error_code, tags = _unpack_ihB(data, pos)
        pos += 7
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult", at, pos, error) from None
    return AlterReplicaLogDirPartitionResult(partition_index, error_code), pos


def _write_alter_replica_log_dir_partition_result_v2(w: Append, x: AlterReplicaLogDirPartitionResult) -> None:
    w(_pack_ihx(x.partition_index, x.error_code))


def _read_alter_replica_log_dir_topic_result_v1(data: bytes, pos: int, size: int) -> tuple[AlterReplicaLogDirTopicResult, int]:
    at = "topic_name"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        topic_name = data[pos:end].decode()
        pos = end
        at = "partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[AlterReplicaLogDirPartitionResult] = []
        for _ in range(count):
            partitions_item, pos = _read_alter_replica_log_dir_partition_result_v1(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult", at, pos, error) from None
    return AlterReplicaLogDirTopicResult(topic_name, partitions), pos


def _write_alter_replica_log_dir_topic_result_v1(w: Append, x: AlterReplicaLogDirTopicResult) -> None:
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    w(_pack_h(len(topic_name_bytes)))
    w(topic_name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_alter_replica_log_dir_partition_result_v1(w, partitions_item)


def _read_alter_replica_log_dir_topic_result_v2(data: bytes, pos: int, size: int) -> tuple[AlterReplicaLogDirTopicResult, int]:
    at = "topic_name"
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
        topic_name = data[pos:end].decode()
        pos = end
        at = "partitions"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[AlterReplicaLogDirPartitionResult] = []
        for _ in range(count):
            partitions_item, pos = _read_alter_replica_log_dir_partition_result_v2(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult", at, pos, error) from None
    return AlterReplicaLogDirTopicResult(topic_name, partitions), pos


def _write_alter_replica_log_dir_topic_result_v2(w: Append, x: AlterReplicaLogDirTopicResult) -> None:
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_alter_replica_log_dir_partition_result_v2(w, partitions_item)
    w(b"\0")


def _read_alter_replica_log_dirs_response_v1(data: bytes, pos: int, size: int) -> tuple[AlterReplicaLogDirsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "results"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        results: list[AlterReplicaLogDirTopicResult] = []
        for _ in range(count):
            results_item, pos = _read_alter_replica_log_dir_topic_result_v1(data, pos, size)
            results.append(results_item)
    except READ_ERRORS as error:
        raise malformed("AlterReplicaLogDirsResponse", at, pos, error) from None
    return AlterReplicaLogDirsResponse(throttle_time_ms, results), pos


def _write_alter_replica_log_dirs_response_v1(w: Append, x: AlterReplicaLogDirsResponse) -> None:
    results = x.results
    w(_pack_ii(x.throttle_time_ms, len(results)))
    for results_item in results:
        _write_alter_replica_log_dir_topic_result_v1(w, results_item)


def _read_alter_replica_log_dirs_response_v2(data: bytes, pos: int, size: int) -> tuple[AlterReplicaLogDirsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "results"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        results: list[AlterReplicaLogDirTopicResult] = []
        for _ in range(count):
            results_item, pos = _read_alter_replica_log_dir_topic_result_v2(data, pos, size)
            results.append(results_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterReplicaLogDirsResponse", at, pos, error) from None
    return AlterReplicaLogDirsResponse(throttle_time_ms, results), pos


def _write_alter_replica_log_dirs_response_v2(w: Append, x: AlterReplicaLogDirsResponse) -> None:
    results = x.results
    count = len(results) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for results_item in results:
        _write_alter_replica_log_dir_topic_result_v2(w, results_item)
    w(b"\0")
AlterReplicaLogDirsResponse._READERS = {
    1: _read_alter_replica_log_dirs_response_v1,
    2: _read_alter_replica_log_dirs_response_v2,
}
AlterReplicaLogDirsResponse._WRITERS = {
    1: _write_alter_replica_log_dirs_response_v1,
    2: _write_alter_replica_log_dirs_response_v2,
}
