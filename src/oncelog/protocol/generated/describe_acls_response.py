# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_b = _Struct(">b").pack
_pack_bB = _Struct(">bB").pack
_pack_bb = _Struct(">bb").pack
_pack_bbx = _Struct(">bbx").pack
_pack_bh = _Struct(">bh").pack
_pack_bi = _Struct(">bi").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_ih = _Struct(">ih").pack
_pack_ihh = _Struct(">ihh").pack
_unpack_bB = _Struct(">bB").unpack_from
_unpack_bb = _Struct(">bb").unpack_from
_unpack_bbB = _Struct(">bbB").unpack_from
_unpack_bh = _Struct(">bh").unpack_from
_unpack_bi = _Struct(">bi").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ihh = _Struct(">ihh").unpack_from


class AclDescription(Struct):
    __slots__ = ("principal", "host", "operation", "permission_type")

    def __init__(
        self,
        principal: str = "",  # 0+
        host: str = "",  # 0+
        operation: int = 0,  # 0+
        permission_type: int = 0,  # 0+
    ) -> None:
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


class DescribeAclsResource(Struct):
    __slots__ = ("resource_type", "resource_name", "pattern_type", "acls")

    def __init__(
        self,
        resource_type: int = 0,  # 0+
        resource_name: str = "",  # 0+
        pattern_type: int = 3,  # 1+
        acls: list[AclDescription] = EMPTY,  # 0+
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.acls = [] if acls is EMPTY else acls


class DescribeAclsResponse(Message):
    API_KEY = 29
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "resources")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
        resources: list[DescribeAclsResource] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.resources = [] if resources is EMPTY else resources


def _read_acl_description_v1(data: bytes, pos: int, size: int) -> tuple[AclDescription, int]:
    at = "principal"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
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
        raise malformed("DescribeAclsResponse.AclDescription", at, pos, error) from None
    return AclDescription(principal, host, operation, permission_type), pos


def _write_acl_description_v1(w: Append, x: AclDescription) -> None:
    principal = x.principal
    principal_bytes = principal.encode()
    w(_pack_h(len(principal_bytes)))
    w(principal_bytes)
    host = x.host
    host_bytes = host.encode()
    w(_pack_h(len(host_bytes)))
    w(host_bytes)
    w(_pack_bb(x.operation, x.permission_type))


def _read_acl_description_v2(data: bytes, pos: int, size: int) -> tuple[AclDescription, int]:
    at = "principal"
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
        raise malformed("DescribeAclsResponse.AclDescription", at, pos, error) from None
    return AclDescription(principal, host, operation, permission_type), pos


def _write_acl_description_v2(w: Append, x: AclDescription) -> None:
    principal = x.principal
    principal_bytes = principal.encode()
    count = len(principal_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(principal_bytes)
    host = x.host
    host_bytes = host.encode()
    count = len(host_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(host_bytes)
    w(_pack_bbx(x.operation, x.permission_type))


def _read_describe_acls_resource_v1(data: bytes, pos: int, size: int) -> tuple[DescribeAclsResource, int]:
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
        at = "pattern_type"
        pattern_type, count = _unpack_bi(data, pos)
        pos += 5
        at = "acls"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        acls: list[AclDescription] = []
        for _ in range(count):
            acls_item, pos = _read_acl_description_v1(data, pos, size)
            acls.append(acls_item)
    except READ_ERRORS as error:
        raise malformed("DescribeAclsResponse.DescribeAclsResource", at, pos, error) from None
    return DescribeAclsResource(resource_type, resource_name, pattern_type, acls), pos


def _write_describe_acls_resource_v1(w: Append, x: DescribeAclsResource) -> None:
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    w(_pack_bh(x.resource_type, len(resource_name_bytes)))
    w(resource_name_bytes)
    acls = x.acls
    w(_pack_bi(x.pattern_type, len(acls)))
    for acls_item in acls:
        _write_acl_description_v1(w, acls_item)


def _read_describe_acls_resource_v2(data: bytes, pos: int, size: int) -> tuple[DescribeAclsResource, int]:
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
        at = "pattern_type"
        pattern_type, count = _unpack_bB(data, pos)
        pos += 2
        at = "acls"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        acls: list[AclDescription] = []
        for _ in range(count):
            acls_item, pos = _read_acl_description_v2(data, pos, size)
            acls.append(acls_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeAclsResponse.DescribeAclsResource", at, pos, error) from None
    return DescribeAclsResource(resource_type, resource_name, pattern_type, acls), pos


def _write_describe_acls_resource_v2(w: Append, x: DescribeAclsResource) -> None:
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    count = len(resource_name_bytes) + 1
    w(_pack_bB(x.resource_type, count) if count < 128 else _pack_b(x.resource_type) + string_length(count))
    w(resource_name_bytes)
    acls = x.acls
    count = len(acls) + 1
    w(_pack_bB(x.pattern_type, count) if count < 128 else _pack_b(x.pattern_type) + uvarint(count))
    for acls_item in acls:
        _write_acl_description_v2(w, acls_item)
    w(b"\0")


def _read_describe_acls_response_v1(data: bytes, pos: int, size: int) -> tuple[DescribeAclsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihh(data, pos)
        pos += 8
        at = "error_message"
        error_message: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "resources"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        resources: list[DescribeAclsResource] = []
        for _ in range(count):
            resources_item, pos = _read_describe_acls_resource_v1(data, pos, size)
            resources.append(resources_item)
    except READ_ERRORS as error:
        raise malformed("DescribeAclsResponse", at, pos, error) from None
    return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources), pos


def _write_describe_acls_response_v1(w: Append, x: DescribeAclsResponse) -> None:
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_ihh(x.throttle_time_ms, x.error_code, -1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)
    resources = x.resources
    w(_pack_i(len(resources)))
    for resources_item in resources:
        _write_describe_acls_resource_v1(w, resources_item)


def _read_describe_acls_response_v2(data: bytes, pos: int, size: int) -> tuple[DescribeAclsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "resources"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        resources: list[DescribeAclsResource] = []
        for _ in range(count):
            resources_item, pos = _read_describe_acls_resource_v2(data, pos, size)
            resources.append(resources_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeAclsResponse", at, pos, error) from None
    return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources), pos


def _write_describe_acls_response_v2(w: Append, x: DescribeAclsResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    resources = x.resources
    count = len(resources) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for resources_item in resources:
        _write_describe_acls_resource_v2(w, resources_item)
    w(b"\0")
DescribeAclsResponse._READERS = {
    1: _read_describe_acls_response_v1,
    2: _read_describe_acls_response_v2,
    3: _read_describe_acls_response_v2,
}
DescribeAclsResponse._WRITERS = {
    1: _write_describe_acls_response_v1,
    2: _write_describe_acls_response_v2,
    3: _write_describe_acls_response_v2,
}
