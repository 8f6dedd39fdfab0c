"""Measures the cost of metrics: a broker with and without metrics, in turns; a scrape of many partitions; and clients
with and without their own metrics.

    python -m benchmarks --only metrics [--quick]
"""

from __future__ import annotations

import asyncio
import time
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack
from statistics import median
from threading import Thread
from typing import Any
from unittest.mock import patch

from benchmarks.measures import Figures
from benchmarks.raw import Caller, encode
from benchmarks.requests import CELLS, cell
from benchmarks.servers import Oncelog, free_port, running
from oncelog.client.aio import Consumer, Producer
from oncelog.client.core.consumer.consumer_metrics import ConsumerMetrics
from oncelog.client.core.metrics import NetworkMetrics, Sample
from oncelog.client.core.producer.producer_metrics import ProducerMetrics
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest

CELL = "produce 1 KB, 4 x 5"
PARTITIONS = 5000
SCRAPES = 10


class Observed(Oncelog):
    """``oncelog serve --metrics``."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "oncelog --metrics"
        self._metrics = free_port()

    def command(self) -> list[str]:
        return [*super().command(), "--metrics", f"127.0.0.1:{self._metrics}"]

    def scrape(self) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics}/metrics", timeout=60) as answer:
            return bytes(answer.read())


def costs(rounds: int, add: Callable[[str, Figures], None], *, quick: bool) -> None:
    """Measure a short cell on both servers in each round, in changing order: a drift of the machine affects both."""
    plain, observed = Oncelog(), Observed()
    seconds, pairs = (0.5, 2) if quick else (1.0, 6)
    with ExitStack() as stack:
        for server in (plain, observed):
            stack.enter_context(running(server))
        used: dict[str, list[float]] = {plain.name: [], observed.name: []}
        for number in range(rounds * pairs):
            for server in (plain, observed) if number % 2 else (observed, plain):
                caller = Caller(server)
                figures = cell(server, caller, seconds, CELL, CELLS[CELL])
                caller.close()
                used[server.name].append(figures[f"{CELL}: broker CPU us"])
                add(server.name, figures)
        ratios = [with_them / without for without, with_them in zip(*used.values(), strict=True)]
        add(observed.name, {f"{CELL}: CPU to that without, median of pairs": median(ratios)})
        for work in (_sends, _sends_and_waits, _reads):
            add("our client", _client_cost(plain.bootstrap_servers, work, rounds * pairs))
        caller = Caller(observed)
        topic = CreatableTopic(name="many", num_partitions=PARTITIONS, replication_factor=1)
        caller.ask(CreateTopicsRequest(topics=[topic], timeout_ms=120_000), 7)
        for _ in range(rounds):
            add(observed.name, _scrapes(observed, caller))
        caller.close()


def _scrapes(server: Observed, caller: Caller) -> Figures:
    """Measure the duration of a scrape, and the latency of other requests during scrapes."""
    server.scrape()
    quiet = max(_waits(caller, time.perf_counter() + 1))
    took: list[float] = []

    def scrape() -> None:
        for _ in range(SCRAPES):
            begin = time.perf_counter()
            server.scrape()
            took.append(time.perf_counter() - begin)

    scraping = Thread(target=scrape)
    scraping.start()
    waits = sorted(_waits_while(caller, scraping))
    scraping.join()
    name = f"scrape of {PARTITIONS:,} partitions"
    return {
        f"{name}: ms": median(took) * 1e3,
        f"{name}: bytes": len(server.scrape()),
        f"{name}: ApiVersions meanwhile p99 ms": waits[int(len(waits) * 0.99)] * 1e3,
        f"{name}: ApiVersions meanwhile longest ms": waits[-1] * 1e3,
        f"{name}: ApiVersions without it longest ms": quiet * 1e3,
    }


def _waits(caller: Caller, until: float) -> Iterator[float]:
    frame = encode(ApiVersionsRequest(), 0)
    while (begin := time.perf_counter()) < until:
        caller.send(frame)
        yield time.perf_counter() - begin
        time.sleep(0.0005)


def _waits_while(caller: Caller, thread: Thread) -> Iterator[float]:
    while thread.is_alive():
        yield from _waits(caller, time.perf_counter() + 0.05)


COUNTS = (
    (NetworkMetrics, "answered"),
    (ProducerMetrics, "sent"),
    (ProducerMetrics, "throttled"),
    (ConsumerMetrics, "fetched"),
    (ConsumerMetrics, "received"),
    (ConsumerMetrics, "decoded"),
    (ConsumerMetrics, "polled"),
    (Sample, "add"),
)
"""The methods with which a client counts while it works; they are replaced to measure a client without metrics."""


async def _sends(servers: str) -> float:
    async with Producer(bootstrap_servers=servers) as producer:
        await producer.partitions_for("counted")
        began = time.process_time()
        for _ in range(60_000):
            await producer.send("counted", b"x" * 100)
        await producer.flush()
        return time.process_time() - began


async def _sends_and_waits(servers: str) -> float:
    async with Producer(bootstrap_servers=servers) as producer:
        await producer.partitions_for("counted")
        began = time.process_time()
        for _ in range(1500):
            await producer.send_and_wait("counted", b"x" * 100)
        return time.process_time() - began


async def _reads(servers: str) -> float:
    async with Consumer("counted", bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        await consumer.getone()
        began = time.process_time()
        for _ in range(60_000):
            await consumer.getone()
        return time.process_time() - began


def _client_cost(servers: str, work: Callable[[str], Coroutine[Any, Any, float]], pairs: int) -> Figures:
    """CPU time of this process with and without counting, in alternating order."""
    asyncio.run(work(servers))
    used: dict[bool, list[float]] = {True: [], False: []}
    for number in range(pairs):
        for counting in (True, False) if number % 2 else (False, True):
            with ExitStack() as stack:
                if not counting:
                    for owner, name in COUNTS:
                        stack.enter_context(patch.object(owner, name, lambda *given: None))
                used[counting].append(asyncio.run(work(servers)))
    ratio = median(counted / without for counted, without in zip(used[True], used[False], strict=True))
    name = work.__name__.strip("_").replace("_", " ")
    return {f"client {name}: CPU to that without metrics, median of pairs": ratio}
