# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_T = _Struct(">?").pack
_pack_Tx = _Struct(">?x").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_T = _Struct(">?").unpack_from
_unpack_TB = _Struct(">?B").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class DescribeGroupsRequest(Message):
    API_KEY = 15
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 5
    __slots__ = ("groups", "include_authorized_operations")

    def __init__(
        self,
        groups: list[str] = EMPTY,  # 0+
        include_authorized_operations: bool = False,  # 3+
    ) -> None:
        self.groups = [] if groups is EMPTY else groups
        self.include_authorized_operations = include_authorized_operations


def _read_describe_groups_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeGroupsRequest, int]:
    at = "groups"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        groups: list[str] = []
        for _ in range(count):
            count, = _unpack_h(data, pos)
            pos += 2
            if count < 0:
                raise null_value(count)
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            groups_item = data[pos:end].decode()
            pos = end
            groups.append(groups_item)
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsRequest", at, pos, error) from None
    return DescribeGroupsRequest(groups, False), pos


def _write_describe_groups_request_v0(w: Append, x: DescribeGroupsRequest) -> None:
    if x.include_authorized_operations:
        raise unsupported_field("DescribeGroupsRequest", "include_authorized_operations", "0-2")
    groups = x.groups
    w(_pack_i(len(groups)))
    for groups_item in groups:
        groups_item_bytes = groups_item.encode()
        w(_pack_h(len(groups_item_bytes)))
        w(groups_item_bytes)


def _read_describe_groups_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeGroupsRequest, int]:
    at = "groups"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        groups: list[str] = []
        for _ in range(count):
            count, = _unpack_h(data, pos)
            pos += 2
            if count < 0:
                raise null_value(count)
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            groups_item = data[pos:end].decode()
            pos = end
            groups.append(groups_item)
        at = "include_authorized_operations"
        include_authorized_operations, = _unpack_T(data, pos)
        pos += 1
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsRequest", at, pos, error) from None
    return DescribeGroupsRequest(groups, include_authorized_operations), pos


def _write_describe_groups_request_v3(w: Append, x: DescribeGroupsRequest) -> None:
    groups = x.groups
    w(_pack_i(len(groups)))
    for groups_item in groups:
        groups_item_bytes = groups_item.encode()
        w(_pack_h(len(groups_item_bytes)))
        w(groups_item_bytes)
    w(_pack_T(x.include_authorized_operations))


def _read_describe_groups_request_v5(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeGroupsRequest, int]:
    at = "groups"
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
        groups: list[str] = []
        for _ in range(count):
            count = data[pos]
            pos += 1
            if count > 127:
                count, pos = string_length_tail(data, pos, count)
            if not count:
                raise null_value(count)
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            groups_item = data[pos:end].decode()
            pos = end
            groups.append(groups_item)
        at = "include_authorized_operations"
        include_authorized_operations, tags = _unpack_TB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeGroupsRequest", at, pos, error) from None
    return DescribeGroupsRequest(groups, include_authorized_operations), pos


def _write_describe_groups_request_v5(w: Append, x: DescribeGroupsRequest) -> None:
    groups = x.groups
    count = len(groups) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for groups_item in groups:
        groups_item_bytes = groups_item.encode()
        count = len(groups_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(groups_item_bytes)
    w(_pack_Tx(x.include_authorized_operations))
DescribeGroupsRequest._READERS = {
    0: _read_describe_groups_request_v0,
    1: _read_describe_groups_request_v0,
    2: _read_describe_groups_request_v0,
    3: _read_describe_groups_request_v3,
    4: _read_describe_groups_request_v3,
    5: _read_describe_groups_request_v5,
    6: _read_describe_groups_request_v5,
}
DescribeGroupsRequest._WRITERS = {
    0: _write_describe_groups_request_v0,
    1: _write_describe_groups_request_v0,
    2: _write_describe_groups_request_v0,
    3: _write_describe_groups_request_v3,
    4: _write_describe_groups_request_v3,
    5: _write_describe_groups_request_v5,
    6: _write_describe_groups_request_v5,
}
