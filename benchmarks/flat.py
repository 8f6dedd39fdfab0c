"""Checks whether one produce or fetch costs more when the broker holds much data, by counting instructions:

    python -m benchmarks.flat [partitions|producers|connections ...]

Valgrind's callgrind counts the instructions that the broker executes for a hundred requests of one connection, one
after the other, before the broker is filled and after; the minimum of seven rounds counts. Other load on the machine
does not change these counts. ``limits`` measures memory and time.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.instructions import TOTAL, Counted
from benchmarks.load import BenchmarkError
from benchmarks.measures import new_topic
from benchmarks.raw import Caller, batch, encode, fetch_frame, produce
from benchmarks.servers import running
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest

COUNTED, ROUNDS, AT_ONCE = 100, 7, 100
PARTITIONS, PRODUCERS, CONNECTIONS = 5_000, 100_000, 10_000
FIRST_PRODUCER = 1_000_000
LONG_LOG = 6_000
"""How many batches are appended in advance, because only in a long log a fetch has to look up where a batch ends. Each
fetch reads another batch, because the log keeps the result of the last read."""
SETTLED = 20_000_000
"""A broker that executes fewer instructions than this in 2 s without a request has settled."""
FILLINGS = ("partitions", "producers", "connections")


class Dumped(Counted):
    """Counts the instructions of each measured section separately."""

    def counted(self, work: Callable[[], None]) -> int:
        before = set(self._dumps())
        self.count(on=True)
        work()
        self.count(on=False)
        subprocess.run(
            ["callgrind_control", "-d", str(self.pid)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=120,
        )
        new = set(self._dumps()) - before
        return max(int(number) for path in new for number in TOTAL.findall(path.read_text()))

    def least(self, work: Callable[[], None]) -> int:
        """The minimum number of instructions over some rounds: background work of the broker can only add to a
        round."""
        return min(self.counted(work) for _ in range(ROUNDS))

    def settle(self) -> None:
        """Wait until new data is synced."""
        for _ in range(60):
            if self.counted(lambda: time.sleep(2)) < SETTLED:
                return
        raise BenchmarkError("the broker still works by itself")

    def _dumps(self) -> list[Path]:
        return [path for path in self.folder.glob("callgrind.out*") if path.stat().st_size]


def partitions(server: Dumped, caller: Caller, topic: str) -> None:
    for number in range(0, PARTITIONS, 50):
        made = [CreatableTopic(name=f"filling-{number}", num_partitions=50, replication_factor=1)]
        caller.ask(CreateTopicsRequest(topics=made, timeout_ms=600_000), 7)


def producers(server: Dumped, caller: Caller, topic: str) -> None:
    """Add ``PRODUCERS`` producers to the state of the measured partition: each of them writes one batch there."""
    write_many(caller, topic, [{"pid": FIRST_PRODUCER + n, "epoch": 0, "sequence": 0} for n in range(PRODUCERS)])


def write_many(caller: Caller, topic: str, producers: Sequence[Mapping[str, int]]) -> None:
    """Write one small batch for each producer, with up to ``AT_ONCE`` requests in flight."""
    with socket.create_connection(("127.0.0.1", caller.port), timeout=600) as one, one.makefile("rb") as answers:
        for first in range(0, len(producers), AT_ONCE):
            asked = [
                produce(topic, 0, batch(10, **dict[str, Any](producer)))
                for producer in producers[first : first + AT_ONCE]
            ]
            one.sendall(b"".join(asked))
            for _ in asked:
                answers.read(int.from_bytes(answers.read(4), "big"))


@contextlib.contextmanager
def connected(caller: Caller) -> Iterator[None]:
    """Hold many more connections open during the block, each of which has sent one request."""
    with contextlib.ExitStack() as stack:
        question = encode(ApiVersionsRequest(), 0)
        for _ in range(CONNECTIONS):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", caller.port), timeout=600))
            one.sendall(question)
            one.recv(1 << 16)
        yield


def each(server: Dumped, caller: Caller, topic: str, when: str) -> None:
    idempotent, offsets = iter(range(1 << 30)), iter(range(LONG_LOG))
    written = produce(topic, 0, batch(100))
    pid = FIRST_PRODUCER - 1 - len(when)

    def write() -> None:
        for _ in range(COUNTED):
            caller.send(written)

    def write_idempotent() -> None:
        for _ in range(COUNTED):
            caller.send(produce(topic, 0, batch(100, pid=pid, epoch=0, sequence=next(idempotent))))

    def read() -> None:
        for _ in range(COUNTED):
            caller.send(fetch_frame(topic, 0, 200, max_wait_ms=500, offset=next(offsets)))

    server.settle()
    works = {"produce": write, "idempotent produce": write_idempotent, "fetch": read}
    for name, work in works.items():
        work()
        print(f"  {name}, {when}: {server.least(work) / COUNTED:,.0f} instructions", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flat", description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", choices=[[], *FILLINGS], default=[])
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("valgrind is needed: it counts the instructions", file=sys.stderr)
        return 1
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for what in options.what or FILLINGS:
        print(what, flush=True)
        server = Dumped()
        with running(server):
            topic = new_topic(server, 1)
            with contextlib.closing(Caller(server)) as caller:
                write_many(caller, topic, [{}] * LONG_LOG)
                each(server, caller, topic, "empty")
            # Filling may take longer than connections.max.idle.ms, so the measured client connects afterwards.
            with contextlib.closing(Caller(server)) as filling, contextlib.ExitStack() as stack:
                if what == "connections":
                    stack.enter_context(connected(filling))
                else:
                    (partitions if what == "partitions" else producers)(server, filling, topic)
                with contextlib.closing(Caller(server)) as caller:
                    each(server, caller, topic, "full")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
