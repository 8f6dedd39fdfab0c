# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, skip_tags

_pack_ih = _Struct(">ih").pack
_pack_ihqhx = _Struct(">ihqhx").pack
_pack_ihx = _Struct(">ihx").pack
_unpack_ih = _Struct(">ih").unpack_from
_unpack_ihB = _Struct(">ihB").unpack_from
_unpack_ihqhB = _Struct(">ihqhB").unpack_from


class EndTxnResponse(Message):
    API_KEY = 26
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    __slots__ = ("throttle_time_ms", "error_code", "producer_id", "producer_epoch")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        error_code: int = 0,  # 0+
        producer_id: int = -1,  # 5+, ignorable
        producer_epoch: int = -1,  # 5+, ignorable
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch


def _read_end_txn_response_v0(data: bytes, pos: int, size: int) -> tuple[EndTxnResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code = _unpack_ih(data, pos)
        pos += 6
    except READ_ERRORS as error:
        raise malformed("EndTxnResponse", at, pos, error) from None
    return EndTxnResponse(throttle_time_ms, error_code, -1, -1), pos


def _write_end_txn_response_v0(w: Append, x: EndTxnResponse) -> None:
    w(_pack_ih(x.throttle_time_ms, x.error_code))


def _read_end_txn_response_v3(data: bytes, pos: int, size: int) -> tuple[EndTxnResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, tags = _unpack_ihB(data, pos)
        pos += 7
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("EndTxnResponse", at, pos, error) from None
    return EndTxnResponse(throttle_time_ms, error_code, -1, -1), pos


def _write_end_txn_response_v3(w: Append, x: EndTxnResponse) -> None:
    w(_pack_ihx(x.throttle_time_ms, x.error_code))


def _read_end_txn_response_v5(data: bytes, pos: int, size: int) -> tuple[EndTxnResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, error_code, producer_id, producer_epoch, tags = _unpack_ihqhB(data, pos)
        pos += 17
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("EndTxnResponse", at, pos, error) from None
    return EndTxnResponse(throttle_time_ms, error_code, producer_id, producer_epoch), pos


def _write_end_txn_response_v5(w: Append, x: EndTxnResponse) -> None:
    w(_pack_ihqhx(x.throttle_time_ms, x.error_code, x.producer_id, x.producer_epoch))
EndTxnResponse._READERS = {
    0: _read_end_txn_response_v0,
    1: _read_end_txn_response_v0,
    2: _read_end_txn_response_v0,
    3: _read_end_txn_response_v3,
    4: _read_end_txn_response_v3,
    5: _read_end_txn_response_v5,
}
EndTxnResponse._WRITERS = {
    0: _write_end_txn_response_v0,
    1: _write_end_txn_response_v0,
    2: _write_end_txn_response_v0,
    3: _write_end_txn_response_v3,
    4: _write_end_txn_response_v3,
    5: _write_end_txn_response_v5,
}
