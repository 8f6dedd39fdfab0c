"""The identity of records, and the rows by which records are sorted. Pure.

The first sort has a row for each record of one side: the record's identity, its place, and hashes of its key and
content. The second sort has a row for each matched pair: the key's hash and both places. A place is a partition (4
bytes), an offset (8 bytes) and a number (4 bytes) that counts the records that a transform makes of one record. None of
them is negative, so places sort as bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from struct import Struct
from typing import Any, NamedTuple, TypeAlias

from oncelog.errors import ConfigError
from oncelog.records.record import Headers

IDENTITY_BYTES = 16
MAX_LONG = 2**63 - 1
NO_KEY = bytes(8)
"""The key hash of a record without a key; such records have no order among each other."""

NO_VALUE = bytes(8)
"""The content hash of a tombstone, which compaction may remove."""

Made: TypeAlias = tuple[bytes | None, bytes | None, Headers]
"""The key, the value and the headers of a record that a transform returns."""

_PLACE = Struct(">iqI")
_SEEN = Struct(">16siqI8s8s")
_PAIR = Struct(">8siqIiqI")
PLACE_BYTES, SEEN_BYTES, PAIR_BYTES = _PLACE.size, _SEEN.size, _PAIR.size
pack_place, unpack_place = _PLACE.pack, _PLACE.unpack
pack_seen = _SEEN.pack
unpack_pair = _PAIR.unpack


class SourceRecord(NamedTuple):
    """A record of the source as a transform gets it; ``timestamp`` in ms."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


Identify: TypeAlias = Callable[[int, int, bytes | None, bytes | None, Headers], bytes]
"""A function that returns the identity of a record, of 16 bytes, from the partition and offset, the key, the value and
the headers."""


Content: TypeAlias = Callable[[bytes, bytes | None, Headers], bytes]
"""A function that returns a hash, of 8 bytes, of what must be equal besides identity and key, from the identity, the
value and the headers."""


class CannotIdentify(Exception):
    """A record lacks the part that identifies it."""


def digest(*parts: bytes | None) -> bytes:
    """A hash of several byte strings, of which any may be None."""
    with_lengths = [b"\xff" if part is None else len(part).to_bytes(4, "big") + part for part in parts]
    return blake2b(b"".join(with_lengths), digest_size=IDENTITY_BYTES).digest()


def key_hash(key: bytes | None) -> bytes:
    return NO_KEY if key is None else blake2b(key, digest_size=8).digest()


def header_of(headers: Headers, name: str) -> bytes | None:
    """The value of the last header with this name, or None."""
    return next((value for found, value in reversed(headers) if found == name), None)


def _by_content(partition: int, offset: int, key: bytes | None, value: bytes | None, headers: Headers) -> bytes:
    return digest(key, value)


def _by_key(partition: int, offset: int, key: bytes | None, value: bytes | None, headers: Headers) -> bytes:
    if key is None:
        raise CannotIdentify("it has no key")
    return digest(key)


def _by_header(name: str) -> Identify:
    def identify(partition: int, offset: int, key: bytes | None, value: bytes | None, headers: Headers) -> bytes:
        found = header_of(headers, name)
        if found is None:
            raise CannotIdentify(f"it has no header {name} with a value")
        return digest(found)

    return identify


def by_place(partition: int, offset: int, key: bytes | None, value: bytes | None, headers: Headers) -> bytes:
    """The identity of a record by its partition and offset in the source."""
    return partition.to_bytes(8, "big") + offset.to_bytes(8, "big")


def _by_written_offsets(partition_header: str, offset_header: str) -> Identify:
    def identify(partition: int, offset: int, key: bytes | None, value: bytes | None, headers: Headers) -> bytes:
        from_partition, from_offset = _number(headers, partition_header), _number(headers, offset_header)
        return by_place(from_partition, from_offset, key, value, headers)

    return identify


def _number(headers: Headers, name: str) -> int:
    """A number that a sink wrote into a header, as decimal digits or as 4 or 8 bytes in big-endian order."""
    found = header_of(headers, name)
    if found is None:
        raise CannotIdentify(f"it has no header {name}")
    if found.isdigit() and int(found) <= MAX_LONG:
        return int(found)
    if len(found) in (4, 8) and found[0] < 0x80:
        return int.from_bytes(found, "big")
    raise CannotIdentify(f"its header {name} is not a number of 64 bits: {found!r}")


def _identified(identity: bytes, value: bytes | None, headers: Headers) -> bytes:
    """The content hash if the identity already contains the content: the beginning of the identity, or NO_VALUE for a
    tombstone."""
    return NO_VALUE if value is None else identity[:8]


def _value_only(identity: bytes, value: bytes | None, headers: Headers) -> bytes:
    return NO_VALUE if value is None else blake2b(value, digest_size=8).digest()


def value_and_headers(identity: bytes, value: bytes | None, headers: Headers) -> bytes:
    """The content hash of value and headers, for a copy that must leave both unchanged."""
    parts = (part for name, found in headers for part in (name.encode(), found))
    return NO_VALUE if value is None else digest(value, *parts)[:8]


class RecordIdentity(NamedTuple):
    """How records are identified on each side, and which parts of matched records must be equal."""

    source: Identify
    dest: Identify
    content: Content = _value_only


WAYS = "content, key, header:NAME, offsets:PARTITION_HEADER,OFFSET_HEADER or mirror:NAME"


def parse_by(text: str) -> RecordIdentity:
    """The identity that the option ``--by`` selects, except for ``mirror``.

    :raises ConfigError: the text names no identity.
    """
    way, _, rest = text.partition(":")
    if way == "content" and not rest:
        return RecordIdentity(_by_content, _by_content, _identified)
    if way == "key" and not rest:
        return RecordIdentity(_by_key, _by_key)
    if way == "header" and rest:
        return RecordIdentity(_by_header(rest), _by_header(rest))
    names = rest.split(",")
    if way == "offsets" and len(names) == 2 and all(names):
        return RecordIdentity(by_place, _by_written_offsets(*names))
    raise ConfigError(f"--by takes {WAYS}, not {text!r}")


Transform: TypeAlias = Callable[[SourceRecord], Any]


def made_by(transform: Transform, record: SourceRecord) -> list[Made]:
    """The records that a transform makes of a record. The transform may return None for no record, a pair of key and
    value, a triple with headers, or a list of these; it may also yield them.

    :raises ConfigError: the transform fails, or returns something else.
    """
    try:
        result = transform(record)
        several = list(result) if isinstance(result, list | Iterator) else None
    except Exception as error:
        raise ConfigError(
            f"--transform failed at offset {record.offset} of {record.topic}-{record.partition}: "
            f"{type(error).__name__}: {error}"
        ) from error
    if result is None:
        return []
    return [_made(one, record) for one in ([result] if several is None else several)]


def _made(result: Any, record: SourceRecord) -> Made:
    if isinstance(result, SourceRecord):
        return result.key, result.value, result.headers
    is_tuple = isinstance(result, tuple) and len(result) in (2, 3)
    if is_tuple and all(part is None or isinstance(part, bytes) for part in result[:2]):
        headers = () if len(result) == 2 else result[2]
        if isinstance(headers, list | tuple) and all(map(_is_header, headers)):
            return result[0], result[1], tuple(headers)
    raise ConfigError(
        f"--transform returned {result!r} for offset {record.offset} of {record.topic}-{record.partition}: it takes a "
        "record, and returns None, (key, value), (key, value, headers) or a list of these, with bytes or None; headers "
        "are pairs of a name and bytes or None"
    )


def _is_header(header: Any) -> bool:
    if not isinstance(header, tuple) or len(header) != 2:
        return False
    name, value = header
    return isinstance(name, str) and (value is None or isinstance(value, bytes))


Columns: TypeAlias = tuple[Sequence[int], Sequence[bytes | None], Sequence[bytes | None], Sequence[Headers]]
"""The offsets, keys, values and headers of records, as four sequences of the same length."""


def made_rows(records: Iterable[SourceRecord], by: RecordIdentity, transform: Transform) -> list[bytes]:
    """The rows of the records that a transform makes of source records.

    :raises CannotIdentify: a record lacks the part that identifies it.
    """
    rows = []
    for record in records:
        partition, offset = record.partition, record.offset
        for number, (key, value, headers) in enumerate(made_by(transform, record)):
            identity = by.source(partition, offset, key, value, headers)
            content = by.content(identity, value, headers)
            rows.append(pack_seen(identity, partition, offset, number, key_hash(key), content))
    return rows


def rows_of(partition: int, columns: Columns, identify: Identify, content: Content) -> list[bytes]:
    """The rows of records that no transform changes.

    :raises CannotIdentify: a record lacks the part that identifies it.
    """
    rows = []
    for offset, key, value, headers in zip(*columns, strict=True):
        identity = identify(partition, offset, key, value, headers)
        rows.append(pack_seen(identity, partition, offset, 0, key_hash(key), content(identity, value, headers)))
    return rows
