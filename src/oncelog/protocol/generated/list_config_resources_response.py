# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_bx = _Struct(">bx").pack
_pack_ih = _Struct(">ih").pack
_pack_ihB = _Struct(">ihB").pack
_unpack_bB = _Struct(">bB").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from


class ConfigResource(Struct):
    __slots__ = ("resource_name", "resource_type")

    def __init__(
        self,
        resource_name: str = "",  # 0+
        resource_type: int = 16,  # 1+, ignorable
    ) -> None:
        self.resource_name = resource_name
        self.resource_type = resource_type


class ListConfigResourcesResponse(Message):
    API_KEY = 74
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("throttle_time_ms", "error_code", "config_resources")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        config_resources: list[ConfigResource] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.config_resources = [] if config_resources is EMPTY else config_resources


def _read_config_resource_v0(data: bytes, pos: int, size: int) -> tuple[ConfigResource, int]:
    at = "resource_name"
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
        resource_name = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListConfigResourcesResponse.ConfigResource", at, pos, error) from None
    return ConfigResource(resource_name, 16), pos


def _write_config_resource_v0(w: Append, x: ConfigResource) -> None:
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    count = len(resource_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(resource_name_bytes)
    w(b"\0")


def _read_config_resource_v1(data: bytes, pos: int, size: int) -> tuple[ConfigResource, int]:
    at = "resource_name"
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
        resource_name = data[pos:end].decode()
        pos = end
        at = "resource_type"
        resource_type, tags = _unpack_bB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListConfigResourcesResponse.ConfigResource", at, pos, error) from None
    return ConfigResource(resource_name, resource_type), pos


def _write_config_resource_v1(w: Append, x: ConfigResource) -> None:
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    count = len(resource_name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(resource_name_bytes)
    w(_pack_bx(x.resource_type))


def _read_list_config_resources_response_v0(data: bytes, pos: int, size: int) -> tuple[ListConfigResourcesResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "config_resources"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        config_resources: list[ConfigResource] = []
        for _ in range(count):
            config_resources_item, pos = _read_config_resource_v0(data, pos, size)
            config_resources.append(config_resources_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListConfigResourcesResponse", at, pos, error) from None
    return ListConfigResourcesResponse(throttle_time_ms, error_code, config_resources), pos


def _write_list_config_resources_response_v0(w: Append, x: ListConfigResourcesResponse) -> None:
    config_resources = x.config_resources
    count = len(config_resources) + 1
    w(_pack_ihB(x.throttle_time_ms, x.error_code, count) if count < 128 else _pack_ih(x.throttle_time_ms, x.error_code) + uvarint(count))
    for config_resources_item in config_resources:
        _write_config_resource_v0(w, config_resources_item)
    w(b"\0")


def _read_list_config_resources_response_v1(data: bytes, pos: int, size: int) -> tuple[ListConfigResourcesResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, count = _unpack_ihB(data, pos)
        pos += 7
        at = "config_resources"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        config_resources: list[ConfigResource] = []
        for _ in range(count):
            config_resources_item, pos = _read_config_resource_v1(data, pos, size)
            config_resources.append(config_resources_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ListConfigResourcesResponse", at, pos, error) from None
    return ListConfigResourcesResponse(throttle_time_ms, error_code, config_resources), pos


def _write_list_config_resources_response_v1(w: Append, x: ListConfigResourcesResponse) -> None:
    config_resources = x.config_resources
    count = len(config_resources) + 1
    w(_pack_ihB(x.throttle_time_ms, x.error_code, count) if count < 128 else _pack_ih(x.throttle_time_ms, x.error_code) + uvarint(count))
    for config_resources_item in config_resources:
        _write_config_resource_v1(w, config_resources_item)
    w(b"\0")
ListConfigResourcesResponse._READERS = {
    0: _read_list_config_resources_response_v0,
    1: _read_list_config_resources_response_v1,
}
ListConfigResourcesResponse._WRITERS = {
    0: _write_list_config_resources_response_v0,
    1: _write_list_config_resources_response_v1,
}
