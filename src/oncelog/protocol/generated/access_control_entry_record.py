# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, ZERO_UUID, Append, Message, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, string_length, string_length_tail

_pack_Ub = _Struct(">16sb").pack
_pack_UbB = _Struct(">16sbB").pack
_pack_b = _Struct(">b").pack
_pack_bB = _Struct(">bB").pack
_pack_bbx = _Struct(">bbx").pack
_unpack_UbB = _Struct(">16sbB").unpack_from
_unpack_bB = _Struct(">bB").unpack_from
_unpack_bbB = _Struct(">bbB").unpack_from


class AccessControlEntryRecord(Message):
    API_KEY = 18
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("id", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type")

    def __init__(
        self,
        id: Uuid = ZERO_UUID,  # 0+
        resource_type: int = 0,  # 0+
        resource_name: str = "",  # 0+
        pattern_type: int = 0,  # 0+
        principal: str = "",  # 0+
        host: str = "",  # 0+
        operation: int = 0,  # 0+
        permission_type: int = 0,  # 0+
    ) -> None:
        self.id = id
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


def _read_access_control_entry_record_v0(data: bytes, pos: int, size: int) -> tuple[AccessControlEntryRecord, int]:
    at = "id"
    try:
        id, resource_type, count = _unpack_UbB(data, pos)
        pos += 18
        at = "resource_name"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        resource_name = data[pos:end].decode()
        pos = end
        at = "pattern_type"
        pattern_type, count = _unpack_bB(data, pos)
        pos += 2
        at = "principal"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        principal = data[pos:end].decode()
        pos = end
        at = "host"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        host = data[pos:end].decode()
        pos = end
        at = "operation"
        operation, permission_type, tags = _unpack_bbB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AccessControlEntryRecord", at, pos, error) from None
    return AccessControlEntryRecord(id, resource_type, resource_name, pattern_type, principal, host, operation, permission_type), pos


def _write_access_control_entry_record_v0(w: Append, x: AccessControlEntryRecord) -> None:
    id = x.id
    if len(id) != 16:
        raise bad_uuid("AccessControlEntryRecord", "id", id)
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    count = len(resource_name_bytes) + 1
    w(_pack_UbB(id, x.resource_type, count) if count < 128 else _pack_Ub(id, x.resource_type) + string_length(count))
    w(resource_name_bytes)
    principal = x.principal
    principal_bytes = principal.encode()
    count = len(principal_bytes) + 1
    w(_pack_bB(x.pattern_type, count) if count < 128 else _pack_b(x.pattern_type) + string_length(count))
    w(principal_bytes)
    host = x.host
    host_bytes = host.encode()
    count = len(host_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(host_bytes)
    w(_pack_bbx(x.operation, x.permission_type))
AccessControlEntryRecord._READERS = {
    0: _read_access_control_entry_record_v0,
}
AccessControlEntryRecord._WRITERS = {
    0: _write_access_control_entry_record_v0,
}
