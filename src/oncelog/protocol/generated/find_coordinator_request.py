# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_b = _Struct(">b").pack
_pack_bB = _Struct(">bB").pack
_pack_bx = _Struct(">bx").pack
_pack_h = _Struct(">h").pack
_unpack_b = _Struct(">b").unpack_from
_unpack_bB = _Struct(">bB").unpack_from
_unpack_h = _Struct(">h").unpack_from


class FindCoordinatorRequest(Message):
    API_KEY = 10
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 3
    __slots__ = ("key", "key_type", "coordinator_keys")

    def __init__(
        self,
        key: str = "",  # 0-3
        key_type: int = 0,  # 1+
        coordinator_keys: list[str] = EMPTY,  # 4+
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys = [] if coordinator_keys is EMPTY else coordinator_keys


def _read_find_coordinator_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FindCoordinatorRequest, int]:
    at = "key"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        key = data[pos:end].decode()
        pos = end
    except READ_ERRORS as error:
        raise malformed("FindCoordinatorRequest", at, pos, error) from None
    return FindCoordinatorRequest(key, 0, EMPTY), pos


def _write_find_coordinator_request_v0(w: Append, x: FindCoordinatorRequest) -> None:
    if x.key_type != 0:
        raise unsupported_field("FindCoordinatorRequest", "key_type", "0")
    if x.coordinator_keys:
        raise unsupported_field("FindCoordinatorRequest", "coordinator_keys", "0")
    key = x.key
    key_bytes = key.encode()
    w(_pack_h(len(key_bytes)))
    w(key_bytes)


def _read_find_coordinator_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FindCoordinatorRequest, int]:
    at = "key"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        key = data[pos:end].decode()
        pos = end
        at = "key_type"
        key_type, = _unpack_b(data, pos)
        pos += 1
    except READ_ERRORS as error:
        raise malformed("FindCoordinatorRequest", at, pos, error) from None
    return FindCoordinatorRequest(key, key_type, EMPTY), pos


def _write_find_coordinator_request_v1(w: Append, x: FindCoordinatorRequest) -> None:
    if x.coordinator_keys:
        raise unsupported_field("FindCoordinatorRequest", "coordinator_keys", "1-2")
    key = x.key
    key_bytes = key.encode()
    w(_pack_h(len(key_bytes)))
    w(key_bytes)
    w(_pack_b(x.key_type))


def _read_find_coordinator_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FindCoordinatorRequest, int]:
    at = "key"
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
        key = data[pos:end].decode()
        pos = end
        at = "key_type"
        key_type, tags = _unpack_bB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FindCoordinatorRequest", at, pos, error) from None
    return FindCoordinatorRequest(key, key_type, EMPTY), pos


def _write_find_coordinator_request_v3(w: Append, x: FindCoordinatorRequest) -> None:
    if x.coordinator_keys:
        raise unsupported_field("FindCoordinatorRequest", "coordinator_keys", "3")
    key = x.key
    key_bytes = key.encode()
    count = len(key_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(key_bytes)
    w(_pack_bx(x.key_type))


def _read_find_coordinator_request_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[FindCoordinatorRequest, int]:
    at = "key_type"
    try:
        key_type, count = _unpack_bB(data, pos)
        pos += 2
        at = "coordinator_keys"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        coordinator_keys: list[str] = []
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
            coordinator_keys_item = data[pos:end].decode()
            pos = end
            coordinator_keys.append(coordinator_keys_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("FindCoordinatorRequest", at, pos, error) from None
    return FindCoordinatorRequest("", key_type, coordinator_keys), pos


def _write_find_coordinator_request_v4(w: Append, x: FindCoordinatorRequest) -> None:
    if x.key != "":
        raise unsupported_field("FindCoordinatorRequest", "key", "4-6")
    coordinator_keys = x.coordinator_keys
    count = len(coordinator_keys) + 1
    w(_pack_bB(x.key_type, count) if count < 128 else _pack_b(x.key_type) + uvarint(count))
    for coordinator_keys_item in coordinator_keys:
        coordinator_keys_item_bytes = coordinator_keys_item.encode()
        count = len(coordinator_keys_item_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(coordinator_keys_item_bytes)
    w(b"\0")
FindCoordinatorRequest._READERS = {
    0: _read_find_coordinator_request_v0,
    1: _read_find_coordinator_request_v1,
    2: _read_find_coordinator_request_v1,
    3: _read_find_coordinator_request_v3,
    4: _read_find_coordinator_request_v4,
    5: _read_find_coordinator_request_v4,
    6: _read_find_coordinator_request_v4,
}
FindCoordinatorRequest._WRITERS = {
    0: _write_find_coordinator_request_v0,
    1: _write_find_coordinator_request_v1,
    2: _write_find_coordinator_request_v1,
    3: _write_find_coordinator_request_v3,
    4: _write_find_coordinator_request_v4,
    5: _write_find_coordinator_request_v4,
    6: _write_find_coordinator_request_v4,
}
