# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_h = _Struct(">h").pack
_pack_hh = _Struct(">hh").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ii = _Struct(">ii").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hh = _Struct(">hh").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class EntityData(Struct):
    __slots__ = ("entity_type", "entity_name")

    def __init__(
        self,
        entity_type: str = "",  # 0+
        entity_name: str | None = "",  # 0+
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name


class EntryData(Struct):
    __slots__ = ("error_code", "error_message", "entity")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
        entity: list[EntityData] = EMPTY,  # 0+
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.entity = [] if entity is EMPTY else entity


class AlterClientQuotasResponse(Message):
    API_KEY = 49
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    __slots__ = ("throttle_time_ms", "entries")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        entries: list[EntryData] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
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
        raise malformed("AlterClientQuotasResponse.EntityData", at, pos, error) from None
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
        raise malformed("AlterClientQuotasResponse.EntityData", at, pos, error) from None
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


def _read_entry_data_v0(data: bytes, pos: int, size: int) -> tuple[EntryData, int]:
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
        at = "entity"
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
    except READ_ERRORS as error:
        raise malformed("AlterClientQuotasResponse.EntryData", at, pos, error) from None
    return EntryData(error_code, error_message, entity), pos


def _write_entry_data_v0(w: Append, x: EntryData) -> None:
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_hh(x.error_code, -1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)
    entity = x.entity
    w(_pack_i(len(entity)))
    for entity_item in entity:
        _write_entity_data_v0(w, entity_item)


def _read_entry_data_v1(data: bytes, pos: int, size: int) -> tuple[EntryData, int]:
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
        at = "entity"
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
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterClientQuotasResponse.EntryData", at, pos, error) from None
    return EntryData(error_code, error_message, entity), pos


def _write_entry_data_v1(w: Append, x: EntryData) -> None:
    error_message = x.error_message
    w(_pack_h(x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    entity = x.entity
    count = len(entity) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for entity_item in entity:
        _write_entity_data_v1(w, entity_item)
    w(b"\0")


def _read_alter_client_quotas_response_v0(data: bytes, pos: int, size: int) -> tuple[AlterClientQuotasResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "entries"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        entries: list[EntryData] = []
        for _ in range(count):
            entries_item, pos = _read_entry_data_v0(data, pos, size)
            entries.append(entries_item)
    except READ_ERRORS as error:
        raise malformed("AlterClientQuotasResponse", at, pos, error) from None
    return AlterClientQuotasResponse(throttle_time_ms, entries), pos


def _write_alter_client_quotas_response_v0(w: Append, x: AlterClientQuotasResponse) -> None:
    entries = x.entries
    w(_pack_ii(x.throttle_time_ms, len(entries)))
    for entries_item in entries:
        _write_entry_data_v0(w, entries_item)


def _read_alter_client_quotas_response_v1(data: bytes, pos: int, size: int) -> tuple[AlterClientQuotasResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "entries"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        entries: list[EntryData] = []
        for _ in range(count):
            entries_item, pos = _read_entry_data_v1(data, pos, size)
            entries.append(entries_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterClientQuotasResponse", at, pos, error) from None
    return AlterClientQuotasResponse(throttle_time_ms, entries), pos


def _write_alter_client_quotas_response_v1(w: Append, x: AlterClientQuotasResponse) -> None:
    entries = x.entries
    count = len(entries) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for entries_item in entries:
        _write_entry_data_v1(w, entries_item)
    w(b"\0")
AlterClientQuotasResponse._READERS = {
    0: _read_alter_client_quotas_response_v0,
    1: _read_alter_client_quotas_response_v1,
}
AlterClientQuotasResponse._WRITERS = {
    0: _write_alter_client_quotas_response_v0,
    1: _write_alter_client_quotas_response_v1,
}
