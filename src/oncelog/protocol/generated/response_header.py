# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, skip_tags

_pack_i = _Struct(">i").pack
_pack_ix = _Struct(">ix").pack
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from


class ResponseHeader(Message):
    API_KEY = -1
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 1
    __slots__ = ("correlation_id",)

    def __init__(
        self,
        correlation_id: int = 0,  # 0+
    ) -> None:
        self.correlation_id = correlation_id


def _read_response_header_v0(data: bytes, pos: int, size: int) -> tuple[ResponseHeader, int]:
    at = "correlation_id"
    try:
        correlation_id, = _unpack_i(data, pos)
        pos += 4
    except READ_ERRORS as error:
        raise malformed("ResponseHeader", at, pos, error) from None
    return ResponseHeader(correlation_id), pos


def _write_response_header_v0(w: Append, x: ResponseHeader) -> None:
    w(_pack_i(x.correlation_id))


def _read_response_header_v1(data: bytes, pos: int, size: int) -> tuple[ResponseHeader, int]:
    at = "correlation_id"
    try:
        correlation_id, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("ResponseHeader", at, pos, error) from None
    return ResponseHeader(correlation_id), pos


def _write_response_header_v1(w: Append, x: ResponseHeader) -> None:
    w(_pack_ix(x.correlation_id))
ResponseHeader._READERS = {
    0: _read_response_header_v0,
    1: _read_response_header_v1,
}
ResponseHeader._WRITERS = {
    0: _write_response_header_v0,
    1: _write_response_header_v1,
}
