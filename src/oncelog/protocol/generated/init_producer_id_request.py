# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, VARINT, Append, ElementLimit, Message, malformed, overrun, skip_tags, string_length, string_length_tail, unsupported_field

_pack_h = _Struct(">h").pack
_pack_i = _Struct(">i").pack
_pack_iqhTTx = _Struct(">iqh??x").pack
_pack_iqhx = _Struct(">iqhx").pack
_pack_ix = _Struct(">ix").pack
_unpack_h = _Struct(">h").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_iqhB = _Struct(">iqhB").unpack_from
_unpack_iqhTTB = _Struct(">iqh??B").unpack_from


class InitProducerIdRequest(Message):
    API_KEY = 22
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 2
    LATEST_VERSION_UNSTABLE = True
    __slots__ = ("transactional_id", "transaction_timeout_ms", "producer_id", "producer_epoch", "enable_2pc", "keep_prepared_txn")

    def __init__(
        self,
        transactional_id: str | None = "",  # 0+
        transaction_timeout_ms: int = 0,  # 0+
        producer_id: int = -1,  # 3+
        producer_epoch: int = -1,  # 3+
        enable_2pc: bool = False,  # 6+
        keep_prepared_txn: bool = False,  # 6+
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.enable_2pc = enable_2pc
        self.keep_prepared_txn = keep_prepared_txn


def _read_init_producer_id_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[InitProducerIdRequest, int]:
    at = "transactional_id"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        transactional_id: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            transactional_id = data[pos:end].decode()
            pos = end
        at = "transaction_timeout_ms"
        transaction_timeout_ms, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("InitProducerIdRequest", at, pos, error) from None
    return InitProducerIdRequest(transactional_id, transaction_timeout_ms, -1, -1, False, False), pos


def _write_init_producer_id_request_v0(w: Append, x: InitProducerIdRequest) -> None:
    if x.producer_id != -1:
        raise unsupported_field("InitProducerIdRequest", "producer_id", "0-1")
    if x.producer_epoch != -1:
        raise unsupported_field("InitProducerIdRequest", "producer_epoch", "0-1")
    if x.enable_2pc:
        raise unsupported_field("InitProducerIdRequest", "enable_2pc", "0-1")
    if x.keep_prepared_txn:
        raise unsupported_field("InitProducerIdRequest", "keep_prepared_txn", "0-1")
    transactional_id = x.transactional_id
    transactional_id_bytes = b"" if transactional_id is None else transactional_id.encode()
    w(_pack_h(-1 if transactional_id is None else len(transactional_id_bytes)))
    w(transactional_id_bytes)
    w(_pack_i(x.transaction_timeout_ms))


def _read_init_producer_id_request_v2(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[InitProducerIdRequest, int]:
    at = "transactional_id"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        transactional_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            transactional_id = data[pos:end].decode()
            pos = end
        at = "transaction_timeout_ms"
        transaction_timeout_ms, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("InitProducerIdRequest", at, pos, error) from None
    return InitProducerIdRequest(transactional_id, transaction_timeout_ms, -1, -1, False, False), pos


def _write_init_producer_id_request_v2(w: Append, x: InitProducerIdRequest) -> None:
    if x.producer_id != -1:
        raise unsupported_field("InitProducerIdRequest", "producer_id", "2")
    if x.producer_epoch != -1:
        raise unsupported_field("InitProducerIdRequest", "producer_epoch", "2")
    if x.enable_2pc:
        raise unsupported_field("InitProducerIdRequest", "enable_2pc", "2")
    if x.keep_prepared_txn:
        raise unsupported_field("InitProducerIdRequest", "keep_prepared_txn", "2")
    transactional_id = x.transactional_id
    if transactional_id is None:
        w(b"\0")
    else:
        transactional_id_bytes = transactional_id.encode()
        count = len(transactional_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(transactional_id_bytes)
    w(_pack_ix(x.transaction_timeout_ms))


def _read_init_producer_id_request_v3(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[InitProducerIdRequest, int]:
    at = "transactional_id"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        transactional_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            transactional_id = data[pos:end].decode()
            pos = end
        at = "transaction_timeout_ms"
        transaction_timeout_ms, producer_id, producer_epoch, tags = _unpack_iqhB(data, pos)
        pos += 15
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("InitProducerIdRequest", at, pos, error) from None
    return InitProducerIdRequest(transactional_id, transaction_timeout_ms, producer_id, producer_epoch, False, False), pos


def _write_init_producer_id_request_v3(w: Append, x: InitProducerIdRequest) -> None:
    if x.enable_2pc:
        raise unsupported_field("InitProducerIdRequest", "enable_2pc", "3-5")
    if x.keep_prepared_txn:
        raise unsupported_field("InitProducerIdRequest", "keep_prepared_txn", "3-5")
    transactional_id = x.transactional_id
    if transactional_id is None:
        w(b"\0")
    else:
        transactional_id_bytes = transactional_id.encode()
        count = len(transactional_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(transactional_id_bytes)
    w(_pack_iqhx(x.transaction_timeout_ms, x.producer_id, x.producer_epoch))


def _read_init_producer_id_request_v6(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[InitProducerIdRequest, int]:
    at = "transactional_id"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        transactional_id: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            transactional_id = data[pos:end].decode()
            pos = end
        at = "transaction_timeout_ms"
        transaction_timeout_ms, producer_id, producer_epoch, enable_2pc, keep_prepared_txn, tags = _unpack_iqhTTB(data, pos)
        pos += 17
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("InitProducerIdRequest", at, pos, error) from None
    return InitProducerIdRequest(transactional_id, transaction_timeout_ms, producer_id, producer_epoch, enable_2pc, keep_prepared_txn), pos


def _write_init_producer_id_request_v6(w: Append, x: InitProducerIdRequest) -> None:
    transactional_id = x.transactional_id
    if transactional_id is None:
        w(b"\0")
    else:
        transactional_id_bytes = transactional_id.encode()
        count = len(transactional_id_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(transactional_id_bytes)
    w(_pack_iqhTTx(x.transaction_timeout_ms, x.producer_id, x.producer_epoch, x.enable_2pc, x.keep_prepared_txn))
InitProducerIdRequest._READERS = {
    0: _read_init_producer_id_request_v0,
    1: _read_init_producer_id_request_v0,
    2: _read_init_producer_id_request_v2,
    3: _read_init_producer_id_request_v3,
    4: _read_init_producer_id_request_v3,
    5: _read_init_producer_id_request_v3,
    6: _read_init_producer_id_request_v6,
}
InitProducerIdRequest._WRITERS = {
    0: _write_init_producer_id_request_v0,
    1: _write_init_producer_id_request_v0,
    2: _write_init_producer_id_request_v2,
    3: _write_init_producer_id_request_v3,
    4: _write_init_producer_id_request_v3,
    5: _write_init_producer_id_request_v3,
    6: _write_init_producer_id_request_v6,
}
