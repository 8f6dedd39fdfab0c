# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import pack, unpack_from

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, unsupported_field, uvarint, uvarint_tail



class ListConfigResourcesRequest(Message):
    API_KEY = 74
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("resource_types",)

    def __init__(
        self,
        resource_types: list[int] = EMPTY,  # 1+
    ) -> None:
        self.resource_types = [] if resource_types is EMPTY else resource_types


def _read_list_config_resources_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListConfigResourcesRequest, int]:
    at = "tagged fields"
    try:
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListConfigResourcesRequest", at, pos, error) from None
    return ListConfigResourcesRequest(EMPTY), pos


def _write_list_config_resources_request_v0(w: Append, x: ListConfigResourcesRequest) -> None:
    if x.resource_types:
        raise unsupported_field("ListConfigResourcesRequest", "resource_types", "0")
    w(b"\0")


def _read_list_config_resources_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListConfigResourcesRequest, int]:
    at = "resource_types"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        end = pos + count
        if end > size:
            raise overrun(count * 1, size - pos)
        if limit is not None:
            limit.take(count)
        resource_types: list[int] = list(unpack_from(f">{count}b", data, pos))
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListConfigResourcesRequest", at, pos, error) from None
    return ListConfigResourcesRequest(resource_types), pos


def _write_list_config_resources_request_v1(w: Append, x: ListConfigResourcesRequest) -> None:
    resource_types = x.resource_types
    count = len(resource_types) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(pack(f">{len(resource_types)}b", *resource_types))
    w(b"\0")
ListConfigResourcesRequest._READERS = {
    0: _read_list_config_resources_request_v0,
    1: _read_list_config_resources_request_v1,
}
ListConfigResourcesRequest._WRITERS = {
    0: _write_list_config_resources_request_v0,
    1: _write_list_config_resources_request_v1,
}
