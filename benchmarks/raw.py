"""A plain connection that sends one request at a time and waits for its answer, and the encoded requests of raw loads.

Used by ``requests`` (loads of ``requests.c``) and ``reach`` (measurements over Python's own connections).
"""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Iterator
from struct import Struct
from typing import Any

from benchmarks.load import BenchmarkError
from benchmarks.servers import Server
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.messages import response_type
from oncelog.protocol.struct_fields import Struct as Fields
from oncelog.protocol.wire import Message
from oncelog.records.batch import HEADER_SIZE_BYTES, Record, encode_batch
from oncelog.records.compression import Compression
from tests.support.frames import encode_request

RECORD_BYTES = 128
CLIENT_ID = "bench"
FETCH_VERSION = 12
_KEY_AND_VERSION = Struct(">hh")
RETRIED = (3, 6, 14, 15, 16, 51)
"""Error codes that are retried: a partition or leader that does not exist yet; a coordinator that is loading, not
available or moved; a transaction that is being ended."""


class Caller:
    """One connection that sends a request and waits for its answer."""

    def __init__(self, server: Server) -> None:
        self.port = int(server.bootstrap_servers.rpartition(":")[2])
        try:
            self._socket = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        except ConnectionRefusedError as error:
            raise BenchmarkError(f"{server.name} has ended: nothing listens on port {self.port} any more") from error

    def close(self) -> None:
        self._socket.close()

    def send(self, frame: bytes) -> bytes:
        """Send a request and return its answer, including the size field."""
        self.post(frame)
        return self.receive()

    def post(self, frame: bytes) -> None:
        """Send a request; :meth:`receive` waits for its answer."""
        self._socket.sendall(frame)

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive(self) -> bytes:
        answer = b""
        while len(answer) < 4 or len(answer) < 4 + int.from_bytes(answer[:4], "big"):
            received = self._socket.recv(1 << 20)
            if not received:
                raise BenchmarkError(f"the server on port {self.port} closed the connection")
            answer += received
        return answer

    def check(self, frame: bytes) -> int:
        """Send a request and read its answer; returns the position of the error code in it (after the size), 0 if it
        has none.
        """
        api_key, version = _KEY_AND_VERSION.unpack_from(frame, 4)
        deadline = time.monotonic() + 30
        while True:
            answer = self.send(frame)
            _, body = decode_response_header(memoryview(answer)[4:], api_key, version)
            found = response_type(api_key).decode(answer, version, 4 + body)
            holder = next(holders_of_errors(found), None)
            if holder is None:
                return 0
            error = holder.error_code
            if error not in RETRIED or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        if error:
            raise BenchmarkError(f"{ApiKey(api_key).name} was answered {Error(error).name}")
        before = found.encode(version)
        holder.error_code = -1
        after = found.encode(version)
        return body + next(at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old != new)

    def receive_as(self, request: type[Message], version: int) -> Any:
        """Receive the answer to a posted request of this kind, and decode it."""
        answer = self.receive()
        _, body = decode_response_header(memoryview(answer)[4:], request.API_KEY, version)
        return response_type(request.API_KEY).decode(answer, version, 4 + body)

    def ask(self, request: Message, version: int) -> Message:
        """Send a request and return the decoded answer; repeats it for up to 30 s while the error is in
        :data:`RETRIED`."""
        frame = encode(request, version)
        deadline = time.monotonic() + 30
        while True:
            answer = self.send(frame)
            _, body = decode_response_header(memoryview(answer)[4:], request.API_KEY, version)
            found = response_type(request.API_KEY).decode(answer, version, 4 + body)
            if getattr(found, "error_code", 0) not in RETRIED or time.monotonic() > deadline:
                return found
            time.sleep(0.05)


def holders_of_errors(part: Fields) -> Iterator[Any]:
    """All parts of an answer that have an error code, the innermost first."""
    for name in part.__slots__:
        value = getattr(part, name)
        if isinstance(value, list) and value and isinstance(value[0], Fields):
            for inner in value:
                yield from holders_of_errors(inner)
    if "error_code" in part.__slots__:
        yield part


def encode(request: Message, version: int) -> bytes:
    return encode_request(request.API_KEY, version, 1, CLIENT_ID, request.encode(version))


def batch(
    size_bytes: int,
    *,
    pid: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    txn: bool = False,
    codec: Compression = Compression.NONE,
) -> bytes:
    """An encoded batch of about this size before compression, with records of :data:`RECORD_BYTES`."""
    count = max(1, (size_bytes - HEADER_SIZE_BYTES) // RECORD_BYTES)
    now_ms = time.time_ns() // 1_000_000
    values = random.Random(1)  # words that compress to about half their size
    records = [
        Record(offset, now_ms, b"k" * 16, values.randbytes((RECORD_BYTES - 24) // 2).hex().encode())
        for offset in range(count)
    ]
    return bytes(
        encode_batch(
            records,
            producer_id=pid,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=txn,
            compression=codec,
        )
    )


def fetch_frame(
    topic: str, index: int, max_bytes: int, *, max_wait_ms: int, offset: int = 0, isolation: int = 0
) -> bytes:
    """A Fetch of one partition, without a session."""
    part = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes)
    request = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=isolation,
        session_id=0,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[part])],
    )
    return encode(request, FETCH_VERSION)


def produce(topic: str, partition: int, data: bytes, version: int = 9, transactional_id: str | None = None) -> bytes:
    part = PartitionProduceData(partition, memoryview(data))
    request = ProduceRequest(transactional_id, -1, 30_000, [TopicProduceData(name=topic, partition_data=[part])])
    return encode(request, version)
