# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_hh = _Struct(">hh").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ii = _Struct(">ii").pack
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hh = _Struct(">hh").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class AclCreationResult(Struct):
    __slots__ = ("error_code", "error_message")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message


class CreateAclsResponse(Message):
    API_KEY = 30
    MIN_VERSION = 1
    MAX_VERSION = 3
    FLEXIBLE_FROM = 2
    __slots__ = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        results: list[AclCreationResult] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results


def _read_acl_creation_result_v1(data: bytes, pos: int, size: int) -> tuple[AclCreationResult, int]:
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
    except READ_ERRORS as error:
        raise malformed("CreateAclsResponse.AclCreationResult", at, pos, error) from None
    return AclCreationResult(error_code, error_message), pos


def _write_acl_creation_result_v1(w: Append, x: AclCreationResult) -> None:
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_hh(x.error_code, -1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)


def _read_acl_creation_result_v2(data: bytes, pos: int, size: int) -> tuple[AclCreationResult, int]:
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
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreateAclsResponse.AclCreationResult", at, pos, error) from None
    return AclCreationResult(error_code, error_message), pos


def _write_acl_creation_result_v2(w: Append, x: AclCreationResult) -> None:
    error_message = x.error_message
    w(_pack_h(x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    w(b"\0")


def _read_create_acls_response_v1(data: bytes, pos: int, size: int) -> tuple[CreateAclsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "results"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        results: list[AclCreationResult] = []
        for _ in range(count):
            results_item, pos = _read_acl_creation_result_v1(data, pos, size)
            results.append(results_item)
    except READ_ERRORS as error:
        raise malformed("CreateAclsResponse", at, pos, error) from None
    return CreateAclsResponse(throttle_time_ms, results), pos


def _write_create_acls_response_v1(w: Append, x: CreateAclsResponse) -> None:
    results = x.results
    w(_pack_ii(x.throttle_time_ms, len(results)))
    for results_item in results:
        _write_acl_creation_result_v1(w, results_item)


def _read_create_acls_response_v2(data: bytes, pos: int, size: int) -> tuple[CreateAclsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "results"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        results: list[AclCreationResult] = []
        for _ in range(count):
            results_item, pos = _read_acl_creation_result_v2(data, pos, size)
            results.append(results_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("CreateAclsResponse", at, pos, error) from None
    return CreateAclsResponse(throttle_time_ms, results), pos


def _write_create_acls_response_v2(w: Append, x: CreateAclsResponse) -> None:
    results = x.results
    count = len(results) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for results_item in results:
        _write_acl_creation_result_v2(w, results_item)
    w(b"\0")
CreateAclsResponse._READERS = {
    1: _read_create_acls_response_v1,
    2: _read_create_acls_response_v2,
    3: _read_create_acls_response_v2,
}
CreateAclsResponse._WRITERS = {
    1: _write_create_acls_response_v1,
    2: _write_create_acls_response_v2,
    3: _write_create_acls_response_v2,
}
