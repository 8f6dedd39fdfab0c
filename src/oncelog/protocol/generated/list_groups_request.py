# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations


from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail



class ListGroupsRequest(Message):
    API_KEY = 16
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    __slots__ = ("states_filter", "types_filter")

    def __init__(
        self,
        states_filter: list[str] = EMPTY,  # 4+
        types_filter: list[str] = EMPTY,  # 5+
    ) -> None:
        self.states_filter = [] if states_filter is EMPTY else states_filter
        self.types_filter = [] if types_filter is EMPTY else types_filter


def _read_list_groups_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListGroupsRequest, int]:
    return ListGroupsRequest(EMPTY, EMPTY), pos


def _write_list_groups_request_v0(w: Append, x: ListGroupsRequest) -> None:
    if x.states_filter:
        raise unsupported_field("ListGroupsRequest", "states_filter", "0-2")
    if x.types_filter:
        raise unsupported_field("ListGroupsRequest", "types_filter", "0-2")


def _read_list_groups_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListGroupsRequest, int]:
    at = "tagged fields"
    try:
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListGroupsRequest", at, pos, error) from None
    return ListGroupsRequest(EMPTY, EMPTY), pos


def _write_list_groups_request_v3(w: Append, x: ListGroupsRequest) -> None:
    if x.states_filter:
        raise unsupported_field("ListGroupsRequest", "states_filter", "3")
    if x.types_filter:
        raise unsupported_field("ListGroupsRequest", "types_filter", "3")
    w(b"\0")


def _read_list_groups_request_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListGroupsRequest, int]:
    at = "states_filter"
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
        states_filter: list[str] = []
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
            states_filter_item = data[pos:end].decode()
            pos = end
            states_filter.append(states_filter_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListGroupsRequest", at, pos, error) from None
    return ListGroupsRequest(states_filter, EMPTY), pos


def _write_list_groups_request_v4(w: Append, x: ListGroupsRequest) -> None:
    if x.types_filter:
        raise unsupported_field("ListGroupsRequest", "types_filter", "4")
    states_filter = x.states_filter
    count = len(states_filter) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for states_filter_item in states_filter:
        states_filter_item_bytes = states_filter_item.encode()
        count = len(states_filter_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(states_filter_item_bytes)
    w(b"\0")


def _read_list_groups_request_v5(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[ListGroupsRequest, int]:
    at = "states_filter"
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
        states_filter: list[str] = []
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
            states_filter_item = data[pos:end].decode()
            pos = end
            states_filter.append(states_filter_item)
        at = "types_filter"
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
        types_filter: list[str] = []
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
            types_filter_item = data[pos:end].decode()
            pos = end
            types_filter.append(types_filter_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListGroupsRequest", at, pos, error) from None
    return ListGroupsRequest(states_filter, types_filter), pos


def _write_list_groups_request_v5(w: Append, x: ListGroupsRequest) -> None:
    states_filter = x.states_filter
    count = len(states_filter) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for states_filter_item in states_filter:
        states_filter_item_bytes = states_filter_item.encode()
        count = len(states_filter_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(states_filter_item_bytes)
    types_filter = x.types_filter
    count = len(types_filter) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for types_filter_item in types_filter:
        types_filter_item_bytes = types_filter_item.encode()
        count = len(types_filter_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(types_filter_item_bytes)
    w(b"\0")
ListGroupsRequest._READERS = {
    0: _read_list_groups_request_v0,
    1: _read_list_groups_request_v0,
    2: _read_list_groups_request_v0,
    3: _read_list_groups_request_v3,
    4: _read_list_groups_request_v4,
    5: _read_list_groups_request_v5,
}
ListGroupsRequest._WRITERS = {
    0: _write_list_groups_request_v0,
    1: _write_list_groups_request_v0,
    2: _write_list_groups_request_v0,
    3: _write_list_groups_request_v3,
    4: _write_list_groups_request_v4,
    5: _write_list_groups_request_v5,
}
