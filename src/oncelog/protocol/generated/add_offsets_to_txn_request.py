# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail

_pack_h = _Struct(">h").pack
_pack_qh = _Struct(">qh").pack
_pack_qhB = _Struct(">qhB").pack
_pack_qhh = _Struct(">qhh").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_qhB = _Struct(">qhB").unpack_from
_unpack_qhh = _Struct(">qhh").unpack_from


class AddOffsetsToTxnRequest(Message):
    API_KEY = 25
    MIN_VERSION = 0
    MAX_VERSION = 4
    FLEXIBLE_FROM = 3
    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "group_id")

    def __init__(
        self,
        transactional_id: str = "",  # 0+
        producer_id: int = 0,  # 0+
        producer_epoch: int = 0,  # 0+
        group_id: str = "",  # 0+
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.group_id = group_id


def _read_add_offsets_to_txn_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AddOffsetsToTxnRequest, int]:
    at = "transactional_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        transactional_id = data[pos:end].decode()
        pos = end
        at = "producer_id"
        producer_id, producer_epoch, count = _unpack_qhh(data, pos)
        pos += 12
        at = "group_id"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        group_id = data[pos:end].decode()
        pos = end
    except READ_ERRORS as error:
        raise malformed("AddOffsetsToTxnRequest", at, pos, error) from None
    return AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id), pos


def _write_add_offsets_to_txn_request_v0(w: Append, x: AddOffsetsToTxnRequest) -> None:
    transactional_id = x.transactional_id
    transactional_id_bytes = transactional_id.encode()
    w(_pack_h(len(transactional_id_bytes)))
    w(transactional_id_bytes)
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    w(_pack_qhh(x.producer_id, x.producer_epoch, len(group_id_bytes)))
    w(group_id_bytes)


def _read_add_offsets_to_txn_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[AddOffsetsToTxnRequest, int]:
    at = "transactional_id"
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
        transactional_id = data[pos:end].decode()
        pos = end
        at = "producer_id"
        producer_id, producer_epoch, count = _unpack_qhB(data, pos)
        pos += 11
        at = "group_id"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        group_id = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("AddOffsetsToTxnRequest", at, pos, error) from None
    return AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id), pos


def _write_add_offsets_to_txn_request_v3(w: Append, x: AddOffsetsToTxnRequest) -> None:
    transactional_id = x.transactional_id
    transactional_id_bytes = transactional_id.encode()
    count = len(transactional_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(transactional_id_bytes)
    group_id = x.group_id
    group_id_bytes = group_id.encode()
    count = len(group_id_bytes) + 1
    w(_pack_qhB(x.producer_id, x.producer_epoch, count) if count < 128 else _pack_qh(x.producer_id, x.producer_epoch) + string_length(count))
    w(group_id_bytes)
    w(b"\0")
AddOffsetsToTxnRequest._READERS = {
    0: _read_add_offsets_to_txn_request_v0,
    1: _read_add_offsets_to_txn_request_v0,
    2: _read_add_offsets_to_txn_request_v0,
    3: _read_add_offsets_to_txn_request_v3,
    4: _read_add_offsets_to_txn_request_v3,
}
AddOffsetsToTxnRequest._WRITERS = {
    0: _write_add_offsets_to_txn_request_v0,
    1: _write_add_offsets_to_txn_request_v0,
    2: _write_add_offsets_to_txn_request_v0,
    3: _write_add_offsets_to_txn_request_v3,
    4: _write_add_offsets_to_txn_request_v3,
}
