# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import READ_ERRORS, Append, Message, malformed, overrun, skip_tags

_pack_hhih = _Struct(">hhih").pack
_unpack_hhih = _Struct(">hhih").unpack_from


class RequestHeader(Message):
    API_KEY = -1
    MIN_VERSION = 1
    MAX_VERSION = 2
    FLEXIBLE_FROM = 2
    __slots__ = ("request_api_key", "request_api_version", "correlation_id", "client_id")

    def __init__(
        self,
        request_api_key: int = 0,  # 0+
        request_api_version: int = 0,  # 0+
        correlation_id: int = 0,  # 0+
        client_id: str | None = "",  # 1+
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id


def _read_request_header_v1(data: bytes, pos: int, size: int) -> tuple[RequestHeader, int]:
    at = "request_api_key"
    try:
        request_api_key, request_api_version, correlation_id, count = _unpack_hhih(data, pos)
        pos += 10
        at = "client_id"
        client_id: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            client_id = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("RequestHeader", at, pos, error) from None
    return RequestHeader(request_api_key, request_api_version, correlation_id, client_id), pos


def _write_request_header_v1(w: Append, x: RequestHeader) -> None:
    client_id = x.client_id
    client_id_bytes = b"" if client_id is None else client_id.encode()
    w(_pack_hhih(x.request_api_key, x.request_api_version, x.correlation_id, -1 if client_id is None else len(client_id_bytes)))
    w(client_id_bytes)


def _read_request_header_v2(data: bytes, pos: int, size: int) -> tuple[RequestHeader, int]:
    at = "request_api_key"
    try:
        request_api_key, request_api_version, correlation_id, count = _unpack_hhih(data, pos)
        pos += 10
        at = "client_id"
        client_id: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            client_id = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("RequestHeader", at, pos, error) from None
    return RequestHeader(request_api_key, request_api_version, correlation_id, client_id), pos


def _write_request_header_v2(w: Append, x: RequestHeader) -> None:
    client_id = x.client_id
    client_id_bytes = b"" if client_id is None else client_id.encode()
    w(_pack_hhih(x.request_api_key, x.request_api_version, x.correlation_id, -1 if client_id is None else len(client_id_bytes)))
    w(client_id_bytes)
    w(b"\0")
RequestHeader._READERS = {
    1: _read_request_header_v1,
    2: _read_request_header_v2,
}
RequestHeader._WRITERS = {
    1: _write_request_header_v1,
    2: _write_request_header_v2,
}
