"""Checks a record that a program gives to a producer, and computes its size.

Called by the producers for every record before it is queued: a record that cannot be stored is refused in the call that
sends it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from oncelog.client.core import arguments
from oncelog.records.record import Headers

RECORD_OVERHEAD_BYTES = 21
"""Upper bound in bytes on a record's size without its key, value and headers."""
HEADER_OVERHEAD_BYTES = 10
_CONTENT = (bytes, bytearray, memoryview)


def largest_size(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Upper bound on a record's size in an uncompressed batch.

    :raises TypeError: a part has a type that a record cannot hold.
    """
    size = RECORD_OVERHEAD_BYTES
    if key is not None:
        size += len(key) if key.__class__ is bytes else _size_of("key", key)
    if value is not None:
        size += len(value) if value.__class__ is bytes else _size_of("value", value)
    if headers:
        if headers.__class__ is not list and headers.__class__ is not tuple:
            _need_list(headers)
        for header in headers:
            name, content = header if header.__class__ is tuple and len(header) == 2 else _pair(header)
            if not isinstance(name, str):
                raise TypeError(f"a header's name must be str, not {name!r}")
            if not name.isascii():
                arguments.text(name, "a header's name")
            size += HEADER_OVERHEAD_BYTES + 3 * len(name)
            if content is not None:
                size += len(content) if content.__class__ is bytes else _size_of_header(name, content)
    return size


def owned(content: bytes | None) -> bytes | None:
    """The content as immutable bytes, so that the program cannot change it any more; a buffer is copied."""
    return content if content is None or content.__class__ is bytes else bytes(content)


def owned_headers(headers: Headers) -> Headers:
    """The headers as a tuple of immutable pairs, so that the program cannot change them any more."""
    return tuple((name, owned(content)) for name, content in headers)


def _need_list(headers: object) -> None:
    if isinstance(headers, (str, bytes, bytearray, Mapping)) or not isinstance(headers, Collection):
        raise TypeError(f"headers must be a list of (name, bytes), not {type(headers).__name__}")


def _pair(header: Any) -> tuple[Any, Any]:
    """Split a header into name and value. A header may be a list or the program's own pair type, but not an iterator,
    because it is iterated again later."""
    if isinstance(header, Iterator):
        raise TypeError(f"headers must be a list of (name, bytes), not one with {header!r} in it")
    try:
        name, content = header
    except (TypeError, ValueError) as error:
        raise TypeError(f"headers must be a list of (name, bytes), not one with {header!r} in it") from error
    return name, content


def _size_of_header(name: str, given: object) -> int:
    if not isinstance(given, _CONTENT):
        raise TypeError(f"the value of header {name!r} must be bytes, not {type(given).__name__}")
    return _bytes_in(given)


def _size_of(what: str, given: object) -> int:
    if not isinstance(given, _CONTENT):
        raise TypeError(
            f"{what} must be bytes, not {type(given).__name__}; set {what}_serializer to a function that returns bytes"
        )
    return _bytes_in(given)


def _bytes_in(content: bytes | bytearray | memoryview) -> int:
    """The size in bytes; the length of a memoryview would count its elements, which may be larger than a byte."""
    return content.nbytes if isinstance(content, memoryview) else len(content)
