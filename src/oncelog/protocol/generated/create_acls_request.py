# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_b = _Struct(">b").pack
_pack_bB = _Struct(">bB").pack
_pack_bb = _Struct(">bb").pack
_pack_bbx = _Struct(">bbx").pack
_pack_bh = _Struct(">bh").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_bB = _Struct(">bB").unpack_from
_unpack_bb = _Struct(">bb").unpack_from
_unpack_bbB = _Struct(">bbB").unpack_from
_unpack_bh = _Struct(">bh").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class AclCreation(Struct):
    __slots__ = ("resource_type", "resource_name", "resource_pattern_type", "principal", "host", "operation", "permission_type")

    def __init__(
        self,
        resource_type: int = 0,  # 0+
        resource_name: str = "",  # 0+
        resource_pattern_type: int = 3,  # 1+
        principal: str = "",  # 0+
        host: str = "",  # 0+
        operation: int = 0,  # 0+
        permission_type: int = 0,  # 0+
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.resource_pattern_type = resource_pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


class CreateAclsRequest(Message):
    API_KEY = 30
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("creations",)

    def __init__(
        self,
        creations: list[AclCreation] = EMPTY,  # 0+
    ) -> None:
        self.creations = [] if creations is EMPTY else creations


def _read_acl_creation_v1(data: bytes, pos: int, size: int) -> tuple[AclCreation, int]:
    at = "resource_type"
    try:
        resource_type, count = _unpack_bh(data, pos)
        pos += 3
        at = "resource_name"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        resource_name = data[pos:end].decode()
        pos = end
        at = "resource_pattern_type"
        resource_pattern_type, count = _unpack_bh(data, pos)
        pos += 3
        at = "principal"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        principal = data[pos:end].decode()
        pos = end
        at = "host"
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        host = data[pos:end].decode()
        pos = end
        at = "operation"
        operation, permission_type = _unpack_bb(data, pos)
        pos += 2
    except READ_ERRORS as error:
        raise malformed("CreateAclsRequest.AclCreation", at, pos, error) from None
    return AclCreation(resource_type, resource_name, resource_pattern_type, principal, host, operation, permission_type), pos


def _write_acl_creation_v1(w: Append, x: AclCreation) -> None:
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    w(_pack_bh(x.resource_type, len(resource_name_bytes)))
    w(resource_name_bytes)
    principal = x.principal
    principal_bytes = principal.encode()
    w(_pack_bh(x.resource_pattern_type, len(principal_bytes)))
    w(principal_bytes)
    host = x.host
    host_bytes = host.encode()
    w(_pack_h(len(host_bytes)))
    w(host_bytes)
    w(_pack_bb(x.operation, x.permission_type))


def _read_acl_creation_v2(data: bytes, pos: int, size: int) -> tuple[AclCreation, int]:
    at = "resource_type"
    try:
        resource_type, count = _unpack_bB(data, pos)
        pos += 2
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
        at = "resource_pattern_type"
        resource_pattern_type, count = _unpack_bB(data, pos)
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
        raise malformed("CreateAclsRequest.AclCreation", at, pos, error) from None
    return AclCreation(resource_type, resource_name, resource_pattern_type, principal, host, operation, permission_type), pos


def _write_acl_creation_v2(w: Append, x: AclCreation) -> None:
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    count = len(resource_name_bytes) + 1
    w(_pack_bB(x.resource_type, count) if count < 128 else _pack_b(x.resource_type) + string_length(count))
    w(resource_name_bytes)
    principal = x.principal
    principal_bytes = principal.encode()
    count = len(principal_bytes) + 1
    w(_pack_bB(x.resource_pattern_type, count) if count < 128 else _pack_b(x.resource_pattern_type) + string_length(count))
    w(principal_bytes)
    host = x.host
    host_bytes = host.encode()
    count = len(host_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(host_bytes)
    w(_pack_bbx(x.operation, x.permission_type))


def _read_create_acls_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreateAclsRequest, int]:
    at = "creations"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        creations: list[AclCreation] = []
        for _ in range(count):
            creations_item, pos = _read_acl_creation_v1(data, pos, size)
            creations.append(creations_item)
    except READ_ERRORS as error:
        raise malformed("CreateAclsRequest", at, pos, error) from None
    return CreateAclsRequest(creations), pos


def _write_create_acls_request_v1(w: Append, x: CreateAclsRequest) -> None:
    creations = x.creations
    w(_pack_i(len(creations)))
    for creations_item in creations:
        _write_acl_creation_v1(w, creations_item)


def _read_create_acls_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[CreateAclsRequest, int]:
    at = "creations"
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
        creations: list[AclCreation] = []
        for _ in range(count):
            creations_item, pos = _read_acl_creation_v2(data, pos, size)
            creations.append(creations_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreateAclsRequest", at, pos, error) from None
    return CreateAclsRequest(creations), pos


def _write_create_acls_request_v2(w: Append, x: CreateAclsRequest) -> None:
    creations = x.creations
    count = len(creations) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for creations_item in creations:
        _write_acl_creation_v2(w, creations_item)
    w(b"\0")
CreateAclsRequest._READERS = {
    1: _read_create_acls_request_v1,
    2: _read_create_acls_request_v2,
    3: _read_create_acls_request_v2,
}
CreateAclsRequest._WRITERS = {
    1: _write_create_acls_request_v1,
    2: _write_create_acls_request_v2,
    3: _write_create_acls_request_v2,
}
