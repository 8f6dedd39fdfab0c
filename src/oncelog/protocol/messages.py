"""Maps API keys to message classes. A module is imported only when its message is first requested.

``API_VERSIONS`` is generated along with the messages, so that headers and version ranges are known without importing
any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final

from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated import API_VERSIONS, ApiVersionRange
from oncelog.protocol.wire import Message

__all__ = ["API_VERSIONS", "TITLES", "ApiVersionRange", "has_messages", "read_type", "request_type", "response_type"]

TITLES: Final[Mapping[int, str]] = {key: key.name.title().replace("_", "") for key in ApiKey}
"""The APIs' names as Kafka writes them, such as ``InitProducerId``; names of messages begin with them."""


def has_messages(api_key: int) -> bool:
    """Whether this package can read and write the API's messages."""
    return api_key in API_VERSIONS


@cache
def request_type(api_key: int) -> type[Message]:
    """The request's class; ``KeyError`` if ``has_messages`` is false."""
    return _load(api_key, "request")


@cache
def response_type(api_key: int) -> type[Message]:
    """The response's class; ``KeyError`` if ``has_messages`` is false."""
    return _load(api_key, "response")


@cache
def read_type(api_key: int) -> type[Message]:
    """The class into which the broker reads a request: for Fetch ``FetchAsked``, which has no object for each of its
    parts."""
    if api_key == ApiKey.FETCH:
        from oncelog.protocol.fetch_fast import FetchAsked

        return FetchAsked
    return request_type(api_key)


def _load(api_key: int, kind: str) -> type[Message]:
    if api_key not in API_VERSIONS:
        raise KeyError(f"no messages for API key {api_key}")
    module = import_module(f"oncelog.protocol.generated.{ApiKey(api_key).name.lower()}_{kind}")
    loaded: type[Message] = getattr(module, TITLES[api_key] + kind.title())
    return loaded
