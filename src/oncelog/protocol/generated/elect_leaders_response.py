# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_ih = _Struct(">ih").pack
_pack_ihB = _Struct(">ihB").pack
_pack_ihh = _Struct(">ihh").pack
_pack_ihi = _Struct(">ihi").pack
_pack_ii = _Struct(">ii").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ihh = _Struct(">ihh").unpack_from
_unpack_ihi = _Struct(">ihi").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class PartitionResult(Struct):
    __slots__ = ("partition_id", "error_code", "error_message")

    def __init__(
        self,
        partition_id: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
    ) -> None:
        self.partition_id = partition_id
        self.error_code = error_code
        self.error_message = error_message


class ReplicaElectionResult(Struct):
    __slots__ = ("topic", "partition_result")

    def __init__(
        self,
        topic: str = "",  # 0+
        partition_result: list[PartitionResult] = EMPTY,  # 0+
    ) -> None:
        self.topic = topic
        self.partition_result = [] if partition_result is EMPTY else partition_result


class ElectLeadersResponse(Message):
    API_KEY = 43
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("throttle_time_ms", "error_code", "replica_election_results")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 1+
        replica_election_results: list[ReplicaElectionResult] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results = [] if replica_election_results is EMPTY else replica_election_results


def _read_partition_result_v0(data: bytes, pos: int, size: int) -> tuple[PartitionResult, int]:
    at = "partition_id"
    try:
        partition_id, error_code, count = _unpack_ihh(data, pos)
        pos += 8
        at = "error_message"
        error_message: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            error_message = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("ElectLeadersResponse.PartitionResult", at, pos, error) from None
    return PartitionResult(partition_id, error_code, error_message), pos


def _write_partition_result_v0(w: Append, x: PartitionResult) -> None:
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_ihh(x.partition_id, x.error_code, -1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)


def _read_partition_result_v2(data: bytes, pos: int, size: int) -> tuple[PartitionResult, int]:
    at = "partition_id"
    try:
        partition_id, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ElectLeadersResponse.PartitionResult", at, pos, error) from None
    return PartitionResult(partition_id, error_code, error_message), pos


def _write_partition_result_v2(w: Append, x: PartitionResult) -> None:
    error_message = x.error_message
    w(_pack_ih(x.partition_id, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    w(b"\0")


def _read_replica_election_result_v0(data: bytes, pos: int, size: int) -> tuple[ReplicaElectionResult, int]:
    at = "topic"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        topic = data[pos:end].decode()
        pos = end
        at = "partition_result"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        partition_result: list[PartitionResult] = []
        for _ in range(count):
            partition_result_item, pos = _read_partition_result_v0(data, pos, size)
            partition_result.append(partition_result_item)
    except READ_ERRORS as error:
        raise malformed("ElectLeadersResponse.ReplicaElectionResult", at, pos, error) from None
    return ReplicaElectionResult(topic, partition_result), pos


def _write_replica_election_result_v0(w: Append, x: ReplicaElectionResult) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    w(_pack_h(len(topic_bytes)))
    w(topic_bytes)
    partition_result = x.partition_result
    w(_pack_i(len(partition_result)))
    for partition_result_item in partition_result:
        _write_partition_result_v0(w, partition_result_item)


def _read_replica_election_result_v2(data: bytes, pos: int, size: int) -> tuple[ReplicaElectionResult, int]:
    at = "topic"
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
        topic = data[pos:end].decode()
        pos = end
        at = "partition_result"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        partition_result: list[PartitionResult] = []
        for _ in range(count):
            partition_result_item, pos = _read_partition_result_v2(data, pos, size)
            partition_result.append(partition_result_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ElectLeadersResponse.ReplicaElectionResult", at, pos, error) from None
    return ReplicaElectionResult(topic, partition_result), pos


def _write_replica_election_result_v2(w: Append, x: ReplicaElectionResult) -> None:
    topic = x.topic
    topic_bytes = topic.encode()
    count = len(topic_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_bytes)
    partition_result = x.partition_result
    count = len(partition_result) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partition_result_item in partition_result:
        _write_partition_result_v2(w, partition_result_item)
    w(b"\0")


def _read_elect_leaders_response_v0(data: bytes, pos: int, size: int) -> tuple[ElectLeadersResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "replica_election_results"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        replica_election_results: list[ReplicaElectionResult] = []
        for _ in range(count):
            replica_election_results_item, pos = _read_replica_election_result_v0(data, pos, size)
            replica_election_results.append(replica_election_results_item)
    except READ_ERRORS as error:
        raise malformed("ElectLeadersResponse", at, pos, error) from None
    return ElectLeadersResponse(throttle_time_ms, 0, replica_election_results), pos


def _write_elect_leaders_response_v0(w: Append, x: ElectLeadersResponse) -> None:
    if x.error_code != 0:
        raise unsupported_field("ElectLeadersResponse", "error_code", "0")
    replica_election_results = x.replica_election_results
    w(_pack_ii(x.throttle_time_ms, len(replica_election_results)))
    for replica_election_results_item in replica_election_results:
        _write_replica_election_result_v0(w, replica_election_results_item)


def _read_elect_leaders_response_v1(data: bytes, pos: int, size: int) -> tuple[ElectLeadersResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihi(data, pos)
        pos += 10
        at = "replica_election_results"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        replica_election_results: list[ReplicaElectionResult] = []
        for _ in range(count):
            replica_election_results_item, pos = _read_replica_election_result_v0(data, pos, size)
            replica_election_results.append(replica_election_results_item)
    except READ_ERRORS as error:
        raise malformed("ElectLeadersResponse", at, pos, error) from None
    return ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results), pos


def _write_elect_leaders_response_v1(w: Append, x: ElectLeadersResponse) -> None:
    replica_election_results = x.replica_election_results
    w(_pack_ihi(x.throttle_time_ms, x.error_code, len(replica_election_results)))
    for replica_election_results_item in replica_election_results:
        _write_replica_election_result_v0(w, replica_election_results_item)


def _read_elect_leaders_response_v2(data: bytes, pos: int, size: int) -> tuple[ElectLeadersResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "replica_election_results"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        replica_election_results: list[ReplicaElectionResult] = []
        for _ in range(count):
            replica_election_results_item, pos = _read_replica_election_result_v2(data, pos, size)
            replica_election_results.append(replica_election_results_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ElectLeadersResponse", at, pos, error) from None
    return ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results), pos


def _write_elect_leaders_response_v2(w: Append, x: ElectLeadersResponse) -> None:
    replica_election_results = x.replica_election_results
    count = len(replica_election_results) + 1
    w(_pack_ihB(x.throttle_time_ms, x.error_code, count) if count < 128 else _pack_ih(x.throttle_time_ms, x.error_code) + uvarint(count))
    for replica_election_results_item in replica_election_results:
        _write_replica_election_result_v2(w, replica_election_results_item)
    w(b"\0")
ElectLeadersResponse._READERS = {
    0: _read_elect_leaders_response_v0,
    1: _read_elect_leaders_response_v1,
    2: _read_elect_leaders_response_v2,
}
ElectLeadersResponse._WRITERS = {
    0: _write_elect_leaders_response_v0,
    1: _write_elect_leaders_response_v1,
    2: _write_elect_leaders_response_v2,
}
