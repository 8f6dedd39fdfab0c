# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_U = _Struct(">16s").pack
_pack_UB = _Struct(">16sB").pack
_pack_ih = _Struct(">ih").pack
_unpack_UB = _Struct(">16sB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from


class AlterShareGroupOffsetsResponsePartition(Struct):
    __slots__ = ("partition_index", "error_code", "error_message")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message


class AlterShareGroupOffsetsResponseTopic(Struct):
    __slots__ = ("topic_name", "topic_id", "partitions")

    def __init__(
        self,
        topic_name: str = "",  # 0+
        topic_id: Uuid = ZERO_UUID,  # 0+
        partitions: list[AlterShareGroupOffsetsResponsePartition] = EMPTY,  # 0+
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.partitions = [] if partitions is EMPTY else partitions


class AlterShareGroupOffsetsResponse(Message):
    API_KEY = 91
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "responses")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = None,  # 0+
        responses: list[AlterShareGroupOffsetsResponseTopic] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses = [] if responses is EMPTY else responses


def _read_alter_share_group_offsets_response_partition_v0(data: bytes, pos: int, size: int) -> tuple[AlterShareGroupOffsetsResponsePartition, int]:
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
        raise malformed("AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition", at, pos, error) from None
    return AlterShareGroupOffsetsResponsePartition(partition_index, error_code, error_message), pos


def _write_alter_share_group_offsets_response_partition_v0(w: Append, x: AlterShareGroupOffsetsResponsePartition) -> None:
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


def _read_alter_share_group_offsets_response_topic_v0(data: bytes, pos: int, size: int) -> tuple[AlterShareGroupOffsetsResponseTopic, int]:
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
        at = "topic_id"
        topic_id, count = _unpack_UB(data, pos)
        pos += 17
        at = "partitions"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        partitions: list[AlterShareGroupOffsetsResponsePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_alter_share_group_offsets_response_partition_v0(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic", at, pos, error) from None
    return AlterShareGroupOffsetsResponseTopic(topic_name, topic_id, partitions), pos


def _write_alter_share_group_offsets_response_topic_v0(w: Append, x: AlterShareGroupOffsetsResponseTopic) -> None:
    topic_name = x.topic_name
    topic_name_bytes = topic_name.encode()
    count = len(topic_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(topic_name_bytes)
    topic_id = x.topic_id
    if len(topic_id) != 16:
        raise bad_uuid("AlterShareGroupOffsetsResponse", "topic_id", topic_id)
    partitions = x.partitions
    count = len(partitions) + 1
    w(_pack_UB(topic_id, count) if count < 128 else _pack_U(topic_id) + uvarint(count))
    for partitions_item in partitions:
        _write_alter_share_group_offsets_response_partition_v0(w, partitions_item)
    w(b"\0")


def _read_alter_share_group_offsets_response_v0(data: bytes, pos: int, size: int) -> tuple[AlterShareGroupOffsetsResponse, int]:
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
        responses: list[AlterShareGroupOffsetsResponseTopic] = []
        for _ in range(count):
            responses_item, pos = _read_alter_share_group_offsets_response_topic_v0(data, pos, size)
            responses.append(responses_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterShareGroupOffsetsResponse", at, pos, error) from None
    return AlterShareGroupOffsetsResponse(throttle_time_ms, error_code, error_message, responses), pos


def _write_alter_share_group_offsets_response_v0(w: Append, x: AlterShareGroupOffsetsResponse) -> None:
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
        _write_alter_share_group_offsets_response_topic_v0(w, responses_item)
    w(b"\0")
AlterShareGroupOffsetsResponse._READERS = {
    0: _read_alter_share_group_offsets_response_v0,
}
AlterShareGroupOffsetsResponse._WRITERS = {
    0: _write_alter_share_group_offsets_response_v0,
}
