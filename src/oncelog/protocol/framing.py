"""Frames and headers: the envelope of a message on a connection.

A frame is an i32 size (of what follows), a header and a body. Request header v1: api key i16, api version i16,
correlation id i32, client id (nullable string, i16 length, never compact); v2 adds a tag section and goes with
flexible versions. Response header v0: correlation id; v1 adds a tag section. Responses to ApiVersions always carry
v0, so that a client can read the answer to a version that the broker does not know (KIP-482, KIP-511).
Called by the server's and the clients' connections.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import Final

from oncelog.protocol._pure_layout import text_of
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.codec_errors import MalformedMessage, UnencodableValue
from oncelog.protocol.generated import API_VERSIONS
from oncelog.protocol.struct_fields import Buffer
from oncelog.protocol.wire import READ_ERRORS, malformed, overrun, skip_tags

_unpack_header = Struct(">hhih").unpack_from
_pack_header = Struct(">ihhih").pack
_pack_response_v0 = Struct(">ii").pack
_pack_response_v1 = Struct(">iix").pack
_unpack_correlation = Struct(">i").unpack_from

_RANGES: Final = {key: (each.lowest, each.highest, each.flexible_from) for key, each in API_VERSIONS.items()}
"""Version ranges as plain tuples, because looking up a named field takes as long as a call."""
_NO_RANGE: Final = (32767, -32768, 32767)
_FLEXIBLE_FROM: Final = {key: versions.flexible_from for key, versions in API_VERSIONS.items()}
_ALWAYS_V0: Final = int(ApiKey.API_VERSIONS)
_NAME: Final = "RequestHeader"


class RequestHeader:
    """The header of a request. ``is_known`` is false if this package lacks its API key or version, so that the body
    cannot be read."""

    __slots__ = ("api_key", "api_version", "client_id", "correlation_id", "is_known")

    def __init__(
        self, api_key: int, api_version: int, correlation_id: int, client_id: str | None, is_known: bool
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.is_known = is_known

    def __repr__(self) -> str:
        return (
            f"RequestHeader(api_key={self.api_key}, api_version={self.api_version}, "
            f"correlation_id={self.correlation_id}, client_id={self.client_id!r}, is_known={self.is_known})"
        )


def is_flexible(api_key: int, api_version: int) -> bool:
    """Whether the request has header v2. False for an unknown API."""
    return api_version >= _FLEXIBLE_FROM.get(api_key, 32768)


def decode_request_header(frame: Buffer) -> tuple[RequestHeader, int]:
    """The header of a frame (without its size), and where the body starts: see :func:`request_header_fields`."""
    api_key, api_version, correlation_id, client_id, is_known, body = request_header_fields(frame)
    return RequestHeader(api_key, api_version, correlation_id, client_id, is_known), body


def request_header_fields(frame: Buffer) -> tuple[int, int, int, str | None, bool, int]:
    """The fields of a :class:`RequestHeader` as a tuple, because the broker needs no object for each request; and the
    position where the body starts.

    An unknown key or version is read with header v1 and ``is_known`` false; where the body starts is then uncertain.
    The caller answers (ApiVersions) or closes the connection.
    """
    pos, at = 0, "api_key"
    try:
        api_key, api_version, correlation_id, length = _unpack_header(frame, 0)
        pos, at = 10, "client_id"
        client_id = None
        if length >= 0:
            end = pos + length
            if end > len(frame):
                raise overrun(length, len(frame) - pos)
            client_id = text_of(frame[pos:end])
            pos = end
        lowest, highest, flexible_from = _RANGES.get(api_key, _NO_RANGE)
        is_known = lowest <= api_version <= highest
        if is_known and api_version >= flexible_from:
            at = "tagged fields"
            tags = frame[pos]
            pos += 1
            if tags:
                pos = skip_tags(frame, pos, len(frame), tags)
    except READ_ERRORS as error:
        raise malformed(_NAME, at, pos, error) from None
    return api_key, api_version, correlation_id, client_id, is_known, pos


def encode_request_header(
    api_key: int, version: int, correlation_id: int, client_id: str | None, body_size: int
) -> bytes:
    """Size and header of a request whose body has ``body_size`` bytes."""
    name = b"" if client_id is None else client_id.encode()
    tags = b"\0" if is_flexible(api_key, version) else b""
    length = -1 if client_id is None else len(name)
    try:
        head = _pack_header(10 + len(name) + len(tags) + body_size, api_key, version, correlation_id, length)
    except StructError as error:
        raise UnencodableValue(_NAME, str(error)) from error
    return head + name + tags


def encode_response_header(api_key: int, version: int, correlation_id: int, body_size: int) -> bytes:
    """Size and header of a response whose body has ``body_size`` bytes."""
    if version >= _FLEXIBLE_FROM.get(api_key, 32768) and api_key != _ALWAYS_V0:
        return _pack_response_v1(body_size + 5, correlation_id)
    return _pack_response_v0(body_size + 4, correlation_id)


def decode_response_header(frame: Buffer, api_key: int, version: int) -> tuple[int, int]:
    """The correlation id of a response frame (without its size), and where the body starts."""
    try:
        (correlation_id,) = _unpack_correlation(frame, 0)
        pos = 4
        if api_key != _ALWAYS_V0 and is_flexible(api_key, version):
            tags = frame[pos]
            pos += 1
            if tags:
                pos = skip_tags(frame, pos, len(frame), tags)
    except READ_ERRORS as error:
        raise malformed("ResponseHeader", "correlation_id", 0, error) from None
    return correlation_id, pos


def peek_correlation_id(frame: Buffer) -> int:
    """The correlation id of a response frame (without its size): enough to find the request it answers."""
    if len(frame) < 4:
        raise MalformedMessage("ResponseHeader", "correlation_id", 0, "ends before the field does")
    (correlation_id,) = _unpack_correlation(frame, 0)
    return int(correlation_id)
