"""State and failures: windows, sessions, stream-stream joins, deduplication, transformWithState and
applyInPandasWithState, on RocksDB.

Executors are killed, and drivers with all of theirs. The output is compared with what a few lines of Python make of the
same events: each result once, none missing.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Protocol

import psutil
import pytest

from tests.integration.spark.driver_process import DriverProcess
from tests.integration.spark.kafka_records import committed, create_topic, produce
from tests.integration.spark.pipeline.stateful_query import QUERIES, SESSION_GAP

pytestmark = [pytest.mark.crash, pytest.mark.soak, pytest.mark.timeout(3000)]

BEGIN_MS = 1_767_600_000_000
GAP_MS = int(SESSION_GAP.split()[0])


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


class Event(NamedTuple):
    at_ms: int
    key: str
    kind: str
    amount: int

    def encode(self) -> bytes:
        moment = datetime.fromtimestamp(self.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
        fields = {"at": moment, "key": self.key, "kind": self.kind, "amount": self.amount}
        return json.dumps(fields).encode()


def made(count: int, seed: int) -> list[Event]:
    """Events in the order of their arrival: up to two seconds out of order, a key alive for about four."""
    chosen = random.Random(seed)
    events = [
        Event(BEGIN_MS + n * 100 + chosen.randint(-2000, 0), f"k{n // 40}-{n % 5}", chosen.choice("ab"), n)
        for n in range(count)
    ]
    far = BEGIN_MS + count * 100 + 3_600_000
    return [*events, Event(far, "end", "a", 0), Event(far + 60_000, "end-2", "a", 0)]


def expected(name: str, events: list[Event], others: list[Event]) -> Counter[tuple[str, str]]:
    """The expected results, without Spark, except for the last two events, which only close what is open."""
    return EXPECTED[name](events[:-2], others[:-2])


def windows(events: list[Event], others: list[Event]) -> Counter[tuple[str, str]]:
    found: dict[tuple[int, str], list[int]] = defaultdict(list)
    for event in events:
        found[event.at_ms // 10_000 * 10_000, event.key].append(event.amount)
    return Counter({(f"{start}|{key}", f"{len(a)}|{sum(a)}"): 1 for (start, key), a in found.items()})


def sessions(events: list[Event], others: list[Event]) -> Counter[tuple[str, str]]:
    """Events of a key at most the gap apart belong together."""
    found: list[list[Event]] = []
    for event in sorted(events, key=lambda one: (one.key, one.at_ms)):
        if found and found[-1][-1].key == event.key and event.at_ms - found[-1][-1].at_ms <= GAP_MS:
            found[-1].append(event)
        else:
            found.append([event])
    return Counter(
        (f"{session[0].at_ms}|{session[0].key}", f"{len(session)}|{sum(event.amount for event in session)}")
        for session in found
    )


def near(events: list[Event], others: list[Event], within_ms: int) -> list[tuple[Event, Event]]:
    by_key: dict[str, list[Event]] = defaultdict(list)
    for other in others:
        by_key[other.key].append(other)
    return [
        (event, other)
        for event in events
        for other in by_key[event.key]
        if event.at_ms <= other.at_ms <= event.at_ms + within_ms
    ]


def joined(events: list[Event], others: list[Event]) -> Counter[tuple[str, str]]:
    pairs = near([event for event in events if event.kind == "a"], others, 5000)
    return Counter((event.key, f"{event.amount}|{other.amount}") for event, other in pairs)


def outer(events: list[Event], others: list[Event]) -> Counter[tuple[str, str]]:
    left, right = ([event for event in side if event.kind == "a"] for side in (events, others))
    pairs = near(left, right, 1000)
    found = Counter((event.key, f"{event.amount}|{other.amount}") for event, other in pairs)
    paired, paired_others = ({pair[side] for pair in pairs} for side in (0, 1))
    found.update((event.key, f"{event.amount}|none") for event in left if event not in paired)
    found.update((other.key, f"none|{other.amount}") for other in right if other not in paired_others)
    return found


def distinct(events: list[Event], others: list[Event]) -> Counter[tuple[str, str]]:
    return Counter({(key, key): 1 for key in {event.key for event in events}})


def timed(events: list[Event], others: list[Event]) -> Counter[tuple[str, str]]:
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for event in events:
        kinds[event.key][event.kind] += 1
    amounts = by_key(events)
    return Counter((key, json.dumps([amounts[key], kinds[key]], sort_keys=True)) for key in amounts)


def grouped(events: list[Event], others: list[Event]) -> Counter[tuple[str, str]]:
    return Counter((key, json.dumps(amounts)) for key, amounts in by_key(events).items())


def by_key(events: list[Event]) -> dict[str, list[int]]:
    """The amounts of each key, sorted."""
    found: dict[str, list[int]] = defaultdict(list)
    for event in events:
        found[event.key].append(event.amount)
    return {key: sorted(amounts) for key, amounts in found.items()}


EXPECTED = {
    "windows": windows,
    "sessions": sessions,
    "joined": joined,
    "outer": outer,
    "distinct": distinct,
    "timed": timed,
    "grouped": grouped,
}


class Run(DriverProcess):
    """One run of a query, with executors of its own."""

    def await_batches(self, batches: int) -> bool:
        """Wait for the given number of batches; False if the run has ended before."""
        return all(self.line_unless_ended() is not None for _ in range(batches))

    def executors(self) -> list[psutil.Process]:
        """The JVMs that run the tasks; none if the run has just ended."""
        found: list[psutil.Process] = []
        try:
            children = psutil.Process(self.pids[1]).children(recursive=True)
        except psutil.NoSuchProcess:
            return found
        for child in children:
            try:
                words = child.cmdline()
            except psutil.NoSuchProcess:  # also one that was killed and that its parent has not looked at yet
                continue
            if any("CoarseGrainedExecutorBackend" in word for word in words):
                found.append(child)
        return found

    def kill_an_executor(self) -> int:
        """How many there were to kill: one or none."""
        first = self.executors()[:1]
        for executor in first:
            executor.kill()
        return len(first)

    def kill(self) -> None:
        """Kill the driver, its JVM and all executors at once."""
        self.pids = [*(child.pid for child in self.executors()), *self.pids]
        super().kill()


def prove(broker: RunningBroker, name: str, folder: Path, query: str, batches: int, batch_events: int) -> None:
    """In each run an executor is killed after two batches and the driver after two more, until one run ends."""
    address = broker.bootstrap_servers
    events, others = (made(batches * batch_events, seed) for seed in (1, 2))
    topics = {"events": events, "others": others, "results": []}
    for topic, found in topics.items():
        create_topic(address, f"{name}-{topic}", 1)
        produce(address, f"{name}-{topic}", [event.encode() for event in found])
    task = {
        "servers": address,
        "events": f"{name}-events",
        "others": f"{name}-others",
        "sink": f"{name}-results",
        "checkpoint": str(folder / "checkpoint"),
        "rows": batch_events,
        "query": query,
    }
    kills = 0
    finished = False
    while not finished:
        run = Run("tests.integration.spark.pipeline.stateful_query", task, folder / "driver.log")
        try:
            if run.await_batches(2):
                kills += run.kill_an_executor()
            if run.await_batches(2):
                run.kill()
            else:
                status, log = run.finish()
                assert status == 0, log[-4000:]
                finished = True
        finally:
            if run.alive():
                run.kill()
    assert kills > 1
    records = committed(address, f"{name}-results")
    pairs = Counter(((record.key or b"").decode(), (record.value or b"").decode()) for record in records)
    assert Counter({pair: count for pair, count in pairs.items() if "end" not in pair[0]}) == expected(
        query, events, others
    )


@pytest.mark.parametrize("query", QUERIES)
def test_state_survives_killed_executors_and_drivers(
    broker: RunningBroker, unique_name: str, tmp_path: Path, query: str
) -> None:
    prove(broker, unique_name, tmp_path, query, batches=8, batch_events=100)
