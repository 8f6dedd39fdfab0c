"""Calls a producer's serializers and a consumer's deserializers. Pure.

Most of these functions take only a key or value. A function with the attribute ``takes_context``, like those of
:mod:`oncelog.schemas`, is called with a :class:`SerializationContext`, too: the function may read the record's headers,
    and a serializer may add to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

KEY, VALUE = "key", "value"


class SerializationContext(NamedTuple):
    """The context of a call: the topic, and the part of the record that is written or read.

    :param field: ``key`` or ``value``.
    :param headers: the record's headers, a list that a serializer may change.
    """

    topic: str
    field: str
    headers: Any


Serialization = Callable[[str, Any, Any, Any], tuple[Any, Any, Any]]
"""A function from a record's topic, key, value and headers to its serialized key, its serialized value and its final
headers."""


def takes_context(function: Any) -> bool:
    """Whether a serializer or deserializer is called with a context."""
    return bool(getattr(function, "takes_context", False))


def serialization(key_serializer: Any, value_serializer: Any) -> Serialization | None:
    """The function that serializes a producer's records; None if it has no serializer."""
    if key_serializer is None and value_serializer is None:
        return None
    if not takes_context(key_serializer) and not takes_context(value_serializer):

        def alone(topic: str, key: Any, value: Any, headers: Any) -> tuple[Any, Any, Any]:
            key_bytes = key if key_serializer is None else key_serializer(key)
            return key_bytes, value if value_serializer is None else value_serializer(value), headers

        return alone

    def with_headers(topic: str, key: Any, value: Any, headers: Any) -> tuple[Any, Any, Any]:
        pairs = list(headers or ())
        key_bytes = _part(key_serializer, key, SerializationContext(topic, KEY, pairs))
        return key_bytes, _part(value_serializer, value, SerializationContext(topic, VALUE, pairs)), pairs

    return with_headers


def _part(function: Any, value: Any, context: SerializationContext) -> Any:
    if function is None:
        return value
    return function(value, context) if takes_context(function) else function(value)
