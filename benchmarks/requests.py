"""Raw requests: where a server ends, not its client. Each cell is a script of encoded requests for `requests.c`.

Called by `__main__` for `--only requests`. What a cell needs of a server (topics, producer ids) is asked for over one
plain connection with the project's own codec. Each cell first sends a request of each script slowly and reads the
answer: it must tell no error, and where it would tell one is where the load generator looks in all that follow.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import Struct

from benchmarks.load import BenchmarkError, Frame, run_raw
from benchmarks.measures import Figures, Size, new_topic
from benchmarks.servers import Server, Usage
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import decode_response_header, encode_request
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from oncelog.protocol.messages import response_type
from oncelog.protocol.wire import Message
from oncelog.protocol.wire import Struct as Fields
from oncelog.records.batch import HEADER_SIZE_BYTES, Record, encode_batch

PARTITIONS = 4
RECORD_BYTES = 128
CLIENT_ID = "bench"
_KEY_AND_VERSION = Struct(">hh")
RETRIED = (3, 6, 14, 15, 16, 51)
"""Partition or leader not there yet; coordinator loading, not available, moved; a transaction that is being ended."""

Script = Sequence[bytes]


@dataclass(frozen=True)
class Load:
    """``seconds`` of requests over so many connections; ``per`` requests make one of what is counted.

    Without ``repeat``, the first ``per`` of each script are the slow round, and the load goes on behind them.
    """

    connections: int
    in_flight: int
    scripts: Sequence[Script]
    repeat: bool = True
    per: int = 1


class Caller:
    """One connection that asks and waits."""

    def __init__(self, server: Server) -> None:
        self.port = int(server.bootstrap_servers.rpartition(":")[2])
        self._socket = socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def close(self) -> None:
        self._socket.close()

    def send(self, frame: bytes) -> bytes:
        """The answer, its size before it."""
        self._socket.sendall(frame)
        answer = b""
        while len(answer) < 4 or len(answer) < 4 + int.from_bytes(answer[:4], "big"):
            received = self._socket.recv(1 << 20)
            if not received:
                raise BenchmarkError(f"the server on port {self.port} closed the connection")
            answer += received
        return answer

    def check(self, frame: bytes) -> int:
        """Send a request and read its answer; where in it (behind the size) the error code is, 0 if it has none."""
        api_key, version = _KEY_AND_VERSION.unpack_from(frame, 4)
        deadline = time.monotonic() + 30
        while True:
            answer = self.send(frame)
            _, body = decode_response_header(memoryview(answer)[4:], api_key, version)
            found = response_type(api_key).decode(answer, version, 4 + body)
            holder = _holder_of_error(found)
            if holder is None:
                return 0
            error = holder.error_code  # type: ignore[attr-defined]
            if error not in RETRIED or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        if error:
            raise BenchmarkError(f"{ApiKey(api_key).name} was answered {Error(error).name}")
        before = found.encode(version)
        holder.error_code = -1  # type: ignore[attr-defined]
        after = found.encode(version)
        return body + next(at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old != new)

    def ask(self, request: Message, version: int) -> Message:
        """Again and again while the coordinator is not ready."""
        frame = encode(request, version)
        deadline = time.monotonic() + 30
        while True:
            answer = self.send(frame)
            _, body = decode_response_header(memoryview(answer)[4:], request.API_KEY, version)
            found = response_type(request.API_KEY).decode(answer, version, 4 + body)
            if getattr(found, "error_code", 0) not in RETRIED or time.monotonic() > deadline:
                return found
            time.sleep(0.05)


def _holder_of_error(message: Fields) -> Fields | None:
    """The innermost part of an answer with an error code: that of its first partition, if it has any."""
    for name in message.__slots__:
        value = getattr(message, name)
        inner = (
            _holder_of_error(value[0]) if isinstance(value, list) and value and isinstance(value[0], Fields) else None
        )
        if inner is not None:
            return inner
    return message if "error_code" in message.__slots__ else None


def encode(request: Message, version: int) -> bytes:
    return encode_request(request.API_KEY, version, 1, CLIENT_ID, request.encode(version))


def batch(size_bytes: int, *, pid: int = -1, epoch: int = -1, sequence: int = -1, txn: bool = False) -> bytes:
    """About so many bytes in records of :data:`RECORD_BYTES`."""
    count = max(1, (size_bytes - HEADER_SIZE_BYTES) // RECORD_BYTES)
    now_ms = time.time_ns() // 1_000_000
    records = [Record(offset, now_ms, b"k" * 16, bytes(RECORD_BYTES - 24)) for offset in range(count)]
    return bytes(
        encode_batch(records, producer_id=pid, producer_epoch=epoch, base_sequence=sequence, transactional=txn)
    )


def produce(topic: str, partition: int, data: bytes, version: int = 9, transactional_id: str | None = None) -> bytes:
    part = PartitionProduceData(partition, memoryview(data))
    request = ProduceRequest(transactional_id, -1, 30_000, [TopicProduceData(name=topic, partition_data=[part])])
    return encode(request, version)


# -- cells ---------------------------------------------------------------------------------------------------------


def plain(size_bytes: int, connections: int, in_flight: int) -> Callable[[Server, Caller, float], Load]:
    """Produce without a producer id, each connection to one partition."""

    def load(server: Server, caller: Caller, seconds: float) -> Load:
        topic = new_topic(server, PARTITIONS)
        data = batch(size_bytes)
        return Load(connections, in_flight, [[produce(topic, index, data)] for index in range(PARTITIONS)])

    return load


def idempotent(server: Server, caller: Caller, seconds: float) -> Load:
    """Produce 1 KB with sequences, 4 connections with 5 in flight; as many as a fast broker takes in the time."""
    topic = new_topic(server, PARTITIONS)
    scripts = []
    for index in range(PARTITIONS):
        pid = _producer_id(caller, None)[0]
        scripts.append(
            [
                produce(topic, index, batch(1024, pid=pid, epoch=0, sequence=7 * number))
                for number in range(int(seconds * 20_000))
            ]
        )
    return Load(PARTITIONS, 5, scripts, repeat=False)


def transactions(server: Server, caller: Caller, seconds: float) -> Load:
    """KIP-890: Produce 12 adds the partition, EndTxn 5 begins a new epoch; 16 connections, each one after the other."""
    topic = new_topic(server, PARTITIONS)
    scripts = []
    for index in range(16):
        name = f"bench-{time.time_ns()}-{index}"
        caller.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[name]), 4)
        pid, epoch = _producer_id(caller, name)
        script = []
        for _ in range(int(seconds * 1000)):
            data = batch(0, pid=pid, epoch=epoch, sequence=0, txn=True)
            script.append(produce(topic, index % PARTITIONS, data, 12, name))
            script.append(encode(EndTxnRequest(name, pid, epoch, True), 5))
            epoch += 1
        scripts.append(script)
    return Load(16, 1, scripts, repeat=False, per=2)


def _producer_id(caller: Caller, transactional_id: str | None) -> tuple[int, int]:
    answer = caller.ask(InitProducerIdRequest(transactional_id, 60_000), 4)
    error, pid, epoch = (getattr(answer, name) for name in ("error_code", "producer_id", "producer_epoch"))
    if error:
        raise BenchmarkError(f"InitProducerId was refused with {error}")
    return pid, epoch


def fetch(size_bytes: int, connections: int, isolation: int = 0) -> Callable[[Server, Caller, float], Load]:
    """Fetch one batch of so many bytes again and again, without a session."""

    def load(server: Server, caller: Caller, seconds: float) -> Load:
        topic = new_topic(server, PARTITIONS)
        data = batch(size_bytes)
        scripts = []
        for index in range(PARTITIONS):
            caller.send(produce(topic, index, data))
            part = FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=size_bytes + 100)
            request = FetchRequest(
                max_wait_ms=500,
                min_bytes=1,
                max_bytes=size_bytes + 100,
                isolation_level=isolation,
                session_id=0,
                session_epoch=-1,
                topics=[FetchTopic(topic=topic, partitions=[part])],
            )
            scripts.append([encode(request, 12)])
        return Load(connections, 1, scripts)

    return load


def offset_commits(server: Server, caller: Caller, seconds: float) -> Load:
    """OffsetCommit of one partition, a group for each of 4 connections, 5 in flight."""
    topic = new_topic(server, PARTITIONS)
    scripts = []
    for index in range(PARTITIONS):
        group = f"bench-{time.time_ns()}-{index}"
        caller.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), 4)
        part = OffsetCommitRequestPartition(partition_index=index, committed_offset=1, committed_metadata="")
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=-1,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=[part])],
        )
        caller.ask(request, 8)
        scripts.append([encode(request, 8)])
    return Load(PARTITIONS, 5, scripts)


CELLS: dict[str, Callable[[Server, Caller, float], Load]] = {
    "produce 1 KB, 1 x 1": plain(1024, 1, 1),
    "produce 1 KB, 4 x 5": plain(1024, 4, 5),
    "produce 1 KB, 64 x 5": plain(1024, 64, 5),
    "produce 1 KB, 1000 x 1": plain(1024, 1000, 1),
    "produce 16 KB, 4 x 5": plain(16 * 1024, 4, 5),
    "produce 64 KB, 4 x 5": plain(64 * 1024, 4, 5),
    "produce 1 MB, 4 x 5": plain(1_000_000, 4, 5),
    "idempotent 1 KB, 4 x 5": idempotent,
    "transactions of 1 record, 16 x 1": transactions,
    "fetch 1 record, 4 x 1": fetch(0, 4),
    "fetch 1 record, read_committed, 4 x 1": fetch(0, 4, isolation=1),
    "fetch 1 MB, 4 x 1": fetch(1_000_000, 4),
    "OffsetCommit, 4 x 5": offset_commits,
}
"""Name (connections x in flight) and how its load is made."""

WARM_S = 1.0


def requests(server: Server, size: Size) -> Figures:
    """Every cell; one that a server does not serve is left out for it, with a word."""
    figures: Figures = {}
    for name, make in CELLS.items():
        caller = Caller(server)
        try:
            figures |= _cell(server, caller, name, make, size.seconds_of_requests)
        except (BenchmarkError, OSError) as error:
            print(f"{name}: left out for {server.name}: {error}", file=sys.stderr)
        finally:
            caller.close()
    return figures


def _cell(
    server: Server, caller: Caller, name: str, make: Callable[[Server, Caller, float], Load], seconds: float
) -> Figures:
    load = make(server, caller, seconds)
    scripts = [_checked(caller, script, load) for script in load.scripts]
    if load.repeat:
        run_raw(caller.port, scripts, load.connections, load.in_flight, WARM_S, repeat=True)
    usage = Usage(server)
    found = run_raw(
        caller.port,
        scripts,
        load.connections,
        load.in_flight,
        seconds,
        repeat=load.repeat,
        cpu_s=lambda: usage.cpu_s,
    )
    if found["errors"]:
        raise BenchmarkError(
            f"{found['errors']:.0f} answers tell errors, the last one {Error(int(found['last_error'])).name}"
        )
    count = found["requests"] / load.per
    if not count:
        raise BenchmarkError("nothing was answered")
    return {
        f"{name}: requests_per_s": count / found["seconds"],
        f"{name}: broker CPU us": found["cpu_s"] / (count + found["late"] / load.per) * 1e6,
        f"{name}: p50 us": found["p50_us"],
        f"{name}: p99 us": found["p99_us"],
        f"{name}: p99.9 us": found["p999_us"],
    }


def _checked(caller: Caller, script: Script, load: Load) -> list[Frame]:
    """The frames that the load sends, after a slow round of the first ones."""
    first = script[: load.per]
    errors_at = [caller.check(frame) for frame in first]
    rest = script if load.repeat else script[load.per :]
    return [Frame(frame, errors_at[number % load.per]) for number, frame in enumerate(rest)]
