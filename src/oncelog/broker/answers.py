"""An answer as it goes to the wire, at once or in pieces. Called by ``Broker`` alone."""

from __future__ import annotations

from collections.abc import Iterable

from oncelog.broker.context import Part, RequestContext
from oncelog.broker.slices import Work
from oncelog.log.results import FileSlice
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.fetch_fast import encode_fetch_response_parts, join_fetch_response
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.wire import Message

FETCH = int(ApiKey.FETCH)


def encoded(context: RequestContext, response: Message) -> list[Part]:
    """Header and body."""
    if context.api_key == FETCH:
        body = encode_fetch_response_parts(response, context.api_version)  # type: ignore[arg-type]
        return [_header(context, body.size_bytes), *body]
    written = response.encode(context.api_version)
    return [_header(context, len(written)), written]


def encoded_in_pieces(context: RequestContext, response: Message) -> Work[list[Part]]:
    """The same of a long answer, with others' turns between."""
    parts = yield from response.encode_parts_in_pieces(context.api_version)
    if context.api_key == FETCH:
        body = yield from join_fetch_response(parts)
        return [_header(context, body.size_bytes), *body]
    written = b"".join(parts)
    return [_header(context, len(written)), written]


def _header(context: RequestContext, size_bytes: int) -> bytes:
    return encode_response_header(context.api_key, context.api_version, context.correlation_id, size_bytes)


def size_of(parts: Iterable[Part]) -> int:
    """In bytes."""
    return sum(part.size_bytes if isinstance(part, FileSlice) else len(part) for part in parts)
