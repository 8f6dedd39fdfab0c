"""Record batches written and read by hand, from the protocol's documentation: valid ones, and deliberately wrong
ones."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import cramjam
from crc32c import crc32c

from oncelog.apps.conformance.expect import there
from oncelog.runtime import real_time

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 0x08, 0x10, 0x20


def now_ms() -> int:
    return real_time.time_ms()


def varint(value: int) -> bytes:
    """A number as a zigzag varint: 7 bits a byte, the least significant bits first."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7


def _nullable(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(
    value: bytes | None,
    key: bytes | None = None,
    *,
    offset_delta: int = 0,
    timestamp_delta: int = 0,
    headers: Sequence[tuple[bytes, bytes | None]] = (),
) -> bytes:
    body = b"\0" + varint(timestamp_delta) + varint(offset_delta) + _nullable(key) + _nullable(value)
    body += varint(len(headers)) + b"".join(_nullable(name) + _nullable(content) for name, content in headers)
    return varint(len(body)) + body


def batch(
    *values: bytes | None,
    key: bytes | None = None,
    pid: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    attributes: int = 0,
    timestamp: int | None = None,
    timestamps: Sequence[int] | None = None,
    records: bytes | None = None,
    count: int | None = None,
    last_offset_delta: int | None = None,
    base_offset: int = 0,
    leader_epoch: int = -1,
    max_timestamp: int | None = None,
    magic: int = 2,
    crc: int | None = None,
) -> bytes:
    """A batch with one record for each value; arguments replace the correct fields with others.

    :param records: the records area in bytes, already compressed if the attributes say so; give ``count`` with it.
    """
    base_time = now_ms() if timestamp is None else timestamp
    times = list(timestamps) if timestamps is not None else [base_time] * len(values)
    if timestamps:
        base_time = times[0]
    if records is None:
        records = b"".join(
            record(value, key, offset_delta=index, timestamp_delta=times[index] - base_time)
            for index, value in enumerate(values)
        )
    count = len(values) if count is None else count
    last = count - 1 if last_offset_delta is None else last_offset_delta
    largest = max(times, default=base_time) if max_timestamp is None else max_timestamp
    checked = struct.pack(">hiqqqhii", attributes, last, base_time, largest, pid, epoch, sequence, count) + records
    crc = crc32c(checked) if crc is None else crc
    return struct.pack(">qiibI", base_offset, 9 + len(checked), leader_epoch, magic, crc) + checked


XERIAL = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)


def unsnappy(data: bytes) -> bytes:
    """Decompress a raw snappy block, or data in the framing of Java's snappy library."""
    if not data.startswith(XERIAL[:8]):
        return bytes(cramjam.snappy.decompress_raw(data))
    out, at = b"", 16
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        out += bytes(cramjam.snappy.decompress_raw(data[at + 4 : at + 4 + size]))
        at += 4 + size
    return out


DECOMPRESS: dict[int, Callable[[bytes], bytes]] = {
    0: bytes,
    GZIP: gzip.decompress,
    SNAPPY: unsnappy,
    LZ4: lambda data: bytes(cramjam.lz4.decompress(data)),
    ZSTD: lambda data: bytes(cramjam.zstd.decompress(data)),
}
"""The function that decompresses each codec."""


class RawRecord(NamedTuple):
    """A record that was read."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class RawBatch:
    """A batch that was read; ``area`` is the records area as stored."""

    base_offset: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    pid: int
    epoch: int
    sequence: int
    count: int
    area: bytes
    crc_right: bool

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    def records(self) -> list[RawRecord]:
        data, at, found = DECOMPRESS[self.attributes & 7](self.area), 0, []
        for _ in range(self.count):
            size, at = _read_varint(data, at)
            end = at + size
            time_delta, at = _read_varint(data, at + 1)
            delta, at = _read_varint(data, at)
            fields: list[bytes | None] = []
            for _ in range(2):
                length, at = _read_varint(data, at)
                fields.append(None if length < 0 else data[at : at + length])
                at += max(length, 0)
            timestamp = self.max_timestamp if self.attributes & LOG_APPEND_TIME else self.base_timestamp + time_delta
            found.append(RawRecord(self.base_offset + delta, timestamp, fields[0], fields[1]))
            at = end
        return found

    def marker(self) -> tuple[str, int]:
        """The kind and the coordinator epoch of a transaction marker."""
        (only,) = self.records()
        kind = struct.unpack_from(">hh", there(only.key, "a marker's key"))[1]
        return {0: "abort", 1: "commit"}[kind], struct.unpack_from(">hi", there(only.value, "a marker's value"))[1]


def parse_batches(data: bytes) -> Iterator[RawBatch]:
    """The complete batches in a fetched records field or in a segment file."""
    at = 0
    while len(data) - at >= 61:
        base, size, leader_epoch, magic, crc = struct.unpack_from(">qiibI", data, at)
        if size <= 0 or len(data) - at < 12 + size:
            return
        attributes, last, first_time, largest_time, pid, epoch, sequence, count = struct.unpack_from(
            ">hiqqqhii", data, at + 21
        )
        checked = data[at + 21 : at + 12 + size]
        yield RawBatch(
            *(base, leader_epoch, magic, crc, attributes, last, first_time, largest_time, pid, epoch, sequence, count),
            area=checked[40:],
            crc_right=crc32c(checked) == crc,
        )
        at += 12 + size
