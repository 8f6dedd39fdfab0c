# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_T = _Struct(">?").pack
_pack_Tx = _Struct(">?x").pack
_pack_dT = _Struct(">d?").pack
_pack_dTx = _Struct(">d?x").pack
_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_unpack_T = _Struct(">?").unpack_from
_unpack_TB = _Struct(">?B").unpack_from
_unpack_dT = _Struct(">d?").unpack_from
_unpack_dTB = _Struct(">d?B").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from


class EntityData(Struct):
    __slots__ = ("entity_type", "entity_name")

    def __init__(
        self,
        entity_type: str = "",  # 0+
        entity_name: str | None = "",  # 0+
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name


class OpData(Struct):
    __slots__ = ("key", "value", "remove")

    def __init__(
        self,
        key: str = "",  # 0+
        value: float = 0.0,  # 0+
        remove: bool = False,  # 0+
    ) -> None:
        self.key = key
        self.value = value
        self.remove = remove


class EntryData(Struct):
    __slots__ = ("entity", "ops")

    def __init__(
        self,
        entity: list[EntityData] = EMPTY,  # 0+
        ops: list[OpData] = EMPTY,  # 0+
    ) -> None:
        self.entity = [] if entity is EMPTY else entity
        self.ops = [] if ops is EMPTY else ops


class AlterClientQuotasRequest(Message):
    API_KEY = 49
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    __slots__ = ("entries", "validate_only")

    def __init__(
        self,
        entries: list[EntryData] = EMPTY,  # 0+
        validate_only: bool = False,  # 0+
    ) -> None:
        self.entries = [] if entries is EMPTY else entries
        self.validate_only = validate_only


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
        raise malformed("AlterClientQuotasRequest.EntityData", at, pos, error) from None
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


def _read_op_data_v0(data: bytes, pos: int, size: int) -> tuple[OpData, int]:
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
        value_, remove = _unpack_dT(data, pos)
        pos += 9
    except READ_ERRORS as error:
        raise malformed("AlterClientQuotasRequest.OpData", at, pos, error) from None
    return OpData(key, value_, remove), pos


def _write_op_data_v0(w: Append, x: OpData) -> None:
    key = x.key
    key_bytes = key.encode()
    w(_pack_h(len(key_bytes)))
    w(key_bytes)
    w(_pack_dT(x.value, x.remove))


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
        raise malformed("AlterClientQuotasRequest.EntityData", at, pos, error) from None
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


def _read_op_data_v1(data: bytes, pos: int, size: int) -> tuple[OpData, int]:
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
        value_, remove, tags = _unpack_dTB(data, pos)
        pos += 10
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterClientQuotasRequest.OpData", at, pos, error) from None
    return OpData(key, value_, remove), pos


def _write_op_data_v1(w: Append, x: OpData) -> None:
    key = x.key
    key_bytes = key.encode()
    count = len(key_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(key_bytes)
    w(_pack_dTx(x.value, x.remove))


def _read_entry_data_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[EntryData, int]:
    at = "entity"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        entity: list[EntityData] = []
        for _ in range(count):
            entity_item, pos = _read_entity_data_v0(data, pos, size)
            entity.append(entity_item)
        at = "ops"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        ops: list[OpData] = []
        for _ in range(count):
            ops_item, pos = _read_op_data_v0(data, pos, size)
            ops.append(ops_item)
    except READ_ERRORS as error:
        raise malformed("AlterClientQuotasRequest.EntryData", at, pos, error) from None
    return EntryData(entity, ops), pos


def _write_entry_data_v0(w: Append, x: EntryData) -> None:
    entity = x.entity
    w(_pack_i(len(entity)))
    for entity_item in entity:
        _write_entity_data_v0(w, entity_item)
    ops = x.ops
    w(_pack_i(len(ops)))
    for ops_item in ops:
        _write_op_data_v0(w, ops_item)


def _read_entry_data_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[EntryData, int]:
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
        if limit is not None:
            limit.take(count)
        entity: list[EntityData] = []
        for _ in range(count):
            entity_item, pos = _read_entity_data_v1(data, pos, size)
            entity.append(entity_item)
        at = "ops"
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
        ops: list[OpData] = []
        for _ in range(count):
            ops_item, pos = _read_op_data_v1(data, pos, size)
            ops.append(ops_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterClientQuotasRequest.EntryData", at, pos, error) from None
    return EntryData(entity, ops), pos


def _write_entry_data_v1(w: Append, x: EntryData) -> None:
    entity = x.entity
    count = len(entity) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for entity_item in entity:
        _write_entity_data_v1(w, entity_item)
    ops = x.ops
    count = len(ops) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for ops_item in ops:
        _write_op_data_v1(w, ops_item)
    w(b"\0")


def _read_alter_client_quotas_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterClientQuotasRequest, int]:
    at = "entries"
    try:
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        if limit is not None:
            limit.take(count)
        entries: list[EntryData] = []
        for _ in range(count):
            entries_item, pos = _read_entry_data_v0(data, pos, size, limit)
            entries.append(entries_item)
        at = "validate_only"
        validate_only, = _unpack_T(data, pos)
        pos += 1
    except READ_ERRORS as error:
        raise malformed("AlterClientQuotasRequest", at, pos, error) from None
    return AlterClientQuotasRequest(entries, validate_only), pos


def _write_alter_client_quotas_request_v0(w: Append, x: AlterClientQuotasRequest) -> None:
    entries = x.entries
    w(_pack_i(len(entries)))
    for entries_item in entries:
        _write_entry_data_v0(w, entries_item)
    w(_pack_T(x.validate_only))


def _read_alter_client_quotas_request_v1(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AlterClientQuotasRequest, int]:
    at = "entries"
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
        entries: list[EntryData] = []
        for _ in range(count):
            entries_item, pos = _read_entry_data_v1(data, pos, size, limit)
            entries.append(entries_item)
        at = "validate_only"
        validate_only, tags = _unpack_TB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AlterClientQuotasRequest", at, pos, error) from None
    return AlterClientQuotasRequest(entries, validate_only), pos


def _write_alter_client_quotas_request_v1(w: Append, x: AlterClientQuotasRequest) -> None:
    entries = x.entries
    count = len(entries) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for entries_item in entries:
        _write_entry_data_v1(w, entries_item)
    w(_pack_Tx(x.validate_only))
AlterClientQuotasRequest._READERS = {
    0: _read_alter_client_quotas_request_v0,
    1: _read_alter_client_quotas_request_v1,
}
AlterClientQuotasRequest._WRITERS = {
    0: _write_alter_client_quotas_request_v0,
    1: _write_alter_client_quotas_request_v1,
}
