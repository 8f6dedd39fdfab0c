# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_b = _Struct(">b").pack
_pack_bB = _Struct(">bB").pack
_pack_bb = _Struct(">bb").pack
_pack_bbx = _Struct(">bbx").pack
_pack_bh = _Struct(">bh").pack
_pack_h = _Struct(">h").pack
_pack_hh = _Struct(">hh").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ii = _Struct(">ii").pack
_unpack_bB = _Struct(">bB").unpack_from
_unpack_bb = _Struct(">bb").unpack_from
_unpack_bbB = _Struct(">bbB").unpack_from
_unpack_bh = _Struct(">bh").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hh = _Struct(">hh").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class DeleteAclsMatchingAcl(Struct):
    __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
        resource_type: int = 0,  # 0+
        resource_name: str = "",  # 0+
        pattern_type: int = 3,  # 1+
        principal: str = "",  # 0+
        host: str = "",  # 0+
        operation: int = 0,  # 0+
        permission_type: int = 0,  # 0+
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


class DeleteAclsFilterResult(Struct):
    __slots__ = ("error_code", "error_message", "matching_acls")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
        matching_acls: list[DeleteAclsMatchingAcl] = EMPTY,  # 0+
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.matching_acls = [] if matching_acls is EMPTY else matching_acls


class DeleteAclsResponse(Message):
    API_KEY = 31
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("throttle_time_ms", "filter_results")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        filter_results: list[DeleteAclsFilterResult] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.filter_results = [] if filter_results is EMPTY else filter_results


def _read_delete_acls_matching_acl_v1(data: bytes, pos: int, size: int) -> tuple[DeleteAclsMatchingAcl, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "error_message"
        error_message: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "resource_type"
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
        pattern_type, count = _unpack_bh(data, pos)
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
        raise malformed("DeleteAclsResponse.DeleteAclsMatchingAcl", at, pos, error) from None
    return DeleteAclsMatchingAcl(error_code, error_message, resource_type, resource_name, pattern_type, principal, host, operation, permission_type), pos


def _write_delete_acls_matching_acl_v1(w: Append, x: DeleteAclsMatchingAcl) -> None:
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_hh(x.error_code, -1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    w(_pack_bh(x.resource_type, len(resource_name_bytes)))
    w(resource_name_bytes)
    principal = x.principal
    principal_bytes = principal.encode()
    w(_pack_bh(x.pattern_type, len(principal_bytes)))
    w(principal_bytes)
    host = x.host
    host_bytes = host.encode()
    w(_pack_h(len(host_bytes)))
    w(host_bytes)
    w(_pack_bb(x.operation, x.permission_type))


def _read_delete_acls_matching_acl_v2(data: bytes, pos: int, size: int) -> tuple[DeleteAclsMatchingAcl, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
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
        at = "resource_type"
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
        raise malformed("DeleteAclsResponse.DeleteAclsMatchingAcl", at, pos, error) from None
    return DeleteAclsMatchingAcl(error_code, error_message, resource_type, resource_name, pattern_type, principal, host, operation, permission_type), pos


def _write_delete_acls_matching_acl_v2(w: Append, x: DeleteAclsMatchingAcl) -> None:
    error_message = x.error_message
    w(_pack_h(x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    count = len(resource_name_bytes) + 1
    w(_pack_bB(x.resource_type, count) if count < 128 else _pack_b(x.resource_type) + string_length(count))
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


def _read_delete_acls_filter_result_v1(data: bytes, pos: int, size: int) -> tuple[DeleteAclsFilterResult, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "error_message"
        error_message: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "matching_acls"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        matching_acls: list[DeleteAclsMatchingAcl] = []
        for _ in range(count):
            matching_acls_item, pos = _read_delete_acls_matching_acl_v1(data, pos, size)
            matching_acls.append(matching_acls_item)
    except READ_ERRORS as error:
        raise malformed("DeleteAclsResponse.DeleteAclsFilterResult", at, pos, error) from None
    return DeleteAclsFilterResult(error_code, error_message, matching_acls), pos


def _write_delete_acls_filter_result_v1(w: Append, x: DeleteAclsFilterResult) -> None:
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_hh(x.error_code, -1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)
    matching_acls = x.matching_acls
    w(_pack_i(len(matching_acls)))
    for matching_acls_item in matching_acls:
        _write_delete_acls_matching_acl_v1(w, matching_acls_item)


def _read_delete_acls_filter_result_v2(data: bytes, pos: int, size: int) -> tuple[DeleteAclsFilterResult, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
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
        at = "matching_acls"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        matching_acls: list[DeleteAclsMatchingAcl] = []
        for _ in range(count):
            matching_acls_item, pos = _read_delete_acls_matching_acl_v2(data, pos, size)
            matching_acls.append(matching_acls_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteAclsResponse.DeleteAclsFilterResult", at, pos, error) from None
    return DeleteAclsFilterResult(error_code, error_message, matching_acls), pos


def _write_delete_acls_filter_result_v2(w: Append, x: DeleteAclsFilterResult) -> None:
    error_message = x.error_message
    w(_pack_h(x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    matching_acls = x.matching_acls
    count = len(matching_acls) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for matching_acls_item in matching_acls:
        _write_delete_acls_matching_acl_v2(w, matching_acls_item)
    w(b"\0")


def _read_delete_acls_response_v1(data: bytes, pos: int, size: int) -> tuple[DeleteAclsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "filter_results"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        filter_results: list[DeleteAclsFilterResult] = []
        for _ in range(count):
            filter_results_item, pos = _read_delete_acls_filter_result_v1(data, pos, size)
            filter_results.append(filter_results_item)
    except READ_ERRORS as error:
        raise malformed("DeleteAclsResponse", at, pos, error) from None
    return DeleteAclsResponse(throttle_time_ms, filter_results), pos


def _write_delete_acls_response_v1(w: Append, x: DeleteAclsResponse) -> None:
    filter_results = x.filter_results
    w(_pack_ii(x.throttle_time_ms, len(filter_results)))
    for filter_results_item in filter_results:
        _write_delete_acls_filter_result_v1(w, filter_results_item)


def _read_delete_acls_response_v2(data: bytes, pos: int, size: int) -> tuple[DeleteAclsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "filter_results"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        filter_results: list[DeleteAclsFilterResult] = []
        for _ in range(count):
            filter_results_item, pos = _read_delete_acls_filter_result_v2(data, pos, size)
            filter_results.append(filter_results_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DeleteAclsResponse", at, pos, error) from None
    return DeleteAclsResponse(throttle_time_ms, filter_results), pos


def _write_delete_acls_response_v2(w: Append, x: DeleteAclsResponse) -> None:
    filter_results = x.filter_results
    count = len(filter_results) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for filter_results_item in filter_results:
        _write_delete_acls_filter_result_v2(w, filter_results_item)
    w(b"\0")
DeleteAclsResponse._READERS = {
    1: _read_delete_acls_response_v1,
    2: _read_delete_acls_response_v2,
    3: _read_delete_acls_response_v2,
}
DeleteAclsResponse._WRITERS = {
    1: _write_delete_acls_response_v1,
    2: _write_delete_acls_response_v2,
    3: _write_delete_acls_response_v2,
}
