"""Base classes of all generated messages, and the primitives with which they are read and written.

Called by the generated modules and by the hand-written codecs. Integers are big-endian; a varint is Kafka's unsigned
one (seven bits a byte, least significant first, at most five bytes; KIP-482). Readers take ``(data, pos, size)`` and
return the value with the position after it; on bad bytes they raise one of ``READ_ERRORS``, which the reader of the
enclosing struct turns into ``MalformedMessage`` with the field's name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from struct import Struct as BinaryStruct
from struct import error as StructError
from typing import Any, ClassVar, Final, Self, TypeAlias

from oncelog.protocol.codec_errors import MalformedMessage, UnencodableValue, UnknownVersion, UnsupportedField

Buffer: TypeAlias = bytes | memoryview
Uuid: TypeAlias = bytes
"""Struct format of a UUID: sixteen bytes, most significant first."""
Append: TypeAlias = Callable[[Buffer], None]
Reader: TypeAlias = Callable[..., tuple[Any, int]]
"""A function that reads a value. It is called with ``(data, pos, size)``, and for a request also with an
``ElementLimit``."""
Writer: TypeAlias = Callable[[Append, Any], None]
MAX_TAGS: Final = 127
"""Maximum number of tags in one section; Apache Kafka defines at most five."""

ZERO_UUID: Final[Uuid] = bytes(16)
NEVER_FLEXIBLE: Final = 32767
MAX_STRING_BYTES: Final = 32767
READ_ERRORS: Final = (StructError, IndexError, ValueError)
VARINT: Final = tuple(bytes((n,)) for n in range(128))
UNPACK_INT32S: Final = tuple(BinaryStruct(f">{n}i").unpack_from for n in range(8))
"""Readers of arrays of up to seven int32, such as most replica lists; a format that is created for each call takes
twice as long."""
PACK_INT32S: Final = tuple(BinaryStruct(f">{n}i").pack for n in range(8))

EMPTY: Final[list[Any]] = []
"""The default of a field that stands for "a new empty list". ``None`` cannot, because it is a value of nullable arrays.
Never stored."""

UNSET: Final[Any] = object()
"""The default of a field that stands for "a new struct of defaults", if ``None`` is a value of the field, too. Never
stored."""


class Struct:
    """A part of a message. Structs are compared by value and not hashable; ``replace`` makes a copy with changes."""

    __slots__: ClassVar[tuple[str, ...]] = ()

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


class Message(Struct):
    """A whole request, response or record. Two tables hold the functions that read and write each version."""

    __slots__ = ()

    API_KEY: ClassVar[int] = -1
    """The API's key; for a coordinator's record its type; -1 if the message has neither."""
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_FROM: ClassVar[int]
    """The first flexible version, 32767 if there is none."""
    LATEST_VERSION_UNSTABLE: ClassVar[bool] = False
    _READERS: ClassVar[Mapping[int, Reader]]
    _WRITERS: ClassVar[Mapping[int, Writer]]
    _HAS_RECORDS: ClassVar[bool] = False

    def encode(self, version: int) -> bytes:
        """The encoded body in the given version.

        A field that the version does not have must hold its default (``UnsupportedField``), unless Kafka marks it as
        ignorable.
        """
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[Buffer]:
        """The encoded body as a list of buffers. Long ``records`` and ``bytes`` are the message's own buffers, not
        copies."""
        writer = self._WRITERS.get(version)
        if writer is None:
            raise self._unknown(version)
        parts: list[Buffer] = []
        try:
            writer(parts.append, self)
        except (StructError, UnicodeEncodeError) as error:
            raise UnencodableValue(self.__class__.__name__, str(error)) from error
        return parts

    def encode_in_chunks(self, version: int, array: str, size: int) -> Generator[None, None, list[bytes]]:
        """Like ``encode_parts``, as a generator that yields after every ``size`` elements of the field ``array``."""
        writer = self._WRITERS.get(version)
        if writer is None:
            raise self._unknown(version)
        elements: list[Any] = getattr(self, array)
        message, written = self.replace(), list[bytes]()
        try:
            for start in range(0, len(elements) or 1, size):
                parts: list[Buffer] = []
                chunk = _ArrayChunk(elements[start : start + size], len(elements), parts)
                setattr(message, array, chunk)
                writer(parts.append, message)
                is_last = start + size >= len(elements)
                written.append(b"".join(parts[chunk.begin if start else 0 : None if is_last else chunk.end]))
                yield
        except (StructError, UnicodeEncodeError) as error:
            raise UnencodableValue(self.__class__.__name__, str(error)) from error
        return written

    @classmethod
    def decode(cls, data: Buffer, version: int, offset: int = 0) -> Self:
        """Decode the message whose body is all of ``data[offset:]``.

        Fields of type ``records`` are views into ``data``; everything else is copied.
        """
        message, end = cls.decode_prefix(data, version, offset)
        if end != len(data):
            raise MalformedMessage(cls.__name__, "end", end, f"{len(data) - end} bytes left over")
        return message

    @classmethod
    def decode_prefix(
        cls, data: Buffer, version: int, offset: int = 0, limit: ElementLimit | None = None
    ) -> tuple[Self, int]:
        """Decode the message that starts at ``offset``; returns it, and the position after it.

        :param limit: the maximum number of elements in a request's arrays; above it, ``MalformedMessage`` is raised.
        """
        reader = cls._READERS.get(version)
        if reader is None:
            raise cls._unknown(version)
        if cls._HAS_RECORDS:
            if not isinstance(data, memoryview):
                data = memoryview(data)
        elif not isinstance(data, bytes):
            data = bytes(data)  # slicing bytes takes half as long as slicing a view
        return reader(data, offset, len(data)) if limit is None else reader(data, offset, len(data), limit)

    @classmethod
    def _unknown(cls, version: int) -> UnknownVersion:
        return UnknownVersion(cls.__name__, version, cls.MIN_VERSION, cls.MAX_VERSION)


class _ArrayChunk(list[Any]):
    """Some elements of an array, which are written behind the length of the whole array."""

    def __init__(self, elements: list[Any], length: int, parts: list[Buffer]) -> None:
        super().__init__(elements)
        self.begin = self.end = 0
        """The range in ``parts`` that contains the encoded elements."""
        self._length = length
        self._parts = parts

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Any]:
        self.begin = len(self._parts)
        yield from super().__iter__()
        self.end = len(self._parts)


class ElementLimit:
    """Limits the number of elements in all arrays of a request, including nested ones, because an element of one byte
    becomes hundreds of bytes in memory."""

    __slots__ = ("count", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0

    def take(self, count: int) -> None:
        """Count the elements of one array before they are built.

        :raises ValueError: the limit is exceeded.
        """
        self.count += count
        if self.count > self.most:
            raise ValueError(f"{self.count} elements, at most {self.most} are accepted: request less at once")


def malformed(message: str, field: str, offset: int, error: Exception) -> MalformedMessage:
    """The MalformedMessage for ``error``, which is one of ``READ_ERRORS``, with its position in the message."""
    match error:
        case StructError() | IndexError():
            reason = "ends before the field does"
        case UnicodeDecodeError():
            reason = f"invalid UTF-8 ({error.reason} at {error.start})"
        case _:
            reason = str(error)
    return MalformedMessage(message, field, offset, reason)


def overrun(need: int, left: int) -> ValueError:
    return ValueError(f"length {need} with {left} bytes left")


def null_value(length: int) -> ValueError:
    return ValueError(f"null (length {length}), which the field does not allow")


def tag_size(declared: int, used: int) -> ValueError:
    return ValueError(f"tagged field of {declared} bytes read as {used}")


def unsupported_field(message: str, field: str, versions: str) -> UnsupportedField:
    return UnsupportedField(message, field, versions)


def null_field(message: str, field: str, versions: str) -> UnencodableValue:
    return UnencodableValue(message, f"{field} is null, which version {versions} does not allow")


def bad_uuid(message: str, field: str, value: Buffer) -> UnencodableValue:
    return UnencodableValue(message, f"{field} has {len(value)} bytes, a UUID has 16")


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


def string_length_tail(data: Buffer, pos: int, first: int) -> tuple[int, int]:
    """Like ``uvarint_tail``, for the length field of a compact string, which is the length plus one; refuses strings
    that are too long."""
    value, pos = uvarint_tail(data, pos, first)
    if value > MAX_STRING_BYTES + 1:
        raise ValueError(f"string of {value - 1} bytes, above {MAX_STRING_BYTES}")
    return value, pos


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


def string_length(value: int) -> bytes:
    """The encoding of the length field ``value`` of a compact string, which is the length plus one."""
    if value > MAX_STRING_BYTES + 1:
        raise UnencodableValue("string", f"{value - 1} bytes, a string has at most {MAX_STRING_BYTES}")
    return uvarint(value)


def many_tags(data: Buffer, pos: int, first: int) -> tuple[int, int]:
    """Read the rest of a number of tags whose ``first`` byte, above 127, was at ``data[pos - 1]``; returns it and the
    position after it."""
    count, pos = uvarint_tail(data, pos, first)
    if count > MAX_TAGS:
        raise ValueError(f"{count} tagged fields, above {MAX_TAGS}")
    return count, pos


def skip_tags(data: Buffer, pos: int, size: int, count: int) -> int:
    """The position after a tag section. ``count`` is the number of tags, which was just read; from 128 on, it is only
    the first byte of that number."""
    if count > 127:
        count, pos = many_tags(data, pos, count)
    for _ in range(count):
        _, pos = read_uvarint(data, pos)
        length, pos = read_uvarint(data, pos)
        pos += length
        if pos > size:
            raise overrun(length, size - pos + length)
    return pos


def write_tags(append: Append, tagged: Iterable[tuple[int, Buffer]]) -> None:
    """Write a tag section; ``tagged`` is sorted by tag and not empty."""
    fields = list(tagged)
    append(uvarint(len(fields)))
    for tag, value in fields:
        append(uvarint(tag))
        append(uvarint(len(value)))
        append(value)
