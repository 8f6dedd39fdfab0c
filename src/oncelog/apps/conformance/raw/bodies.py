"""Produce and Fetch as bytes, in every version, written and read by hand. Pure; called by the raw client."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from oncelog.apps.conformance.expect import CheckFailed, there
from oncelog.apps.conformance.raw.batches import RawBatch, RawRecord, parse_batches

READ_UNCOMMITTED, READ_COMMITTED = 0, 1


class FieldWriter:
    """Writes the fields of a request one after another, in the compact encoding if the version is flexible
    (KIP-482)."""

    def __init__(self, flexible: bool) -> None:
        self.flexible = flexible
        self._parts: list[bytes] = []

    def put(self, layout: str, *values: Any) -> FieldWriter:
        self._parts.append(struct.pack(">" + layout, *values))
        return self

    def raw(self, data: bytes) -> FieldWriter:
        self._parts.append(data)
        return self

    def uvarint(self, value: int) -> FieldWriter:
        out = bytearray()
        while value > 0x7F:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
        return self.raw(bytes(out))

    def string(self, text: str | None) -> FieldWriter:
        data = None if text is None else text.encode()
        if self.flexible:
            self.uvarint(0 if data is None else len(data) + 1)
        else:
            self.put("h", -1 if data is None else len(data))
        return self.raw(data or b"")

    def blob(self, data: bytes | None) -> FieldWriter:
        if self.flexible:
            self.uvarint(0 if data is None else len(data) + 1)
        else:
            self.put("i", -1 if data is None else len(data))
        return self.raw(data or b"")

    def count(self, number: int) -> FieldWriter:
        return self.uvarint(number + 1) if self.flexible else self.put("i", number)

    def tags(self) -> FieldWriter:
        return self.raw(b"\0") if self.flexible else self

    def bytes(self) -> bytes:
        return b"".join(self._parts)


class FieldReader:
    def __init__(self, data: bytes, flexible: bool) -> None:
        self.data, self.at, self.flexible = data, 0, flexible

    def get(self, layout: str) -> Any:
        values = struct.unpack_from(">" + layout, self.data, self.at)
        self.at += struct.calcsize(">" + layout)
        return values[0] if len(values) == 1 else values

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def take(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise CheckFailed("an answer ends in the middle of a field")
        self.at += size
        return self.data[self.at - size : self.at]

    def string(self) -> str | None:
        size = self.uvarint() - 1 if self.flexible else self.get("h")
        return None if size < 0 else self.take(size).decode()

    def blob(self) -> bytes | None:
        size = self.uvarint() - 1 if self.flexible else self.get("i")
        return None if size < 0 else self.take(size)

    def count(self) -> int:
        return self.uvarint() - 1 if self.flexible else int(self.get("i"))

    def tags(self) -> dict[int, bytes]:
        if not self.flexible:
            return {}
        found = {}
        for _ in range(self.uvarint()):
            number = self.uvarint()
            found[number] = self.take(self.uvarint())
        return found


def _all_read(reader: FieldReader, api: str) -> None:
    if reader.at != len(reader.data):
        raise CheckFailed(f"{len(reader.data) - reader.at} bytes are left after the answer to {api}")


class Produced(NamedTuple):
    """One partition's answer to Produce."""

    error: int
    base_offset: int
    log_append_time: int
    log_start_offset: int
    record_errors: list[tuple[int, str | None]]
    error_message: str | None


class RawFetched(NamedTuple):
    """One partition's answer to Fetch."""

    error: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: list[tuple[int, int]] | None
    records: bytes | None
    diverging: tuple[int, int] | None

    @property
    def batches(self) -> list[RawBatch]:
        return list(parse_batches(self.records or b""))

    def committed(self, offset: int = 0) -> list[RawRecord]:
        """The records that a read_committed consumer delivers to its program after a fetch at ``offset`` (Kafka's
        ``CompletedFetch``): no markers, no records of aborted transactions, and no records before ``offset``."""
        aborted = there(self.aborted, "the list of aborted transactions")
        waiting = sorted((first, pid) for pid, first in aborted)
        aborting: set[int] = set()
        delivered: list[RawRecord] = []
        for item in self.batches:
            while waiting and waiting[0][0] <= item.last_offset:
                aborting.add(waiting.pop(0)[1])
            if item.is_control:
                if item.marker()[0] == "abort":
                    aborting.discard(item.pid)
            elif not (item.is_transactional and item.pid in aborting):
                delivered += [found for found in item.records() if found.offset >= offset]
        return delivered


class FetchAnswer(NamedTuple):
    error: int
    session_id: int
    partitions: dict[tuple[Any, int], RawFetched]


class RawFetchPosition(NamedTuple):
    """What to fetch from one partition."""

    offset: int
    max_bytes: int = 1 << 20
    leader_epoch: int = -1
    last_fetched_epoch: int = -1
    log_start_offset: int = -1


def produce_body(
    version: int,
    data: Mapping[tuple[Any, int], bytes | None],
    *,
    acks: int = -1,
    transactional_id: str | None = None,
    timeout_ms: int = 30_000,
) -> bytes:
    """The body of a Produce request, versions 3-13; a topic is identified by its id (16 bytes) from version 13 on."""
    w = FieldWriter(version >= 9).string(transactional_id).put("hi", acks, timeout_ms)
    topics = list(dict.fromkeys(topic for topic, _ in data))
    w.count(len(topics))
    for topic in topics:
        w.string(topic) if isinstance(topic, str) else w.raw(topic)
        indexes = [index for name, index in data if name == topic]
        w.count(len(indexes))
        for index in indexes:
            w.put("i", index).blob(data[topic, index]).tags()
        w.tags()
    return w.tags().bytes()


def parse_produce(body: bytes, version: int) -> dict[tuple[Any, int], Produced]:
    r = FieldReader(body, version >= 9)
    found = {}
    for _ in range(r.count()):
        topic: Any = r.string() if version < 13 else r.take(16)
        for _ in range(r.count()):
            index, error, base, time_ = r.get("ihqq")
            start = r.get("q") if version >= 5 else -1
            errors = []
            message = None
            if version >= 8:
                for _ in range(r.count()):
                    errors.append((r.get("i"), r.string()))
                    r.tags()
                message = r.string()
            r.tags()
            found[topic, index] = Produced(error, base, time_, start, errors, message)
        r.tags()
    r.get("i")
    r.tags()
    _all_read(r, "Produce")
    return found


def fetch_body(
    version: int,
    positions: Mapping[tuple[Any, int], RawFetchPosition],
    *,
    isolation: int = READ_UNCOMMITTED,
    max_wait_ms: int = 1,
    min_bytes: int = 1,
    max_bytes: int = 50 << 20,
    session_id: int = 0,
    session_epoch: int = -1,
    forgotten: Sequence[tuple[str | bytes, int]] = (),
) -> bytes:
    """A consumer's Fetch request, versions 4-18; topics are identified by their ids from version 13 on.

    The broker may wait for a millisecond by default, because some brokers return nothing for a fetch that may not wait
    at all, and only one check is about such fetches.
    """
    w = FieldWriter(version >= 12)
    if version < 15:
        w.put("i", -1)
    w.put("iiib", max_wait_ms, min_bytes, max_bytes, isolation)
    if version >= 7:
        w.put("ii", session_id, session_epoch)
    topics = list(dict.fromkeys(topic for topic, _ in positions))
    w.count(len(topics))
    for topic in topics:
        w.string(topic) if isinstance(topic, str) else w.raw(topic)
        mine = [(index, position) for (name, index), position in positions.items() if name == topic]
        w.count(len(mine))
        for index, position in mine:
            w.put("i", index)
            if version >= 9:
                w.put("i", position.leader_epoch)
            w.put("q", position.offset)
            if version >= 12:
                w.put("i", position.last_fetched_epoch)
            if version >= 5:
                w.put("q", position.log_start_offset)
            w.put("i", position.max_bytes).tags()
        w.tags()
    if version >= 7:
        w.count(len(forgotten))
        for topic, index in forgotten:
            w.string(topic) if isinstance(topic, str) else w.raw(topic)
            w.count(1).put("i", index).tags()
    if version >= 11:
        w.string("")
    return w.tags().bytes()


def parse_fetch(body: bytes, version: int) -> FetchAnswer:
    r = FieldReader(body, version >= 12)
    r.get("i")
    error, session_id = r.get("hi") if version >= 7 else (0, 0)
    found: dict[tuple[Any, int], RawFetched] = {}
    for _ in range(r.count()):
        topic: Any = r.string() if version < 13 else r.take(16)
        for _ in range(r.count()):
            index, code, watermark, stable = r.get("ihqq")
            start = r.get("q") if version >= 5 else -1
            number = r.count()
            listed = []
            for _ in range(number):
                listed.append(r.get("qq"))
                r.tags()
            aborted: list[tuple[int, int]] | None = None if number < 0 else listed
            if version >= 11:
                r.get("i")
            records = r.blob()
            tags = r.tags()
            diverging = struct.unpack_from(">iq", tags[0]) if 0 in tags else None
            found[topic, index] = RawFetched(code, watermark, stable, start, aborted, records, diverging)
        r.tags()
    r.tags()
    _all_read(r, "Fetch")
    return FetchAnswer(error, session_id, found)
