# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_iT = _Struct(">i?").pack
_pack_iTB = _Struct(">i?B").pack
_unpack_iB = _Struct(">iB").unpack_from
_unpack_iTB = _Struct(">i?B").unpack_from


class ReassignablePartition(Struct):
    __slots__ = ("partition_index", "replicas")

    def __init__(
        self,
        partition_index: int = 0,  # 0+
        replicas: list[int] | None = None,  # 0+
    ) -> None:
        self.partition_index = partition_index
        self.replicas = replicas


class ReassignableTopic(Struct):
    __slots__ = ("name", "partitions")

    def __init__(
        self,
        name: str = "",  # 0+
        partitions: list[ReassignablePartition] = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.partitions = [] if partitions is EMPTY else partitions


class AlterPartitionReassignmentsRequest(Message):
    API_KEY = 45
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("timeout_ms", "allow_replication_factor_change", "topics")

    def __init__(
        self,
        timeout_ms: int = 60000,  # 0+
        allow_replication_factor_change: bool = True,  # 1+
        topics: list[ReassignableTopic] = EMPTY,  # 0+
    ) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics = [] if topics is EMPTY else topics


def _read_reassignable_partition_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ReassignablePartition, int]:
    at = "partition_index"
    try:
        partition_index, count = _unpack_iB(data, pos)
        pos += 5
        at = "replicas"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        replicas: list[int] | None = None
        if count:
            count -= 1
            end = pos + count * 4
            if end > size:
                raise overrun(count * 4, size - pos)
            if limit is not None:
                limit.take(count)
            replicas = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterPartitionReassignmentsRequest.ReassignablePartition", at, pos, error) from None
    return ReassignablePartition(partition_index, replicas), pos


def _write_reassignable_partition_v0(w: Append, x: ReassignablePartition) -> None:
    replicas = x.replicas
    w(_pack_i(x.partition_index))
    if replicas is None:
        w(b"\0")
    else:
        count = len(replicas) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        w(PACK_INT32S[len(replicas)](*replicas) if len(replicas) < 8 else pack(f">{len(replicas)}i", *replicas))
    w(b"\0")


def _read_reassignable_topic_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ReassignableTopic, int]:
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
        if limit is not None:
            limit.take(count)
        partitions: list[ReassignablePartition] = []
        for _ in range(count):
            partitions_item, pos = _read_reassignable_partition_v0(data, pos, size, limit)
            partitions.append(partitions_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterPartitionReassignmentsRequest.ReassignableTopic", at, pos, error) from None
    return ReassignableTopic(name, partitions), pos


def _write_reassignable_topic_v0(w: Append, x: ReassignableTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    partitions = x.partitions
    count = len(partitions) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for partitions_item in partitions:
        _write_reassignable_partition_v0(w, partitions_item)
    w(b"\0")


def _read_alter_partition_reassignments_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterPartitionReassignmentsRequest, int]:
    at = "timeout_ms"
    try:
        timeout_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[ReassignableTopic] = []
        for _ in range(count):
            topics_item, pos = _read_reassignable_topic_v0(data, pos, size, limit)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterPartitionReassignmentsRequest", at, pos, error) from None
    return AlterPartitionReassignmentsRequest(timeout_ms, True, topics), pos


def _write_alter_partition_reassignments_request_v0(w: Append, x: AlterPartitionReassignmentsRequest) -> None:
    if not x.allow_replication_factor_change:
        raise unsupported_field("AlterPartitionReassignmentsRequest", "allow_replication_factor_change", "0")
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iB(x.timeout_ms, count) if count < 128 else _pack_i(x.timeout_ms) + uvarint(count))
    for topics_item in topics:
        _write_reassignable_topic_v0(w, topics_item)
    w(b"\0")


def _read_alter_partition_reassignments_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterPartitionReassignmentsRequest, int]:
    at = "timeout_ms"
    try:
        timeout_ms, allow_replication_factor_change, count = _unpack_iTB(data, pos)
        pos += 6
        at = "topics"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[ReassignableTopic] = []
        for _ in range(count):
            topics_item, pos = _read_reassignable_topic_v0(data, pos, size, limit)
            topics.append(topics_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterPartitionReassignmentsRequest", at, pos, error) from None
    return AlterPartitionReassignmentsRequest(timeout_ms, allow_replication_factor_change, topics), pos


def _write_alter_partition_reassignments_request_v1(w: Append, x: AlterPartitionReassignmentsRequest) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(_pack_iTB(x.timeout_ms, x.allow_replication_factor_change, count) if count < 128 else _pack_iT(x.timeout_ms, x.allow_replication_factor_change) + uvarint(count))
    for topics_item in topics:
        _write_reassignable_topic_v0(w, topics_item)
    w(b"\0")
AlterPartitionReassignmentsRequest._READERS = {
    0: _read_alter_partition_reassignments_request_v0,
    1: _read_alter_partition_reassignments_request_v1,
}
AlterPartitionReassignmentsRequest._WRITERS = {
    0: _write_alter_partition_reassignments_request_v0,
    1: _write_alter_partition_reassignments_request_v1,
}
