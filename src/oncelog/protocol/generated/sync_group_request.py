# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ih = _Struct(">ih").unpack_from


class SyncGroupRequestAssignment(Struct):
    __slots__ = ("member_id", "assignment")

    def __init__(
        self,
        member_id: str = "",  # 0+
        assignment: bytes = b"",  # 0+
    ) -> None:
        self.member_id = member_id
        self.assignment = assignment


class SyncGroupRequest(Message):
    API_KEY = 14
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 4
    __slots__ = ("group_id", "generation_id", "member_id", "group_instance_id", "protocol_type", "protocol_name", "assignments")

    def __init__(
        self,
        group_id: str = "",  # 0+
        generation_id: int = 0,  # 0+
        member_id: str = "",  # 0+
        group_instance_id: str | None = None,  # 3+
        protocol_type: str | None = None,  # 5+, ignorable
        protocol_name: str | None = None,  # 5+, ignorable
        assignments: list[SyncGroupRequestAssignment] = EMPTY,  # 0+
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments = [] if assignments is EMPTY else assignments


def _read_sync_group_request_assignment_v0(data: bytes, pos: int, size: int) -> tuple[SyncGroupRequestAssignment, int]:
    at = "member_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_id = data[pos:end].decode()
        pos = end
        at = "assignment"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        assignment = data[pos:end]
        pos = end
    except READ_ERRORS as error:
        raise malformed("SyncGroupRequest.SyncGroupRequestAssignment", at, pos, error) from None
    return SyncGroupRequestAssignment(member_id, assignment), pos


def _write_sync_group_request_assignment_v0(w: Append, x: SyncGroupRequestAssignment) -> None:
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_h(len(member_id_bytes)))
    w(member_id_bytes)
    assignment = x.assignment
    w(_pack_i(len(assignment)))
    w(assignment)


def _read_sync_group_request_assignment_v4(data: bytes, pos: int, size: int) -> tuple[SyncGroupRequestAssignment, int]:
    at = "member_id"
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
        member_id = data[pos:end].decode()
        pos = end
        at = "assignment"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        assignment = data[pos:end]
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("SyncGroupRequest.SyncGroupRequestAssignment", at, pos, error) from None
    return SyncGroupRequestAssignment(member_id, assignment), pos


def _write_sync_group_request_assignment_v4(w: Append, x: SyncGroupRequestAssignment) -> None:
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(member_id_bytes)
    assignment = x.assignment
    count = len(assignment) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(assignment)
    w(b"\0")


def _read_sync_group_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[SyncGroupRequest, int]:
    at = "group_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "generation_id"
        generation_id, count = _unpack_ih(data, pos)
        pos += 6
        at = "member_id"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_id = data[pos:end].decode()
        pos = end
        at = "assignments"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        assignments: list[SyncGroupRequestAssignment] = []
        for _ in range(count):
            assignments_item, pos = _read_sync_group_request_assignment_v0(data, pos, size)
            assignments.append(assignments_item)
    except READ_ERRORS as error:
        raise malformed("SyncGroupRequest", at, pos, error) from None
    return SyncGroupRequest(group_id, generation_id, member_id, None, None, None, assignments), pos


def _write_sync_group_request_v0(w: Append, x: SyncGroupRequest) -> None:
    if x.group_instance_id is not None:
        raise unsupported_field("SyncGroupRequest", "group_instance_id", "0-2")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_ih(x.generation_id, len(member_id_bytes)))
    w(member_id_bytes)
    assignments = x.assignments
    w(_pack_i(len(assignments)))
    for assignments_item in assignments:
        _write_sync_group_request_assignment_v0(w, assignments_item)


def _read_sync_group_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[SyncGroupRequest, int]:
    at = "group_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "generation_id"
        generation_id, count = _unpack_ih(data, pos)
        pos += 6
        at = "member_id"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_id = data[pos:end].decode()
        pos = end
        at = "group_instance_id"
        count, = _unpack_h(data, pos)
        pos += 2
        group_instance_id: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            group_instance_id = data[pos:end].decode()
            pos = end
        at = "assignments"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        assignments: list[SyncGroupRequestAssignment] = []
        for _ in range(count):
            assignments_item, pos = _read_sync_group_request_assignment_v0(data, pos, size)
            assignments.append(assignments_item)
    except READ_ERRORS as error:
        raise malformed("SyncGroupRequest", at, pos, error) from None
    return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, None, None, assignments), pos


def _write_sync_group_request_v3(w: Append, x: SyncGroupRequest) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_ih(x.generation_id, len(member_id_bytes)))
    w(member_id_bytes)
    group_instance_id = x.group_instance_id
    group_instance_id_bytes = b"" if group_instance_id is None else group_instance_id.encode()
    w(_pack_h(-1 if group_instance_id is None else len(group_instance_id_bytes)))
    w(group_instance_id_bytes)
    assignments = x.assignments
    w(_pack_i(len(assignments)))
    for assignments_item in assignments:
        _write_sync_group_request_assignment_v0(w, assignments_item)


def _read_sync_group_request_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[SyncGroupRequest, int]:
    at = "group_id"
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
        group_id = data[pos:end].decode()
        pos = end
        at = "generation_id"
        generation_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "member_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        member_id = data[pos:end].decode()
        pos = end
        at = "group_instance_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        group_instance_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            group_instance_id = data[pos:end].decode()
            pos = end
        at = "assignments"
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
        assignments: list[SyncGroupRequestAssignment] = []
        for _ in range(count):
            assignments_item, pos = _read_sync_group_request_assignment_v4(data, pos, size)
            assignments.append(assignments_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("SyncGroupRequest", at, pos, error) from None
    return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, None, None, assignments), pos


def _write_sync_group_request_v4(w: Append, x: SyncGroupRequest) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(_pack_iB(x.generation_id, count) if count < 128 else _pack_i(x.generation_id) + string_length(count))
    w(member_id_bytes)
    group_instance_id = x.group_instance_id
    if group_instance_id is None:
        w(b"\0")
    else:
        group_instance_id_bytes = group_instance_id.encode()
        count = len(group_instance_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(group_instance_id_bytes)
    assignments = x.assignments
    count = len(assignments) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for assignments_item in assignments:
        _write_sync_group_request_assignment_v4(w, assignments_item)
    w(b"\0")


def _read_sync_group_request_v5(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[SyncGroupRequest, int]:
    at = "group_id"
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
        group_id = data[pos:end].decode()
        pos = end
        at = "generation_id"
        generation_id, count = _unpack_iB(data, pos)
        pos += 5
        at = "member_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        member_id = data[pos:end].decode()
        pos = end
        at = "group_instance_id"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        group_instance_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            group_instance_id = data[pos:end].decode()
            pos = end
        at = "protocol_type"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        protocol_type: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            protocol_type = data[pos:end].decode()
            pos = end
        at = "protocol_name"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        protocol_name: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            protocol_name = data[pos:end].decode()
            pos = end
        at = "assignments"
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
        assignments: list[SyncGroupRequestAssignment] = []
        for _ in range(count):
            assignments_item, pos = _read_sync_group_request_assignment_v4(data, pos, size)
            assignments.append(assignments_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("SyncGroupRequest", at, pos, error) from None
    return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, protocol_type, protocol_name, assignments), pos


def _write_sync_group_request_v5(w: Append, x: SyncGroupRequest) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(_pack_iB(x.generation_id, count) if count < 128 else _pack_i(x.generation_id) + string_length(count))
    w(member_id_bytes)
    group_instance_id = x.group_instance_id
    if group_instance_id is None:
        w(b"\0")
    else:
        group_instance_id_bytes = group_instance_id.encode()
        count = len(group_instance_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(group_instance_id_bytes)
    protocol_type = x.protocol_type
    if protocol_type is None:
        w(b"\0")
    else:
        protocol_type_bytes = protocol_type.encode()
        count = len(protocol_type_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(protocol_type_bytes)
    protocol_name = x.protocol_name
    if protocol_name is None:
        w(b"\0")
    else:
        protocol_name_bytes = protocol_name.encode()
        count = len(protocol_name_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(protocol_name_bytes)
    assignments = x.assignments
    count = len(assignments) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for assignments_item in assignments:
        _write_sync_group_request_assignment_v4(w, assignments_item)
    w(b"\0")
SyncGroupRequest._READERS = {
    0: _read_sync_group_request_v0,
    1: _read_sync_group_request_v0,
    2: _read_sync_group_request_v0,
    3: _read_sync_group_request_v3,
    4: _read_sync_group_request_v4,
    5: _read_sync_group_request_v5,
}
SyncGroupRequest._WRITERS = {
    0: _write_sync_group_request_v0,
    1: _write_sync_group_request_v0,
    2: _write_sync_group_request_v0,
    3: _write_sync_group_request_v3,
    4: _write_sync_group_request_v4,
    5: _write_sync_group_request_v5,
}
