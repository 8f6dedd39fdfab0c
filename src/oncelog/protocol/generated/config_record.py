# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail

_pack_b = _Struct(">b").pack
_pack_bB = _Struct(">bB").pack
_unpack_bB = _Struct(">bB").unpack_from


class ConfigRecord(Message):
    API_KEY = 4
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("resource_type", "resource_name", "name", "value")

    def __init__(
        self,
        resource_type: int = 0,  # 0+
        resource_name: str = "",  # 0+
        name: str = "",  # 0+
        value: str | None = "",  # 0+
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.name = name
        self.value = value


def _read_config_record_v0(data: bytes, pos: int, size: int) -> tuple[ConfigRecord, int]:
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
        at = "name"
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
        raise malformed("ConfigRecord", at, pos, error) from None
    return ConfigRecord(resource_type, resource_name, name, value_), pos


def _write_config_record_v0(w: Append, x: ConfigRecord) -> None:
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    count = len(resource_name_bytes) + 1
    w(_pack_bB(x.resource_type, count) if count < 128 else _pack_b(x.resource_type) + string_length(count))
    w(resource_name_bytes)
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
ConfigRecord._READERS = {
    0: _read_config_record_v0,
}
ConfigRecord._WRITERS = {
    0: _write_config_record_v0,
}
