"""The base class of all generated messages, and primitives for hand-written codecs.

Integers are big-endian. Functions that read return the value with the position after it; on bad bytes they raise one
of ``READ_ERRORS``, from which :func:`malformed` makes a ``MalformedMessage`` with the field's name.
"""

from __future__ import annotations

from collections.abc import Generator
from struct import error as StructError
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from oncelog.protocol._pure_layout import MAX_STRING_BYTES, MAX_TAGS
from oncelog.protocol.codec_errors import MalformedMessage, UnencodableValue, UnknownVersion
from oncelog.protocol.layouts import build_layout
from oncelog.protocol.struct_fields import Buffer, ElementLimit, Struct, read_uvarint, uvarint, uvarint_tail

if TYPE_CHECKING:
    from oncelog.protocol._pure_layout import StructLayout

READ_ERRORS: Final = (StructError, IndexError, ValueError)


class Message(Struct):
    """A whole request, response or record, read and written by a layout for each version."""

    __slots__ = ()

    API_KEY: ClassVar[int] = -1
    """The API's key; for a coordinator's record its type; -1 if the message has neither."""
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_FROM: ClassVar[int]
    """The first flexible version, 32767 if there is none."""
    LATEST_VERSION_UNSTABLE: ClassVar[bool] = False
    _LAYOUTS: ClassVar[dict[int, StructLayout]]
    """The layouts that were needed so far, by version."""

    def __init_subclass__(cls) -> None:
        cls._LAYOUTS = {}

    def encode(self, version: int) -> bytes:
        """The encoded body in the given version.

        A field that the version does not have must hold its default (``UnsupportedField``), unless Kafka marks it as
        ignorable.
        """
        return b"".join(self.encode_parts(version))

    def encode_parts(self, version: int) -> list[Buffer]:
        """The encoded body as a list of buffers. Long ``records`` and ``bytes`` are the message's own buffers, not
        copies."""
        return self._layout(version).write(self)

    def encode_in_chunks(self, version: int, array: str, size: int) -> Generator[None, None, list[bytes]]:
        """Like ``encode_parts``, as a generator that yields after every ``size`` elements of the field ``array``."""
        layout = self._layout(version)
        elements: list[Any] = getattr(self, array)
        before, after = layout.write_around(self, array)
        written = [b"".join(before)]
        for start in range(0, len(elements), size):
            written.append(b"".join(layout.write_elements(array, elements[start : start + size])))
            yield
        return [*written, b"".join(after)]

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
        return cls._layout(version).read(data, offset, limit)

    @classmethod
    def _layout(cls, version: int) -> StructLayout:
        layout = cls._LAYOUTS.get(version)
        if layout is None:
            if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
                raise UnknownVersion(cls.__name__, version, cls.MIN_VERSION, cls.MAX_VERSION)
            layout = cls._LAYOUTS[version] = build_layout(cls, version, version >= cls.FLEXIBLE_FROM)
        return layout


def malformed(message: str, field: str, offset: int, error: Exception) -> MalformedMessage:
    """The MalformedMessage for ``error``, which is one of ``READ_ERRORS``, with its position in the message."""
    match error:
        case StructError() | IndexError():
            reason = "ends before the field does"
        case _:
            reason = str(error)
    return MalformedMessage(message, field, offset, reason)


def overrun(need: int, left: int) -> ValueError:
    return ValueError(f"length {need} with {left} bytes left")


def string_length(value: int) -> bytes:
    """The encoding of the length field ``value`` of a compact string, which is the length plus one."""
    if value > MAX_STRING_BYTES + 1:
        raise UnencodableValue("string", f"{value - 1} bytes, a string has at most {MAX_STRING_BYTES}")
    return uvarint(value)


def skip_tags(data: Buffer, pos: int, size: int, count: int) -> int:
    """The position after a tag section. ``count`` is the number of tags, which was just read; from 128 on, it is only
    the first byte of that number."""
    if count > 127:
        count, pos = uvarint_tail(data, pos, count)
        if count > MAX_TAGS:
            raise ValueError(f"{count} tagged fields, above {MAX_TAGS}")
    for _ in range(count):
        _, pos = read_uvarint(data, pos)
        length, pos = read_uvarint(data, pos)
        pos += length
        if pos > size:
            raise overrun(length, size - pos + length)
    return pos
