# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_ih = _Struct(">ih").pack
_pack_ii = _Struct(">ii").pack
_pack_iiB = _Struct(">iiB").pack
_pack_iih = _Struct(">iih").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_ih = _Struct(">ih").unpack_from
_unpack_iiB = _Struct(">iiB").unpack_from
_unpack_iih = _Struct(">iih").unpack_from


class JoinGroupRequestProtocol(Struct):
    __slots__ = ("name", "metadata")

    def __init__(
        self,
        name: str = "",  # 0+
        metadata: bytes = b"",  # 0+
    ) -> None:
        self.name = name
        self.metadata = metadata


class JoinGroupRequest(Message):
    API_KEY = 11
    MIN_VERSION = 0
    MAX_VERSION = 9
    FLEXIBLE_FROM = 6
    __slots__ = ("group_id", "session_timeout_ms", "rebalance_timeout_ms", "member_id", "group_instance_id", "protocol_type", "protocols", "reason")

    def __init__(
        self,
        group_id: str = "",  # 0+
        session_timeout_ms: int = 0,  # 0+
        rebalance_timeout_ms: int = -1,  # 1+, ignorable
        member_id: str = "",  # 0+
        group_instance_id: str | None = None,  # 5+
        protocol_type: str = "",  # 0+
        protocols: list[JoinGroupRequestProtocol] = EMPTY,  # 0+
        reason: str | None = None,  # 8+, ignorable
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols = [] if protocols is EMPTY else protocols
        self.reason = reason


def _read_join_group_request_protocol_v0(data: bytes, pos: int, size: int) -> tuple[JoinGroupRequestProtocol, int]:
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
        at = "metadata"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        metadata = data[pos:end]
        pos = end
    except READ_ERRORS as error:
        raise malformed("JoinGroupRequest.JoinGroupRequestProtocol", at, pos, error) from None
    return JoinGroupRequestProtocol(name, metadata), pos


def _write_join_group_request_protocol_v0(w: Append, x: JoinGroupRequestProtocol) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    metadata = x.metadata
    w(_pack_i(len(metadata)))
    w(metadata)


def _read_join_group_request_protocol_v6(data: bytes, pos: int, size: int) -> tuple[JoinGroupRequestProtocol, int]:
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
        at = "metadata"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        metadata = data[pos:end]
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("JoinGroupRequest.JoinGroupRequestProtocol", at, pos, error) from None
    return JoinGroupRequestProtocol(name, metadata), pos


def _write_join_group_request_protocol_v6(w: Append, x: JoinGroupRequestProtocol) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    metadata = x.metadata
    count = len(metadata) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    w(metadata)
    w(b"\0")


def _read_join_group_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[JoinGroupRequest, int]:
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
        at = "session_timeout_ms"
        session_timeout_ms, count = _unpack_ih(data, pos)
        pos += 6
        at = "member_id"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_id = data[pos:end].decode()
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
        at = "protocols"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        protocols: list[JoinGroupRequestProtocol] = []
        for _ in range(count):
            protocols_item, pos = _read_join_group_request_protocol_v0(data, pos, size)
            protocols.append(protocols_item)
    except READ_ERRORS as error:
        raise malformed("JoinGroupRequest", at, pos, error) from None
    return JoinGroupRequest(group_id, session_timeout_ms, -1, member_id, None, protocol_type, protocols, None), pos


def _write_join_group_request_v0(w: Append, x: JoinGroupRequest) -> None:
    if x.group_instance_id is not None:
        raise unsupported_field("JoinGroupRequest", "group_instance_id", "0")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_ih(x.session_timeout_ms, len(member_id_bytes)))
    w(member_id_bytes)
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    w(_pack_h(len(protocol_type_bytes)))
    w(protocol_type_bytes)
    protocols = x.protocols
    w(_pack_i(len(protocols)))
    for protocols_item in protocols:
        _write_join_group_request_protocol_v0(w, protocols_item)


def _read_join_group_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[JoinGroupRequest, int]:
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
        at = "session_timeout_ms"
        session_timeout_ms, rebalance_timeout_ms, count = _unpack_iih(data, pos)
        pos += 10
        at = "member_id"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        member_id = data[pos:end].decode()
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
        at = "protocols"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        protocols: list[JoinGroupRequestProtocol] = []
        for _ in range(count):
            protocols_item, pos = _read_join_group_request_protocol_v0(data, pos, size)
            protocols.append(protocols_item)
    except READ_ERRORS as error:
        raise malformed("JoinGroupRequest", at, pos, error) from None
    return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, None, protocol_type, protocols, None), pos


def _write_join_group_request_v1(w: Append, x: JoinGroupRequest) -> None:
    if x.group_instance_id is not None:
        raise unsupported_field("JoinGroupRequest", "group_instance_id", "1-4")
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_iih(x.session_timeout_ms, x.rebalance_timeout_ms, len(member_id_bytes)))
    w(member_id_bytes)
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    w(_pack_h(len(protocol_type_bytes)))
    w(protocol_type_bytes)
    protocols = x.protocols
    w(_pack_i(len(protocols)))
    for protocols_item in protocols:
        _write_join_group_request_protocol_v0(w, protocols_item)


def _read_join_group_request_v5(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[JoinGroupRequest, int]:
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
        at = "session_timeout_ms"
        session_timeout_ms, rebalance_timeout_ms, count = _unpack_iih(data, pos)
        pos += 10
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
        at = "protocols"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        protocols: list[JoinGroupRequestProtocol] = []
        for _ in range(count):
            protocols_item, pos = _read_join_group_request_protocol_v0(data, pos, size)
            protocols.append(protocols_item)
    except READ_ERRORS as error:
        raise malformed("JoinGroupRequest", at, pos, error) from None
    return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, None), pos


def _write_join_group_request_v5(w: Append, x: JoinGroupRequest) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_h(len(group_id_bytes)))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    w(_pack_iih(x.session_timeout_ms, x.rebalance_timeout_ms, len(member_id_bytes)))
    w(member_id_bytes)
    group_instance_id = x.group_instance_id
    group_instance_id_bytes = b"" if group_instance_id is None else group_instance_id.encode()
    w(_pack_h(-1 if group_instance_id is None else len(group_instance_id_bytes)))
    w(group_instance_id_bytes)
    protocol_type = x.protocol_type
    protocol_type_bytes = protocol_type.encode()
    w(_pack_h(len(protocol_type_bytes)))
    w(protocol_type_bytes)
    protocols = x.protocols
    w(_pack_i(len(protocols)))
    for protocols_item in protocols:
        _write_join_group_request_protocol_v0(w, protocols_item)


def _read_join_group_request_v6(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[JoinGroupRequest, int]:
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
        at = "session_timeout_ms"
        session_timeout_ms, rebalance_timeout_ms, count = _unpack_iiB(data, pos)
        pos += 9
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
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
        at = "protocols"
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
        protocols: list[JoinGroupRequestProtocol] = []
        for _ in range(count):
            protocols_item, pos = _read_join_group_request_protocol_v6(data, pos, size)
            protocols.append(protocols_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("JoinGroupRequest", at, pos, error) from None
    return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, None), pos


def _write_join_group_request_v6(w: Append, x: JoinGroupRequest) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(_pack_iiB(x.session_timeout_ms, x.rebalance_timeout_ms, count) if count < 128 else _pack_ii(x.session_timeout_ms, x.rebalance_timeout_ms) + string_length(count))
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
    protocol_type_bytes = protocol_type.encode()
    count = len(protocol_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(protocol_type_bytes)
    protocols = x.protocols
    count = len(protocols) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for protocols_item in protocols:
        _write_join_group_request_protocol_v6(w, protocols_item)
    w(b"\0")


def _read_join_group_request_v8(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[JoinGroupRequest, int]:
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
        at = "session_timeout_ms"
        session_timeout_ms, rebalance_timeout_ms, count = _unpack_iiB(data, pos)
        pos += 9
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
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        protocol_type = data[pos:end].decode()
        pos = end
        at = "protocols"
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
        protocols: list[JoinGroupRequestProtocol] = []
        for _ in range(count):
            protocols_item, pos = _read_join_group_request_protocol_v6(data, pos, size)
            protocols.append(protocols_item)
        at = "reason"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        reason: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            reason = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("JoinGroupRequest", at, pos, error) from None
    return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, reason), pos


def _write_join_group_request_v8(w: Append, x: JoinGroupRequest) -> None:
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(group_id_bytes)
    member_id = x.member_id
    member_id_bytes = member_id.encode()
    count = len(member_id_bytes) + 1
    w(_pack_iiB(x.session_timeout_ms, x.rebalance_timeout_ms, count) if count < 128 else _pack_ii(x.session_timeout_ms, x.rebalance_timeout_ms) + string_length(count))
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
    protocol_type_bytes = protocol_type.encode()
    count = len(protocol_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(protocol_type_bytes)
    protocols = x.protocols
    count = len(protocols) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for protocols_item in protocols:
        _write_join_group_request_protocol_v6(w, protocols_item)
    reason = x.reason
    if reason is None:
        w(b"\0")
    else:
        reason_bytes = reason.encode()
        count = len(reason_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(reason_bytes)
    w(b"\0")
JoinGroupRequest._READERS = {
    0: _read_join_group_request_v0,
    1: _read_join_group_request_v1,
    2: _read_join_group_request_v1,
    3: _read_join_group_request_v1,
    4: _read_join_group_request_v1,
    5: _read_join_group_request_v5,
    6: _read_join_group_request_v6,
    7: _read_join_group_request_v6,
    8: _read_join_group_request_v8,
    9: _read_join_group_request_v8,
}
JoinGroupRequest._WRITERS = {
    0: _write_join_group_request_v0,
    1: _write_join_group_request_v1,
    2: _write_join_group_request_v1,
    3: _write_join_group_request_v1,
    4: _write_join_group_request_v1,
    5: _write_join_group_request_v5,
    6: _write_join_group_request_v6,
    7: _write_join_group_request_v6,
    8: _write_join_group_request_v8,
    9: _write_join_group_request_v8,
}
