"""Reads and writes structs according to their layouts, in Python: the twin of the compiled ``_layout``.

Integers are big-endian; lengths are compact in flexible versions: a varint of the length plus one. Null is the length
-1, or 0 if compact.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct as BinaryStruct
from struct import error as StructError
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from oncelog.protocol.codec_errors import MalformedMessage, UnencodableValue, UnsupportedField
from oncelog.protocol.struct_fields import read_uvarint, uvarint

if TYPE_CHECKING:
    from oncelog.protocol.struct_fields import Buffer, ElementLimit, Struct

KINDS: Final = {
    "bool": 0,
    "int8": 1,
    "int16": 2,
    "uint16": 3,
    "int32": 4,
    "uint32": 5,
    "int64": 6,
    "float64": 7,
    "uuid": 8,
    "string": 9,
    "bytes": 10,
    "records": 11,
    "struct": 12,
}
"""The numbers of the types, by which the compiled module knows them, too."""
_BOOL, _FLOAT, _UUID, _STRING, _BYTES, _RECORDS, _STRUCT = 0, 7, 8, 9, 10, 11, 12
_NAMES: Final = {number: name for name, number in KINDS.items()}
_NUMBERS: Final = {KINDS[name]: BinaryStruct(f">{code}") for name, code in zip(KINDS, "?bhHiIqd", strict=False)}
_RANGES: Final = {
    KINDS["int8"]: (-(2**7), 2**7 - 1),
    KINDS["int16"]: (-(2**15), 2**15 - 1),
    KINDS["uint16"]: (0, 2**16 - 1),
    KINDS["int32"]: (-(2**31), 2**31 - 1),
    KINDS["uint32"]: (0, 2**32 - 1),
    KINDS["int64"]: (-(2**63), 2**63 - 1),
}
_SIZES: Final = {**{kind: number.size for kind, number in _NUMBERS.items()}, _UUID: 16}
MAX_TAGS: Final = 127
"""Maximum number of tags in one section; Apache Kafka defines at most five."""
MAX_STRING_BYTES: Final = 32767
_MAX_REPLACED_BYTES: Final = MAX_STRING_BYTES // 3
"""U+FFFD takes three bytes."""
SHORT_BYTES: Final = 1024
"""Values of type ``bytes`` and ``records`` are copied up to this length; longer ones become parts of their own."""


class Slot(NamedTuple):
    """A field as one version encodes it.

    :ivar kind: its number in ``KINDS``.
    :ivar tag: -1 if the version does not have it as a tagged field.
    :ivar make_default: what makes a new default; None if ``default`` is immutable.
    :ivar child: the layout of its struct, if the version has the field.
    """

    name: str
    kind: int
    is_array: bool
    is_present: bool
    is_nullable: bool
    is_compact: bool
    is_ignorable: bool
    tag: int
    default: Any
    make_default: Any
    child: Any


def text_of(data: Buffer) -> str:
    """A string of a message. Bytes that are not UTF-8 become U+FFFD, as in Java: a client in C may send a name in
    Latin-1.

    Raises ValueError if the string might be too long when it is written again.
    """
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        if len(data) > _MAX_REPLACED_BYTES:
            raise ValueError(f"{len(data)} bytes that are not UTF-8, above {_MAX_REPLACED_BYTES}") from None
        return str(data, "utf-8", "replace")


class _Unreadable(Exception):
    """Why the bytes at a position are not the value."""


class StructLayout:
    """One struct in one version of its message."""

    def __init__(self, struct: type[Struct], name: str, version: int, is_flexible: bool, slots: Sequence[Slot]) -> None:
        self._struct = struct
        self._name = name
        self._version = version
        self._is_flexible = is_flexible
        self._slots = list(slots)
        self._by_tag = {slot.tag: slot for slot in slots if slot.tag >= 0}

    def read(self, data: Buffer, pos: int, limit: ElementLimit | None = None) -> tuple[Any, int]:
        """Read the struct at ``pos``; returns it, and the position after it.

        :raises MalformedMessage: the bytes are not such a struct, or exceed the limit.
        """
        reading = _Reading(data, pos, limit)
        return self._read(reading), reading.pos

    def write(self, struct: Any) -> list[Buffer]:
        """The encoded struct as a list of buffers.

        :raises UnencodableValue: a field has a value that its type or the version does not allow.
        :raises UnsupportedField: a field is set that the version does not have.
        """
        writing = _Writing()
        self._write_whole(writing, struct)
        return writing.finish()

    def write_around(self, struct: Any, array: str) -> tuple[list[Buffer], list[Buffer]]:
        """What ``write`` writes before and after the elements of an array."""
        at = self._index(array)
        before, after = _Writing(), _Writing()
        self._write(before, struct, self._slots[:at])
        before.length(len(getattr(struct, array)), self._slots[at].is_compact, 4)
        self._write(after, struct, self._slots[at + 1 :])
        if self._is_flexible:
            self._write_tags(after, struct)
        return before.finish(), after.finish()

    def write_elements(self, array: str, elements: Sequence[Any]) -> list[Buffer]:
        """The encoded elements of an array."""
        writing = _Writing()
        slot = self._slots[self._index(array)]
        for element in elements:
            self._write_value(writing, slot, element)
        return writing.finish()

    def _index(self, name: str) -> int:
        return next(index for index, slot in enumerate(self._slots) if slot.name == name)

    # --- reading

    def _read(self, reading: _Reading) -> Any:
        made = self._struct.__new__(self._struct)
        at = "tagged fields"
        try:
            for slot in self._slots:
                if slot.is_present and slot.tag < 0:
                    at = slot.name
                    value = self._read_field(reading, slot)
                else:
                    value = slot.make_default() if slot.make_default else slot.default
                setattr(made, slot.name, value)
            if self._is_flexible:
                at = "tagged fields"
                count = reading.varint()
                if count > MAX_TAGS:
                    raise _Unreadable(f"{count} tagged fields, above {MAX_TAGS}")
                for _ in range(count):
                    at = "tagged fields"
                    slot_or_none = self._by_tag.get(reading.varint())
                    length = reading.varint()
                    end = reading.end_of(length)
                    if slot_or_none is None:
                        reading.pos = end
                        continue
                    at = slot_or_none.name
                    start = reading.pos
                    setattr(made, at, self._read_field(reading, slot_or_none))
                    if reading.pos != end:
                        raise _Unreadable(f"tagged field of {length} bytes read as {reading.pos - start}")
        except _Unreadable as error:
            raise MalformedMessage(self._name, at, reading.pos, str(error)) from None
        return made

    def _read_field(self, reading: _Reading, slot: Slot) -> Any:
        if not slot.is_array:
            return self._read_value(reading, slot, slot.is_nullable)
        count = reading.varint() - 1 if slot.is_compact else reading.number(KINDS["int32"])
        if count < 0:
            return reading.null(slot, slot.is_nullable, count)
        reading.end_of(count * _SIZES.get(slot.kind, 1))
        reading.take(count)
        return [self._read_value(reading, slot, False) for _ in range(count)]

    def _read_value(self, reading: _Reading, slot: Slot, is_nullable: bool) -> Any:
        kind = slot.kind
        if kind in _NUMBERS:
            return reading.number(kind)
        if kind == _UUID:
            return bytes(reading.fixed(16))
        if kind == _STRUCT:
            return self._read_struct(reading, slot, is_nullable)
        if slot.is_compact:
            length = reading.varint() - 1
            if kind == _STRING and length > MAX_STRING_BYTES:
                raise _Unreadable(f"string of {length} bytes, above {MAX_STRING_BYTES}")
        else:
            length = reading.number(KINDS["int16" if kind == _STRING else "int32"])
        if length < 0:
            return reading.null(slot, is_nullable, length)
        end = reading.end_of(length)
        view = memoryview(reading.data)[reading.pos : end]
        try:
            value = text_of(view) if kind == _STRING else bytes(view) if kind == _BYTES else view
        except ValueError as error:
            raise _Unreadable(str(error)) from None
        reading.pos = end
        return value

    def _read_struct(self, reading: _Reading, slot: Slot, is_nullable: bool) -> Any:
        if is_nullable:
            is_present = reading.varint() > 0 if slot.tag >= 0 else reading.number(KINDS["int8"]) >= 0
            if not is_present:
                return None
        return slot.child._read(reading)

    # --- writing

    def _write_whole(self, writing: _Writing, struct: Any) -> None:
        self._write(writing, struct, self._slots)
        if self._is_flexible:
            self._write_tags(writing, struct)

    def _write(self, writing: _Writing, struct: Any, slots: Sequence[Slot]) -> None:
        for slot in slots:
            value = getattr(struct, slot.name)
            if not slot.is_present:
                if not slot.is_ignorable and _differs(slot, value):
                    raise UnsupportedField(self._name, slot.name, str(self._version))
            elif slot.tag < 0:
                self._write_field(writing, slot, value)

    def _write_tags(self, writing: _Writing, struct: Any) -> None:
        tagged = [(tag, getattr(struct, self._by_tag[tag].name)) for tag in sorted(self._by_tag)]
        tagged = [(tag, value) for tag, value in tagged if _differs(self._by_tag[tag], value)]
        writing.varint(len(tagged))
        for tag, value in tagged:
            field = _Writing()
            self._write_field(field, self._by_tag[tag], value)
            parts = field.finish()
            writing.varint(tag)
            writing.varint(sum(map(len, parts)))
            for part in parts:
                writing.content(part)

    def _write_field(self, writing: _Writing, slot: Slot, value: Any) -> None:
        if value is None and (slot.kind >= _STRING or slot.is_array):
            if not slot.is_nullable:
                reason = f"{slot.name} is null, which version {self._version} does not allow"
                raise UnencodableValue(self._name, reason)
            writing.null(slot)
        elif slot.is_array:
            writing.length(len(value), slot.is_compact, 4)
            for element in value:
                self._write_value(writing, slot, element)
        else:
            if slot.kind == _STRUCT and slot.is_nullable:
                writing.content(b"\x01")
            self._write_value(writing, slot, value)

    def _write_value(self, writing: _Writing, slot: Slot, value: Any) -> None:
        kind = slot.kind
        if kind == _STRUCT:
            slot.child._write_whole(writing, value)
        elif kind in _NUMBERS:
            writing.number(kind, value, self._name, slot.name)
        elif kind == _UUID:
            if not is_binary(value):
                raise unencodable(self._name, slot.name, kind, value)
            if len(value) != 16:
                raise UnencodableValue(self._name, f"{slot.name} has {len(value)} bytes, a UUID has 16")
            writing.content(value)
        elif kind == _STRING:
            content = _encoded(self._name, slot.name, value)
            writing.length(len(content), slot.is_compact, 2)
            writing.content(content)
        else:
            if not is_binary(value):
                raise unencodable(self._name, slot.name, kind, value)
            writing.length(len(value), slot.is_compact, 4)
            writing.content(value)


def is_binary(value: Any) -> bool:
    """Whether the value is bytes in one piece, so that its length is their number."""
    if type(value) is memoryview:
        return value.c_contiguous and value.nbytes == len(value)
    return type(value) in (bytes, bytearray)


def unencodable(name: str, field: str, kind: int, value: Any) -> UnencodableValue:
    """The error for a value that is not one of the type's."""
    if kind in _RANGES and isinstance(value, int):
        low, high = _RANGES[kind]
        return UnencodableValue(name, f"{field} is {int(value)}, {_NAMES[kind]} has {low} to {high}")
    return UnencodableValue(name, f"{field} is {value!r}, which is no {_NAMES[kind]}")


def too_long(name: str, field: str, size: int) -> UnencodableValue:
    return UnencodableValue(name, f"{field} has {size} bytes, a string has at most {MAX_STRING_BYTES}")


def _encoded(name: str, field: str, text: Any) -> bytes:
    if not isinstance(text, str):
        raise unencodable(name, field, _STRING, text)
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        raise UnencodableValue(name, f"{field}: {error}") from None
    if len(content) > MAX_STRING_BYTES:
        raise too_long(name, field, len(content))
    return content


def _differs(slot: Slot, value: Any) -> bool:
    """Whether the value is not the default. Records and bytes are compared by their lengths: a view is no bytes."""
    if slot.default is None or value is None:
        return value is not slot.default
    if slot.is_array or slot.kind in (_BYTES, _RECORDS):
        return len(value) > 0
    if slot.kind == _STRUCT and slot.child is not None:
        return any(_differs(inner, getattr(value, inner.name)) for inner in slot.child._slots)
    return bool(value != slot.default)


class _Reading:
    """The bytes of a message, and how far they were read."""

    def __init__(self, data: Buffer, pos: int, limit: ElementLimit | None) -> None:
        self.data = data
        self.pos = pos
        self._limit = limit

    def end_of(self, length: int) -> int:
        """The position after the next ``length`` bytes, which must exist."""
        left = len(self.data) - self.pos
        if length > left:
            raise _Unreadable(f"length {length} with {left} bytes left")
        return self.pos + length

    def fixed(self, size: int) -> Buffer:
        end = self.pos + size
        if end > len(self.data):
            raise _Unreadable("ends before the field does")
        content = self.data[self.pos : end]
        self.pos = end
        return content

    def number(self, kind: int) -> Any:
        return _NUMBERS[kind].unpack(self.fixed(_SIZES[kind]))[0]

    def varint(self) -> int:
        try:
            value, self.pos = read_uvarint(self.data, self.pos)
        except IndexError:
            raise _Unreadable("ends before the field does") from None
        except ValueError as error:
            raise _Unreadable(str(error)) from None
        return value

    def null(self, slot: Slot, is_nullable: bool, length: int) -> None:
        if not is_nullable:
            raise _Unreadable(f"null (length {0 if slot.is_compact else length}), which the field does not allow")

    def take(self, count: int) -> None:
        """Count the elements of an array before they are built."""
        limit = self._limit
        if limit is not None:
            limit.count += count
            if limit.count > limit.most:
                reason = f"{limit.count} elements, at most {limit.most} are accepted: request less at once"
                raise _Unreadable(reason)


class _Writing:
    """Collects encoded values: short ones in one part, long ones as parts of their own."""

    def __init__(self) -> None:
        self._parts: list[Buffer] = []
        self._out = bytearray()

    def finish(self) -> list[Buffer]:
        self._cut()
        return self._parts

    def _cut(self) -> None:
        if self._out:
            self._parts.append(bytes(self._out))
            self._out.clear()

    def content(self, content: Buffer) -> None:
        if len(content) > SHORT_BYTES:
            self._cut()
            self._parts.append(content)
        else:
            self._out += content

    def number(self, kind: int, value: Any, name: str, field: str) -> None:
        try:
            self._out += _NUMBERS[kind].pack(value)
        except (StructError, OverflowError, TypeError):
            raise unencodable(name, field, kind, value) from None

    def varint(self, value: int) -> None:
        self._out += uvarint(value)

    def length(self, length: int, is_compact: bool, size: int) -> None:
        if is_compact:
            self.varint(length + 1)
        else:
            self._out += length.to_bytes(size, "big", signed=True)

    def null(self, slot: Slot) -> None:
        if slot.kind == _STRUCT and not slot.is_array:
            self._out += b"\0" if slot.tag >= 0 else b"\xff"  # null is a varint in a tagged field, otherwise an int8
        else:
            self.length(-1, slot.is_compact, 2 if slot.kind == _STRING and not slot.is_array else 4)
