# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_T = _Struct(">?").pack
_pack_Tx = _Struct(">?x").pack
_pack_b = _Struct(">b").pack
_pack_bB = _Struct(">bB").pack
_pack_bh = _Struct(">bh").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_T = _Struct(">?").unpack_from
_unpack_TB = _Struct(">?B").unpack_from
_unpack_bB = _Struct(">bB").unpack_from
_unpack_bh = _Struct(">bh").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class AlterableConfig(Struct):
    __slots__ = ("name", "value")

    def __init__(
        self,
        name: str = "",  # 0+
        value: str | None = "",  # 0+
    ) -> None:
        self.name = name
        self.value = value


class AlterConfigsResource(Struct):
    __slots__ = ("resource_type", "resource_name", "configs")

    def __init__(
        self,
        resource_type: int = 0,  # 0+
        resource_name: str = "",  # 0+
        configs: list[AlterableConfig] = EMPTY,  # 0+
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is EMPTY else configs


class AlterConfigsRequest(Message):
    API_KEY = 33
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("resources", "validate_only")

    def __init__(
        self,
        resources: list[AlterConfigsResource] = EMPTY,  # 0+
        validate_only: bool = False,  # 0+
    ) -> None:
        self.resources = [] if resources is EMPTY else resources
        self.validate_only = validate_only


def _read_alterable_config_v0(data: bytes, pos: int, size: int) -> tuple[AlterableConfig, int]:
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
        at = "value"
        count, = _unpack_h(data, pos)
        pos += 2
        value_: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            value_ = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("AlterConfigsRequest.AlterableConfig", at, pos, error) from None
    return AlterableConfig(name, value_), pos


def _write_alterable_config_v0(w: Append, x: AlterableConfig) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    value_ = x.value
    value__bytes = b"" if value_ is None else value_.encode()
    w(_pack_h(-1 if value_ is None else len(value__bytes)))
    w(value__bytes)


def _read_alterable_config_v2(data: bytes, pos: int, size: int) -> tuple[AlterableConfig, int]:
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
        at = "value"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        value_: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            value_ = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterConfigsRequest.AlterableConfig", at, pos, error) from None
    return AlterableConfig(name, value_), pos


def _write_alterable_config_v2(w: Append, x: AlterableConfig) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    value_ = x.value
    if value_ is None:
        w(b"\0")
    else:
        value__bytes = value_.encode()
        count = len(value__bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(value__bytes)
    w(b"\0")


def _read_alter_configs_resource_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterConfigsResource, int]:
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
        at = "configs"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        configs: list[AlterableConfig] = []
        for _ in range(count):
            configs_item, pos = _read_alterable_config_v0(data, pos, size)
            configs.append(configs_item)
    except READ_ERRORS as error:
        raise malformed("AlterConfigsRequest.AlterConfigsResource", at, pos, error) from None
    return AlterConfigsResource(resource_type, resource_name, configs), pos


def _write_alter_configs_resource_v0(w: Append, x: AlterConfigsResource) -> None:
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    w(_pack_bh(x.resource_type, len(resource_name_bytes)))
    w(resource_name_bytes)
    configs = x.configs
    w(_pack_i(len(configs)))
    for configs_item in configs:
        _write_alterable_config_v0(w, configs_item)


def _read_alter_configs_resource_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterConfigsResource, int]:
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
        at = "configs"
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
        configs: list[AlterableConfig] = []
        for _ in range(count):
            configs_item, pos = _read_alterable_config_v2(data, pos, size)
            configs.append(configs_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterConfigsRequest.AlterConfigsResource", at, pos, error) from None
    return AlterConfigsResource(resource_type, resource_name, configs), pos


def _write_alter_configs_resource_v2(w: Append, x: AlterConfigsResource) -> None:
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    count = len(resource_name_bytes) + 1
    w(_pack_bB(x.resource_type, count) if count < 128 else _pack_b(x.resource_type) + string_length(count))
    w(resource_name_bytes)
    configs = x.configs
    count = len(configs) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for configs_item in configs:
        _write_alterable_config_v2(w, configs_item)
    w(b"\0")


def _read_alter_configs_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterConfigsRequest, int]:
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
        resources: list[AlterConfigsResource] = []
        for _ in range(count):
            resources_item, pos = _read_alter_configs_resource_v0(data, pos, size, limit)
            resources.append(resources_item)
        at = "validate_only"
        validate_only, = _unpack_T(data, pos)
        pos += 1
    except READ_ERRORS as error:
        raise malformed("AlterConfigsRequest", at, pos, error) from None
    return AlterConfigsRequest(resources, validate_only), pos


def _write_alter_configs_request_v0(w: Append, x: AlterConfigsRequest) -> None:
    resources = x.resources
    w(_pack_i(len(resources)))
    for resources_item in resources:
        _write_alter_configs_resource_v0(w, resources_item)
    w(_pack_T(x.validate_only))


def _read_alter_configs_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterConfigsRequest, int]:
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
        resources: list[AlterConfigsResource] = []
        for _ in range(count):
            resources_item, pos = _read_alter_configs_resource_v2(data, pos, size, limit)
            resources.append(resources_item)
        at = "validate_only"
        validate_only, tags = _unpack_TB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterConfigsRequest", at, pos, error) from None
    return AlterConfigsRequest(resources, validate_only), pos


def _write_alter_configs_request_v2(w: Append, x: AlterConfigsRequest) -> None:
    resources = x.resources
    count = len(resources) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for resources_item in resources:
        _write_alter_configs_resource_v2(w, resources_item)
    w(_pack_Tx(x.validate_only))
AlterConfigsRequest._READERS = {
    0: _read_alter_configs_request_v0,
    1: _read_alter_configs_request_v0,
    2: _read_alter_configs_request_v2,
}
AlterConfigsRequest._WRITERS = {
    0: _write_alter_configs_request_v0,
    1: _write_alter_configs_request_v0,
    2: _write_alter_configs_request_v2,
}
