"""Sends one hostile request after the other, and measures the effect of each on another client.

    python -m benchmarks.hostile [--kafka] [WORD ...]

``docs/reference/limits.md`` shows the table. For each row: how long the attack took, the longest time that the other
client waited for the acknowledgement of a small record (``acks=all``), and by how much the broker's resident memory
grew. A broker that does not answer the other client within a minute is started again for the next row.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import shutil
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import zstandard

from benchmarks import neighbour
from benchmarks.limits import memory_mb
from oncelog.apps.conformance.raw.batches import ZSTD, batch, record
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest
from tests.support.apache_kafka import ApacheKafka
from tests.support.crash_rounds.node import ServeProcess

MB = 1024 * 1024
TIMEOUT_S = 60
PARTITIONS = 5000
KEYS = 100_000
CROWD, HALF_OF, CROWD_STAYS_S = 10_000, 60_000, 10
Attack = Callable[[str], None]


def wide(name: str) -> Attack:
    """A preparation of an attack, which creates topics of 1,000 partitions, :data:`PARTITIONS` in all; their names
    begin with ``name``."""

    def make(address: str) -> None:
        with RawConnection(address, timeout_s=TIMEOUT_S) as client:
            for number in range(0, PARTITIONS, 1000):
                client.create_topic(f"{name}{number}", partitions=1000)

    return make


def wait_on(address: str) -> None:
    with RawConnection(address, timeout_s=TIMEOUT_S) as client:
        client.create_topic("wide", partitions=1000)


def same_offset(address: str) -> None:
    """Eight million records that all claim the same offset."""
    count = 8_000_000
    one = record(None)
    packed = zstandard.compress(one * count)
    with RawConnection(address, timeout_s=TIMEOUT_S) as client:
        client.produce("plain", batch(records=packed, count=count, attributes=ZSTD))


def plain_bomb(address: str) -> None:
    """255 MB of zeros in one record of a few KB."""
    packed = zstandard.compress(record(bytes(255 * MB)))
    with RawConnection(address, timeout_s=TIMEOUT_S) as client:
        client.produce("plain", batch(records=packed, count=1, attributes=ZSTD))


def subscribed_regex(address: str) -> None:
    with RawConnection(address, timeout_s=TIMEOUT_S) as client:
        client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["regex"]), 4)
        request = ConsumerGroupHeartbeatRequest("regex", "AAAAAAAAAAAAAAAAAAAAAA", 0, None, None, 60_000, [])
        request.subscribed_topic_regex = "(((){1000}){1000}){1000}"
        request.topic_partitions = []
        client.ask(request, 1)


def isolation_level(address: str) -> None:
    """Fetches with isolation level 7, which does not exist, and a request with a group name that is too long for its
    field."""
    for _ in range(50):
        with RawConnection(address, timeout_s=TIMEOUT_S) as client:
            client.fetch_all({("plain", 0): RawFetchPosition(0, 1000)}, isolation=7)
    with RawConnection(address, timeout_s=TIMEOUT_S) as client:
        client.ask(DescribeGroupsRequest(groups=["x" * 32_760]), 4)


def metadata(address: str) -> None:
    """8 KB of pipelined Metadata requests, each for all topics."""
    with RawConnection(address, timeout_s=TIMEOUT_S) as client:
        request = MetadataRequest(topics=None)
        for _ in range(300):
            client.send(request.API_KEY, 12, request.encode(12))
        for _ in range(300):
            client.receive_frame()


def keys(address: str) -> None:
    """A FindCoordinator request with 4 MB of keys."""
    with RawConnection(address, timeout_s=TIMEOUT_S) as client:
        client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[f"k{n}" for n in range(KEYS)]), 4)


def groups(address: str) -> None:
    with RawConnection(address, timeout_s=TIMEOUT_S) as client:
        client.ask(DescribeGroupsRequest(groups=[f"k{n}" for n in range(KEYS)]), 5)


def delete(address: str) -> None:
    with RawConnection(address, timeout_s=TIMEOUT_S) as client:
        names = [f"gone{number}" for number in range(0, PARTITIONS, 1000)]
        client.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name) for name in names], timeout_ms=60_000), 6)


def produce_wide(address: str) -> None:
    """One Produce request to 1,000 partitions that were never written."""
    with RawConnection(address, timeout_s=TIMEOUT_S) as client:
        client.produce_all({("many0", index): batch(b"v") for index in range(1000)})


def nothing(address: str) -> None:
    time.sleep(3)


def halves(address: str) -> None:
    """Ten thousand requests of 60,000 bytes, of each of which only half arrives."""
    host, _, port = address.rpartition(":")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with ExitStack() as stack:
        crowd = [stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(CROWD)]
        for part in (struct.pack(">i", HALF_OF), bytes(HALF_OF // 4), bytes(HALF_OF // 4)):
            for connection in crowd:
                with suppress(OSError):  # the broker may have closed the connection
                    connection.sendall(part)
        time.sleep(CROWD_STAYS_S)


ROWS: dict[str, tuple[Attack, Attack | None]] = {
    "nothing (for comparison)": (nothing, None),
    "8 M tiny records in a few KB, compacted topic": (neighbour.bomb, None),
    "8 M records with one offset": (same_offset, None),
    "255 MB in a few KB": (plain_bomb, None),
    "4 M records of next year": (neighbour.future, None),
    "SubscribedTopicRegex (((){1000}){1000}){1000}": (subscribed_regex, None),
    "ListTransactions with (a+)+b and others": (neighbour.expression, None),
    "Fetch with isolation level 7; a name of 32,760": (isolation_level, None),
    "20 requests of 100 MB that never come": (neighbour.announce, None),
    "10,000 requests of which half has come": (halves, None),
    "100,000 keys in FindCoordinator": (keys, None),
    "400,000 groups in DescribeGroups": (groups, None),
    "8 KB of Metadata over 5,000 partitions": (metadata, wide("many")),
    "a Produce to 1,000 new partitions": (produce_wide, None),
    "ten Fetches of 1,000 partitions that wait": (neighbour.waiting, wait_on),
    "DeleteTopics of 5,000 partitions": (delete, wide("gone")),
}


class Unreachable(Exception):
    """The broker no longer answers the client that is not attacking."""


def acknowledge(client: RawConnection) -> None:
    """Write a record, and retry while the broker answers with a retriable error."""
    deadline = time.perf_counter() + TIMEOUT_S
    while error := client.produce("work", batch(b"x" * 100)).error:
        if time.perf_counter() > deadline:
            raise Unreachable(f"Produce is answered with error {error}")
        time.sleep(neighbour.PAUSE_S)


def run(address: str, pid: int, attack: Attack) -> tuple[float, float, float]:
    """Seconds that the attack took, the longest wait of the other client in ms, and the largest growth of the broker's
    memory in MB."""
    enemy = multiprocessing.get_context("spawn").Process(target=neighbour.once, args=(attack, address), daemon=True)
    before = most = memory_mb(pid)
    longest = 0.0
    begin = time.perf_counter()
    try:
        with RawConnection(address, timeout_s=TIMEOUT_S) as client:
            enemy.start()
            while enemy.is_alive() and time.perf_counter() - begin < 2 * TIMEOUT_S:
                asked = time.perf_counter()
                acknowledge(client)
                longest = max(longest, time.perf_counter() - asked)
                most = max(most, memory_mb(pid))
                time.sleep(neighbour.PAUSE_S)
    except (ConnectionClosed, OSError) as error:
        raise Unreachable from error
    finally:
        took = time.perf_counter() - begin
        enemy.kill()
        enemy.join()
    return took, longest * 1000, most - before


def prepare(address: str) -> None:
    with RawConnection(address, timeout_s=TIMEOUT_S) as client:
        client.create_topic("work")
        client.create_topic("plain")
        client.create_topic("victim", cleanup_policy="compact")
        acknowledge(client)


@contextmanager
def ours() -> Iterator[tuple[str, int]]:
    folder = Path(tempfile.mkdtemp(prefix="oncelog-hostile-"))
    node = ServeProcess(folder, {})
    try:
        node.start()
        yield node.bootstrap_servers, node.pid
    finally:
        node.close()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def apache_kafka() -> Iterator[tuple[str, int]]:
    with ApacheKafka(heap="1g") as kafka:  # Kafka's own scripts set a heap of this size
        yield kafka.bootstrap_servers, kafka.pid


def measure(start: Callable[[], object], rows: Sequence[str]) -> None:
    left = list(rows)
    while left:
        with start() as (address, pid):  # type: ignore[attr-defined]
            prepare(address)
            while left:
                name = left.pop(0)
                attack, make = ROWS[name]
                try:
                    if make is not None:
                        make(address)
                    took, longest_ms, grown_mb = run(address, pid, attack)
                except (Unreachable, ConnectionClosed, OSError):
                    print(f"{name:<50} the other client got no answer within {TIMEOUT_S} s", flush=True)
                    break
                print(f"{name:<50} {took:6.1f} s | {longest_ms:8.0f} ms | {grown_mb:+6.0f} MB", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("word", nargs="*", help="only rows that have one of these words")
    parser.add_argument("--kafka", action="store_true", help="Apache Kafka instead")
    chosen = parser.parse_args(arguments)
    rows = [name for name in ROWS if not chosen.word or any(word in name for word in chosen.word)]
    name = "Apache Kafka" if chosen.kafka else "oncelog"
    print(f"{name}: the attack took | the other client waited | memory", flush=True)
    measure(apache_kafka if chosen.kafka else ours, rows)


if __name__ == "__main__":
    main()
