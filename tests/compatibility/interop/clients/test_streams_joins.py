"""Kafka Streams' joins of streams and tables, and windows that close, with ``exactly_once_v2`` on two instances with
standby replicas: their results are those of a naive model when an instance is killed."""

from __future__ import annotations

import subprocess
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from oncelog import Admin, Broker
from oncelog.client.core.admin.admin_types import NewTopic
from tests.compatibility.interop.clients.java_programs import start_program

pytestmark = [pytest.mark.kafka, pytest.mark.soak]

NAME = "joins"
PARTITIONS = 2
COMPACTED, ENDLESS = {"cleanup.policy": "compact"}, {"retention.ms": "-1"}
INPUTS = {"left": ENDLESS, "right": ENDLESS, "users": COMPACTED, "orders": COMPACTED, "owners": COMPACTED}
OUTPUTS = ("pairs", "enriched", "owned", "closed")
RECORDS, STEP_MS, WINDOW_MS, HOUR_MS = 900, 200, 60_000, 3_600_000
WAIT_S = 300


class Input:
    """Sends records to the topics, and computes what the application makes of them."""

    def __init__(self, servers: str) -> None:
        self.began_ms = int(time.time()) // 60 * 60_000 - 10 * HOUR_MS
        self._producer = Producer(
            {"bootstrap.servers": servers, "enable.idempotence": True, "partitioner": "murmur2_random"}
        )
        self._random = Random(7)
        self._left: list[tuple[str, str, int]] = []
        self._right: list[tuple[str, str, int]] = []
        self._orders: dict[str, str | None] = {}
        self._owners: dict[str, str] = {}
        for number in range(20):
            # earlier than the records that are joined with the table: the join is one of points in time
            self._send("users", f"k{number}", f"U{number}", self.began_ms - HOUR_MS)
            self._owner(f"k{number}", f"first{number}", self.began_ms - HOUR_MS)
        self._producer.flush()

    def _send(self, topic: str, key: str, value: str | None, timestamp: int) -> None:
        self._producer.produce(f"{NAME}-{topic}", key=key, value=value, timestamp=timestamp)
        self._producer.poll(0)

    def _owner(self, key: str, value: str, timestamp: int) -> None:
        self._owners[key] = value
        self._send("owners", key, value, timestamp)

    def _order(self, key: str, value: str | None, timestamp: int) -> None:
        self._orders[key] = value
        self._send("orders", key, value, timestamp)

    def send(self, numbers: range) -> None:
        draw = self._random.randrange
        for number in numbers:
            at = self.began_ms + number * STEP_MS
            left = (f"k{draw(20)}", f"{'abc'[draw(3)]}{number}", at)
            self._left.append(left)
            self._send("left", *left)
            if number % 3 == 0:
                right = (f"k{draw(20)}", f"r{number}", at + draw(-3000, 3000))
                self._right.append(right)
                self._send("right", *right)
            if number % 5 == 0:
                self._order(f"o{draw(40)}", f"k{draw(24)}:{number}", at)
        assert self._producer.flush(60) == 0

    def change_tables(self) -> None:
        at = self.began_ms + RECORDS * STEP_MS
        for number in range(5):
            self._owner(f"k{number}", f"second{number}", at)
            self._order(f"o{number}", None, at)
        assert self._producer.flush(60) == 0

    def close_windows(self) -> None:
        """One late record for each letter, so that the time passes in all partitions."""
        for letter in "abcdefgh":
            self._send("left", f"far-{letter}", f"{letter}-far", self.began_ms + 9 * HOUR_MS)
        assert self._producer.flush(60) == 0

    def expected(self) -> dict[str, Counter[tuple[str, str]]]:
        seconds = 1000
        pairs = Counter(
            (key, f"{value}+{other}")
            for key, value, at in self._left
            for other_key, other, other_at in self._right
            if key == other_key and abs(at - other_at) <= 10 * seconds
        )
        windows = Counter((value[0], at // WINDOW_MS * WINDOW_MS) for _, value, at in self._left)
        return {
            "pairs": pairs,
            "enriched": Counter((key, f"{value}@U{key[1:]}") for key, value, _ in self._left),
            "closed": Counter((letter, f"{start}={count}") for (letter, start), count in windows.items()),
        }

    def expected_owned(self) -> dict[str, str]:
        return {
            key: f"{order}/{self._owners[owner]}"
            for key, order in self._orders.items()
            if order is not None and (owner := order.partition(":")[0]) in self._owners
        }


class Output:
    """Committed records of the application."""

    def __init__(self, servers: str) -> None:
        self.found: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        self.owned: dict[str, str] = {}
        settings = {"bootstrap.servers": servers, "group.id": "reader", "isolation.level": "read_committed"}
        self.consumer = Consumer({**settings, "enable.auto.commit": False})
        ends = [TopicPartition(f"{NAME}-{topic}", index, 0) for topic in OUTPUTS for index in range(PARTITIONS)]
        self.consumer.assign(ends)

    def read(self, seconds: float = 0.5) -> int:
        """The number of records that arrived."""
        messages = self.consumer.consume(1000, seconds)
        for message in messages:
            assert message.error() is None
            topic = (message.topic() or "").removeprefix(f"{NAME}-")
            key, value = (message.key() or b"").decode(), message.value()
            if topic != "owned":
                self.found[topic][key, (value or b"").decode()] += 1
            elif value is None:
                self.owned.pop(key, None)
            else:
                self.owned[key] = value.decode()
        return len(messages)

    def read_to(self, counts: dict[str, int], owned: dict[str, str]) -> None:
        end = time.monotonic() + WAIT_S
        while any(self.found[topic].total() < count for topic, count in counts.items()) or self.owned != owned:
            there = {topic: found.total() for topic, found in self.found.items()}
            assert time.monotonic() < end, f"{there} of {counts}, {len(self.owned)} of {len(owned)} owned"
            self.read()


def test_joins_and_closed_windows_are_those_of_the_model_when_an_instance_is_killed(
    tmp_path: Path, kafka_jars: Path
) -> None:
    with ExitStack() as stack:
        broker = stack.enter_context(Broker(tmp_path / "data", settings={"group.initial.rebalance.delay.ms": 0}))
        servers = broker.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin:
            configs = {**INPUTS, **dict.fromkeys(OUTPUTS, ENDLESS)}
            admin.create_topics(
                [NewTopic(f"{NAME}-{topic}", PARTITIONS, 1, topic_configs=how) for topic, how in configs.items()]
            )
        instances: dict[int, subprocess.Popen[str]] = {}

        def kill(number: int) -> None:
            instances[number].kill()
            instances[number].communicate()

        def start(number: int) -> None:
            arguments = (servers, NAME, str(tmp_path / f"state-{number}"))
            instances[number] = start_program("StreamsJoins.java", *arguments, folder=tmp_path, stdin=subprocess.PIPE)
            stack.callback(kill, number)

        sent = Input(servers)
        output = Output(servers)
        stack.enter_context(closing(output.consumer))
        for number in range(2):
            start(number)
        sent.send(range(RECORDS // 3))
        output.read_to({"enriched": 100}, output.owned)
        sent.send(range(RECORDS // 3, RECORDS * 2 // 3))
        kill(0)
        output.read_to({"enriched": RECORDS // 2}, output.owned)
        start(0)
        sent.send(range(RECORDS * 2 // 3, RECORDS))
        sent.change_tables()
        expected = sent.expected()
        totals = {topic: counter.total() for topic, counter in expected.items()}
        output.read_to({topic: totals[topic] for topic in ("pairs", "enriched")}, sent.expected_owned())
        assert {topic: output.found[topic] for topic in ("pairs", "enriched")} == {
            topic: expected[topic] for topic in ("pairs", "enriched")
        }
        sent.close_windows()
        output.read_to({"closed": totals["closed"]}, sent.expected_owned())
        for number in range(2):
            instances[number].communicate(input="", timeout=120)
            assert instances[number].returncode == 0
        while output.read():
            pass
        assert output.found["closed"] == expected["closed"]
        assert output.found["pairs"] == expected["pairs"]
