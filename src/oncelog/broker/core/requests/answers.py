"""Encodes answers as bytes, at once or in chunks. Called only by ``request_life``."""

from __future__ import annotations

from collections.abc import Iterable

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.session import Part
from oncelog.broker.core.requests.work import Work
from oncelog.broker.log.results import FileSlice
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.codec_errors import UnencodableValue
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.struct_fields import Struct
from oncelog.protocol.wire import Message

FETCH = int(ApiKey.FETCH)
LONGEST_MESSAGE = 1_000
"""Maximum characters of an error message, in an answer that could not be encoded otherwise: messages may repeat a
client's text."""
LISTS = {
    int(ApiKey.METADATA): "topics",
    int(ApiKey.CREATE_TOPICS): "topics",
    int(ApiKey.DESCRIBE_CONFIGS): "results",
    int(ApiKey.LIST_GROUPS): "groups",
    int(ApiKey.DESCRIBE_GROUPS): "groups",
    int(ApiKey.CONSUMER_GROUP_DESCRIBE): "groups",
    int(ApiKey.LIST_TRANSACTIONS): "transaction_states",
    int(ApiKey.DESCRIBE_TRANSACTIONS): "transaction_states",
    int(ApiKey.DESCRIBE_ACLS): "resources",
    int(ApiKey.DESCRIBE_CLIENT_QUOTAS): "entries",
}
"""By API, the array of the answer that is encoded in chunks: it may be long although the request is short, or its
elements contain all settings of a topic."""
LISTED_IN_A_CHUNK = 20


def encoded(context: RequestContext, response: Message) -> list[Part]:
    """The header and the body of an answer, encoded."""
    if context.api_key == FETCH:
        parts: list[Part] = response.encode_with_slices(  # type: ignore[attr-defined]
            context.api_version, context.correlation_id
        )
        return parts
    try:
        written = response.encode(context.api_version)
    except UnencodableValue:
        _shorten(response)
        written = response.encode(context.api_version)
    return [_header(context, len(written)) + written]


def encoded_in_chunks(context: RequestContext, response: Message, listed: str) -> Work[list[Part]]:
    """Like :func:`encoded`, with other callbacks between the elements of the array ``listed``."""
    try:
        body = yield from response.encode_in_chunks(context.api_version, listed, LISTED_IN_A_CHUNK)
    except UnencodableValue:
        _shorten(response)
        body = yield from response.encode_in_chunks(context.api_version, listed, LISTED_IN_A_CHUNK)
    return [_header(context, sum(map(len, body))), *body]


def _shorten(part: Struct) -> None:
    """Shorten all error messages of an answer to ``LONGEST_MESSAGE`` characters."""
    for name in part.__slots__:
        value = getattr(part, name)
        if isinstance(value, list):
            for item in value:
                if isinstance(item, Struct):
                    _shorten(item)
        elif name == "error_message" and value is not None:
            part.error_message = value[:LONGEST_MESSAGE]  # type: ignore[attr-defined]


def _header(context: RequestContext, size_bytes: int) -> bytes:
    return encode_response_header(context.api_key, context.api_version, context.correlation_id, size_bytes)


def size_of(parts: Iterable[Part]) -> int:
    """The size of the parts of an answer in bytes."""
    return sum(part.size_bytes if isinstance(part, FileSlice) else len(part) for part in parts)
