"""A raw client: sockets and bytes, so that nothing of the broker's own codecs can hide a fault of theirs.

Record batches, Produce and Fetch are written and read here by hand, from the protocol's documents. The other requests,
which are not on the path of records, use the generated messages. Waiting is always for a condition, never for a time.
"""

from __future__ import annotations

import gzip
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import cramjam
from crc32c import crc32c

from oncelog.protocol.framing import decode_response_header, encode_request_header
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from oncelog.protocol.generated.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.messages import response_type
from oncelog.protocol.wire import Message

T = TypeVar("T")

PRODUCE, FETCH = 0, 1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
TRANSIENT = {3, 5, 6, 14, 15, 16}
"""What a topic or a coordinator answers while it is being set up; clients try again, so do these tests."""
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 0x08, 0x10, 0x20


class ConnectionClosed(Exception):
    """The broker ended the connection instead of answering."""


def eventually(probe: Callable[[], T | None], timeout_s: float = 30) -> T:
    """The first result of ``probe`` that is not None or False; fails after the time-out."""
    deadline = time.monotonic() + timeout_s
    while True:
        result = probe()
        if result is not None and result is not False:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"not so within {timeout_s} s")
        time.sleep(0.02)


def now_ms() -> int:
    return int(time.time() * 1000)


# -- record batches ---------------------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    """Zigzag, base 128, least significant group first."""
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
    """A batch of one record per value; whatever is given overrides what would be right.

    :param records: the records area as it is, compressed where the attributes say so; ``count`` goes with it.
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


def control_batch(pid: int, epoch: int, *, commit: bool, coordinator_epoch: int = 0) -> bytes:
    """An end-of-transaction marker as a coordinator writes it."""
    marker = record(struct.pack(">hi", 0, coordinator_epoch), struct.pack(">hh", 0, int(commit)))
    return batch(records=marker, count=1, pid=pid, epoch=epoch, attributes=TRANSACTIONAL | CONTROL)


XERIAL = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)


def unsnappy(data: bytes) -> bytes:
    """A raw snappy block, or the framing of Java's snappy library."""
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
"""How each codec is read."""


class Read(NamedTuple):
    """A record as read."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as read; ``area`` is the records area as stored."""

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

    def records(self) -> list[Read]:
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
            stamp = self.max_timestamp if self.attributes & LOG_APPEND_TIME else self.base_timestamp + time_delta
            found.append(Read(self.base_offset + delta, stamp, fields[0], fields[1]))
            at = end
        return found

    def marker(self) -> tuple[str, int]:
        """Kind and coordinator epoch of a transaction marker."""
        (only,) = self.records()
        assert only.key is not None
        assert only.value is not None
        kind = struct.unpack_from(">hh", only.key)[1]
        return {0: "abort", 1: "commit"}[kind], struct.unpack_from(">hi", only.value)[1]


def parse_batches(data: bytes) -> Iterator[Batch]:
    """The complete batches of a fetched records field or of a segment file."""
    at = 0
    while len(data) - at >= 61:
        base, size, leader_epoch, magic, crc = struct.unpack_from(">qiibI", data, at)
        if size <= 0 or len(data) - at < 12 + size:
            return
        attributes, last, first_time, largest_time, pid, epoch, sequence, count = struct.unpack_from(
            ">hiqqqhii", data, at + 21
        )
        checked = data[at + 21 : at + 12 + size]
        yield Batch(
            *(base, leader_epoch, magic, crc, attributes, last, first_time, largest_time, pid, epoch, sequence, count),
            area=checked[40:],
            crc_right=crc32c(checked) == crc,
        )
        at += 12 + size


# -- writing and reading of requests by hand ----------------------------------------------------------------------


class Writer:
    """Fields one after the other, compact where the version is flexible."""

    def __init__(self, flexible: bool) -> None:
        self.flexible = flexible
        self._parts: list[bytes] = []

    def put(self, layout: str, *values: Any) -> Writer:
        self._parts.append(struct.pack(">" + layout, *values))
        return self

    def raw(self, data: bytes) -> Writer:
        self._parts.append(data)
        return self

    def uvarint(self, value: int) -> Writer:
        out = bytearray()
        while value > 0x7F:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
        return self.raw(bytes(out))

    def string(self, text: str | None) -> Writer:
        data = None if text is None else text.encode()
        if self.flexible:
            self.uvarint(0 if data is None else len(data) + 1)
        else:
            self.put("h", -1 if data is None else len(data))
        return self.raw(data or b"")

    def blob(self, data: bytes | None) -> Writer:
        if self.flexible:
            self.uvarint(0 if data is None else len(data) + 1)
        else:
            self.put("i", -1 if data is None else len(data))
        return self.raw(data or b"")

    def count(self, number: int) -> Writer:
        return self.uvarint(number + 1) if self.flexible else self.put("i", number)

    def tags(self) -> Writer:
        return self.raw(b"\0") if self.flexible else self

    def bytes(self) -> bytes:
        return b"".join(self._parts)


class Reader:
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
        assert self.at + size <= len(self.data)
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


class Produced(NamedTuple):
    """One partition's answer to Produce."""

    error: int
    base_offset: int
    log_append_time: int
    log_start_offset: int
    record_errors: list[tuple[int, str | None]]
    error_message: str | None


class Fetched(NamedTuple):
    """One partition's answer to Fetch."""

    error: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: list[tuple[int, int]] | None
    records: bytes | None
    diverging: tuple[int, int] | None

    @property
    def batches(self) -> list[Batch]:
        return list(parse_batches(self.records or b""))

    def committed(self, offset: int = 0) -> list[Read]:
        """What a consumer delivers of a read_committed fetch from ``offset`` (Kafka's ``CompletedFetch``)."""
        assert self.aborted is not None
        waiting = sorted((first, pid) for pid, first in self.aborted)
        aborting: set[int] = set()
        delivered: list[Read] = []
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
    partitions: dict[tuple[Any, int], Fetched]


class Position(NamedTuple):
    """What to fetch of one partition."""

    offset: int
    max_bytes: int = 1 << 20
    leader_epoch: int = -1
    last_fetched_epoch: int = -1
    log_start_offset: int = -1


def produce_body(
    version: int,
    data: Mapping[tuple[str | bytes, int], bytes | None],
    *,
    acks: int = -1,
    transactional_id: str | None = None,
    timeout_ms: int = 30_000,
) -> bytes:
    """Produce 3-13; a topic is named by its id (16 bytes) from version 13 on."""
    w = Writer(version >= 9).string(transactional_id).put("hi", acks, timeout_ms)
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
    r = Reader(body, version >= 9)
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
    assert r.at == len(body), "bytes are left after the answer to Produce"
    return found


def fetch_body(
    version: int,
    positions: Mapping[tuple[str | bytes, int], Position],
    *,
    isolation: int = READ_UNCOMMITTED,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 50 << 20,
    session_id: int = 0,
    session_epoch: int = -1,
    forgotten: Sequence[tuple[str | bytes, int]] = (),
) -> bytes:
    """Fetch 4-18 of a consumer; topics are named by their ids from version 13 on."""
    w = Writer(version >= 12)
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
    r = Reader(body, version >= 12)
    r.get("i")
    error, session_id = r.get("hi") if version >= 7 else (0, 0)
    found: dict[tuple[Any, int], Fetched] = {}
    for _ in range(r.count()):
        topic: Any = r.string() if version < 13 else r.take(16)
        for _ in range(r.count()):
            index, code, watermark, stable = r.get("ihqq")
            start = r.get("q") if version >= 5 else -1
            number = r.count()
            aborted: list[tuple[int, int]] | None = None if number < 0 else []
            for _ in range(number):
                assert aborted is not None
                aborted.append(r.get("qq"))
                r.tags()
            if version >= 11:
                r.get("i")
            records = r.blob()
            tags = r.tags()
            diverging = struct.unpack_from(">iq", tags[0]) if 0 in tags else None
            found[topic, index] = Fetched(code, watermark, stable, start, aborted, records, diverging)
        r.tags()
    r.tags()
    assert r.at == len(body), "bytes are left after the answer to Fetch"
    return FetchAnswer(error, session_id, found)


# -- connections --------------------------------------------------------------------------------------------------


class Connection:
    """One socket; requests are answered in their order."""

    def __init__(self, bootstrap_servers: str, *, client_id: str | None = "conformance", timeout_s: float = 20) -> None:
        host, port = bootstrap_servers.rsplit(":", 1)
        self.bootstrap_servers = bootstrap_servers
        self._client_id = client_id
        self._correlation_id = 0
        self._socket = socket.create_connection((host.strip("[]"), int(port)), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def another(self, *, client_id: str | None = "conformance") -> Connection:
        return Connection(self.bootstrap_servers, client_id=client_id)

    def send_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def send(self, api_key: int, version: int, body: bytes, *, flexible: bool | None = None) -> int:
        """Write a request; its correlation id."""
        self._correlation_id += 1
        name = None if self._client_id is None else self._client_id.encode()
        if flexible is None:
            frame = encode_request_header(api_key, version, self._correlation_id, self._client_id, len(body)) + body
        else:
            head = struct.pack(">hhih", api_key, version, self._correlation_id, -1 if name is None else len(name))
            frame = head + (name or b"") + (b"\0" if flexible else b"") + body
            frame = struct.pack(">i", len(frame)) + frame
        self._socket.sendall(frame)
        return self._correlation_id

    def receive_frame(self) -> bytes:
        """The next answer without its size; ConnectionClosed where the broker ended the connection."""
        size = struct.unpack(">i", self._exactly(4))[0]
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                chunk = self._socket.recv(size - len(data))
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                raise ConnectionClosed
            data += chunk
        return bytes(data)

    def receive(self, correlation_id: int, *, flexible: bool) -> bytes:
        frame = self.receive_frame()
        assert struct.unpack_from(">i", frame)[0] == correlation_id
        return frame[5:] if flexible else frame[4:]

    def ask(self, message: Message, version: int) -> Any:
        """Send a generated message and read its answer."""
        correlation_id = self.send(message.API_KEY, version, message.encode(version))
        frame = self.receive_frame()
        got, at = decode_response_header(frame, message.API_KEY, version)
        assert got == correlation_id
        return response_type(message.API_KEY).decode(frame, version, at)

    def ask_until(self, message: Message, version: int, settled: Callable[[Any], bool]) -> Any:
        """Ask again until the answer is settled."""

        def probe() -> Any:
            answer = self.ask(message, version)
            return answer if settled(answer) else None

        return eventually(probe)

    # -- records

    def send_produce(
        self, data: Mapping[tuple[str | bytes, int], bytes | None], *, version: int = 11, **options: Any
    ) -> int:
        return self.send(PRODUCE, version, produce_body(version, data, **options), flexible=version >= 9)

    def receive_produce(self, correlation_id: int, version: int = 11) -> dict[tuple[Any, int], Produced]:
        return parse_produce(self.receive(correlation_id, flexible=version >= 9), version)

    def produce_all(
        self, data: Mapping[tuple[str | bytes, int], bytes | None], *, version: int = 11, **options: Any
    ) -> dict[tuple[Any, int], Produced]:
        return self.receive_produce(self.send_produce(data, version=version, **options), version)

    def produce(
        self, topic: str | bytes, records: bytes | None, partition: int = 0, *, version: int = 11, **options: Any
    ) -> Produced:
        return self.produce_all({(topic, partition): records}, version=version, **options)[topic, partition]

    def send_fetch(
        self, positions: Mapping[tuple[str | bytes, int], Position], *, version: int = 12, **options: Any
    ) -> int:
        return self.send(FETCH, version, fetch_body(version, positions, **options), flexible=version >= 12)

    def receive_fetch(self, correlation_id: int, version: int = 12) -> FetchAnswer:
        return parse_fetch(self.receive(correlation_id, flexible=version >= 12), version)

    def fetch_all(
        self, positions: Mapping[tuple[str | bytes, int], Position], *, version: int = 12, **options: Any
    ) -> FetchAnswer:
        return self.receive_fetch(self.send_fetch(positions, version=version, **options), version)

    def fetch(
        self,
        topic: str | bytes,
        offset: int = 0,
        partition: int = 0,
        *,
        version: int = 12,
        partition_max_bytes: int = 16 << 20,
        **options: Any,
    ) -> Fetched:
        answer = self.fetch_all({(topic, partition): Position(offset, partition_max_bytes)}, version=version, **options)
        assert answer.error == 0
        return answer.partitions[topic, partition]

    def read_committed(self, topic: str, offset: int = 0, partition: int = 0) -> list[bytes | None]:
        """Values as a consumer delivers them under read_committed (Kafka's ``CompletedFetch``)."""
        delivered: list[bytes | None] = []
        for item in self.committed_records(topic, offset, partition):
            delivered.append(item.value)
        return delivered

    def committed_records(self, topic: str, offset: int = 0, partition: int = 0) -> list[Read]:
        delivered: list[Read] = []
        while True:
            answer = self.fetch(topic, offset, partition, isolation=READ_COMMITTED)
            assert answer.error == 0
            batches = answer.batches
            delivered += answer.committed(offset)
            if not batches:
                return delivered
            offset = batches[-1].last_offset + 1

    # -- topics

    def create_topic(self, name: str, partitions: int = 1, **configs: object) -> bytes:
        """A topic that answers on each partition; its id. Settings as ``segment_bytes=1048576``."""
        request = CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=name,
                    num_partitions=partitions,
                    replication_factor=1,
                    configs=[
                        CreatableTopicConfig(name=key.replace("_", "."), value=str(value))
                        for key, value in configs.items()
                    ],
                )
            ],
            timeout_ms=30_000,
        )
        (created,) = self.ask(request, 7).topics
        assert created.error_code == 0, (created.error_code, created.error_message)
        for index in range(partitions):
            self._until_it_answers(name, index)
        metadata = self.ask(MetadataRequest(topics=[MetadataRequestTopic(name=name)]), 12)
        topic_id: bytes = metadata.topics[0].topic_id
        return topic_id

    def _until_it_answers(self, name: str, partition: int) -> None:
        eventually(lambda: self.list_offset(name, EARLIEST, partition).error_code not in TRANSIENT)
        eventually(lambda: self.fetch(name, 0, partition).error not in TRANSIENT)

    def list_offset(
        self,
        topic: str,
        timestamp: int = LATEST,
        partition: int = 0,
        *,
        isolation: int = READ_UNCOMMITTED,
        version: int = 9,
        leader_epoch: int = -1,
    ) -> Any:
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation,
            topics=[
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(
                            partition_index=partition, current_leader_epoch=leader_epoch, timestamp=timestamp
                        )
                    ],
                )
            ],
        )
        if version >= 10:
            request.timeout_ms = 10_000
        return self.ask(request, version).topics[0].partitions[0]
