# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_Tx = _Struct(">?x").pack
_unpack_TB = _Struct(">?B").unpack_from


class ShareGroupDescribeRequest(Message):
    API_KEY = 77
    MIN_VERSION = 1
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("group_ids", "include_authorized_operations")

    def __init__(
        self,
        group_ids: list[str] = EMPTY,  # 0+
        include_authorized_operations: bool = False,  # 0+
    ) -> None:
        self.group_ids = [] if group_ids is EMPTY else group_ids
        self.include_authorized_operations = include_authorized_operations


def _read_share_group_describe_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ShareGroupDescribeRequest, int]:
    at = "group_ids"
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
        group_ids: list[str] = []
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
            group_ids_item = data[pos:end].decode()
            pos = end
            group_ids.append(group_ids_item)
        at = "include_authorized_operations"
        include_authorized_operations, tags = _unpack_TB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ShareGroupDescribeRequest", at, pos, error) from None
    return ShareGroupDescribeRequest(group_ids, include_authorized_operations), pos


def _write_share_group_describe_request_v1(w: Append, x: ShareGroupDescribeRequest) -> None:
    group_ids = x.group_ids
    count = len(group_ids) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for group_ids_item in group_ids:
        group_ids_item_bytes = group_ids_item.encode()
        count = len(group_ids_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(group_ids_item_bytes)
    w(_pack_Tx(x.include_authorized_operations))
ShareGroupDescribeRequest._READERS = {
    1: _read_share_group_describe_request_v1,
}
ShareGroupDescribeRequest._WRITERS = {
    1: _write_share_group_describe_request_v1,
}
