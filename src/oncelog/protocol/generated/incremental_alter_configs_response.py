# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_b = _Struct(">b").pack
_pack_bB = _Struct(">bB").pack
_pack_bh = _Struct(">bh").pack
_pack_h = _Struct(">h").pack
_pack_hh = _Struct(">hh").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ii = _Struct(">ii").pack
_unpack_bB = _Struct(">bB").unpack_from
_unpack_bh = _Struct(">bh").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hh = _Struct(">hh").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class AlterConfigsResourceResponse(Struct):
    __slots__ = ("error_code", "error_message", "resource_type", "resource_name")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
        resource_type: int = 0,  # 0+
        resource_name: str = "",  # 0+
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name


class IncrementalAlterConfigsResponse(Message):
    API_KEY = 44
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    __slots__ = ("throttle_time_ms", "responses")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        responses: list[AlterConfigsResourceResponse] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is EMPTY else responses


def _read_alter_configs_resource_response_v0(data: bytes, pos: int, size: int) -> tuple[AlterConfigsResourceResponse, int]:
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
    except READ_ERRORS as error:
        raise malformed("IncrementalAlterConfigsResponse.AlterConfigsResourceResponse", at, pos, error) from None
    return AlterConfigsResourceResponse(error_code, error_message, resource_type, resource_name), pos


def _write_alter_configs_resource_response_v0(w: Append, x: AlterConfigsResourceResponse) -> None:
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_hh(x.error_code, -1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    w(_pack_bh(x.resource_type, len(resource_name_bytes)))
    w(resource_name_bytes)


def _read_alter_configs_resource_response_v1(data: bytes, pos: int, size: int) -> tuple[AlterConfigsResourceResponse, int]:
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
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("IncrementalAlterConfigsResponse.AlterConfigsResourceResponse", at, pos, error) from None
    return AlterConfigsResourceResponse(error_code, error_message, resource_type, resource_name), pos


def _write_alter_configs_resource_response_v1(w: Append, x: AlterConfigsResourceResponse) -> None:
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
    w(b"\0")


def _read_incremental_alter_configs_response_v0(data: bytes, pos: int, size: int) -> tuple[IncrementalAlterConfigsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "responses"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[AlterConfigsResourceResponse] = []
        for _ in range(count):
            responses_item, pos = _read_alter_configs_resource_response_v0(data, pos, size)
            responses.append(responses_item)
    except READ_ERRORS as error:
        raise malformed("IncrementalAlterConfigsResponse", at, pos, error) from None
    return IncrementalAlterConfigsResponse(throttle_time_ms, responses), pos


def _write_incremental_alter_configs_response_v0(w: Append, x: IncrementalAlterConfigsResponse) -> None:
    responses = x.responses
    w(_pack_ii(x.throttle_time_ms, len(responses)))
    for responses_item in responses:
        _write_alter_configs_resource_response_v0(w, responses_item)


def _read_incremental_alter_configs_response_v1(data: bytes, pos: int, size: int) -> tuple[IncrementalAlterConfigsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "responses"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        responses: list[AlterConfigsResourceResponse] = []
        for _ in range(count):
            responses_item, pos = _read_alter_configs_resource_response_v1(data, pos, size)
            responses.append(responses_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("IncrementalAlterConfigsResponse", at, pos, error) from None
    return IncrementalAlterConfigsResponse(throttle_time_ms, responses), pos


def _write_incremental_alter_configs_response_v1(w: Append, x: IncrementalAlterConfigsResponse) -> None:
    responses = x.responses
    count = len(responses) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for responses_item in responses:
        _write_alter_configs_resource_response_v1(w, responses_item)
    w(b"\0")
IncrementalAlterConfigsResponse._READERS = {
    0: _read_incremental_alter_configs_response_v0,
    1: _read_incremental_alter_configs_response_v1,
}
IncrementalAlterConfigsResponse._WRITERS = {
    0: _write_incremental_alter_configs_response_v0,
    1: _write_incremental_alter_configs_response_v1,
}
