"""Encodes answers for the wire, at once or in chunks. Called only by ``Broker``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.session import Part
from oncelog.broker.core.requests.work import Work
from oncelog.broker.log.results import FileSlice
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.codec_errors import UnencodableValue
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.wire import Message, Struct

if TYPE_CHECKING:
    from oncelog.protocol.fetch_fast import ResponseParts

FETCH = int(ApiKey.FETCH)
LONGEST_MESSAGE = 1_000
"""Maximum characters of an error message in an answer that would otherwise be too long: messages may repeat a client's
text."""
LOOKED_AT_IN_A_CHUNK = 60
FREED_IN_A_CHUNK = 1_000


def encoded(context: RequestContext, response: Message) -> list[Part]:
    """Header and body."""
    if context.api_key == FETCH:
        body = _fetch_encoder()(response, context.api_version)
        return [_header(context, body.size_bytes), *body]
    try:
        written = response.encode(context.api_version)
    except UnencodableValue:
        for _ in _shorten(response):
            pass
        written = response.encode(context.api_version)
    return [_header(context, len(written)), written]


@cache
def _fetch_encoder() -> Callable[[Any, int], ResponseParts]:
    """Imported for the first such answer: no other API needs these messages."""
    from oncelog.protocol.fetch_fast import encode_fetch_response_parts

    return encode_fetch_response_parts


def encoded_in_chunks(context: RequestContext, response: Message) -> Work[list[Part]]:
    """As :func:`encoded`, for a long answer, with other callbacks in between."""
    try:
        parts = yield from response.encode_parts_in_chunks(context.api_version)
    except UnencodableValue:
        for number, _ in enumerate(_shorten(response)):
            if number % LOOKED_AT_IN_A_CHUNK == 0:
                yield
        parts = yield from response.encode_parts_in_chunks(context.api_version)
    if context.api_key == FETCH:
        from oncelog.protocol.fetch_fast import join_fetch_response

        body = yield from join_fetch_response(parts)
        return [_header(context, body.size_bytes), *body]
    written = b"".join(parts)
    return [_header(context, len(written)), written]


def parts_of(response: Message) -> Work[list[Struct]]:
    """All structures of a long answer, nested ones first, as :func:`freeing` needs them."""
    parts: list[Struct] = [response]
    leaves: list[Struct] = []
    for number, part in enumerate(parts, 1):
        for array in part.arrays():
            if array and isinstance(array[0], Struct):
                holds_others = next(array[0].arrays(), None) is not None
                (parts if holds_others else leaves).extend(array)
        if not number % LOOKED_AT_IN_A_CHUNK:
            yield
    return leaves + parts[::-1]


def freeing(parts: list[Struct]) -> Work[None]:
    """Release the memory of a long answer that was written, in chunks: freeing all of it at once takes milliseconds.

    Nothing else refers to the parts by now. The last ones are released first, because a part lives as long as the
    structure that contains it.
    """
    while parts:
        del parts[-FREED_IN_A_CHUNK:]
        yield


def _shorten(part: Struct) -> Iterator[None]:
    """Shorten the error messages of an answer, with a yield after each of its structures."""
    for name in part.__slots__:
        value = getattr(part, name)
        if isinstance(value, list):
            for item in value:
                if isinstance(item, Struct):
                    yield from _shorten(item)
        elif name == "error_message" and value is not None:
            part.error_message = value[:LONGEST_MESSAGE]  # type: ignore[attr-defined]
    yield


def _header(context: RequestContext, size_bytes: int) -> bytes:
    return encode_response_header(context.api_key, context.api_version, context.correlation_id, size_bytes)


def size_of(parts: Iterable[Part]) -> int:
    """The size in bytes."""
    return sum(part.size_bytes if isinstance(part, FileSlice) else len(part) for part in parts)
