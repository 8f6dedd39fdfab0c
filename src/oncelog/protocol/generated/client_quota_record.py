# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_dTx = _Struct(">d?x").pack
_unpack_dTB = _Struct(">d?B").unpack_from


class EntityData(Struct):
    __slots__ = ("entity_type", "entity_name")

    def __init__(
        self,
        entity_type: str = "",  # 0+
        entity_name: str | None = "",  # 0+
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name


class ClientQuotaRecord(Message):
    API_KEY = 14
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("entity", "key", "value", "remove")

    def __init__(
        self,
        entity: list[EntityData] = EMPTY,  # 0+
        key: str = "",  # 0+
        value: float = 0.0,  # 0+
        remove: bool = False,  # 0+
    ) -> None:
        self.entity = [] if entity is EMPTY else entity
        self.key = key
        self.value = value
        self.remove = remove


def _read_entity_data_v0(data: bytes, pos: int, size: int) -> tuple[EntityData, int]:
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
        raise malformed("ClientQuotaRecord.EntityData", at, pos, error) from None
    return EntityData(entity_type, entity_name), pos


def _write_entity_data_v0(w: Append, x: EntityData) -> None:
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


def _read_client_quota_record_v0(data: bytes, pos: int, size: int) -> tuple[ClientQuotaRecord, int]:
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
            entity_item, pos = _read_entity_data_v0(data, pos, size)
            entity.append(entity_item)
        at = "key"
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
        raise malformed("ClientQuotaRecord", at, pos, error) from None
    return ClientQuotaRecord(entity, key, value_, remove), pos


def _write_client_quota_record_v0(w: Append, x: ClientQuotaRecord) -> None:
    entity = x.entity
    count = len(entity) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for entity_item in entity:
        _write_entity_data_v0(w, entity_item)
    key = x.key
    key_bytes = key.encode()
    count = len(key_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(key_bytes)
    w(_pack_dTx(x.value, x.remove))
ClientQuotaRecord._READERS = {
    0: _read_client_quota_record_v0,
}
ClientQuotaRecord._WRITERS = {
    0: _write_client_quota_record_v0,
}
