"""Measures the longest iteration of the broker's event loop: how long one client's request keeps all others waiting.

    python -m benchmarks.iterations [WORD ...]

One client sends the largest requests that are allowed to a broker in a separate process, which measures the CPU time of
each iteration; meanwhile another client writes one record after another. First, each API with each array of its request
is measured (``tests.support.wide_requests``), with 5,000 elements in the request, with 10,000 partitions, topics or
names, and with the largest number that the broker allows; then requests whose cost grows with the broker's state. Shown
are the CPU time of the longest iteration (the median of a few requests; iterations that only read a client's bytes
count too), the longest time that the other client waited, and the answer to the request, because a refusal may take
only a short iteration. The limits of elements (``registry``) follow from the CPU time. The exit code is 1 if an
iteration takes more than 100 ms for 5,000 elements or 400 ms for the largest allowed number. Other load on the machine
lengthens the other client's waits; they are shown for a silent client too.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection as Pipe
from statistics import median
from typing import Any, NamedTuple

from benchmarks.load import BenchmarkError
from benchmarks.raw import holders_of_errors
from oncelog.apps.conformance.raw.batches import ZSTD, batch, record
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.broker.core.registry import SERVED
from oncelog.broker.server.listener_settings import Address, Listener, parse_listeners
from oncelog.broker.server.serve import serve as oncelog_serve
from oncelog.errors import Error
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.generated.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.generated.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from oncelog.protocol.generated.describe_log_dirs_request import DescribeLogDirsRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from oncelog.protocol.messages import response_type
from oncelog.protocol.wire import Message
from tests.support.wide_requests import WIDE, Shape, World, build, max_entries, precede, prepare, shapes

PARTITIONS, FEW_ELEMENTS = 10_000, 5000
FEW_MS, MAX_MS = 100, 400
"""Upper bounds of one iteration in ms: for a request of :data:`FEW_ELEMENTS` elements, and for the largest allowed
request."""
TOPICS, WIDEST, GROUPS = 2000, PARTITIONS, 2000
ROUNDS = 3
PAUSE_S, SETTLED_S = 0.002, 0.02
MB = 1024 * 1024
WITH_ACLS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
Case = Callable[[RawConnection], Any]


def serve(folder: str, pipe: Pipe) -> None:
    """Run the broker in its own process and time every iteration; for each message on ``pipe``, send the longest
    iteration since the last message, in ms."""
    sys.modules["uvloop"] = None  # type: ignore[assignment]  # its iterations cannot be timed
    longest = [0.0]
    run_once = asyncio.SelectorEventLoop._run_once  # type: ignore[attr-defined]

    def timed(loop: asyncio.SelectorEventLoop) -> None:
        begin = time.thread_time()
        run_once(loop)
        longest[0] = max(longest[0], time.thread_time() - begin)

    asyncio.SelectorEventLoop._run_once = timed  # type: ignore[attr-defined]

    def report() -> None:
        while pipe.recv():
            pipe.send(longest[0] * 1000)
            longest[0] = 0.0
        os.kill(os.getpid(), signal.SIGTERM)

    def announce(bound: Sequence[Listener], _: Address | None) -> None:
        pipe.send(str(bound[0].address))
        threading.Thread(target=report, daemon=True).start()

    oncelog_serve(parse_listeners("127.0.0.1:0", {}, ""), folder, WITH_ACLS, announce=announce)


def accepted(client: RawConnection, request: Message, version: int) -> Any:
    """Send the request and check its answer: a refused request would be measured as a short iteration."""
    answer = client.ask(request, version)
    found = Counter(holder.error_code for holder in holders_of_errors(answer))
    if refused := {Error(code).name: count for code, count in found.items() if code}:
        raise BenchmarkError(f"{type(request).__name__} was answered with {refused}")
    return answer


def _topics(client: RawConnection) -> None:
    names = [f"made-{number}" for number in range(1000)]
    accepted(client, CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in names], 60_000), 7)
    accepted(client, DeleteTopicsRequest(topics=[DeleteTopicState(name) for name in names], timeout_ms=60_000), 6)


def _partitions(client: RawConnection) -> None:
    client.create_topic("grows")
    accepted(client, CreatePartitionsRequest([CreatePartitionsTopic("grows", 2000, None)], 60_000, False), 3)
    accepted(client, DeleteTopicsRequest(topics=[DeleteTopicState("grows")], timeout_ms=60_000), 6)


def _waiting_fetch(client: RawConnection) -> None:
    positions = {(WIDE, index): RawFetchPosition(0, MB) for index in range(PARTITIONS)}
    client.receive_fetch(client.send_fetch(positions, max_wait_ms=500, min_bytes=2**30))


def _bomb(client: RawConnection) -> None:
    import zstandard

    packed = zstandard.compress(record(b"v" * 100) * 150_000)
    client.produce("one", batch(records=packed, count=150_000, attributes=ZSTD))


def _transaction(client: RawConnection) -> None:
    asked = InitProducerIdRequest(transactional_id="over-all", transaction_timeout_ms=60_000)
    # the request succeeds once the last transaction has ended
    given = client.ask_until(asked, 4, lambda answer: answer.error_code == 0)
    topics = [AddPartitionsToTxnTopic(WIDE, list(range(PARTITIONS)))]
    producer = given.producer_id, given.producer_epoch
    accepted(client, AddPartitionsToTxnRequest([], "over-all", *producer, topics), 3)
    accepted(client, EndTxnRequest("over-all", *producer, True), 3)


CASES: dict[str, Case] = {
    "Metadata of all topics": lambda client: client.ask(MetadataRequest(topics=None), 12),
    "1,000 topics made and deleted": _topics,
    "2,000 partitions added and deleted": _partitions,
    "OffsetFetch of all of a group": lambda client: accepted(
        client, OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g0", topics=None)]), 8
    ),
    "Fetch of 10,000 partitions that waits": _waiting_fetch,
    "a transaction over 10,000 partitions": _transaction,
    "DescribeLogDirs of all": lambda client: client.ask(DescribeLogDirsRequest(None), 4),
    "ListGroups": lambda client: client.ask(ListGroupsRequest([], []), 5),
    "ListTransactions": lambda client: client.ask(ListTransactionsRequest(), 1),
    "a batch that unpacks to 16 MB": _bomb,
    "a record of 900 KB": lambda client: client.produce("one", batch(b"v" * 900_000)),
}


def other_client(address: str, pipe: Pipe) -> None:
    """Runs in a separate process: writes one record after another; for each message on its pipe, it sends the longest
    wait since the last message, in ms."""
    one, longest = batch(b"v" * 100), 0.0
    with RawConnection(address, timeout_s=600) as client:
        while True:
            begin = time.perf_counter()
            if error := client.produce("one", one).error:
                raise BenchmarkError(f"the other client's record was refused: {Error(error).name}")
            longest = max(longest, time.perf_counter() - begin)
            if pipe.poll(PAUSE_S):
                if not pipe.recv():
                    return
                pipe.send(longest * 1000)
                longest = 0.0


class Measured(NamedTuple):
    """The effect of one or several requests.

    :ivar cpu_ms: CPU time of the longest iteration of the broker's loop.
    :ivar waited_ms: longest time that the other client waited for an acknowledgement.
    """

    cpu_ms: float
    waited_ms: float

    @classmethod
    def of(cls, rounds: Sequence[Measured]) -> Measured:
        """The result of several rounds: the median of the longest iterations, and the longest wait of all rounds."""
        return cls(median(one.cpu_ms for one in rounds), max(one.waited_ms for one in rounds))

    def show(self, label: str, count: int | None, answered: str = "") -> None:
        of_each = "" if count is None else f"{self.cpu_ms * 1000 / count:7.1f} us"
        shown = "" if count is None else f"{count:,}"
        times = f"{self.cpu_ms:>10.1f} ms{of_each:>11}{self.waited_ms:>9.0f} ms"
        print(f"{label:<76}{shown:>8}{times}  {answered}", flush=True)


class Meter:
    """Measures the effect of one client's requests on the broker's event loop and on another client
    (:func:`other_client`)."""

    def __init__(self, address: str, broker: Pipe, beside: Pipe) -> None:
        self.address = address
        self._pipes = (broker, beside)

    def longest(self) -> Measured:
        """The loop's longest iteration and the other client's longest wait since the last call of this method."""
        for pipe in self._pipes:
            pipe.send(True)
        return Measured(*(float(pipe.recv()) for pipe in self._pipes))

    def take(self, *work: Callable[[], object]) -> Measured:
        found = []
        for one in work:
            self.longest()
            one()
            time.sleep(SETTLED_S)
            found.append(self.longest())
        return Measured.of(found)


def wide_requests(meter: Meter, world: World, words: Sequence[str]) -> list[str]:
    """Measure each shape of request; returns those that exceed their bounds."""
    exceeded = []
    for shape in shapes():
        label = str(shape)
        if words and not any(word in label for word in words):
            continue
        largest = max_entries(shape, world, SERVED[shape.api_key].max_elements)
        few = min(largest, max_entries(shape, world, FEW_ELEMENTS))
        ask_wide(meter, shape, world, 2)  # imports it
        for entries, bound_ms in {few: FEW_MS, min(PARTITIONS, largest): MAX_MS, largest: MAX_MS}.items():
            rounds = [ask_wide(meter, shape, world, entries) for _ in range(ROUNDS)]
            found = Measured.of([one for one, _ in rounds])
            found.show(label, entries, rounds[-1][1])
            if found.cpu_ms > bound_ms:
                exceeded.append(f"{label}, {entries:,}: {found.cpu_ms:.0f} ms, more than {bound_ms}")
    return exceeded


def ask_wide(meter: Meter, shape: Shape, world: World, entries: int) -> tuple[Measured, str]:
    """The measurements of one request, and its answer."""
    with RawConnection(meter.address, timeout_s=600) as client:  # a connection of minutes would be closed as idle
        precede(shape, client, world)
    body = build(shape, world, entries).encode(shape.version)
    answers: list[str] = []
    found = meter.take(lambda: answers.append(answered(meter.address, shape, body)))
    return found, answers[0]


def answered(address: str, shape: Shape, body: bytes) -> str:
    """Send a request on a new connection; returns the errors in its answer, the most frequent first."""
    with RawConnection(address, timeout_s=600) as client:
        client.send(shape.api_key, shape.version, body)
        try:
            frame = client.receive_frame()
        except ConnectionClosed:
            return "a closed connection: its answer would exceed the memory of answers"
    _, at = decode_response_header(frame, shape.api_key, shape.version)
    answer = response_type(shape.api_key).decode(frame, shape.version, at)
    found = Counter(Error(holder.error_code).name for holder in holders_of_errors(answer))
    return ", ".join(f"{count:,} {name}" for name, count in found.most_common(2))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.iterations", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("case", nargs="*", help="words of the cases to run; all of them by default")
    words = parser.parse_args(arguments).case
    folder = tempfile.mkdtemp(prefix="oncelog-iterations-")
    context = multiprocessing.get_context("spawn")
    (broker, its_end), (beside, other_end) = context.Pipe(), context.Pipe()
    processes = [context.Process(target=serve, args=(folder, its_end))]
    processes[0].start()
    try:
        servers = broker.recv()
        with RawConnection(servers, timeout_s=600) as client:
            client.create_topic("one")
            world = prepare(client, TOPICS, WIDEST, GROUPS)
            processes.append(context.Process(target=other_client, args=(servers, other_end)))
            processes[1].start()
            meter = Meter(servers, broker, beside)
            print(f"{'':<76}{'entries':>8}{'longest step':>13}{'of each':>11}{'other waits':>12}  answered with")
            silent = lambda: meter.take(lambda: time.sleep(5)).show("nothing", None)  # noqa: E731
            silent()
            for name, case in CASES.items():
                if not words or any(word in name for word in words):
                    meter.take(*[lambda case=case: case(client)] * 2).show(name, None)  # type: ignore[misc]
            exceeded = wide_requests(meter, world, words)
            silent()
    finally:
        # the other client stops first
        for process, pipe in reversed(list(zip(processes, (broker, beside), strict=False))):
            pipe.send(False)
            process.join(60)
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)
    for line in exceeded:
        print(f"exceeded: {line}")
    return 1 if exceeded else 0


if __name__ == "__main__":
    raise SystemExit(main())
