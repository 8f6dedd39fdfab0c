"""Raw requests measure where the server reaches its limit, not its client. Each cell is a script of encoded requests
for `requests.c`.

Called by `__main__` for `--only requests`. A plain connection with oncelog's codec creates the topics and producer ids
that a cell needs. Each cell first sends a request of each script slowly and reads the answer: the answer must contain
no error, and the load generator checks the position of the error code in all later answers.
"""

from __future__ import annotations

import mmap
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.load import BenchmarkError, Frame, run_raw
from benchmarks.measures import Figures, Size, new_topic
from benchmarks.raw import Caller, batch, encode, fetch_frame, produce
from benchmarks.reach import REACH
from benchmarks.servers import Server, Usage
from oncelog.errors import Error
from oncelog.protocol.codec_errors import MalformedMessage
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.records.compression import Compression

PARTITIONS = 4

Script = Sequence[bytes]


@dataclass(frozen=True)
class Load:
    """A load of ``seconds`` over this many connections; ``per`` requests count as one.

    Without ``repeat``, the first ``per`` requests of each script are the slow round of checks, and the load continues
    with the next ones. If ``watched`` is not 0, only connections with one of the first ``watched`` scripts count, one
    request at a time each.
    """

    connections: int
    in_flight: int
    scripts: Sequence[Script]
    repeat: bool = True
    per: int = 1
    watched: int = 0


# --- cells


def plain(
    size_bytes: int, connections: int, in_flight: int, codec: Compression = Compression.NONE
) -> Callable[[Server, Caller, float], Load]:
    """Produce without a producer id, each connection to one partition."""

    def load(server: Server, caller: Caller, seconds: float) -> Load:
        topic = new_topic(server, PARTITIONS)
        data = batch(size_bytes, codec=codec)
        return Load(connections, in_flight, [[produce(topic, index, data)] for index in range(PARTITIONS)])

    return load


def beside_large(server: Server, caller: Caller, seconds: float) -> Load:
    """The latency of a record of 100 B while another connection has five batches of 1 MB in flight."""
    topic = new_topic(server, 2)
    return Load(2, 5, [[produce(topic, 0, batch(0))], [produce(topic, 1, batch(1_000_000))]], watched=1)


def with_many_partitions(server: Server, caller: Caller, seconds: float) -> Load:
    """Produce 1 KB as in ``plain``, on a broker that also holds a topic of 5,000 partitions."""
    new_topic(server, 5_000)
    return plain(1024, 4, 5)(server, caller, seconds)


def with_many_producers(server: Server, caller: Caller, seconds: float) -> Load:
    """Produce 1 KB as in ``plain``, to partitions whose state holds 100,000 producer ids in all."""
    topic = new_topic(server, PARTITIONS)
    scripts = [
        [
            Frame(produce(topic, index, batch(0, pid=index * 1_000_000 + number, epoch=0, sequence=0)))
            for number in range(25_000)
        ]
        for index in range(PARTITIONS)
    ]
    run_raw(caller.port, scripts, PARTITIONS, 5, 60, repeat=False)
    data = batch(1024)
    return Load(PARTITIONS, 5, [[produce(topic, index, data)] for index in range(PARTITIONS)])


def idempotent(server: Server, caller: Caller, seconds: float) -> Load:
    """Produce 1 KB with sequences over 4 connections with 5 requests in flight; the scripts suffice for a fast
    broker."""
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


def transactions(connections: int) -> Callable[[Server, Caller, float], Load]:
    """Transactions of one record (KIP-890): Produce 12 adds the partition, EndTxn 5 raises the epoch. Each connection
    runs one transaction after the other."""

    def load(server: Server, caller: Caller, seconds: float) -> Load:
        topic = new_topic(server, PARTITIONS)
        scripts = []
        for index in range(connections):
            name = f"bench-{time.time_ns()}-{index}"
            caller.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[name]), 4)
            pid, epoch = _producer_id(caller, name)
            script = []
            for _ in range(int(seconds * 16_000 / connections)):
                data = batch(0, pid=pid, epoch=epoch, sequence=0, txn=True)
                script.append(produce(topic, index % PARTITIONS, data, 12, name))
                script.append(encode(EndTxnRequest(name, pid, epoch, True), 5))
                epoch += 1
            scripts.append(script)
        return Load(connections, 1, scripts, repeat=False, per=2)

    return load


def _producer_id(caller: Caller, transactional_id: str | None) -> tuple[int, int]:
    answer = caller.ask(InitProducerIdRequest(transactional_id, 60_000), 4)
    error, pid, epoch = (getattr(answer, name) for name in ("error_code", "producer_id", "producer_epoch"))
    if error:
        raise BenchmarkError(f"InitProducerId was refused with {error}")
    return pid, epoch


def fetch(size_bytes: int, connections: int, isolation: int = 0) -> Callable[[Server, Caller, float], Load]:
    """Fetch one batch of this size repeatedly, without a session."""

    def load(server: Server, caller: Caller, seconds: float) -> Load:
        topic = new_topic(server, PARTITIONS)
        data = batch(size_bytes)
        scripts = []
        for index in range(PARTITIONS):
            caller.check(produce(topic, index, data))
            scripts.append([fetch_frame(topic, index, size_bytes + 100, max_wait_ms=500, isolation=isolation)])
        return Load(connections, 1, scripts)

    return load


def waiting_fetch(connections: int) -> Callable[[Server, Caller, float], Load]:
    """A Fetch of an empty partition, which waits for a millisecond and is answered without records."""

    def load(server: Server, caller: Caller, seconds: float) -> Load:
        topic = new_topic(server, PARTITIONS)
        scripts = [[fetch_frame(topic, index, 1_000_000, max_wait_ms=1)] for index in range(PARTITIONS)]
        return Load(connections, 1, scripts)

    return load


def offset_commits(connections: int, in_flight: int) -> Callable[[Server, Caller, float], Load]:
    """OffsetCommit of one partition; each connection has a group of its own."""

    def load(server: Server, caller: Caller, seconds: float) -> Load:
        topic = new_topic(server, PARTITIONS)
        scripts = []
        for index in range(connections):
            group = f"bench-{time.time_ns()}-{index}"
            caller.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), 4)
            part = OffsetCommitRequestPartition(
                partition_index=index % PARTITIONS, committed_offset=1, committed_metadata=""
            )
            request = OffsetCommitRequest(
                group_id=group,
                generation_id_or_member_epoch=-1,
                topics=[OffsetCommitRequestTopic(name=topic, partitions=[part])],
            )
            caller.ask(request, 8)
            scripts.append([encode(request, 8)])
        return Load(connections, in_flight, scripts)

    return load


CELLS: dict[str, Callable[[Server, Caller, float], Load]] = {
    "produce 1 KB, 1 x 1": plain(1024, 1, 1),
    "produce 1 KB, 2 x 5": plain(1024, 2, 5),
    "produce 1 KB, 4 x 5": plain(1024, 4, 5),
    "produce 1 KB, 64 x 5": plain(1024, 64, 5),
    "produce 1 KB, 16 x 1": plain(1024, 16, 1),
    "produce 1 KB, 64 x 1": plain(1024, 64, 1),
    "produce 16 KB, 4 x 5": plain(16 * 1024, 4, 5),
    "produce 64 KB, 4 x 5": plain(64 * 1024, 4, 5),
    "produce 1 MB, 4 x 5": plain(1_000_000, 4, 5),
    "100 B beside 1 MB x 5": beside_large,
    "produce 1 KB, 4 x 5, 5,000 partitions": with_many_partitions,
    "produce 1 KB, 4 x 5, 100,000 producers": with_many_producers,
    **{
        f"produce 64 KB of {codec.name.lower()}, 4 x 5": plain(64 * 1024, 4, 5, codec)
        for codec in Compression
        if codec is not Compression.NONE
    },
    "idempotent 1 KB, 4 x 5": idempotent,
    "transactions of 1 record, 16 x 1": transactions(16),
    "transactions of 1 record, 64 x 1": transactions(64),
    "fetch 1 record, 4 x 1": fetch(0, 4),
    "fetch 1 record, read_committed, 4 x 1": fetch(0, 4, isolation=1),
    "fetch 1 record, 64 x 1": fetch(0, 64),
    "fetch 1 MB, 4 x 1": fetch(1_000_000, 4),
    "fetch that waits 1 ms, 16 x 1": waiting_fetch(16),
    "fetch that waits 1 ms, 64 x 1": waiting_fetch(64),
    "OffsetCommit, 4 x 5": offset_commits(4, 5),
    "OffsetCommit, 16 x 1": offset_commits(16, 1),
    "OffsetCommit, 64 x 1": offset_commits(64, 1),
}
"""By the name of each measured load (connections x requests in flight), the function that produces the load."""

WARM_S = 1.0


def cells(size: Size) -> dict[str, Callable[[Server, Size], Figures]]:
    """The selected cells by name. Servers take turns in each cell, because the machine's speed may change within a
    round."""
    works: dict[str, Callable[[Server, Caller, float], Figures]] = {
        name: partial(cell, name=name, make=make) for name, make in CELLS.items()
    }
    return {name: partial(_measure, name, work) for name, work in (works | REACH).items() if size.cell in name}


def _measure(name: str, work: Callable[[Server, Caller, float], Figures], server: Server, size: Size) -> Figures:
    """Measure one cell; prints a remark and returns nothing if the server does not serve it."""
    touch_memory(size.bytes_before_requests)
    caller = Caller(server)
    try:
        return work(server, caller, size.seconds_of_requests)
    except (BenchmarkError, OSError, MalformedMessage) as error:
        print(f"{name}: left out for {server.name}: {error}", file=sys.stderr)
        return {}
    finally:
        caller.close()


def touch_memory(max_bytes: int) -> None:
    """Allocate up to half of the free memory and release it, so that its pages are backed by the host before a cell
    runs. The first access to a page of a virtual machine costs several times as much, also after the host has reclaimed
    the page; which server pays for it would depend on what ran before.
    """
    size_bytes = min(max_bytes, os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    zeros = bytes(8 * 1024 * 1024)
    if size_bytes < len(zeros):
        return
    # anonymous memory: writing a file's pages back would keep the disk busy during the measurement
    with mmap.mmap(-1, size_bytes) as memory:
        for _ in range(size_bytes // len(zeros)):
            memory.write(zeros)


def cell(
    server: Server, caller: Caller, seconds: float, name: str, make: Callable[[Server, Caller, float], Load]
) -> Figures:
    """Warm up and measure one cell.

    :raises BenchmarkError: the server refuses a request.
    """
    load = make(server, caller, seconds)
    scripts = [checked(caller, script, load) for script in load.scripts]
    if load.repeat:
        run_raw(caller.port, scripts, load.connections, load.in_flight, WARM_S, repeat=True, watched=load.watched)
    usage = Usage(server)
    found = run_raw(
        caller.port,
        scripts,
        load.connections,
        load.in_flight,
        seconds,
        repeat=load.repeat,
        watched=load.watched,
        cpu_s=lambda: usage.cpu_s,
    )
    if found["errors"]:
        raise BenchmarkError(
            f"{found['errors']:.0f} answers tell errors, the last one {Error(int(found['last_error'])).name}"
        )
    count = found["requests"] / load.per
    if not count:
        raise BenchmarkError("nothing was answered")
    shares = {} if load.connections == 1 or load.watched else {f"{name}: least / most": found["least"] / found["most"]}
    return shares | {
        f"{name}: requests_per_s": count / found["seconds"],
        f"{name}: broker CPU us": found["cpu_s"] / (count + found["late"] / load.per) * 1e6,
        f"{name}: p50 us": found["p50_us"],
        f"{name}: p99 us": found["p99_us"],
        f"{name}: p99.9 us": found["p999_us"],
    }


def checked(caller: Caller, script: Script, load: Load) -> list[Frame]:
    """Send the first frames slowly and check their answers; returns the frames of the load."""
    first = script[: load.per]
    errors_at = [caller.check(frame) for frame in first]
    rest = script if load.repeat else script[load.per :]
    return [Frame(frame, errors_at[number % load.per]) for number, frame in enumerate(rest)]
