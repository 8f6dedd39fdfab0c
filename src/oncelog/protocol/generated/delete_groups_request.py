# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class DeleteGroupsRequest(Message):
    API_KEY = 42
    MIN_VERSION = 0
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("groups_names",)

    def __init__(
        self,
        groups_names: list[str] = EMPTY,  # 0+
    ) -> None:
        self.groups_names = [] if groups_names is EMPTY else groups_names


def _read_delete_groups_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DeleteGroupsRequest, int]:
    at = "groups_names"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        groups_names: list[str] = []
        for _ in range(count):
            count, = _unpack_h(data, pos)
            pos += 2
            if count < 0:
                raise null_value(count)
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            groups_names_item = data[pos:end].decode()
            pos = end
            groups_names.append(groups_names_item)
    except READ_ERRORS as error:
        raise malformed("DeleteGroupsRequest", at, pos, error) from None
    return DeleteGroupsRequest(groups_names), pos


def _write_delete_groups_request_v0(w: Append, x: DeleteGroupsRequest) -> None:
    groups_names = x.groups_names
    w(_pack_i(len(groups_names)))
    for groups_names_item in groups_names:
        groups_names_item_bytes = groups_names_item.encode()
        w(_pack_h(len(groups_names_item_bytes)))
        w(groups_names_item_bytes)


def _read_delete_groups_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DeleteGroupsRequest, int]:
    at = "groups_names"
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
        groups_names: list[str] = []
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
            groups_names_item = data[pos:end].decode()
            pos = end
            groups_names.append(groups_names_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteGroupsRequest", at, pos, error) from None
    return DeleteGroupsRequest(groups_names), pos


def _write_delete_groups_request_v2(w: Append, x: DeleteGroupsRequest) -> None:
    groups_names = x.groups_names
    count = len(groups_names) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for groups_names_item in groups_names:
        groups_names_item_bytes = groups_names_item.encode()
        count = len(groups_names_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(groups_names_item_bytes)
    w(b"\0")
DeleteGroupsRequest._READERS = {
    0: _read_delete_groups_request_v0,
    1: _read_delete_groups_request_v0,
    2: _read_delete_groups_request_v2,
    3: _read_delete_groups_request_v2,
}
DeleteGroupsRequest._WRITERS = {
    0: _write_delete_groups_request_v0,
    1: _write_delete_groups_request_v0,
    2: _write_delete_groups_request_v2,
    3: _write_delete_groups_request_v2,
}
