"""Measures how a producer and a consumer are affected while one other process, the bad neighbour, sends the worst
requests.

    python -m benchmarks.neighbour [--seconds N] [--attack NAME ...] [--each] [--kafka]

A confluent-kafka producer sends one record after the other, and a confluent-kafka consumer in a separate process reads
them: first without attacks (quiet), then during all attacks in turn or each attack alone. Shown are the times to a
record's acknowledgement and to its arrival at the consumer, with the ratio of the 99th percentile to its quiet value.
One attack sends the fuzzer's most expensive requests: the slowest requests of its corpus and of some thousand new ones;
``--attack spin`` sends nothing, for comparison. Memory is the largest resident size of the broker.

The exit code is 1 if our broker breaks a bound: a ratio above 5, memory of 512 MB or more, or a record that is lost.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from multiprocessing.connection import Connection as Connected
from multiprocessing.synchronize import Event
from pathlib import Path
from random import Random

import zstandard
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from oncelog.apps.conformance.raw.batches import ZSTD, batch, record
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest
from tests.hostile.fuzz.blind import KEPT
from tests.hostile.fuzz.target import FOUND, read_inputs
from tests.support.apache_kafka import ApacheKafka
from tests.support.crash_rounds.node import ServeProcess

MB = 1024 * 1024
PAUSE_S = 0.005
MAX_RATIO, MAX_MB = 5.0, 512
SLOWEST, TRIED, SEED = 50, 2000, "neighbour"
"""The number of the fuzzer's inputs that are sent, the number of inputs tried to find the slowest, and the seed."""
SENT, FILLING = struct.Struct(">d"), b"x" * 92
"""The layout of a record's value: the time when it was sent, and bytes that fill it to 100."""
Attack = Callable[[str], None]
Started = Callable[[], AbstractContextManager[tuple[str, int]]]
"""A function that starts a broker for a block; its context is the broker's address and process id."""


def bomb(address: str) -> None:
    """One batch of a few KB that unpacks to 8 million tiny records, for a compacted topic."""
    count = 8_000_000
    packed = zstandard.compress(record(None) * count)
    with RawConnection(address, timeout_s=60) as client:
        client.produce("victim", batch(records=packed, count=count, attributes=ZSTD))


def dense(address: str) -> None:
    """One batch with as many records as a batch may unpack to. The broker checks all of them, because none has a key,
    which the compacted topic requires."""
    count = 16 * MB // 7 - 1
    packed = zstandard.compress(record(None) * count)
    with RawConnection(address, timeout_s=60) as client:
        client.produce("victim", batch(records=packed, count=count, attributes=ZSTD))


def future(address: str) -> None:
    """One batch of four million small records, all with timestamps of next year."""
    count = 4_000_000
    packed = zstandard.compress(record(b"", b"k") * count)
    later = int(time.time() * 1000) + 31_536_000_000
    with RawConnection(address, timeout_s=60) as client:
        client.produce("victim", batch(records=packed, count=count, attributes=ZSTD, timestamp=later))


def announce(address: str) -> None:
    """Twenty connections that each announce a request of 100 MB and never send the rest."""
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(RawConnection(address, timeout_s=60)).send_bytes(
                struct.pack(">i", 100 * MB) + b"0" * 100
            )
        time.sleep(0.2)


def metadata(address: str) -> None:
    """200 pipelined Metadata requests, each for all topics."""
    with RawConnection(address, timeout_s=60) as client:
        request = MetadataRequest(topics=None)
        for _ in range(200):
            client.send(request.API_KEY, 12, request.encode(12))
        for _ in range(200):
            client.receive_frame()


def keys(address: str) -> None:
    """A request about thousands of groups that do not exist."""
    names = [f"g{number}" for number in range(20_000)]
    with RawConnection(address, timeout_s=60) as client:
        client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=names), 4)
        client.ask(DescribeGroupsRequest(groups=names), 5)


def waiting(address: str) -> None:
    """Fetches of all partitions that wait for more bytes than will ever arrive."""
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            client = stack.enter_context(RawConnection(address, timeout_s=60))
            positions = {("wide", index): RawFetchPosition(0, MB) for index in range(1000)}
            client.send_fetch({**positions, ("work", 0): RawFetchPosition(0, MB)}, max_wait_ms=60_000, min_bytes=2**30)
        time.sleep(0.5)


def expression(address: str) -> None:
    """Regular expressions on which a backtracking engine would run practically forever."""
    with RawConnection(address, timeout_s=60) as client:
        for pattern in ("(((){1000}){1000}){1000}", "(a+)+b", "(\\w?){900}!"):
            request = ListTransactionsRequest(
                state_filters=[], producer_id_filters=[], duration_filter=-1, transactional_id_pattern=pattern
            )
            client.ask(request, 2)


def flood(address: str) -> None:
    """Connections that come and go, each of which sends random bytes instead of a request."""
    for _ in range(100):
        with RawConnection(address, timeout_s=60) as client:
            client.send_bytes(os.urandom(200))


@cache
def slowest_inputs() -> list[bytes]:
    """The fuzzer's requests, old and new, that take a broker the most CPU time, measured in this process."""
    from tests.hostile.fuzz.targets.wire import Harness, new_requests, requests

    random = Random(SEED)
    inputs = [*requests(), *(new_requests(random) for _ in range(TRIED))]
    for path in (FOUND / "requests.hex", FOUND / "sasl.hex"):
        inputs += [data for sequence in read_inputs(path) for data in sequence]
    taken: list[float] = []
    for _ in range(2):  # modules are imported at first use
        harness, taken = Harness(), []
        for number, data in enumerate(inputs):
            if number % KEPT == 0:
                harness = Harness()
            begin = time.thread_time()
            for frame in frames_of(data):
                harness.send(frame)
            taken.append(time.thread_time() - begin)
    slowest = sorted(range(len(inputs)), key=taken.__getitem__, reverse=True)
    return [inputs[number] for number in slowest[:SLOWEST]]


def frames_of(data: bytes) -> Iterator[bytes]:
    while len(data) > 4:
        size = int.from_bytes(data[:4], "big")
        yield data[4 : 4 + size]
        data = data[4 + size :]


def fuzzed(address: str) -> None:
    """The slowest inputs of the fuzzer, each on a connection of its own."""
    for data in slowest_inputs():
        with contextlib.suppress(ConnectionClosed, OSError), RawConnection(address, timeout_s=5) as client:
            client.send_bytes(data)
            client.receive_frame()


def spin(address: str) -> None:
    """Compute and send nothing: shows, for comparison, what one more busy process costs the producer
    and the consumer on this machine."""
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        sum(range(1000))


ATTACKS: tuple[Attack, ...] = (bomb, dense, future, announce, metadata, keys, waiting, expression, flood, fuzzed)
COMPARED: tuple[Attack, ...] = (*ATTACKS, spin)
"""Attacks that run only if they are named."""


def once(attack: Attack, address: str) -> None:
    """Carry out an attack once; the broker may close its connection."""
    with contextlib.suppress(ConnectionClosed, OSError):
        attack(address)


def fire(address: str, names: Sequence[str], begins: Event) -> None:
    """One attack after the other, forever."""
    if fuzzed.__name__ in names:
        slowest_inputs()
    begins.set()
    while True:
        for attack in COMPARED:
            if attack.__name__ in names:
                once(attack, address)


def latencies(address: str, seconds: float) -> list[float]:
    """Milliseconds from ``produce`` to the delivery report, one record after the other; each record contains the time
    when it was sent.
    """
    producer = Producer({"bootstrap.servers": address, "acks": "all", "linger.ms": 0, "message.timeout.ms": 30_000})
    times: list[float] = []

    def report(begin: float) -> Callable[[object, object], None]:
        def delivered(error: object, _: object) -> None:
            if error is not None:
                raise RuntimeError(f"a record was not delivered: {error}")
            times.append((time.monotonic() - begin) * 1000)

        return delivered

    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        producer.produce("work", SENT.pack(now) + FILLING, on_delivery=report(now))
        producer.poll(PAUSE_S)
    if producer.flush(40):
        raise RuntimeError("records were not delivered within 30 s")
    return times


def read(address: str, results: Connected, ends: Event) -> None:
    """Read all records from the start until their number, which ``results`` sends at the end, is reached; sends back
    when each record was sent, and how many milliseconds later it arrived."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition("work", 0, OFFSET_BEGINNING)])
    arrivals: list[tuple[float, float]] = []
    quiet_since, wanted = time.monotonic(), None
    while wanted is None or (len(arrivals) < wanted and time.monotonic() - quiet_since < 30):
        if wanted is None and ends.is_set():
            wanted, quiet_since = results.recv(), time.monotonic()
        message = consumer.poll(0.05)
        value = None if message is None or message.error() is not None else message.value()
        if value is not None:
            now = quiet_since = time.monotonic()
            (sent,) = SENT.unpack_from(value)
            arrivals.append((sent, (now - sent) * 1000))
    consumer.close()
    results.send(arrivals)


def percentile(times: Sequence[float], part: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def largest_mb(pid: int) -> float:
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


@contextlib.contextmanager
def running_consumer(address: str) -> Iterator[Callable[[int], list[tuple[float, float]]]]:
    """Run the consumer in a separate process. The yielded function gets the number of sent records and returns the
    arrivals that the consumer has seen."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    ends = context.Event()
    reader = context.Process(target=read, args=(address, theirs, ends), daemon=True)
    reader.start()

    def arrivals(sent: int) -> list[tuple[float, float]]:
        ours.send(sent)
        ends.set()
        if not ours.poll(120):
            raise RuntimeError("the consumer gave no account within two minutes")
        found: list[tuple[float, float]] = ours.recv()
        return found

    try:
        yield arrivals
    finally:
        reader.kill()
        reader.join()


@contextlib.contextmanager
def under_fire(address: str, names: Sequence[str]) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    begins = context.Event()
    enemy = context.Process(target=fire, args=(address, names, begins), daemon=True)
    enemy.start()
    try:
        if not begins.wait(120):
            raise RuntimeError("the attacker did not begin within two minutes")
        yield
    finally:
        enemy.kill()
        enemy.join()


def measure(name: str, address: str, pid: int, seconds: float, attacks: Sequence[str]) -> list[str]:
    """Measure and show the effect of these attacks on the producer and the consumer; returns the exceeded bounds as
    text."""
    for attack in COMPARED:
        if attack.__name__ in attacks:
            once(attack, address)  # what a broker does only once, such as importing an API, is not measured
    with running_consumer(address) as arrivals:
        warm = latencies(address, 2)
        quiet_from = time.monotonic()
        quiet = latencies(address, seconds)
        with under_fire(address, attacks):
            loud_from = time.monotonic()
            loud = latencies(address, seconds)
        sent = len(warm) + len(quiet) + len(loud)
        arrived = arrivals(sent)
    apart = [
        [after for at, after in arrived if quiet_from <= at < loud_from],
        [after for at, after in arrived if at >= loud_from],
    ]
    print(f"{name}, {', '.join(attacks)}:", flush=True)
    broken = []
    for what, (calm, hot) in {"acknowledged": (quiet, loud), "read": apart}.items():
        for label, times in (("quiet", calm), ("under fire", hot)):
            figures = " ".join(f"p{part:g} {percentile(times, part / 100):.1f} ms" for part in (50, 99, 99.9))
            print(f"  {what}, {label}: {figures}, max {max(times):.1f} ms, {len(times)} records", flush=True)
        ratio = percentile(hot, 0.99) / percentile(calm, 0.99)
        print(f"  {what}: p99 is {ratio:.1f} times its quiet value", flush=True)
        if ratio > MAX_RATIO:
            broken.append(f"p99 of records {what} is {ratio:.1f} times its quiet value, above {MAX_RATIO:g}")
    memory_mb = largest_mb(pid)
    print(f"  memory at most {memory_mb:.0f} MB, {len(arrived)} of {sent} records read", flush=True)
    if memory_mb >= MAX_MB:
        broken.append(f"memory of {memory_mb:.0f} MB, at least {MAX_MB}")
    if len(arrived) < sent:
        broken.append(f"{sent - len(arrived)} records are lost")
    return [f"{name}, {', '.join(attacks)}: {bound}" for bound in broken]


def make_topics(address: str) -> None:
    with RawConnection(address, timeout_s=60) as client:
        client.create_topic("work")
        client.create_topic("victim", cleanup_policy="compact")
        client.create_topic("wide", partitions=1000)


def each_on_its_own(name: str, start: Started, seconds: float, rounds: Sequence[Sequence[str]]) -> list[str]:
    """Start a separate broker for each round, so that its memory or a crash affects only that round."""
    broken = []
    for attacks in rounds:
        with start() as (address, pid):
            make_topics(address)
            try:
                broken += measure(name, address, pid, seconds, attacks)
            except RuntimeError as error:
                broken.append(f"{name}, {', '.join(attacks)}: {error}")
    return broken


@contextlib.contextmanager
def apache_kafka() -> Iterator[tuple[str, int]]:
    with ApacheKafka(heap="1g") as kafka:  # Kafka's own scripts set a heap of this size
        yield kafka.bootstrap_servers, kafka.pid


@contextlib.contextmanager
def ours() -> Iterator[tuple[str, int]]:
    folder = Path(tempfile.mkdtemp(prefix="oncelog-neighbour-"))
    node = ServeProcess(folder, {})
    try:
        node.start()
        yield node.bootstrap_servers, node.pid
    finally:
        node.close()
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neighbour", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--kafka", action="store_true", help="Apache Kafka too")
    parser.add_argument("--attack", action="append", choices=[attack.__name__ for attack in COMPARED])
    parser.add_argument("--each", action="store_true", help="one attack at a time")
    options = parser.parse_args(arguments)
    names = options.attack or [attack.__name__ for attack in ATTACKS]
    rounds = [[name] for name in names] if options.each else [names]
    sides: dict[str, Started] = {"oncelog": ours, **({"Apache Kafka": apache_kafka} if options.kafka else {})}
    broken = [line for name, start in sides.items() for line in each_on_its_own(name, start, options.seconds, rounds)]
    for line in broken:
        print(f"broken: {line}", flush=True)
    return 1 if any(line.startswith("oncelog") for line in broken) else 0


if __name__ == "__main__":
    raise SystemExit(main())
