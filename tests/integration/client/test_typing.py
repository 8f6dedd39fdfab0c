"""What mypy --strict says about a user's program: nothing if it is right, an error for each mistake."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

RIGHT = """
import json
from typing import NamedTuple, assert_type

from oncelog.aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from oncelog.aiokafka.errors import CoordinatorNotAvailableError, KafkaError, UnknownTopicOrPartitionError
from oncelog.client.aio import Admin, Consumer, ConsumerRecord, Producer
from oncelog.client.blocking import Consumer as BlockingConsumer
from oncelog.client.blocking import Producer as BlockingProducer
from oncelog.client.core.structs import Bytes
from oncelog.client.errors import FatalProducerError, RequestTimedOutError
from oncelog.telemetry import instrument


async def copy() -> None:
    async with (
        Consumer("in", bootstrap_servers=["a:9092", "b:9092"], group_id="g", enable_auto_commit=False) as consumer,
        Producer(bootstrap_servers="a:9092", transactional_id="t", acks="all", linger_ms=2.5) as producer,
    ):
        record = await consumer.getone()
        assert_type(record.value, bytes | None)
        async with producer.transaction() as sending:
            stored = await sending.send_and_wait("out", record.value, key=record.key)
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
        assert_type(consumer.getone().value, str | None)
        for record in consumer:
            assert_type(record.key, bytes | None)
        for records in consumer.getmany().values():
            assert_type(records[0].value, str | None)
        for columns in consumer.getmany_columns(timeout_ms=100).values():
            values: list[bytes | None] = columns.values
            print(values, consumer.config.group_id)
        late = consumer.getone(timeout_ms=100)
        print(late.value if late is not None else None)


class Order(NamedTuple):
    number: int


def number_of(order: Order) -> bytes:
    return b"%d" % order.number


async def typed() -> None:
    producer = Producer(bootstrap_servers="a:9092", key_serializer=str.encode, value_serializer=number_of)
    assert_type(producer, Producer[str, Order])
    await producer.send("orders", Order(1), key="first")
    loose = BlockingProducer(value_serializer=lambda value: json.dumps(value).encode())
    loose.send("orders", {"number": 1}, key=b"first")
    consumer = Consumer("orders", key_deserializer=bytes.decode, value_deserializer=lambda value: Order(int(value)))
    async for order in consumer:
        assert_type(order, ConsumerRecord[str, Order])
        key, value = order.key, order.value
        assert_type((key, value), tuple[str | None, Order | None])
    kept: Consumer = Consumer("plain")
    assert_type((await kept.getone()).value, bytes | None)
    moving = AIOKafkaConsumer("orders", value_deserializer=json.loads)
    moved = (await moving.getone()).value
    print(None if moved is None else moved["number"])
    plain = Producer(bootstrap_servers="a:9092")
    assert_type(plain, Producer[Bytes, Bytes])
    await plain.send("t", bytearray(b"v"), key=memoryview(b"k"))
    sending = AIOKafkaProducer(value_serializer=number_of)
    await sending.send("orders", Order(1))


async def either(sending: Producer, waiting: BlockingProducer) -> None:
    # Any producer: one without serializers, one with, one whose types the program has written down.
    await sending.flush()
    waiting.flush()


async def given(narrow: Producer[bytes, bytes], blocking_narrow: BlockingProducer[bytes, bytes]) -> None:
    await either(narrow, blocking_narrow)
    await either(Producer(value_serializer=number_of), BlockingProducer(value_serializer=str.encode))
    await either(Producer(), BlockingProducer())
    await either(AIOKafkaProducer(value_serializer=str.encode), BlockingProducer())
    assert_type(instrument(narrow), Producer[bytes, bytes])
    instrument(blocking_narrow)


class App:
    def __init__(self) -> None:
        self.consumer: AIOKafkaConsumer | None = None
        self.producer: AIOKafkaProducer | None = None

    async def start(self) -> None:
        self.consumer = AIOKafkaConsumer("t", value_deserializer=bytes.decode)
        self.producer = AIOKafkaProducer(value_serializer=str.encode)


async def moved() -> None:
    consumer = AIOKafkaConsumer("in", bootstrap_servers="a:9092", session_timeout_ms=6000)
    producer = AIOKafkaProducer(bootstrap_servers="a:9092", enable_idempotence=True)
    await consumer.start()
    await producer.start()
"""

WRONG = {
    'Producer(bootstrap_server="a:9092")': "bootstrap_server",
    'Producer(linger_ms="5")': 'No overload variant of "Producer" matches argument type "str"',
    'Producer().send("t", "text")': 'expected "bytes | bytearray | memoryview',
    'BlockingProducer(value_serializer=number_of).send("t", b"1")': 'expected "Order | None"',
    'AIOKafkaProducer(value_serializer=number_of).send("t", b"1")': 'expected "Order | None"',
    "Producer(value_serializer=len)": 'Argument "value_serializer"',
    "Consumer(value_deserializer=number_of)": 'expected "Callable',
    "BlockingConsumer().getone().value.decode()": 'Item "None"',
    "BlockingConsumer(value_deserializer=bytes.decode).getone().value + b''": "Unsupported operand",
    'Consumer("t", isolation="read_committed")': "isolation",
    "Consumer(max_poll_records=1.5)": "max_poll_records",
    "Admin(acks=1)": "acks",
    'BlockingProducer(compression="zstd")': "compression",
    "BlockingConsumer(getone=1)": "getone",
    'AIOKafkaProducer(bootstrap_servers="a", ack=1)': "ack",
    'BlockingProducer().send_many("t", ["text"])': 'expected "bytes | bytearray',
    "BlockingConsumer(group_protocols=1)": "group_protocols",
    "BlockingConsumer().getone(timeout_ms=5).value": 'has no attribute "value"',
}


def _mypy(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "program.py"
    file.write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", str(folder / "cache")]
    return subprocess.run([*command, str(file)], cwd=folder, capture_output=True, text=True, check=False)


def test_mypy_accepts_a_correct_program_and_reports_each_mistake(tmp_path: Path) -> None:
    right = _mypy(RIGHT, tmp_path)
    assert right.returncode == 0, right.stdout
    wrong = _mypy(RIGHT + "\n" + "\n".join(WRONG) + "\n", tmp_path)
    reported = {int(line): text for line, text in re.findall(r"program\.py:(\d+): error: (.*)", wrong.stdout)}
    first = RIGHT.count("\n") + 2
    for number, (line, word) in enumerate(WRONG.items(), first):
        assert word in reported.get(number, "nothing"), (line, reported)
