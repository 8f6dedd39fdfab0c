# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_iTh = _Struct(">i?h").pack
_pack_ih = _Struct(">ih").pack
_unpack_iThB = _Struct(">i?hB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from


class ReassignablePartitionResponse(Struct):
    __slots__ = ("partition_index", "error_code", "error_message")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message


class ReassignableTopicResponse(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: list[ReassignablePartitionResponse] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class AlterPartitionReassignmentsResponse(Message):
    API_KEY = 45
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "allow_replication_factor_change", "error_code", "error_message", "responses")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        allow_replication_factor_change: bool = True,  # 1+, ignorable
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
        responses: list[ReassignableTopicResponse] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is EMPTY else responses


def _read_reassignable_partition_response_v0(data: bytes, pos: int, size: int) -> tuple[ReassignablePartitionResponse, int]:
    at = "partition_index"
    try:
        partition_index, error_code, count = _unpack_ihB(data, pos)
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
        raise malformed("AlterPartitionReassignmentsResponse.ReassignablePartitionResponse", at, pos, error) from None
    return ReassignablePartitionResponse(partition_index, error_code, error_message), pos


def _write_reassignable_partition_response_v0(w: Append, x: ReassignablePartitionResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.partition_index, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    w(b"\0")


def _read_reassignable_topic_response_v0(data: bytes, pos: int, size: int) -> tuple[ReassignableTopicResponse, int]:
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
        partitions: list[ReassignablePartitionResponse] = []
        for _ in range(count):
            partitions_item, pos = _read_reassignable_partition_response_v0(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterPartitionReassignmentsResponse.ReassignableTopicResponse", at, pos, error) from None
    return ReassignableTopicResponse(name, partitions), pos


def _write_reassignable_topic_response_v0(w: Append, x: ReassignableTopicResponse) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_reassignable_partition_response_v0(w, partitions_item)
    w(b"\0")


def _read_alter_partition_reassignments_response_v0(data: bytes, pos: int, size: int) -> tuple[AlterPartitionReassignmentsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
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
        at = "responses"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[ReassignableTopicResponse] = []
        for _ in range(count):
            responses_item, pos = _read_reassignable_topic_response_v0(data, pos, size)
            responses.append(responses_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterPartitionReassignmentsResponse", at, pos, error) from None
    return AlterPartitionReassignmentsResponse(throttle_time_ms, True, error_code, error_message, responses), pos


def _write_alter_partition_reassignments_response_v0(w: Append, x: AlterPartitionReassignmentsResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    responses = x.responses
    count = len(responses) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for responses_item in responses:
        _write_reassignable_topic_response_v0(w, responses_item)
    w(b"\0")


def _read_alter_partition_reassignments_response_v1(data: bytes, pos: int, size: int) -> tuple[AlterPartitionReassignmentsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, allow_replication_factor_change, error_code, count = _unpack_iThB(data, pos)
        pos += 8
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
        at = "responses"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[ReassignableTopicResponse] = []
        for _ in range(count):
            responses_item, pos = _read_reassignable_topic_response_v0(data, pos, size)
            responses.append(responses_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterPartitionReassignmentsResponse", at, pos, error) from None
    return AlterPartitionReassignmentsResponse(throttle_time_ms, allow_replication_factor_change, error_code, error_message, responses), pos


def _write_alter_partition_reassignments_response_v1(w: Append, x: AlterPartitionReassignmentsResponse) -> None:
    error_message = x.error_message
    w(_pack_iTh(x.throttle_time_ms, x.allow_replication_factor_change, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    responses = x.responses
    count = len(responses) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for responses_item in responses:
        _write_reassignable_topic_response_v0(w, responses_item)
    w(b"\0")
AlterPartitionReassignmentsResponse._READERS = {
    0: _read_alter_partition_reassignments_response_v0,
    1: _read_alter_partition_reassignments_response_v1,
}
AlterPartitionReassignmentsResponse._WRITERS = {
    0: _write_alter_partition_reassignments_response_v0,
    1: _write_alter_partition_reassignments_response_v1,
}
