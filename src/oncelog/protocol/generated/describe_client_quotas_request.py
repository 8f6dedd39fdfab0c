# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_T = _Struct(">?").pack
_pack_Tx = _Struct(">?x").pack
_pack_b = _Struct(">b").pack
_pack_bh = _Struct(">bh").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_T = _Struct(">?").unpack_from
_unpack_TB = _Struct(">?B").unpack_from
_unpack_bB = _Struct(">bB").unpack_from
_unpack_bh = _Struct(">bh").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class ComponentData(Struct):
    __slots__ = ("entity_type", "match_type", "match")

    def __init__(
        self,
        entity_type: str = "",  # 0+
        match_type: int = 0,  # 0+
        match: str | None = "",  # 0+
    ) -> None:
        self.entity_type = entity_type
        self.match_type = match_type
        self.match = match


class DescribeClientQuotasRequest(Message):
    API_KEY = 48
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    __slots__ = ("components", "strict")

    def __init__(
        self,
        components: list[ComponentData] = EMPTY,  # 0+
        strict: bool = False,  # 0+
    ) -> None:
        self.components = [] if components is EMPTY else components
        self.strict = strict


def _read_component_data_v0(data: bytes, pos: int, size: int) -> tuple[ComponentData, int]:
    at = "entity_type"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        entity_type = data[pos:end].decode()
        pos = end
        at = "match_type"
        match_type, count = _unpack_bh(data, pos)
        pos += 3
        at = "match"
        match: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            match = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("DescribeClientQuotasRequest.ComponentData", at, pos, error) from None
    return ComponentData(entity_type, match_type, match), pos


def _write_component_data_v0(w: Append, x: ComponentData) -> None:
    entity_type = x.entity_type
    entity_type_bytes = entity_type.encode()
    w(_pack_h(len(entity_type_bytes)))
    w(entity_type_bytes)
    match = x.match
    match_bytes = b"" if match is None else match.encode()
    w(_pack_bh(x.match_type, -1 if match is None else len(match_bytes)))
    w(match_bytes)


def _read_component_data_v1(data: bytes, pos: int, size: int) -> tuple[ComponentData, int]:
    at = "entity_type"
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
        entity_type = data[pos:end].decode()
        pos = end
        at = "match_type"
        match_type, count = _unpack_bB(data, pos)
        pos += 2
        at = "match"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        match: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            match = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeClientQuotasRequest.ComponentData", at, pos, error) from None
    return ComponentData(entity_type, match_type, match), pos


def _write_component_data_v1(w: Append, x: ComponentData) -> None:
    entity_type = x.entity_type
    entity_type_bytes = entity_type.encode()
    count = len(entity_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(entity_type_bytes)
    match = x.match
    w(_pack_b(x.match_type))
    if match is None:
        w(b"\0")
    else:
        match_bytes = match.encode()
        count = len(match_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(match_bytes)
    w(b"\0")


def _read_describe_client_quotas_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeClientQuotasRequest, int]:
    at = "components"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        components: list[ComponentData] = []
        for _ in range(count):
            components_item, pos = _read_component_data_v0(data, pos, size)
            components.append(components_item)
        at = "strict"
        strict, = _unpack_T(data, pos)
        pos += 1
    except READ_ERRORS as error:
        raise malformed("DescribeClientQuotasRequest", at, pos, error) from None
    return DescribeClientQuotasRequest(components, strict), pos


def _write_describe_client_quotas_request_v0(w: Append, x: DescribeClientQuotasRequest) -> None:
    components = x.components
    w(_pack_i(len(components)))
    for components_item in components:
        _write_component_data_v0(w, components_item)
    w(_pack_T(x.strict))


def _read_describe_client_quotas_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeClientQuotasRequest, int]:
    at = "components"
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
        components: list[ComponentData] = []
        for _ in range(count):
            components_item, pos = _read_component_data_v1(data, pos, size)
            components.append(components_item)
        at = "strict"
        strict, tags = _unpack_TB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeClientQuotasRequest", at, pos, error) from None
    return DescribeClientQuotasRequest(components, strict), pos


def _write_describe_client_quotas_request_v1(w: Append, x: DescribeClientQuotasRequest) -> None:
    components = x.components
    count = len(components) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for components_item in components:
        _write_component_data_v1(w, components_item)
    w(_pack_Tx(x.strict))
DescribeClientQuotasRequest._READERS = {
    0: _read_describe_client_quotas_request_v0,
    1: _read_describe_client_quotas_request_v1,
}
DescribeClientQuotasRequest._WRITERS = {
    0: _write_describe_client_quotas_request_v0,
    1: _write_describe_client_quotas_request_v1,
}
