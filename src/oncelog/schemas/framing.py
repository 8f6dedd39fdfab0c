"""What stands before a record's payload: a zero byte, the schema's id, and in Protobuf which message of the file it is.

Source: Confluent's wire format. Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from oncelog.schemas.schema_errors import SchemaError

MAGIC = 0
HEADER_BYTES = 5
MAX_NESTED = 100
"""How deeply messages may be nested in one another; protoc allows fewer."""
_HEADER = struct.Struct(">bi")
_VARINT_BYTES = 5


def framed(schema_id: int, payload: bytes) -> bytes:
    """The payload behind its schema's id."""
    return _HEADER.pack(MAGIC, schema_id) + payload


def schema_id_of(data: bytes) -> int:
    """:raises SchemaError: the bytes do not begin as a serializer's output does."""
    if len(data) < HEADER_BYTES:
        raise SchemaError(f"{len(data)} bytes cannot hold a schema id: it takes {HEADER_BYTES}")
    magic, schema_id = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise SchemaError(f"no schema id: the first byte is {data[0]}, not {MAGIC}")
    return int(schema_id)


def with_indexes(indexes: Sequence[int], payload: bytes) -> bytes:
    """A Protobuf payload behind the path to its message in the file; the first message is a single zero."""
    if list(indexes) == [0]:
        return b"\0" + payload
    return b"".join([_varint(len(indexes)), *map(_varint, indexes), payload])


def indexes_of(data: bytes, position: int) -> tuple[list[int], int]:
    """The path at this position, and where the payload begins.

    :raises SchemaError: it is cut, or longer than any path.
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
    left, written = value << 1, bytearray()  # zigzag of what is never negative
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
