# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ih = _Struct(">ih").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ih = _Struct(">ih").unpack_from


class HeartbeatRequest(Message):
    API_KEY = 12
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    __slots__ = ("group_id", "generation_id", "member_id", "group_instance_id")

    def __init__(
        self,
        group_id: str = "",  # 0+
        generation_id: int = 0,  # 0+
        member_id: str = "",  # 0+
        group_instance_id: str | None = None,  # 3+
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id


def _read_heartbeat_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[HeartbeatRequest, int]:
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
    except READ_ERRORS as error:
        raise malformed("HeartbeatRequest", at, pos, error) from None
    return HeartbeatRequest(group_id, generation_id, member_id, None), pos


def _write_heartbeat_request_v0(w: Append, x: HeartbeatRequest) -> None:
    if x.group_instance_id is not None:
        raise unsupported_field("HeartbeatRequest", "group_instance_id", "0-2")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_ih(x.generation_id, len(member_id_bytes)))
    w(member_id_bytes)


def _read_heartbeat_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[HeartbeatRequest, int]:
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
    except READ_ERRORS as error:
        raise malformed("HeartbeatRequest", at, pos, error) from None
    return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id), pos


def _write_heartbeat_request_v3(w: Append, x: HeartbeatRequest) -> None:
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


def _read_heartbeat_request_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[HeartbeatRequest, int]:
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
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("HeartbeatRequest", at, pos, error) from None
    return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id), pos


def _write_heartbeat_request_v4(w: Append, x: HeartbeatRequest) -> None:
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
    w(b"\0")
HeartbeatRequest._READERS = {
    0: _read_heartbeat_request_v0,
    1: _read_heartbeat_request_v0,
    2: _read_heartbeat_request_v0,
    3: _read_heartbeat_request_v3,
    4: _read_heartbeat_request_v4,
}
HeartbeatRequest._WRITERS = {
    0: _write_heartbeat_request_v0,
    1: _write_heartbeat_request_v0,
    2: _write_heartbeat_request_v0,
    3: _write_heartbeat_request_v3,
    4: _write_heartbeat_request_v4,
}
