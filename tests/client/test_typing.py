"""What mypy --strict says about a user's program: nothing if it is right, and every slip if it is not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

RIGHT = """
from oncelog.aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from oncelog.aiokafka.errors import CoordinatorNotAvailableError, KafkaError, UnknownTopicOrPartitionError
from oncelog.client.aio import Admin, Consumer, Producer
from oncelog.client.blocking import Consumer as BlockingConsumer
from oncelog.client.blocking import Producer as BlockingProducer
from oncelog.client.errors import FatalProducerError, RequestTimedOutError


async def copy() -> None:
    async with (
        Consumer("in", bootstrap_servers=["a:9092", "b:9092"], group_id="g", enable_auto_commit=False) as consumer,
        Producer(bootstrap_servers="a:9092", transactional_id="t", acks="all", linger_ms=2.5) as producer,
    ):
        record = await consumer.getone()
        value: bytes = record.value
        async with producer.transaction():
            stored = await producer.send_and_wait("out", value, key=record.key)
            print(stored.offset + 1, stored.topic_partition.partition)
    try:
        async with Admin(bootstrap_servers="a:9092", request_timeout_ms=1000) as admin:
            await admin.delete_topics(["in"])
    except UnknownTopicOrPartitionError as error:
        print(error.errno, error.retriable)
    except (FatalProducerError, RequestTimedOutError, CoordinatorNotAvailableError, KafkaError):
        raise


def blocking() -> None:
    with BlockingProducer(bootstrap_servers="a:9092", acks=1, partitioner=lambda key, every, there: 0) as producer:
        print(producer.send("out", b"value").result().offset + 1)
        print(producer.send_many("out", [b"a", None], [b"k", None], partition=0).result()[0].records + 1)
    with BlockingConsumer("in", bootstrap_servers="a:9092", value_deserializer=bytes.decode) as consumer:
        print(consumer.getone().value)
        for columns in consumer.getmany_columns(timeout_ms=100).values():
            values: list[bytes | None] = columns.values
            print(values, consumer.config.group_id)
        late = consumer.getone(timeout_ms=100)
        print(late.value if late is not None else None)


async def moved() -> None:
    consumer = AIOKafkaConsumer("in", bootstrap_servers="a:9092", session_timeout_ms=6000)
    producer = AIOKafkaProducer(bootstrap_servers="a:9092", enable_idempotence=True)
    await consumer.start()
    await producer.start()
"""

WRONG = {
    'Producer(bootstrap_server="a:9092")': "bootstrap_server",
    'Producer(linger_ms="5")': "linger_ms",
    'Consumer("t", isolation="read_committed")': "isolation",
    "Consumer(max_poll_records=1.5)": "max_poll_records",
    "Admin(acks=1)": "acks",
    'BlockingProducer(compression="zstd")': "compression",
    "BlockingConsumer(getone=1)": "getone",
    'AIOKafkaProducer(bootstrap_servers="a", ack=1)': "ack",
    'BlockingProducer().send_many("t", ["text"])': 'expected "bytes | None"',
    "BlockingConsumer(group_protocols=1)": "group_protocols",
    "BlockingConsumer().getone(timeout_ms=5).value": 'has no attribute "value"',
}


def _mypy(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "program.py"
    file.write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", str(folder / "cache")]
    return subprocess.run([*command, str(file)], cwd=folder, capture_output=True, text=True, check=False)


def test_a_right_program_passes_and_every_slip_is_found(tmp_path: Path) -> None:
    right = _mypy(RIGHT, tmp_path)
    assert right.returncode == 0, right.stdout
    wrong = _mypy(RIGHT + "\n" + "\n".join(WRONG) + "\n", tmp_path)
    told = {int(line): text for line, text in re.findall(r"program\.py:(\d+): error: (.*)", wrong.stdout)}
    first = RIGHT.count("\n") + 2
    for number, (line, word) in enumerate(WRONG.items(), first):
        assert word in told.get(number, "nothing"), (line, told)
