# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, unsupported_field, uvarint, uvarint_tail

_pack_T = _Struct(">?").pack
_pack_TT = _Struct(">??").pack
_pack_TTx = _Struct(">??x").pack
_pack_b = _Struct(">b").pack
_pack_bB = _Struct(">bB").pack
_pack_bh = _Struct(">bh").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_T = _Struct(">?").unpack_from
_unpack_TT = _Struct(">??").unpack_from
_unpack_TTB = _Struct(">??B").unpack_from
_unpack_bB = _Struct(">bB").unpack_from
_unpack_bh = _Struct(">bh").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class DescribeConfigsResource(Struct):
    __slots__ = ("resource_type", "resource_name", "configuration_keys")

    def __init__(
        self,
        resource_type: int = 0,  # 0+
        resource_name: str = "",  # 0+
        configuration_keys: list[str] | None = EMPTY,  # 0+
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys = [] if configuration_keys is EMPTY else configuration_keys


class DescribeConfigsRequest(Message):
    API_KEY = 32
    MIN_VERSION = 1
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    __slots__ = ("resources", "include_synonyms", "include_documentation")

    def __init__(
        self,
        resources: list[DescribeConfigsResource] = EMPTY,  # 0+
        include_synonyms: bool = False,  # 1+
        include_documentation: bool = False,  # 3+
    ) -> None:
        self.resources = [] if resources is EMPTY else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation


def _read_describe_configs_resource_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeConfigsResource, int]:
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
        at = "configuration_keys"
        count, = _unpack_i(data, pos)
        pos += 4
        configuration_keys: list[str] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            configuration_keys = []
            for _ in range(count):
                count, = _unpack_h(data, pos)
                pos += 2
                if count < 0:
                    raise null_value(count)
                end = pos + count
                if end > size:
                    raise overrun(count, size - pos)
                configuration_keys_item = data[pos:end].decode()
                pos = end
                configuration_keys.append(configuration_keys_item)
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsRequest.DescribeConfigsResource", at, pos, error) from None
    return DescribeConfigsResource(resource_type, resource_name, configuration_keys), pos


def _write_describe_configs_resource_v1(w: Append, x: DescribeConfigsResource) -> None:
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    w(_pack_bh(x.resource_type, len(resource_name_bytes)))
    w(resource_name_bytes)
    configuration_keys = x.configuration_keys
    w(_pack_i(-1 if configuration_keys is None else len(configuration_keys)))
    if configuration_keys is not None:
        for configuration_keys_item in configuration_keys:
            configuration_keys_item_bytes = configuration_keys_item.encode()
            w(_pack_h(len(configuration_keys_item_bytes)))
            w(configuration_keys_item_bytes)


def _read_describe_configs_resource_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeConfigsResource, int]:
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
        at = "configuration_keys"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        configuration_keys: list[str] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            configuration_keys = []
            for _ in range(count):
                count = data[pos]
                pos += 1
                if count > 127:
                    count, pos = string_length_tail(data, pos, count)
                if not count:
                    raise null_value(count)
                end = pos + count - 1
                if end > size:
                    raise overrun(count - 1, size - pos)
                configuration_keys_item = data[pos:end].decode()
                pos = end
                configuration_keys.append(configuration_keys_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsRequest.DescribeConfigsResource", at, pos, error) from None
    return DescribeConfigsResource(resource_type, resource_name, configuration_keys), pos


def _write_describe_configs_resource_v4(w: Append, x: DescribeConfigsResource) -> None:
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    count = len(resource_name_bytes) + 1
    w(_pack_bB(x.resource_type, count) if count < 128 else _pack_b(x.resource_type) + string_length(count))
    w(resource_name_bytes)
    configuration_keys = x.configuration_keys
    if configuration_keys is None:
        w(b"\0")
    else:
        count = len(configuration_keys) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for configuration_keys_item in configuration_keys:
            configuration_keys_item_bytes = configuration_keys_item.encode()
            count = len(configuration_keys_item_bytes) + 1
            w(VARINT[count] if count < 128 else string_length(count))
            w(configuration_keys_item_bytes)
    w(b"\0")


def _read_describe_configs_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeConfigsRequest, int]:
    at = "resources"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        resources: list[DescribeConfigsResource] = []
        for _ in range(count):
            resources_item, pos = _read_describe_configs_resource_v1(data, pos, size, limit)
            resources.append(resources_item)
        at = "include_synonyms"
        include_synonyms, = _unpack_T(data, pos)
        pos += 1
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsRequest", at, pos, error) from None
    return DescribeConfigsRequest(resources, include_synonyms, False), pos


def _write_describe_configs_request_v1(w: Append, x: DescribeConfigsRequest) -> None:
    if x.include_documentation:
        raise unsupported_field("DescribeConfigsRequest", "include_documentation", "1-2")
    resources = x.resources
    w(_pack_i(len(resources)))
    for resources_item in resources:
        _write_describe_configs_resource_v1(w, resources_item)
    w(_pack_T(x.include_synonyms))


def _read_describe_configs_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeConfigsRequest, int]:
    at = "resources"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        resources: list[DescribeConfigsResource] = []
        for _ in range(count):
            resources_item, pos = _read_describe_configs_resource_v1(data, pos, size, limit)
            resources.append(resources_item)
        at = "include_synonyms"
        include_synonyms, include_documentation = _unpack_TT(data, pos)
        pos += 2
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsRequest", at, pos, error) from None
    return DescribeConfigsRequest(resources, include_synonyms, include_documentation), pos


def _write_describe_configs_request_v3(w: Append, x: DescribeConfigsRequest) -> None:
    resources = x.resources
    w(_pack_i(len(resources)))
    for resources_item in resources:
        _write_describe_configs_resource_v1(w, resources_item)
    w(_pack_TT(x.include_synonyms, x.include_documentation))


def _read_describe_configs_request_v4(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeConfigsRequest, int]:
    at = "resources"
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
        resources: list[DescribeConfigsResource] = []
        for _ in range(count):
            resources_item, pos = _read_describe_configs_resource_v4(data, pos, size, limit)
            resources.append(resources_item)
        at = "include_synonyms"
        include_synonyms, include_documentation, tags = _unpack_TTB(data, pos)
        pos += 3
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsRequest", at, pos, error) from None
    return DescribeConfigsRequest(resources, include_synonyms, include_documentation), pos


def _write_describe_configs_request_v4(w: Append, x: DescribeConfigsRequest) -> None:
    resources = x.resources
    count = len(resources) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for resources_item in resources:
        _write_describe_configs_resource_v4(w, resources_item)
    w(_pack_TTx(x.include_synonyms, x.include_documentation))
DescribeConfigsRequest._READERS = {
    1: _read_describe_configs_request_v1,
    2: _read_describe_configs_request_v1,
    3: _read_describe_configs_request_v3,
    4: _read_describe_configs_request_v4,
}
DescribeConfigsRequest._WRITERS = {
    1: _write_describe_configs_request_v1,
    2: _write_describe_configs_request_v1,
    3: _write_describe_configs_request_v3,
    4: _write_describe_configs_request_v4,
}
