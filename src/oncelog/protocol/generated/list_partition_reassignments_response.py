# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from


class OngoingPartitionReassignment(Struct):
    __slots__ = ("partition_index", "replicas", "adding_replicas", "removing_replicas")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        replicas: list[int] = EMPTY,  # 0+
        adding_replicas: list[int] = EMPTY,  # 0+
        removing_replicas: list[int] = EMPTY,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.replicas = [] if replicas is EMPTY else replicas
        self.adding_replicas = [] if adding_replicas is EMPTY else adding_replicas
        self.removing_replicas = [] if removing_replicas is EMPTY else removing_replicas


class OngoingTopicReassignment(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: list[OngoingPartitionReassignment] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class ListPartitionReassignmentsResponse(Message):
    API_KEY = 46
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "topics")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
        topics: list[OngoingTopicReassignment] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics = [] if topics is EMPTY else topics


def _read_ongoing_partition_reassignment_v0(data: bytes, pos: int, size: int) -> tuple[OngoingPartitionReassignment, int]:
    at = "partition_index"
    try:
        partition_index, count = _unpack_iB(data, pos)
        pos += 5
        at = "replicas"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "adding_replicas"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        adding_replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "removing_replicas"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        removing_replicas: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListPartitionReassignmentsResponse.OngoingPartitionReassignment", at, pos, error) from None
    return OngoingPartitionReassignment(partition_index, replicas, adding_replicas, removing_replicas), pos


def _write_ongoing_partition_reassignment_v0(w: Append, x: OngoingPartitionReassignment) -> None:
    replicas = x.replicas
    count = len(replicas) + 1
    w(_pack_iB(x.partition_index, count) if count < 128 else _pack_i(x.partition_index) + uvarint(count))
    w(PACK_INT32S[len(replicas)](*replicas) if len(replicas) < 8 else pack(f">{len(replicas)}i", *replicas))
    adding_replicas = x.adding_replicas
    count = len(adding_replicas) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(adding_replicas)](*adding_replicas) if len(adding_replicas) < 8 else pack(f">{len(adding_replicas)}i", *adding_replicas))
    removing_replicas = x.removing_replicas
    count = len(removing_replicas) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(removing_replicas)](*removing_replicas) if len(removing_replicas) < 8 else pack(f">{len(removing_replicas)}i", *removing_replicas))
    w(b"\0")


def _read_ongoing_topic_reassignment_v0(data: bytes, pos: int, size: int) -> tuple[OngoingTopicReassignment, int]:
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
        partitions: list[OngoingPartitionReassignment] = []
        for _ in range(count):
            partitions_item, pos = _read_ongoing_partition_reassignment_v0(data, pos, size)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListPartitionReassignmentsResponse.OngoingTopicReassignment", at, pos, error) from None
    return OngoingTopicReassignment(name, partitions), pos


def _write_ongoing_topic_reassignment_v0(w: Append, x: OngoingTopicReassignment) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_ongoing_partition_reassignment_v0(w, partitions_item)
    w(b"\0")


def _read_list_partition_reassignments_response_v0(data: bytes, pos: int, size: int) -> tuple[ListPartitionReassignmentsResponse, int]:
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
        topics: list[OngoingTopicReassignment] = []
        for _ in range(count):
            topics_item, pos = _read_ongoing_topic_reassignment_v0(data, pos, size)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListPartitionReassignmentsResponse", at, pos, error) from None
    return ListPartitionReassignmentsResponse(throttle_time_ms, error_code, error_message, topics), pos


def _write_list_partition_reassignments_response_v0(w: Append, x: ListPartitionReassignmentsResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_ongoing_topic_reassignment_v0(w, topics_item)
    w(b"\0")
ListPartitionReassignmentsResponse._READERS = {
    0: _read_list_partition_reassignments_response_v0,
}
ListPartitionReassignmentsResponse._WRITERS = {
    0: _write_list_partition_reassignments_response_v0,
}
