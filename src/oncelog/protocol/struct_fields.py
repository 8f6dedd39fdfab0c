"""Structs, the parts of messages, their fields as Apache Kafka's message definitions state them, and the varints in
which their lengths and tags are written.

Used by the generated modules, by the codec that reads and writes structs (:mod:`oncelog.protocol.layouts`), and by
hand-written codecs. A varint is Kafka's unsigned one: seven bits a byte, least significant first, at most five bytes
(KIP-482). Functions that read one return the value with the position after it; they raise IndexError if the bytes end
too early, and ValueError for other bad bytes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Final, NamedTuple, Self, TypeAlias

Buffer: TypeAlias = bytes | memoryview
Uuid: TypeAlias = bytes
"""Struct format of a UUID: sixteen bytes, most significant first."""
ZERO_UUID: Final[Uuid] = bytes(16)
VARINT: Final = tuple(bytes((n,)) for n in range(128))
EMPTY: Final[list[Any]] = []
"""The default of a field that stands for "a new empty list". ``None`` cannot, because it is a value of nullable arrays.
Never stored."""

UNSET: Final[Any] = object()
"""The default of a field that stands for "a new struct of defaults", if ``None`` is a value of the field, too. Never
stored."""


class Struct:
    """A part of a message. Structs are compared by value and not hashable; ``replace`` makes a copy with changes.

    ``FIELDS`` are its fields in wire order, as Apache Kafka defines them; a struct that is read or written as it is
    cannot have others.
    """

    __slots__: ClassVar[tuple[str, ...]] = ()
    FIELDS: ClassVar[tuple[Field, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{self.__class__.__name__}({fields})"

    def replace(self, **changes: Any) -> Self:
        """A shallow copy with the given values for the named fields."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        unknown = changes.keys() - fields.keys()
        if unknown:
            raise TypeError(f"{self.__class__.__name__} has no field {min(unknown)!r}")
        return self.__class__(**(fields | changes))


class ElementLimit:
    """Limits the number of elements in all arrays of a request, including nested ones, because an element of one byte
    becomes hundreds of bytes in memory."""

    __slots__ = ("count", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0


ZERO: Final[Any] = object()
"""The default of a field whose definition names none: zero, false, empty, or a struct of defaults."""
ENDLESS: Final = 32767
Type: TypeAlias = "str | type[Struct]"


class Field(NamedTuple):
    """A field in all versions of its message.

    :ivar type: the name of a primitive type, or a struct; for an array, that of its elements.
    :ivar versions: the versions that have the field: ``"0+"``, ``"2-4"`` or ``"3"``; ``""`` for none.
    :ivar nullable: the versions in which it may be null.
    :ivar tag: its tag in the versions ``tagged``.
    :ivar is_flexible: whether its lengths are compact in flexible versions.
    """

    name: str
    type: Type
    versions: str
    nullable: str = ""
    tag: int = -1
    tagged: str = ""
    default: Any = ZERO
    is_array: bool = False
    is_ignorable: bool = False
    is_flexible: bool = True


@cache
def parse_versions(text: str) -> range:
    """The versions that ``text`` stands for, as in :class:`Field`."""
    low, dash, high = text.partition("-")
    if not low:
        return range(0)
    if low.endswith("+"):
        return range(int(low[:-1]), ENDLESS + 1)
    return range(int(low), int(high if dash else low) + 1)


def uvarint_tail(data: Buffer, pos: int, first: int) -> tuple[int, int]:
    """Read the rest of a varint whose ``first`` byte, above 127, was at ``data[pos - 1]``; returns its value and the
    position after it."""
    value = first & 0x7F
    shift = 7
    while True:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise ValueError("varint longer than five bytes")
    if value > 0xFFFFFFFF:
        raise ValueError("varint above 32 bits")
    return value, pos


def read_uvarint(data: Buffer, pos: int) -> tuple[int, int]:
    first = data[pos]
    return (first, pos + 1) if first < 0x80 else uvarint_tail(data, pos + 1, first)


def uvarint(value: int) -> bytes:
    """The encoding of ``value`` (0 to 2^32 - 1) as a varint."""
    if value < 0x80:
        return VARINT[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
