# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_hB = _Struct(">hB").pack
_pack_hh = _Struct(">hh").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_pack_ihB = _Struct(">ihB").pack
_pack_ii = _Struct(">ii").pack
_pack_iqqT = _Struct(">iqq?").pack
_pack_iqqTx = _Struct(">iqq?x").pack
_pack_qqTx = _Struct(">qq?x").pack
_pack_qqx = _Struct(">qqx").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hh = _Struct(">hh").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from
_unpack_iqqT = _Struct(">iqq?").unpack_from
_unpack_iqqTB = _Struct(">iqq?B").unpack_from
_unpack_qqB = _Struct(">qqB").unpack_from
_unpack_qqTB = _Struct(">qq?B").unpack_from


class DescribeLogDirsPartition(Struct):
    __slots__ = ("partition_index", "partition_size", "offset_lag", "is_future_key")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        partition_size: int = 0,  # 0+
        offset_lag: int = 0,  # 0+
        is_future_key: bool = False,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key


class DescribeLogDirsTopic(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: list[DescribeLogDirsPartition] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class DescribeLogDirsResult(Struct):
    __slots__ = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        log_dir: str = "",  # 0+
        topics: list[DescribeLogDirsTopic] = EMPTY,  # 0+
        total_bytes: int = -1,  # 4+, ignorable
        usable_bytes: int = -1,  # 4+, ignorable
        is_cordoned: bool = False,  # 5+, ignorable
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

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 3+, ignorable
        results: list[DescribeLogDirsResult] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results = [] if results is EMPTY else results


def _read_describe_log_dirs_partition_v1(data: bytes, pos: int, size: int) -> tuple[DescribeLogDirsPartition, int]:
    at = "partition_index"
    try:
        partition_index, partition_size, offset_lag, is_future_key = _unpack_iqqT(data, pos)
        pos += 21
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsResponse.DescribeLogDirsPartition", at, pos, error) from None
    return DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key), pos


def _write_describe_log_dirs_partition_v1(w: Append, x: DescribeLogDirsPartition) -> None:
    w(_pack_iqqT(x.partition_index, x.partition_size, x.offset_lag, x.is_future_key))


def _read_describe_log_dirs_partition_v2(data: bytes, pos: int, size: int) -> tuple[DescribeLogDirsPartition, int]:
    at = "partition_index"
    try:
        partition_index, partition_size, offset_lag, is_future_key, tags = _unpack_iqqTB(data, pos)
        pos += 22
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsResponse.DescribeLogDirsPartition", at, pos, error) from None
    return DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key), pos


def _write_describe_log_dirs_partition_v2(w: Append, x: DescribeLogDirsPartition) -> None:
    w(_pack_iqqTx(x.partition_index, x.partition_size, x.offset_lag, x.is_future_key))


def _read_describe_log_dirs_topic_v1(data: bytes, pos: int, size: int) -> tuple[DescribeLogDirsTopic, int]:
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
        at = "partitions"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[DescribeLogDirsPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_describe_log_dirs_partition_v1(data, pos, size)
            partitions.append(partitions_item)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsResponse.DescribeLogDirsTopic", at, pos, error) from None
    return DescribeLogDirsTopic(name, partitions), pos


def _write_describe_log_dirs_topic_v1(w: Append, x: DescribeLogDirsTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    partitions = x.partitions
    w(_pack_i(len(partitions)))
    for partitions_item in partitions:
        _write_describe_log_dirs_partition_v1(w, partitions_item)


def _read_describe_log_dirs_topic_v2(data: bytes, pos: int, size: int) -> tuple[DescribeLogDirsTopic, int]:
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
        partitions: list[DescribeLogDirsPartition] = []
        for _ in range(count):
            partitions_item, pos = _read_describe_log_dirs_partition_v2(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsResponse.DescribeLogDirsTopic", at, pos, error) from None
    return DescribeLogDirsTopic(name, partitions), pos


def _write_describe_log_dirs_topic_v2(w: Append, x: DescribeLogDirsTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_describe_log_dirs_partition_v2(w, partitions_item)
    w(b"\0")


def _read_describe_log_dirs_result_v1(data: bytes, pos: int, size: int) -> tuple[DescribeLogDirsResult, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "log_dir"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        log_dir = data[pos:end].decode()
        pos = end
        at = "topics"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[DescribeLogDirsTopic] = []
        for _ in range(count):
            topics_item, pos = _read_describe_log_dirs_topic_v1(data, pos, size)
            topics.append(topics_item)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsResponse.DescribeLogDirsResult", at, pos, error) from None
    return DescribeLogDirsResult(error_code, log_dir, topics, -1, -1, False), pos


def _write_describe_log_dirs_result_v1(w: Append, x: DescribeLogDirsResult) -> None:
    log_dir = x.log_dir
    log_dir_bytes = log_dir.encode()
    w(_pack_hh(x.error_code, len(log_dir_bytes)))
    w(log_dir_bytes)
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_describe_log_dirs_topic_v1(w, topics_item)


def _read_describe_log_dirs_result_v2(data: bytes, pos: int, size: int) -> tuple[DescribeLogDirsResult, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "log_dir"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        log_dir = data[pos:end].decode()
        pos = end
        at = "topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[DescribeLogDirsTopic] = []
        for _ in range(count):
            topics_item, pos = _read_describe_log_dirs_topic_v2(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsResponse.DescribeLogDirsResult", at, pos, error) from None
    return DescribeLogDirsResult(error_code, log_dir, topics, -1, -1, False), pos


def _write_describe_log_dirs_result_v2(w: Append, x: DescribeLogDirsResult) -> None:
    log_dir = x.log_dir
    log_dir_bytes = log_dir.encode()
    count = len(log_dir_bytes) + 1
    w(_pack_hB(x.error_code, count) if count < 128 else _pack_h(x.error_code) + string_length(count))
    w(log_dir_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_describe_log_dirs_topic_v2(w, topics_item)
    w(b"\0")


def _read_describe_log_dirs_result_v4(data: bytes, pos: int, size: int) -> tuple[DescribeLogDirsResult, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "log_dir"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        log_dir = data[pos:end].decode()
        pos = end
        at = "topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[DescribeLogDirsTopic] = []
        for _ in range(count):
            topics_item, pos = _read_describe_log_dirs_topic_v2(data, pos, size)
            topics.append(topics_item)
        at = "total_bytes"
        total_bytes, usable_bytes, tags = _unpack_qqB(data, pos)
        pos += 17
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsResponse.DescribeLogDirsResult", at, pos, error) from None
    return DescribeLogDirsResult(error_code, log_dir, topics, total_bytes, usable_bytes, False), pos


def _write_describe_log_dirs_result_v4(w: Append, x: DescribeLogDirsResult) -> None:
    log_dir = x.log_dir
    log_dir_bytes = log_dir.encode()
    count = len(log_dir_bytes) + 1
    w(_pack_hB(x.error_code, count) if count < 128 else _pack_h(x.error_code) + string_length(count))
    w(log_dir_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_describe_log_dirs_topic_v2(w, topics_item)
    w(_pack_qqx(x.total_bytes, x.usable_bytes))


def _read_describe_log_dirs_result_v5(data: bytes, pos: int, size: int) -> tuple[DescribeLogDirsResult, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "log_dir"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        log_dir = data[pos:end].decode()
        pos = end
        at = "topics"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        topics: list[DescribeLogDirsTopic] = []
        for _ in range(count):
            topics_item, pos = _read_describe_log_dirs_topic_v2(data, pos, size)
            topics.append(topics_item)
        at = "total_bytes"
        total_bytes, usable_bytes, is_cordoned, tags = _unpack_qqTB(data, pos)
        pos += 18
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsResponse.DescribeLogDirsResult", at, pos, error) from None
    return DescribeLogDirsResult(error_code, log_dir, topics, total_bytes, usable_bytes, is_cordoned), pos


def _write_describe_log_dirs_result_v5(w: Append, x: DescribeLogDirsResult) -> None:
    log_dir = x.log_dir
    log_dir_bytes = log_dir.encode()
    count = len(log_dir_bytes) + 1
    w(_pack_hB(x.error_code, count) if count < 128 else _pack_h(x.error_code) + string_length(count))
    w(log_dir_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_describe_log_dirs_topic_v2(w, topics_item)
    w(_pack_qqTx(x.total_bytes, x.usable_bytes, x.is_cordoned))


def _read_describe_log_dirs_response_v1(data: bytes, pos: int, size: int) -> tuple[DescribeLogDirsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "results"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        results: list[DescribeLogDirsResult] = []
        for _ in range(count):
            results_item, pos = _read_describe_log_dirs_result_v1(data, pos, size)
            results.append(results_item)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsResponse", at, pos, error) from None
    return DescribeLogDirsResponse(throttle_time_ms, 0, results), pos


def _write_describe_log_dirs_response_v1(w: Append, x: DescribeLogDirsResponse) -> None:
    results = x.results
    w(_pack_ii(x.throttle_time_ms, len(results)))
    for results_item in results:
        _write_describe_log_dirs_result_v1(w, results_item)


def _read_describe_log_dirs_response_v2(data: bytes, pos: int, size: int) -> tuple[DescribeLogDirsResponse, int]:
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
        results: list[DescribeLogDirsResult] = []
        for _ in range(count):
            results_item, pos = _read_describe_log_dirs_result_v2(data, pos, size)
            results.append(results_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsResponse", at, pos, error) from None
    return DescribeLogDirsResponse(throttle_time_ms, 0, results), pos


def _write_describe_log_dirs_response_v2(w: Append, x: DescribeLogDirsResponse) -> None:
    results = x.results
    count = len(results) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for results_item in results:
        _write_describe_log_dirs_result_v2(w, results_item)
    w(b"\0")


def _read_describe_log_dirs_response_v3(data: bytes, pos: int, size: int) -> tuple[DescribeLogDirsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "results"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        results: list[DescribeLogDirsResult] = []
        for _ in range(count):
            results_item, pos = _read_describe_log_dirs_result_v2(data, pos, size)
            results.append(results_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsResponse", at, pos, error) from None
    return DescribeLogDirsResponse(throttle_time_ms, error_code, results), pos


def _write_describe_log_dirs_response_v3(w: Append, x: DescribeLogDirsResponse) -> None:
    results = x.results
    count = len(results) + 1
    w(_pack_ihB(x.throttle_time_ms, x.error_code, count) if count < 128 else _pack_ih(x.throttle_time_ms, x.error_code) + uvarint(count))
    for results_item in results:
        _write_describe_log_dirs_result_v2(w, results_item)
    w(b"\0")


def _read_describe_log_dirs_response_v4(data: bytes, pos: int, size: int) -> tuple[DescribeLogDirsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "results"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        results: list[DescribeLogDirsResult] = []
        for _ in range(count):
            results_item, pos = _read_describe_log_dirs_result_v4(data, pos, size)
            results.append(results_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsResponse", at, pos, error) from None
    return DescribeLogDirsResponse(throttle_time_ms, error_code, results), pos


def _write_describe_log_dirs_response_v4(w: Append, x: DescribeLogDirsResponse) -> None:
    results = x.results
    count = len(results) + 1
    w(_pack_ihB(x.throttle_time_ms, x.error_code, count) if count < 128 else _pack_ih(x.throttle_time_ms, x.error_code) + uvarint(count))
    for results_item in results:
        _write_describe_log_dirs_result_v4(w, results_item)
    w(b"\0")


def _read_describe_log_dirs_response_v5(data: bytes, pos: int, size: int) -> tuple[DescribeLogDirsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "results"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        results: list[DescribeLogDirsResult] = []
        for _ in range(count):
            results_item, pos = _read_describe_log_dirs_result_v5(data, pos, size)
            results.append(results_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeLogDirsResponse", at, pos, error) from None
    return DescribeLogDirsResponse(throttle_time_ms, error_code, results), pos


def _write_describe_log_dirs_response_v5(w: Append, x: DescribeLogDirsResponse) -> None:
    results = x.results
    count = len(results) + 1
    w(_pack_ihB(x.throttle_time_ms, x.error_code, count) if count < 128 else _pack_ih(x.throttle_time_ms, x.error_code) + uvarint(count))
    for results_item in results:
        _write_describe_log_dirs_result_v5(w, results_item)
    w(b"\0")
DescribeLogDirsResponse._READERS = {
    1: _read_describe_log_dirs_response_v1,
    2: _read_describe_log_dirs_response_v2,
    3: _read_describe_log_dirs_response_v3,
    4: _read_describe_log_dirs_response_v4,
    5: _read_describe_log_dirs_response_v5,
}
DescribeLogDirsResponse._WRITERS = {
    1: _write_describe_log_dirs_response_v1,
    2: _write_describe_log_dirs_response_v2,
    3: _write_describe_log_dirs_response_v3,
    4: _write_describe_log_dirs_response_v4,
    5: _write_describe_log_dirs_response_v5,
}
