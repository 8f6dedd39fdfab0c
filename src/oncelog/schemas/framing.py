"""Confluent's wire format: how a record names the schema of its key or value. Pure.

The schema is named before the payload by a zero byte, the schema's id, and for Protobuf the path to the message in its
file. Or a header has the same bytes, or a byte 1 and the schema's GUID. A header takes precedence. Source: Confluent's
documentation of the format, and its class ``SchemaId``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from oncelog.schemas.schema_errors import SchemaError

MAGIC = 0
GUID_MAGIC = 1
GUID_BYTES = 17
KEY_HEADER, VALUE_HEADER = "__key_schema_id", "__value_schema_id"
HEADER_BYTES = 5
MAX_NESTED = 100
"""The maximum nesting of Protobuf messages; protoc allows less."""
_HEADER = struct.Struct(">bi")
_VARINT_BYTES = 5


def framed(schema_id: int, payload: bytes) -> bytes:
    """The payload with its schema's id in front."""
    return _HEADER.pack(MAGIC, schema_id) + payload


def schema_id_of(data: bytes) -> int:
    """The schema id in the first five bytes.

    :raises SchemaError: the bytes do not begin as a serializer's output does.
    """
    if len(data) < HEADER_BYTES:
        raise SchemaError(f"no schema id: the length is {len(data)}, and an id takes {HEADER_BYTES} bytes")
    magic, schema_id = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise SchemaError(f"no schema id: the first byte is {data[0]}, not {MAGIC}")
    return int(schema_id)


def header_name(is_key: bool) -> str:
    """The header that names the schema of a key or value."""
    return KEY_HEADER if is_key else VALUE_HEADER


def header_of(headers: Iterable[Any] | None, is_key: bool) -> bytes | None:
    """The header that names the schema of a record's key or value: the last one of that name, as for Java's clients."""
    if not headers:
        return None
    name = header_name(is_key)
    if isinstance(headers, Mapping):
        headers = list(headers.items())
    found = [value for key, value in headers if key == name]
    return bytes(found[-1]) if found and found[-1] is not None else None


def drop_header(headers: Any, is_key: bool) -> None:
    """Remove the headers that name the schema of a key or value, because the key or value is written again."""
    name = header_name(is_key)
    if isinstance(headers, dict):
        headers.pop(name, None)
    elif isinstance(headers, list) and any(key == name for key, _ in headers):
        headers[:] = [pair for pair in headers if pair[0] != name]


def guid_header(guid: str, payload: bytes, *, has_indexes: bool) -> tuple[bytes, bytes]:
    """The header's value, and the rest of a payload whose path to its message is moved into the header."""
    begin = indexes_of(payload, 0)[1] if has_indexes else 0
    return bytes([GUID_MAGIC]) + UUID(guid).bytes + payload[:begin], payload[begin:]


def names_a_schema(data: bytes, header: bytes | None = None) -> bool:
    """Whether a key or value may have been written with a registry's schema."""
    return header is not None or (len(data) >= HEADER_BYTES and data[0] == MAGIC)


def schema_named(data: bytes, header: bytes | None) -> tuple[int | str, int]:
    """The id or GUID of the schema of a key or value, and the length of that prefix in the header, or in the data if
    there is no header.

    :raises SchemaError: no schema is named.
    """
    if header is None:
        return schema_id_of(data), HEADER_BYTES
    if header[:1] == bytes([GUID_MAGIC]) and len(header) >= GUID_BYTES:
        return str(UUID(bytes=header[1:GUID_BYTES])), GUID_BYTES
    try:
        return schema_id_of(header), HEADER_BYTES
    except SchemaError as error:
        raise SchemaError(f"the record's header has {error}") from error


def shown_header(name: str, value: bytes | None) -> str | None:
    """The schema that a header names, as a text for people; None if it names none."""
    if name not in (KEY_HEADER, VALUE_HEADER) or value is None:
        return None
    try:
        named, _ = schema_named(value, value)
    except SchemaError:
        return None
    return f"id {named}" if isinstance(named, int) else f"GUID {named}"


def prefixed(data: bytes, header: bytes | None, id_of: Callable[[str], int]) -> bytes:
    """A key or value with its schema's id in front, even if a header names the schema by id or GUID.

    :param id_of: returns the id of a GUID.
    :raises SchemaError: there is a header, but it names no schema.
    """
    if header is None:
        return data
    named, end = schema_named(data, header)
    return framed(named if isinstance(named, int) else id_of(named), header[end:] + data)


def with_indexes(indexes: Sequence[int], payload: bytes) -> bytes:
    """A Protobuf payload, preceded by the path to its message in the file. The path of the first message is encoded as
    a single zero."""
    if list(indexes) == [0]:
        return b"\0" + payload
    return b"".join([_varint(len(indexes)), *map(_varint, indexes), payload])


def indexes_of(data: bytes, position: int) -> tuple[list[int], int]:
    """The path to a message that begins at this position, and the position of the payload.

    :raises SchemaError: the path is truncated, or longer than any valid one.
    """
    count, position = _read_varint(data, position)
    if count == 0:
        return [0], position
    if not 0 < count <= MAX_NESTED:
        raise SchemaError(f"the path to the message in its Protobuf file has {count} parts")
    found = []
    for _ in range(count):
        index, position = _read_varint(data, position)
        if index < 0:
            raise SchemaError(f"the path to the message in its Protobuf file has the index {index}")
        found.append(index)
    return found, position


def _varint(value: int) -> bytes:
    left, written = value << 1, bytearray()  # zigzag encoding of a number that is never negative
    while left > 0x7F:
        written.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*written, left])


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(_VARINT_BYTES):
        if position >= len(data):
            raise SchemaError("the path to the message in its Protobuf file is cut")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
    raise SchemaError("the path to the message in its Protobuf file has a number that is too long")
