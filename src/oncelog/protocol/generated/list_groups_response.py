# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_hi = _Struct(">hi").pack
_pack_ih = _Struct(">ih").pack
_pack_ihB = _Struct(">ihB").pack
_pack_ihi = _Struct(">ihi").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_hi = _Struct(">hi").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ihi = _Struct(">ihi").unpack_from


class ListedGroup(Struct):
    __slots__ = ("group_id", "protocol_type", "group_state", "group_type")

    def __init__(
        self,
        group_id: str = "",  # 0+
        protocol_type: str = "",  # 0+
        group_state: str = "",  # 4+, ignorable
        group_type: str = "",  # 5+, ignorable
    ) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state
        self.group_type = group_type


class ListGroupsResponse(Message):
    API_KEY = 16
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    __slots__ = ("throttle_time_ms", "error_code", "groups")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 1+, ignorable
        error_code: int = 0,  # 0+
        groups: list[ListedGroup] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups = [] if groups is EMPTY else groups


def _read_listed_group_v0(data: bytes, pos: int, size: int) -> tuple[ListedGroup, int]:
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
        at = "protocol_type"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
    except READ_ERRORS as error:
        raise malformed("ListGroupsResponse.ListedGroup", at, pos, error) from None
    return ListedGroup(group_id, protocol_type, "", ""), pos


def _write_listed_group_v0(w: Append, x: ListedGroup) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    w(_pack_h(len(protocol_type_bytes)))
    w(protocol_type_bytes)


def _read_listed_group_v3(data: bytes, pos: int, size: int) -> tuple[ListedGroup, int]:
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
        at = "protocol_type"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListGroupsResponse.ListedGroup", at, pos, error) from None
    return ListedGroup(group_id, protocol_type, "", ""), pos


def _write_listed_group_v3(w: Append, x: ListedGroup) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    count = len(protocol_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(protocol_type_bytes)
    w(b"\0")


def _read_listed_group_v4(data: bytes, pos: int, size: int) -> tuple[ListedGroup, int]:
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
        at = "protocol_type"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
        at = "group_state"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        group_state = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListGroupsResponse.ListedGroup", at, pos, error) from None
    return ListedGroup(group_id, protocol_type, group_state, ""), pos


def _write_listed_group_v4(w: Append, x: ListedGroup) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    count = len(protocol_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(protocol_type_bytes)
    group_state = x.group_state
    group_state_bytes = group_state.encode()
    count = len(group_state_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_state_bytes)
    w(b"\0")


def _read_listed_group_v5(data: bytes, pos: int, size: int) -> tuple[ListedGroup, int]:
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
        at = "protocol_type"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
        at = "group_state"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        group_state = data[pos:end].decode()
        pos = end
        at = "group_type"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        group_type = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListGroupsResponse.ListedGroup", at, pos, error) from None
    return ListedGroup(group_id, protocol_type, group_state, group_type), pos


def _write_listed_group_v5(w: Append, x: ListedGroup) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    count = len(protocol_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(protocol_type_bytes)
    group_state = x.group_state
    group_state_bytes = group_state.encode()
    count = len(group_state_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_state_bytes)
    group_type = x.group_type
    group_type_bytes = group_type.encode()
    count = len(group_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_type_bytes)
    w(b"\0")


def _read_list_groups_response_v0(data: bytes, pos: int, size: int) -> tuple[ListGroupsResponse, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hi(data, pos)
        pos += 6
        at = "groups"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        groups: list[ListedGroup] = []
        for _ in range(count):
            groups_item, pos = _read_listed_group_v0(data, pos, size)
            groups.append(groups_item)
    except READ_ERRORS as error:
        raise malformed("ListGroupsResponse", at, pos, error) from None
    return ListGroupsResponse(0, error_code, groups), pos


def _write_list_groups_response_v0(w: Append, x: ListGroupsResponse) -> None:
    groups = x.groups
    w(_pack_hi(x.error_code, len(groups)))
    for groups_item in groups:
        _write_listed_group_v0(w, groups_item)


def _read_list_groups_response_v1(data: bytes, pos: int, size: int) -> tuple[ListGroupsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihi(data, pos)
        pos += 10
        at = "groups"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        groups: list[ListedGroup] = []
        for _ in range(count):
            groups_item, pos = _read_listed_group_v0(data, pos, size)
            groups.append(groups_item)
    except READ_ERRORS as error:
        raise malformed("ListGroupsResponse", at, pos, error) from None
    return ListGroupsResponse(throttle_time_ms, error_code, groups), pos


def _write_list_groups_response_v1(w: Append, x: ListGroupsResponse) -> None:
    groups = x.groups
    w(_pack_ihi(x.throttle_time_ms, x.error_code, len(groups)))
    for groups_item in groups:
        _write_listed_group_v0(w, groups_item)


def _read_list_groups_response_v3(data: bytes, pos: int, size: int) -> tuple[ListGroupsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "groups"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        groups: list[ListedGroup] = []
        for _ in range(count):
            groups_item, pos = _read_listed_group_v3(data, pos, size)
            groups.append(groups_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListGroupsResponse", at, pos, error) from None
    return ListGroupsResponse(throttle_time_ms, error_code, groups), pos


def _write_list_groups_response_v3(w: Append, x: ListGroupsResponse) -> None:
    groups = x.groups
    count = len(groups) + 1
    w(_pack_ihB(x.throttle_time_ms, x.error_code, count) if count < 128 else _pack_ih(x.throttle_time_ms, x.error_code) + uvarint(count))
    for groups_item in groups:
        _write_listed_group_v3(w, groups_item)
    w(b"\0")


def _read_list_groups_response_v4(data: bytes, pos: int, size: int) -> tuple[ListGroupsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "groups"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        groups: list[ListedGroup] = []
        for _ in range(count):
            groups_item, pos = _read_listed_group_v4(data, pos, size)
            groups.append(groups_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListGroupsResponse", at, pos, error) from None
    return ListGroupsResponse(throttle_time_ms, error_code, groups), pos


def _write_list_groups_response_v4(w: Append, x: ListGroupsResponse) -> None:
    groups = x.groups
    count = len(groups) + 1
    w(_pack_ihB(x.throttle_time_ms, x.error_code, count) if count < 128 else _pack_ih(x.throttle_time_ms, x.error_code) + uvarint(count))
    for groups_item in groups:
        _write_listed_group_v4(w, groups_item)
    w(b"\0")


def _read_list_groups_response_v5(data: bytes, pos: int, size: int) -> tuple[ListGroupsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "groups"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        groups: list[ListedGroup] = []
        for _ in range(count):
            groups_item, pos = _read_listed_group_v5(data, pos, size)
            groups.append(groups_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListGroupsResponse", at, pos, error) from None
    return ListGroupsResponse(throttle_time_ms, error_code, groups), pos


def _write_list_groups_response_v5(w: Append, x: ListGroupsResponse) -> None:
    groups = x.groups
    count = len(groups) + 1
    w(_pack_ihB(x.throttle_time_ms, x.error_code, count) if count < 128 else _pack_ih(x.throttle_time_ms, x.error_code) + uvarint(count))
    for groups_item in groups:
        _write_listed_group_v5(w, groups_item)
    w(b"\0")
ListGroupsResponse._READERS = {
    0: _read_list_groups_response_v0,
    1: _read_list_groups_response_v1,
    2: _read_list_groups_response_v1,
    3: _read_list_groups_response_v3,
    4: _read_list_groups_response_v4,
    5: _read_list_groups_response_v5,
}
ListGroupsResponse._WRITERS = {
    0: _write_list_groups_response_v0,
    1: _write_list_groups_response_v1,
    2: _write_list_groups_response_v1,
    3: _write_list_groups_response_v3,
    4: _write_list_groups_response_v4,
    5: _write_list_groups_response_v5,
}
