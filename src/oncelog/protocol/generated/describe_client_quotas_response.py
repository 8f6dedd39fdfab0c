# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_d = _Struct(">d").pack
_pack_dx = _Struct(">dx").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_ih = _Struct(">ih").pack
_pack_ihh = _Struct(">ihh").pack
_unpack_d = _Struct(">d").unpack_from
_unpack_dB = _Struct(">dB").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ihh = _Struct(">ihh").unpack_from


class EntityData(Struct):
    __slots__ = ("entity_type", "entity_name")

    def __init__(
        self,
        entity_type: str = "",  # 0+
        entity_name: str | None = "",  # 0+
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name


class ValueData(Struct):
    __slots__ = ("key", "value")

    def __init__(
        self,
        key: str = "",  # 0+
        value: float = 0.0,  # 0+
    ) -> None:
        self.key = key
        self.value = value


class EntryData(Struct):
    __slots__ = ("entity", "values")

    def __init__(
        self,
        entity: list[EntityData] = EMPTY,  # 0+
        values: list[ValueData] = EMPTY,  # 0+
    ) -> None:
        self.entity = [] if entity is EMPTY else entity
        self.values = [] if values is EMPTY else values


class DescribeClientQuotasResponse(Message):
    API_KEY = 48
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "entries")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
        entries: list[EntryData] | None = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries = [] if entries is EMPTY else entries


def _read_entity_data_v0(data: bytes, pos: int, size: int) -> tuple[EntityData, int]:
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
        at = "entity_name"
        count, = _unpack_h(data, pos)
        pos += 2
        entity_name: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            entity_name = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("DescribeClientQuotasResponse.EntityData", at, pos, error) from None
    return EntityData(entity_type, entity_name), pos


def _write_entity_data_v0(w: Append, x: EntityData) -> None:
    entity_type = x.entity_type
    entity_type_bytes = entity_type.encode()
    w(_pack_h(len(entity_type_bytes)))
    w(entity_type_bytes)
    entity_name = x.entity_name
    entity_name_bytes = b"" if entity_name is None else entity_name.encode()
    w(_pack_h(-1 if entity_name is None else len(entity_name_bytes)))
    w(entity_name_bytes)


def _read_value_data_v0(data: bytes, pos: int, size: int) -> tuple[ValueData, int]:
    at = "key"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        key = data[pos:end].decode()
        pos = end
        at = "value"
        value_, = _unpack_d(data, pos)
        pos += 8
    except READ_ERRORS as error:
        raise malformed("DescribeClientQuotasResponse.ValueData", at, pos, error) from None
    return ValueData(key, value_), pos


def _write_value_data_v0(w: Append, x: ValueData) -> None:
    key = x.key
    key_bytes = key.encode()
    w(_pack_h(len(key_bytes)))
    w(key_bytes)
    w(_pack_d(x.value))


def _read_entity_data_v1(data: bytes, pos: int, size: int) -> tuple[EntityData, int]:
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
        at = "entity_name"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        entity_name: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            entity_name = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeClientQuotasResponse.EntityData", at, pos, error) from None
    return EntityData(entity_type, entity_name), pos


def _write_entity_data_v1(w: Append, x: EntityData) -> None:
    entity_type = x.entity_type
    entity_type_bytes = entity_type.encode()
    count = len(entity_type_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(entity_type_bytes)
    entity_name = x.entity_name
    if entity_name is None:
        w(b"\0")
    else:
        entity_name_bytes = entity_name.encode()
        count = len(entity_name_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(entity_name_bytes)
    w(b"\0")


def _read_value_data_v1(data: bytes, pos: int, size: int) -> tuple[ValueData, int]:
    at = "key"
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
        key = data[pos:end].decode()
        pos = end
        at = "value"
        value_, tags = _unpack_dB(data, pos)
        pos += 9
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeClientQuotasResponse.ValueData", at, pos, error) from None
    return ValueData(key, value_), pos


def _write_value_data_v1(w: Append, x: ValueData) -> None:
    key = x.key
    key_bytes = key.encode()
    count = len(key_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(key_bytes)
    w(_pack_dx(x.value))


def _read_entry_data_v0(data: bytes, pos: int, size: int) -> tuple[EntryData, int]:
    at = "entity"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        entity: list[EntityData] = []
        for _ in range(count):
            entity_item, pos = _read_entity_data_v0(data, pos, size)
            entity.append(entity_item)
        at = "values"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        values: list[ValueData] = []
        for _ in range(count):
            values_item, pos = _read_value_data_v0(data, pos, size)
            values.append(values_item)
    except READ_ERRORS as error:
        raise malformed("DescribeClientQuotasResponse.EntryData", at, pos, error) from None
    return EntryData(entity, values), pos


def _write_entry_data_v0(w: Append, x: EntryData) -> None:
    entity = x.entity
    w(_pack_i(len(entity)))
    for entity_item in entity:
        _write_entity_data_v0(w, entity_item)
    values = x.values
    w(_pack_i(len(values)))
    for values_item in values:
        _write_value_data_v0(w, values_item)


def _read_entry_data_v1(data: bytes, pos: int, size: int) -> tuple[EntryData, int]:
    at = "entity"
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
        entity: list[EntityData] = []
        for _ in range(count):
            entity_item, pos = _read_entity_data_v1(data, pos, size)
            entity.append(entity_item)
        at = "values"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        values: list[ValueData] = []
        for _ in range(count):
            values_item, pos = _read_value_data_v1(data, pos, size)
            values.append(values_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeClientQuotasResponse.EntryData", at, pos, error) from None
    return EntryData(entity, values), pos


def _write_entry_data_v1(w: Append, x: EntryData) -> None:
    entity = x.entity
    count = len(entity) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for entity_item in entity:
        _write_entity_data_v1(w, entity_item)
    values = x.values
    count = len(values) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for values_item in values:
        _write_value_data_v1(w, values_item)
    w(b"\0")


def _read_describe_client_quotas_response_v0(data: bytes, pos: int, size: int) -> tuple[DescribeClientQuotasResponse, int]:
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
        at = "entries"
        count, = _unpack_i(data, pos)
        pos += 4
        entries: list[EntryData] | None = None
        if count >= 0:
            if count > size - pos:
                raise overrun(count, size - pos)
            entries = []
            for _ in range(count):
                entries_item, pos = _read_entry_data_v0(data, pos, size)
                entries.append(entries_item)
    except READ_ERRORS as error:
        raise malformed("DescribeClientQuotasResponse", at, pos, error) from None
    return DescribeClientQuotasResponse(throttle_time_ms, error_code, error_message, entries), pos


def _write_describe_client_quotas_response_v0(w: Append, x: DescribeClientQuotasResponse) -> None:
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_ihh(x.throttle_time_ms, x.error_code, -1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)
    entries = x.entries
    w(_pack_i(-1 if entries is None else len(entries)))
    if entries is not None:
        for entries_item in entries:
            _write_entry_data_v0(w, entries_item)


def _read_describe_client_quotas_response_v1(data: bytes, pos: int, size: int) -> tuple[DescribeClientQuotasResponse, int]:
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
        at = "entries"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        entries: list[EntryData] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            entries = []
            for _ in range(count):
                entries_item, pos = _read_entry_data_v1(data, pos, size)
                entries.append(entries_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeClientQuotasResponse", at, pos, error) from None
    return DescribeClientQuotasResponse(throttle_time_ms, error_code, error_message, entries), pos


def _write_describe_client_quotas_response_v1(w: Append, x: DescribeClientQuotasResponse) -> None:
    error_message = x.error_message
    w(_pack_ih(x.throttle_time_ms, x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    entries = x.entries
    if entries is None:
        w(b"\0")
    else:
        count = len(entries) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for entries_item in entries:
            _write_entry_data_v1(w, entries_item)
    w(b"\0")
DescribeClientQuotasResponse._READERS = {
    0: _read_describe_client_quotas_response_v0,
    1: _read_describe_client_quotas_response_v1,
}
DescribeClientQuotasResponse._WRITERS = {
    0: _write_describe_client_quotas_response_v0,
    1: _write_describe_client_quotas_response_v1,
}
