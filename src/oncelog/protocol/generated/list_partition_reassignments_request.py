# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_i = _Struct(">i").pack
_unpack_iB = _Struct(">iB").unpack_from


class ListPartitionReassignmentsTopics(Struct):
    __slots__ = ("name", "partition_indexes")

    def __init__(
        self,
        name: str = "",  # 0+
        partition_indexes: list[int] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partition_indexes = [] if partition_indexes is EMPTY else partition_indexes


class ListPartitionReassignmentsRequest(Message):
    API_KEY = 46
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("timeout_ms", "topics")

    def __init__(
        self,
        timeout_ms: int = 60000,  # 0+
        topics: list[ListPartitionReassignmentsTopics] | None = None,  # 0+
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics


def _read_list_partition_reassignments_topics_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListPartitionReassignmentsTopics, int]:
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
        at = "partition_indexes"
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
        if limit is not None:
            limit.take(count)
        partition_indexes: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics", at, pos, error) from None
    return ListPartitionReassignmentsTopics(name, partition_indexes), pos


def _write_list_partition_reassignments_topics_v0(w: Append, x: ListPartitionReassignmentsTopics) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partition_indexes = x.partition_indexes
    count = len(partition_indexes) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(partition_indexes)](*partition_indexes) if len(partition_indexes) < 8 else pack(f">{len(partition_indexes)}i", *partition_indexes))
    w(b"\0")


def _read_list_partition_reassignments_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListPartitionReassignmentsRequest, int]:
    at = "timeout_ms"
    try:
        timeout_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        topics: list[ListPartitionReassignmentsTopics] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            topics = []
            for _ in range(count):
                topics_item, pos = _read_list_partition_reassignments_topics_v0(data, pos, size, limit)
                topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListPartitionReassignmentsRequest", at, pos, error) from None
    return ListPartitionReassignmentsRequest(timeout_ms, topics), pos


def _write_list_partition_reassignments_request_v0(w: Append, x: ListPartitionReassignmentsRequest) -> None:
    topics = x.topics
    w(_pack_i(x.timeout_ms))
    if topics is None:
        w(b"\0")
    else:
        count = len(topics) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for topics_item in topics:
            _write_list_partition_reassignments_topics_v0(w, topics_item)
    w(b"\0")
ListPartitionReassignmentsRequest._READERS = {
    0: _read_list_partition_reassignments_request_v0,
}
ListPartitionReassignmentsRequest._WRITERS = {
    0: _write_list_partition_reassignments_request_v0,
}
