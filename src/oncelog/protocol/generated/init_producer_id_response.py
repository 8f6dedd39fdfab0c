# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, skip_tags, unsupported_field

_pack_ihqh = _Struct(">ihqh").pack
_pack_ihqhqhx = _Struct(">ihqhqhx").pack
_pack_ihqhx = _Struct(">ihqhx").pack
_unpack_ihqh = _Struct(">ihqh").unpack_from
_unpack_ihqhB = _Struct(">ihqhB").unpack_from
_unpack_ihqhqhB = _Struct(">ihqhqhB").unpack_from


class InitProducerIdResponse(Message):
    API_KEY = 22
    MIN_VERSION = 0
    MAX_VERSION = 6
    FLEXIBLE_FROM = 2
    __slots__ = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch", "ongoing_txn_producer_id", "ongoing_txn_producer_epoch")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+, ignorable
        error_code: int = 0,  # 0+
        producer_id: int = -1,  # 0+
        producer_epoch: int = 0,  # 0+
        ongoing_txn_producer_id: int = -1,  # 6+
        ongoing_txn_producer_epoch: int = -1,  # 6+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.ongoing_txn_producer_id = ongoing_txn_producer_id
        self.ongoing_txn_producer_epoch = ongoing_txn_producer_epoch


def _read_init_producer_id_response_v0(data: bytes, pos: int, size: int) -> tuple[InitProducerIdResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, producer_id, producer_epoch = _unpack_ihqh(data, pos)
        pos += 16
    except READ_ERRORS as error:
        raise malformed("InitProducerIdResponse", at, pos, error) from None
    return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch, -1, -1), pos


def _write_init_producer_id_response_v0(w: Append, x: InitProducerIdResponse) -> None:
    if x.ongoing_txn_producer_id != -1:
        raise unsupported_field("InitProducerIdResponse", "ongoing_txn_producer_id", "0-1")
    if x.ongoing_txn_producer_epoch != -1:
        raise unsupported_field("InitProducerIdResponse", "ongoing_txn_producer_epoch", "0-1")
    w(_pack_ihqh(x.throttle_time_ms, x.error_code, x.producer_id, x.producer_epoch))


def _read_init_producer_id_response_v2(data: bytes, pos: int, size: int) -> tuple[InitProducerIdResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, producer_id, producer_epoch, tags = _unpack_ihqhB(data, pos)
        pos += 17
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("InitProducerIdResponse", at, pos, error) from None
    return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch, -1, -1), pos


def _write_init_producer_id_response_v2(w: Append, x: InitProducerIdResponse) -> None:
    if x.ongoing_txn_producer_id != -1:
        raise unsupported_field("InitProducerIdResponse", "ongoing_txn_producer_id", "2-5")
    if x.ongoing_txn_producer_epoch != -1:
        raise unsupported_field("InitProducerIdResponse", "ongoing_txn_producer_epoch", "2-5")
    w(_pack_ihqhx(x.throttle_time_ms, x.error_code, x.producer_id, x.producer_epoch))


def _read_init_producer_id_response_v6(data: bytes, pos: int, size: int) -> tuple[InitProducerIdResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, producer_id, producer_epoch, ongoing_txn_producer_id, ongoing_txn_producer_epoch, tags = _unpack_ihqhqhB(data, pos)
        pos += 27
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("InitProducerIdResponse", at, pos, error) from None
    return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch, ongoing_txn_producer_id, ongoing_txn_producer_epoch), pos


def _write_init_producer_id_response_v6(w: Append, x: InitProducerIdResponse) -> None:
    w(_pack_ihqhqhx(x.throttle_time_ms, x.error_code, x.producer_id, x.producer_epoch, x.ongoing_txn_producer_id, x.ongoing_txn_producer_epoch))
InitProducerIdResponse._READERS = {
    0: _read_init_producer_id_response_v0,
    1: _read_init_producer_id_response_v0,
    2: _read_init_producer_id_response_v2,
    3: _read_init_producer_id_response_v2,
    4: _read_init_producer_id_response_v2,
    5: _read_init_producer_id_response_v2,
    6: _read_init_producer_id_response_v6,
}
InitProducerIdResponse._WRITERS = {
    0: _write_init_producer_id_response_v0,
    1: _write_init_producer_id_response_v0,
    2: _write_init_producer_id_response_v2,
    3: _write_init_producer_id_response_v2,
    4: _write_init_producer_id_response_v2,
    5: _write_init_producer_id_response_v2,
    6: _write_init_producer_id_response_v6,
}
