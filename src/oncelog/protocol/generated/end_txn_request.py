# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, null_value, overrun, skip_tags, string_length, string_length_tail

_pack_h = _Struct(">h").pack
_pack_qhT = _Struct(">qh?").pack
_pack_qhTx = _Struct(">qh?x").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_qhT = _Struct(">qh?").unpack_from
_unpack_qhTB = _Struct(">qh?B").unpack_from


class EndTxnRequest(Message):
    API_KEY = 26
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "committed")

    def __init__(
        self,
        transactional_id: str = "",  # 0+
        producer_id: int = 0,  # 0+
        producer_epoch: int = 0,  # 0+
        committed: bool = False,  # 0+
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed


def _read_end_txn_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[EndTxnRequest, int]:
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
        producer_id, producer_epoch, committed = _unpack_qhT(data, pos)
        pos += 11
    except READ_ERRORS as error:
        raise malformed("EndTxnRequest", at, pos, error) from None
    return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed), pos


def _write_end_txn_request_v0(w: Append, x: EndTxnRequest) -> None:
    transactional_id = x.transactional_id
    transactional_id_bytes = transactional_id.encode()
    w(_pack_h(len(transactional_id_bytes)))
    w(transactional_id_bytes)
    w(_pack_qhT(x.producer_id, x.producer_epoch, x.committed))


def _read_end_txn_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[EndTxnRequest, int]:
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
        producer_id, producer_epoch, committed, tags = _unpack_qhTB(data, pos)
        pos += 12
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("EndTxnRequest", at, pos, error) from None
    return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed), pos


def _write_end_txn_request_v3(w: Append, x: EndTxnRequest) -> None:
    transactional_id = x.transactional_id
    transactional_id_bytes = transactional_id.encode()
    count = len(transactional_id_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(transactional_id_bytes)
    w(_pack_qhTx(x.producer_id, x.producer_epoch, x.committed))
EndTxnRequest._READERS = {
    0: _read_end_txn_request_v0,
    1: _read_end_txn_request_v0,
    2: _read_end_txn_request_v0,
    3: _read_end_txn_request_v3,
    4: _read_end_txn_request_v3,
    5: _read_end_txn_request_v3,
}
EndTxnRequest._WRITERS = {
    0: _write_end_txn_request_v0,
    1: _write_end_txn_request_v0,
    2: _write_end_txn_request_v0,
    3: _write_end_txn_request_v3,
    4: _write_end_txn_request_v3,
    5: _write_end_txn_request_v3,
}
