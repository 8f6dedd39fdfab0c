# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, overrun, skip_tags, string_length, string_length_tail

_pack_b = _Struct(">b").pack
_pack_bb = _Struct(">bb").pack
_pack_bbx = _Struct(">bbx").pack
_pack_bh = _Struct(">bh").pack
_pack_h = _Struct(">h").pack
_unpack_bB = _Struct(">bB").unpack_from
_unpack_bb = _Struct(">bb").unpack_from
_unpack_bbB = _Struct(">bbB").unpack_from
_unpack_bh = _Struct(">bh").unpack_from
_unpack_h = _Struct(">h").unpack_from


class DescribeAclsRequest(Message):
    API_KEY = 29
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter", "operation", "permission_type")

    def __init__(
        self,
        resource_type_filter: int = 0,  # 0+
        resource_name_filter: str | None = "",  # 0+
        pattern_type_filter: int = 3,  # 1+
        principal_filter: str | None = "",  # 0+
        host_filter: str | None = "",  # 0+
        operation: int = 0,  # 0+
        permission_type: int = 0,  # 0+
    ) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type


def _read_describe_acls_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeAclsRequest, int]:
    at = "resource_type_filter"
    try:
        resource_type_filter, count = _unpack_bh(data, pos)
        pos += 3
        at = "resource_name_filter"
        resource_name_filter: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            resource_name_filter = data[pos:end].decode()
            pos = end
        at = "pattern_type_filter"
        pattern_type_filter, count = _unpack_bh(data, pos)
        pos += 3
        at = "principal_filter"
        principal_filter: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            principal_filter = data[pos:end].decode()
            pos = end
        at = "host_filter"
        count, = _unpack_h(data, pos)
        pos += 2
        host_filter: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            host_filter = data[pos:end].decode()
            pos = end
        at = "operation"
        operation, permission_type = _unpack_bb(data, pos)
        pos += 2
    except READ_ERRORS as error:
        raise malformed("DescribeAclsRequest", at, pos, error) from None
    return DescribeAclsRequest(resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type), pos


def _write_describe_acls_request_v1(w: Append, x: DescribeAclsRequest) -> None:
    resource_name_filter = x.resource_name_filter
    resource_name_filter_bytes = b"" if resource_name_filter is None else resource_name_filter.encode()
    w(_pack_bh(x.resource_type_filter, -1 if resource_name_filter is None else len(resource_name_filter_bytes)))
    w(resource_name_filter_bytes)
    principal_filter = x.principal_filter
    principal_filter_bytes = b"" if principal_filter is None else principal_filter.encode()
    w(_pack_bh(x.pattern_type_filter, -1 if principal_filter is None else len(principal_filter_bytes)))
    w(principal_filter_bytes)
    host_filter = x.host_filter
    host_filter_bytes = b"" if host_filter is None else host_filter.encode()
    w(_pack_h(-1 if host_filter is None else len(host_filter_bytes)))
    w(host_filter_bytes)
    w(_pack_bb(x.operation, x.permission_type))


def _read_describe_acls_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeAclsRequest, int]:
    at = "resource_type_filter"
    try:
        resource_type_filter, count = _unpack_bB(data, pos)
        pos += 2
        at = "resource_name_filter"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        resource_name_filter: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            resource_name_filter = data[pos:end].decode()
            pos = end
        at = "pattern_type_filter"
        pattern_type_filter, count = _unpack_bB(data, pos)
        pos += 2
        at = "principal_filter"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        principal_filter: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            principal_filter = data[pos:end].decode()
            pos = end
        at = "host_filter"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        host_filter: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            host_filter = data[pos:end].decode()
            pos = end
        at = "operation"
        operation, permission_type, tags = _unpack_bbB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeAclsRequest", at, pos, error) from None
    return DescribeAclsRequest(resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type), pos


def _write_describe_acls_request_v2(w: Append, x: DescribeAclsRequest) -> None:
    resource_name_filter = x.resource_name_filter
    w(_pack_b(x.resource_type_filter))
    if resource_name_filter is None:
        w(b"\0")
    else:
        resource_name_filter_bytes = resource_name_filter.encode()
        count = len(resource_name_filter_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(resource_name_filter_bytes)
    principal_filter = x.principal_filter
    w(_pack_b(x.pattern_type_filter))
    if principal_filter is None:
        w(b"\0")
    else:
        principal_filter_bytes = principal_filter.encode()
        count = len(principal_filter_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(principal_filter_bytes)
    host_filter = x.host_filter
    if host_filter is None:
        w(b"\0")
    else:
        host_filter_bytes = host_filter.encode()
        count = len(host_filter_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(host_filter_bytes)
    w(_pack_bbx(x.operation, x.permission_type))
DescribeAclsRequest._READERS = {
    1: _read_describe_acls_request_v1,
    2: _read_describe_acls_request_v2,
    3: _read_describe_acls_request_v2,
}
DescribeAclsRequest._WRITERS = {
    1: _write_describe_acls_request_v1,
    2: _write_describe_acls_request_v2,
    3: _write_describe_acls_request_v2,
}
