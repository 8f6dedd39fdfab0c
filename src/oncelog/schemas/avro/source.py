"""Reads Avro's bytes sequentially, and refuses to read past the end. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from oncelog.schemas.schema_errors import SchemaError


class AvroSource:
    """A payload and the current read position."""

    __slots__ = ("data", "depth", "end", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data, self.position, self.end, self.depth = data, position, len(data), 0

    def take(self, count: int) -> bytes:
        begin = self.position
        if count < 0 or count > self.end - begin:
            raise SchemaError("they end too early" if count >= 0 else f"a length is {count}")
        self.position = begin + count
        return self.data[begin : begin + count]

    def rest(self) -> bytes:
        return self.take(self.end - self.position)

    def whole(self, bits: int = 64) -> int:
        """Read an integer in Avro's zigzag encoding."""
        value, position = 0, self.position
        for shift in range(0, 70, 7):
            if position >= self.end:
                raise SchemaError("they end too early")
            byte = self.data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.position = position
                if value >> bits:
                    break
                return (value >> 1) ^ -(value & 1)
        raise SchemaError(f"a number has more than {bits} bits")

    def counts(self, sized: bool = False) -> Iterator[int]:
        """Read the number of items in each block of an array or a map.

        :param sized: skip blocks that state their size in bytes.
        """
        while True:
            count = self.whole()
            if count == 0:
                return
            if count < 0:
                count = -count
                size = self.whole()
                if size < 0:
                    raise SchemaError(f"a length is {size}")
                if sized:
                    self.take(size)
                    continue
            if count > self.end - self.position:
                raise SchemaError(f"{count} items cannot be in {self.end - self.position} bytes")
            yield count


def check_text(data: bytes) -> bytes:
    """Check that a string is UTF-8; returns it unchanged.

    :raises SchemaError: it is not.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        raise SchemaError("a text is not UTF-8") from None
    return data


def check_boolean(byte: int) -> int:
    if byte > 1:
        raise SchemaError(f"a boolean is the byte {byte}")
    return byte
