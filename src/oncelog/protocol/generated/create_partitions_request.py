# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct, pack, unpack_from

from oncelog.protocol.wire import EMPTY, PACK_INT32S, READ_ERRORS, UNPACK_INT32S, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iT = _Struct(">i?").pack
_pack_iTx = _Struct(">i?x").pack
_pack_ii = _Struct(">ii").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_iT = _Struct(">i?").unpack_from
_unpack_iTB = _Struct(">i?B").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class CreatePartitionsAssignment(Struct):
    __slots__ = ("broker_ids",)

    def __init__(
        self,
        broker_ids: list[int] = EMPTY,  # 0+
    ) -> None:
        self.broker_ids = [] if broker_ids is EMPTY else broker_ids


class CreatePartitionsTopic(Struct):
    __slots__ = ("name", "count", "assignments")

    def __init__(
        self,
        name: str = "",  # 0+
        count: int = 0,  # 0+
        assignments: list[CreatePartitionsAssignment] | None = EMPTY,  # 0+
    ) -> None:
        self.name = name
        self.count = count
        self.assignments = [] if assignments is EMPTY else assignments


class CreatePartitionsRequest(Message):
    API_KEY = 37
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("topics", "timeout_ms", "validate_only")

    def __init__(
        self,
        topics: list[CreatePartitionsTopic] = EMPTY,  # 0+
        timeout_ms: int = 0,  # 0+
        validate_only: bool = False,  # 0+
    ) -> None:
        self.topics = [] if topics is EMPTY else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only


def _read_create_partitions_assignment_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreatePartitionsAssignment, int]:
    at = "broker_ids"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count * 4
        if end > size:
            raise overrun(count * 4, size - pos)
        if limit is not None:
            limit.take(count)
        broker_ids: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
    except READ_ERRORS as error:
        raise malformed("CreatePartitionsRequest.CreatePartitionsAssignment", at, pos, error) from None
    return CreatePartitionsAssignment(broker_ids), pos


def _write_create_partitions_assignment_v0(w: Append, x: CreatePartitionsAssignment) -> None:
    broker_ids = x.broker_ids
    w(_pack_i(len(broker_ids)))
    w(PACK_INT32S[len(broker_ids)](*broker_ids) if len(broker_ids) < 8 else pack(f">{len(broker_ids)}i", *broker_ids))


def _read_create_partitions_assignment_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreatePartitionsAssignment, int]:
    at = "broker_ids"
    try:
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
        broker_ids: list[int] = list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreatePartitionsRequest.CreatePartitionsAssignment", at, pos, error) from None
    return CreatePartitionsAssignment(broker_ids), pos


def _write_create_partitions_assignment_v2(w: Append, x: CreatePartitionsAssignment) -> None:
    broker_ids = x.broker_ids
    count = len(broker_ids) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(PACK_INT32S[len(broker_ids)](*broker_ids) if len(broker_ids) < 8 else pack(f">{len(broker_ids)}i", *broker_ids))
    w(b"\0")


def _read_create_partitions_topic_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreatePartitionsTopic, int]:
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
        at = "count"
        count_, count = _unpack_ii(data, pos)
        pos += 8
        at = "assignments"
        assignments: list[CreatePartitionsAssignment] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            assignments = []
            for _ in range(count):
                assignments_item, pos = _read_create_partitions_assignment_v0(data, pos, size, limit)
                assignments.append(assignments_item)
    except READ_ERRORS as error:
        raise malformed("CreatePartitionsRequest.CreatePartitionsTopic", at, pos, error) from None
    return CreatePartitionsTopic(name, count_, assignments), pos


def _write_create_partitions_topic_v0(w: Append, x: CreatePartitionsTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    assignments = x.assignments
    w(_pack_ii(x.count, -1 if assignments is None else len(assignments)))
    if assignments is not None:
        for assignments_item in assignments:
            _write_create_partitions_assignment_v0(w, assignments_item)


def _read_create_partitions_topic_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreatePartitionsTopic, int]:
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
        at = "count"
        count_, count = _unpack_iB(data, pos)
        pos += 5
        at = "assignments"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        assignments: list[CreatePartitionsAssignment] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            assignments = []
            for _ in range(count):
                assignments_item, pos = _read_create_partitions_assignment_v2(data, pos, size, limit)
                assignments.append(assignments_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreatePartitionsRequest.CreatePartitionsTopic", at, pos, error) from None
    return CreatePartitionsTopic(name, count_, assignments), pos


def _write_create_partitions_topic_v2(w: Append, x: CreatePartitionsTopic) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    assignments = x.assignments
    w(_pack_i(x.count))
    if assignments is None:
        w(b"\0")
    else:
        count = len(assignments) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for assignments_item in assignments:
            _write_create_partitions_assignment_v2(w, assignments_item)
    w(b"\0")


def _read_create_partitions_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreatePartitionsRequest, int]:
    at = "topics"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        topics: list[CreatePartitionsTopic] = []
        for _ in range(count):
            topics_item, pos = _read_create_partitions_topic_v0(data, pos, size, limit)
            topics.append(topics_item)
        at = "timeout_ms"
        timeout_ms, validate_only = _unpack_iT(data, pos)
        pos += 5
    except READ_ERRORS as error:
        raise malformed("CreatePartitionsRequest", at, pos, error) from None
    return CreatePartitionsRequest(topics, timeout_ms, validate_only), pos


def _write_create_partitions_request_v0(w: Append, x: CreatePartitionsRequest) -> None:
    topics = x.topics
    w(_pack_i(len(topics)))
    for topics_item in topics:
        _write_create_partitions_topic_v0(w, topics_item)
    w(_pack_iT(x.timeout_ms, x.validate_only))


def _read_create_partitions_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreatePartitionsRequest, int]:
    at = "topics"
    try:
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
        topics: list[CreatePartitionsTopic] = []
        for _ in range(count):
            topics_item, pos = _read_create_partitions_topic_v2(data, pos, size, limit)
            topics.append(topics_item)
        at = "timeout_ms"
        timeout_ms, validate_only, tags = _unpack_iTB(data, pos)
        pos += 6
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreatePartitionsRequest", at, pos, error) from None
    return CreatePartitionsRequest(topics, timeout_ms, validate_only), pos


def _write_create_partitions_request_v2(w: Append, x: CreatePartitionsRequest) -> None:
    topics = x.topics
    count = len(topics) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for topics_item in topics:
        _write_create_partitions_topic_v2(w, topics_item)
    w(_pack_iTx(x.timeout_ms, x.validate_only))
CreatePartitionsRequest._READERS = {
    0: _read_create_partitions_request_v0,
    1: _read_create_partitions_request_v0,
    2: _read_create_partitions_request_v2,
    3: _read_create_partitions_request_v2,
}
CreatePartitionsRequest._WRITERS = {
    0: _write_create_partitions_request_v0,
    1: _write_create_partitions_request_v0,
    2: _write_create_partitions_request_v2,
    3: _write_create_partitions_request_v2,
}
