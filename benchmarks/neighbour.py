"""A bad neighbour: one process sends the worst that one client can, another one works. What does the second one notice?

    python -m benchmarks.neighbour [--seconds N] [--kafka]

Delivery times of a confluent-kafka producer that sends one record after the other, quiet and under fire; a consumer
checks that nothing is lost. The broker's memory is its largest resident size.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import shutil
import struct
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import zstandard
from confluent_kafka import Consumer, Producer

from oncelog.conformance.batches import ZSTD, batch, record
from oncelog.conformance.bodies import Position
from oncelog.conformance.wire import Connection, ConnectionClosed
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest
from tests.support.apache_kafka import ApacheKafka
from tests.support.crash_rounds.node import ServeProcess

MB = 1024 * 1024
PAUSE_S = 0.005
Attack = Callable[[str], None]


def bomb(address: str) -> None:
    """8 M tiny records in a few KB, on a compacted topic."""
    count = 8_000_000
    packed = zstandard.compress(record(None) * count)
    with Connection(address, timeout_s=60) as client:
        client.produce("victim", batch(records=packed, count=count, attributes=ZSTD))


def future(address: str) -> None:
    """Timestamps of next year in as many records as are unpacked."""
    count = 4_000_000
    packed = zstandard.compress(record(b"", b"k") * count)
    later = int(time.time() * 1000) + 31_536_000_000
    with Connection(address, timeout_s=60) as client:
        client.produce("victim", batch(records=packed, count=count, attributes=ZSTD, timestamp=later))


def announce(address: str) -> None:
    """Twenty requests of 100 MB that never come."""
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(Connection(address, timeout_s=60)).send_bytes(struct.pack(">i", 100 * MB) + b"0" * 100)
        time.sleep(0.2)


def metadata(address: str) -> None:
    """Many requests for all topics at once."""
    with Connection(address, timeout_s=60) as client:
        request = MetadataRequest(topics=None)
        for _ in range(200):
            client.send(request.API_KEY, 12, request.encode(12))
        for _ in range(200):
            client.receive_frame()


def keys(address: str) -> None:
    """Thousands of groups that do not exist."""
    names = [f"g{number}" for number in range(20_000)]
    with Connection(address, timeout_s=60) as client:
        client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=names), 4)
        client.ask(DescribeGroupsRequest(groups=names), 5)


def waiting(address: str) -> None:
    """Fetches of all partitions that wait for more than there will be."""
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            client = stack.enter_context(Connection(address, timeout_s=60))
            positions = {("wide", index): Position(0, MB) for index in range(1000)}
            client.send_fetch({**positions, ("work", 0): Position(0, MB)}, max_wait_ms=60_000, min_bytes=2**30)
        time.sleep(0.5)


def expression(address: str) -> None:
    """Expressions that backtrack for ever."""
    with Connection(address, timeout_s=60) as client:
        for pattern in ("(((){1000}){1000}){1000}", "(a+)+b", "(\\w?){900}!"):
            request = ListTransactionsRequest(
                state_filters=[], producer_id_filters=[], duration_filter=-1, transactional_id_pattern=pattern
            )
            client.ask(request, 2)


def flood(address: str) -> None:
    """Connections that come and go, and bytes that are no requests."""
    for _ in range(100):
        with Connection(address, timeout_s=60) as client:
            client.send_bytes(os.urandom(200))


ATTACKS: tuple[Attack, ...] = (bomb, future, announce, metadata, keys, waiting, expression, flood)


def once(attack: Attack, address: str) -> None:
    """An attack; that the broker ends its connection is no surprise."""
    with contextlib.suppress(ConnectionClosed, OSError):
        attack(address)


def fire(address: str, names: Sequence[str]) -> None:
    """One attack after the other, for ever."""
    while True:
        for attack in ATTACKS:
            if attack.__name__ in names:
                once(attack, address)


def latencies(address: str, seconds: float) -> list[float]:
    """Milliseconds from ``produce`` to the delivery report, one record after the other."""
    producer = Producer({"bootstrap.servers": address, "acks": "all", "linger.ms": 0, "message.timeout.ms": 30_000})
    times: list[float] = []

    def report(begin: float) -> Callable[[object, object], None]:
        def delivered(error: object, _: object) -> None:
            if error is not None:
                raise RuntimeError(f"a record was not delivered: {error}")
            times.append((time.perf_counter() - begin) * 1000)

        return delivered

    end, sent = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        producer.produce("work", b"x" * 100, on_delivery=report(time.perf_counter()))
        sent += 1
        producer.poll(PAUSE_S)
    if producer.flush(40):
        raise RuntimeError("records were not delivered within 30 s")
    return times


def consumed(address: str, at_least: int) -> int:
    """How many records there are to be read, once there are ``at_least`` so many, or for a while none came."""
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": f"count-{time.time()}", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["work"])
    count, quiet_since = 0, time.perf_counter()
    while count < at_least and time.perf_counter() - quiet_since < 30:
        found = consumer.consume(1000, 1)
        if found:
            count += len(found)
            quiet_since = time.perf_counter()
    consumer.close()
    return count


def percentile(times: Sequence[float], part: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def largest_mb(pid: int) -> float:
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def measure(name: str, address: str, pid: int, seconds: float, attacks: Sequence[str]) -> None:
    with Connection(address, timeout_s=60) as client:
        client.create_topic("work")
        client.create_topic("victim", cleanup_policy="compact")
        client.create_topic("wide", partitions=1000)
    latencies(address, 2)
    quiet = latencies(address, seconds)
    enemy = multiprocessing.get_context("spawn").Process(target=fire, args=(address, attacks), daemon=True)
    enemy.start()
    time.sleep(1)
    loud = latencies(address, seconds)
    enemy.kill()
    enemy.join()
    count = consumed(address, len(quiet) + len(loud))
    for label, times in (("quiet", quiet), ("under fire", loud)):
        figures = " ".join(f"p{part:g} {percentile(times, part / 100):.1f} ms" for part in (50, 99, 99.9))
        print(f"{name}, {label}: {figures}, max {max(times):.1f} ms, {len(times)} records", flush=True)
    print(f"{name}: memory at most {largest_mb(pid):.0f} MB, {count} records read", flush=True)
    if count < len(quiet) + len(loud):
        raise RuntimeError(f"{len(quiet) + len(loud) - count} records are lost")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neighbour", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--kafka", action="store_true", help="Apache Kafka instead")
    parser.add_argument("--attack", action="append", choices=[attack.__name__ for attack in ATTACKS])
    options = parser.parse_args(arguments)
    attacks = options.attack or [attack.__name__ for attack in ATTACKS]
    if options.kafka:
        with ApacheKafka(heap="1g") as kafka:  # what its own scripts give it
            measure("Apache Kafka", kafka.bootstrap_servers, kafka.pid, options.seconds, attacks)
        return
    folder = Path(tempfile.mkdtemp(prefix="oncelog-neighbour-"))
    node = ServeProcess(folder, {})
    try:
        node.start()
        measure("oncelog", node.bootstrap_servers, node.pid, options.seconds, attacks)
    finally:
        node.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
