"""Measures the capacity of one broker: memory, start, stop and single requests as functions of the number of
partitions, connections, transactional ids, producers of one partition, groups and gigabytes of log.
``docs/reference/limits.md`` shows a run.

    python -m benchmarks.limits [partitions|connections|transactional-ids|producers|groups|gigabytes|holes] [COUNT ...]

Single requests are measured twice in each run, before the broker is filled and after, so that they can be compared.

``holes`` are gigabytes of log that take next to no disk space: batches of zeros in sparse files. The broker's own log
code appends them while no broker runs; readers cannot distinguish them from a client's batches.

Figures named CPU are the CPU time (user and system) of the broker's process, which other load on the machine changes
little; all other times are elapsed times.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.wire import LATEST, RawConnection
from oncelog.broker.log.partition_log import PartitionLog
from oncelog.broker.server.disk.os_disk import OsDisk, OsFile
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.init_producer_id_response import InitProducerIdResponse
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_commit_response import OffsetCommitResponse
from oncelog.runtime.ports import Buffer
from oncelog.settings.config import TopicConfig
from oncelog.types import TopicPartition
from tests.support.crash_rounds.node import ServeProcess

COUNTS = {
    "partitions": (1000, 5000),
    "connections": (1000, 10_000),
    "transactional-ids": (10_000, 100_000),
    "producers": (10_000, 100_000),
    "groups": (10_000, 100_000),
    "gigabytes": (2, 20),
    "holes": (2, 50),
}
REQUESTS, ROUNDS, PIPELINED = 2000, 4, 200
LOG_PARTITIONS, LOG_BATCH_BYTES = 20, 900_000
PAGE_BYTES = 4096
SETTLED_S, LONGEST_S = 0.02, 240.0
"""A broker that uses less CPU time per second than this has settled: created data is synced in the background (flush
policy ``interval``). The second number limits the wait for that, in seconds."""
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int, *, loop: bool = False) -> float:
    """User and system CPU time of a process in seconds; with ``loop`` only of its main thread, which serves
    requests."""
    stat = f"/proc/{pid}/task/{pid}/stat" if loop else f"/proc/{pid}/stat"
    fields = Path(stat).read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory_mb(pid: int) -> float:
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def connect(node: ServeProcess) -> RawConnection:
    return RawConnection(node.bootstrap_servers, timeout_s=300)


def create(client: RawConnection, name: str, partitions: int) -> None:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    (answer,) = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=300_000), 7).topics
    if answer.error_code:
        raise RuntimeError(f"{name} could not be made: {answer.error_message}")


def per_request_us(node: ServeProcess, work: Callable[[int], object]) -> float:
    """The loop's CPU time for one of many equal requests, in microseconds: the minimum of several rounds, because other
    load on the machine only adds to it.
    """
    for number in range(200):
        work(number)
    found = []
    for _ in range(ROUNDS):
        before = cpu_s(node.pid, loop=True)
        for number in range(REQUESTS):
            work(number)
        found.append((cpu_s(node.pid, loop=True) - before) / REQUESTS * 1e6)
    return min(found)


def show(label: str, value: float, unit: str) -> None:
    print(f"  {label:<34}{value:>10.1f} {unit}", flush=True)


def settle(node: ServeProcess) -> None:
    """Wait until the broker has no background work left.

    :raises RuntimeError: the broker is still busy after :data:`LONGEST_S`.
    """
    deadline = time.monotonic() + LONGEST_S
    while time.monotonic() < deadline:
        before = cpu_s(node.pid)
        time.sleep(1)
        if cpu_s(node.pid) - before < SETTLED_S:
            return
    raise RuntimeError(f"the broker still works after {LONGEST_S:.0f} s without a request")


def single_requests(node: ServeProcess, client: RawConnection, when: str) -> None:
    """Show the CPU time of single requests to a topic with one partition, which is separate from the data that fills
    the broker."""
    settle(node)
    one = batch(b"v" * 100)
    show(f"produce, CPU a request, {when}", per_request_us(node, lambda _: client.produce("one", one)), "us")
    position: dict[tuple[str | bytes, int], RawFetchPosition] = {("one", 0): RawFetchPosition(0, 1 << 16)}
    show(f"fetch, CPU a request, {when}", per_request_us(node, lambda _: client.fetch_all(position)), "us")


def restarts(node: ServeProcess) -> None:
    node.kill()
    begin = time.perf_counter()
    node.launch()
    node.await_ready(300)
    show("start after kill -9", time.perf_counter() - begin, "s")
    show("start after kill -9, CPU", cpu_s(node.pid), "s")
    begin = time.perf_counter()
    node.stop()
    show("stop", time.perf_counter() - begin, "s")
    begin = time.perf_counter()
    node.launch()
    node.await_ready(300)
    show("start after a stop", time.perf_counter() - begin, "s")


@contextmanager
def serving() -> Iterator[tuple[ServeProcess, RawConnection]]:
    folder = Path(tempfile.mkdtemp(prefix="oncelog-limits-"))
    node = ServeProcess(folder, {})
    try:
        node.start()
        client = connect(node)
        create(client, "one", 1)
        yield node, client
    finally:
        node.close()
        shutil.rmtree(folder, ignore_errors=True)


def partitions(count: int) -> None:
    with serving() as (node, client):
        single_requests(node, client, "empty")
        before = cpu_s(node.pid)
        for number in range(0, count, 1000):
            create(client, f"t{number}", min(1000, count - number))
        show("creation, CPU a partition", (cpu_s(node.pid) - before) / count * 1e6, "us")
        for number in range(0, count, 1000):
            client.produce_all({(f"t{number}", index): batch(b"v") for index in range(min(1000, count - number))})
        show("memory", memory_mb(node.pid), "MB")
        single_requests(node, client, "full")
        restarts(node)


def connections(count: int) -> None:
    with serving() as (node, client):
        single_requests(node, client, "empty")
        crowd = []
        for _ in range(count):
            crowd.append(connect(node))
            crowd[-1].ask(ApiVersionsRequest(), 0)
        show("memory", memory_mb(node.pid), "MB")
        single_requests(node, client, "full")
        begin = time.perf_counter()
        node.stop()
        show("stop", time.perf_counter() - begin, "s")
        for connection in crowd:
            connection.close()


def transactional_ids(count: int) -> None:
    with serving() as (node, client):
        single_requests(node, client, "empty")
        client.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["id-0"]), 4)
        before = cpu_s(node.pid)
        for start in range(0, count, PIPELINED):
            for number in range(start, start + PIPELINED):
                request = InitProducerIdRequest(transactional_id=f"id-{number}", transaction_timeout_ms=60_000)
                client.send(request.API_KEY, 4, request.encode(4))
            for number in range(start, start + PIPELINED):
                answer = InitProducerIdResponse.decode(client.receive_frame(), 4, 5)
                if answer.error_code:
                    raise RuntimeError(f"no producer id for id-{number}: error {answer.error_code}")
        show("InitProducerId, CPU a request", (cpu_s(node.pid) - before) / count * 1e6, "us")
        show("memory", memory_mb(node.pid), "MB")
        single_requests(node, client, "full")
        restarts(node)


def producers(count: int) -> None:
    """Measure a broker with ``count`` idempotent producers that wrote once each to the partition of single requests."""
    with serving() as (node, client):
        single_requests(node, client, "empty")
        before = cpu_s(node.pid)
        for start in range(0, count, PIPELINED):
            asked = [
                client.send_produce({("one", 0): batch(b"v", pid=1_000_000 + number, epoch=0, sequence=0)})
                for number in range(start, start + PIPELINED)
            ]
            for correlation_id in asked:
                answer = client.receive_produce(correlation_id)["one", 0]
                if answer.error:
                    raise RuntimeError(f"a producer's first batch was refused: error {answer.error}")
        show("first batch, CPU a producer", (cpu_s(node.pid) - before) / count * 1e6, "us")
        show("memory", memory_mb(node.pid), "MB")
        single_requests(node, client, "full")
        restarts(node)


def groups(count: int) -> None:
    """Groups that have committed an offset."""
    with serving() as (node, client):
        single_requests(node, client, "empty")
        find = FindCoordinatorRequest(key_type=0, coordinator_keys=["group-0"])
        client.ask_until(find, 4, lambda answer: answer.coordinators[0].error_code == 0)
        topics = [OffsetCommitRequestTopic("one", partitions=[OffsetCommitRequestPartition(0, 1, -1, "")])]
        before = cpu_s(node.pid)
        for start in range(0, count, PIPELINED):
            for number in range(start, start + PIPELINED):
                request = OffsetCommitRequest(f"group-{number}", topics=topics)
                client.send(request.API_KEY, 8, request.encode(8))
            for number in range(start, start + PIPELINED):
                answer = OffsetCommitResponse.decode(client.receive_frame(), 8, 5)
                if error := answer.topics[0].partitions[0].error_code:
                    raise RuntimeError(f"group-{number} could not commit: error {error}")
        show("OffsetCommit, CPU a group", (cpu_s(node.pid) - before) / count * 1e6, "us")
        show("memory", memory_mb(node.pid), "MB")
        single_requests(node, client, "full")
        restarts(node)


def gigabytes(count: int) -> None:
    with serving() as (node, client):
        single_requests(node, client, "empty")
        create(client, "log", LOG_PARTITIONS)
        data = batch(os.urandom(LOG_BATCH_BYTES))
        before, begin = cpu_s(node.pid), time.perf_counter()
        asked: deque[int] = deque()
        for number in range(count * 1_000_000_000 // len(data)):
            asked.append(client.send_produce({("log", number % LOG_PARTITIONS): data}))
            if len(asked) > 4:
                client.receive_produce(asked.popleft())
        while asked:
            client.receive_produce(asked.popleft())
        show("written, CPU a GB", (cpu_s(node.pid) - before) / count * 1e3, "ms")
        show("written", time.perf_counter() - begin, "s")
        show("memory", memory_mb(node.pid), "MB")
        single_requests(node, client, "full")
        end = int(client.list_offset("log", LATEST).offset)

        show("fetch anywhere, CPU a request", per_request_us(node, partial(fetch_anywhere, client, end)), "us")
        restarts(node)


class _FileWithHoles(OsFile):
    """A segment to which batches of zeros are appended: only their first page is written."""

    __slots__ = ()

    def append(self, buffers: Sequence[Buffer]) -> None:
        end, data = self.size(), b"".join(buffers)
        if data.count(0, PAGE_BYTES) + PAGE_BYTES < len(data):
            raise RuntimeError("more than zeros would be left out")
        descriptor = self._hold().number
        os.pwrite(descriptor, data[:PAGE_BYTES], end)
        os.ftruncate(descriptor, end + len(data))
        self._size, self._unsynced = end + len(data), True


class _DiskWithHoles(OsDisk):
    def open(self, path: str, *, create: bool = False) -> OsFile:
        if not path.endswith(".log"):
            return super().open(path, create=create)
        file = _FileWithHoles(self, path)
        if create:
            self._opens(file, os.O_CREAT)
        return file


def fill_with_holes(data: Path, count: int) -> None:
    disk, now_ms = _DiskWithHoles(str(data)), int(time.time() * 1000)
    zeros = batch(bytes(LOG_BATCH_BYTES), timestamp=now_ms)
    for index in range(LOG_PARTITIONS):
        log = PartitionLog.open(
            disk, f"log-{index}", TopicPartition("log", index), TopicConfig(), now_ms=now_ms, clean_shutdown=True
        )
        for _ in range(count * 1_000_000_000 // len(zeros) // LOG_PARTITIONS):
            result = log.writer.append_client(zeros, leader_epoch=0, now_ms=now_ms)
            if result.error:
                raise RuntimeError(f"a batch was refused: {result.error.name}")
        log.close()


def holes(count: int) -> None:
    with serving() as (node, client):
        single_requests(node, client, "empty")
        create(client, "log", LOG_PARTITIONS)
        node.stop()
        begin = time.perf_counter()
        fill_with_holes(node.data, count)
        show("written", time.perf_counter() - begin, "s")
        node.start()
        node.stop()  # from here on the checkpoints cover all partitions
        show("start after a stop", node.start(), "s")
        show("start after a stop, CPU", cpu_s(node.pid), "s")
        with connect(node) as again:
            client = again
            show("memory", memory_mb(node.pid), "MB")
            single_requests(node, client, "full")
            end = int(client.list_offset("log", LATEST).offset)
            fetch = partial(fetch_anywhere, client, end)
            show("fetch anywhere, CPU a request", per_request_us(node, fetch), "us")
            client.produce_all({("log", index): batch(b"v") for index in range(LOG_PARTITIONS)})
        restarts(node)


def fetch_anywhere(client: RawConnection, end: int, number: int) -> None:
    """One batch."""
    client.fetch("log", end * number // REQUESTS)


MEASURES: dict[str, Callable[[int], None]] = {
    "partitions": partitions,
    "connections": connections,
    "transactional-ids": transactional_ids,
    "producers": producers,
    "groups": groups,
    "gigabytes": gigabytes,
    "holes": holes,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=sorted(MEASURES))
    parser.add_argument("count", nargs="*", type=int)
    options = parser.parse_args(arguments)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for what in [options.what] if options.what else MEASURES:
        for count in options.count or COUNTS[what]:
            print(f"{count:,} {what}", flush=True)
            MEASURES[what](count)


if __name__ == "__main__":
    main()
