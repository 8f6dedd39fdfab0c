"""Kafka Streams, unmodified, with ``exactly_once_v2``: counts stay exact when the application is killed."""

from __future__ import annotations

import subprocess
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from oncelog import Admin, Broker
from oncelog.client.core.admin.admin_types import NewTopic
from tests.compatibility.interop.clients.java_programs import start_program
from tests.compatibility.interop.clients.python_clients import wait_for

pytestmark = pytest.mark.kafka

NAME = "word-count"
PARTITIONS = 2
WORDS = [f"word-{number}" for number in range(25)]
LINES = 4000
"""Lines of three words, half of them sent before the kill and half after it."""


def line(number: int) -> list[str]:
    return [WORDS[number % 25], WORDS[number * 7 % 25], WORDS[number * number % 25]]


def send_lines(servers: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "batch.num.messages": 50})
    for number in numbers:
        producer.produce(f"{NAME}-in", value=" ".join(line(number)), partition=number % PARTITIONS)
    assert producer.flush(60) == 0


@contextmanager
def reader(servers: str, isolation: str) -> Iterator[Consumer]:
    settings = {"bootstrap.servers": servers, "isolation.level": isolation, "group.id": f"{NAME}-{isolation}"}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "fetch.wait.max.ms": 50})
    consumer.subscribe([f"{NAME}-out"])
    with closing(consumer):
        yield consumer


def read(consumer: Consumer) -> list[tuple[str, int]]:
    """Words and counts that arrived, in the order of their partition."""
    messages = consumer.consume(1000, 0.2)
    assert not [message.error() for message in messages if message.error() is not None]
    return [((message.key() or b"").decode(), int.from_bytes(message.value() or b"", "big")) for message in messages]


def test_counts_stay_exact_when_the_application_is_killed(tmp_path: Path, kafka_jars: Path) -> None:
    settings = {"group.initial.rebalance.delay.ms": 0}
    application: subprocess.Popen[str] | None = None
    with Broker(tmp_path / "data", settings=settings) as broker:
        servers = broker.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic(f"{NAME}-{end}", PARTITIONS, 1) for end in ("in", "out")])

        def start() -> subprocess.Popen[str]:
            arguments = (servers, NAME, str(tmp_path / "state"))
            return start_program("WordCount.java", *arguments, folder=tmp_path, stdin=subprocess.PIPE)

        try:
            send_lines(servers, range(LINES // 2))
            application = start()
            with reader(servers, "read_uncommitted") as early:
                wait_for(lambda: read(early), "first counts")
            application.kill()
            application.wait()
            send_lines(servers, range(LINES // 2, LINES))
            application = start()
            counts: dict[str, list[int]] = defaultdict(list)
            with reader(servers, "read_committed") as committed:

                def all_counted() -> bool:
                    for word, count in read(committed):
                        counts[word].append(count)
                    return sum(map(len, counts.values())) >= 3 * LINES

                wait_for(all_counted, f"counts; the application wrote {tmp_path}/WordCount.java.log")
                application.communicate(input="", timeout=60)
                assert read(committed) == []
            assert application.returncode == 0
        finally:
            if application is not None:
                application.kill()
                application.wait()
    expected = Counter(word for number in range(LINES) for word in line(number))
    assert counts == {word: list(range(1, total + 1)) for word, total in expected.items()}


@pytest.mark.soak
def test_a_streams_group_is_refused_and_the_error_names_the_group(tmp_path: Path, kafka_jars: Path) -> None:
    with Broker(tmp_path / "data") as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic(f"{NAME}-{end}", PARTITIONS, 1) for end in ("in", "out")])
        arguments = (broker.bootstrap_servers, NAME, str(tmp_path / "state"), "group.protocol=streams")
        application = start_program("WordCount.java", *arguments, folder=tmp_path, stdin=subprocess.PIPE)
        end = threading.Timer(60, application.kill)
        end.start()
        try:
            assert application.stderr is not None
            assert any("The cluster does not support the STREAMS group protocol" in line for line in application.stderr)
        finally:
            end.cancel()
            application.kill()
            application.communicate()
