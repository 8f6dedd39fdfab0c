"""Other clients read what we write and we read what they write, with every codec, headers, nulls and timestamps."""

from __future__ import annotations

import time

import confluent_kafka
import pytest

from oncelog.client.aio import Consumer, ConsumerRecord, Producer
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.client.reading import make_topic, on_loop, read_back

START_MS = time.time_ns() // 1_000_000
"""The timestamps are recent: the broker's first retention check would delete records from 1970."""

CODECS = pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
RECORDS = [
    (b"k", b"v" * 500, [("h", b"1"), ("h", b""), ("none", None)]),
    (None, b"", []),
    (b"", None, [("ключ", b"\x00\xff")]),
    *[(b"%d" % n, b"text " * n, []) for n in range(60)],
]


async def read_ours(servers: str, topic: str, count: int, **settings: object) -> list[ConsumerRecord]:
    async with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest", **settings) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        return [await consumer.getone() for _ in range(count)]


@CODECS
@on_loop
async def test_librdkafka_reads_the_records_that_we_write(broker: RunningBroker, unique_name: str, codec: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    settings = {"bootstrap_servers": broker.bootstrap_servers, "compression_type": codec, "linger_ms": 10}
    async with Producer(**settings) as producer:
        for n, (key, value, headers) in enumerate(RECORDS):
            await producer.send(unique_name, value, key=key, headers=headers, timestamp_ms=START_MS + n)
        await producer.flush()
    seen = read_back(broker.bootstrap_servers, unique_name)
    assert [(item.key, item.value, list(item.headers)) for item in seen] == RECORDS
    ours = await read_ours(broker.bootstrap_servers, unique_name, len(RECORDS))
    assert [(item.key, item.value, list(item.headers)) for item in ours] == RECORDS
    assert [(item.timestamp, item.timestamp_type) for item in ours] == [(START_MS + n, 0) for n in range(len(RECORDS))]
    assert (ours[0].serialized_key_size, ours[2].serialized_value_size) == (1, -1)


@CODECS
@on_loop
async def test_we_read_the_records_that_librdkafka_writes(broker: RunningBroker, unique_name: str, codec: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    other = confluent_kafka.Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "compression.type": codec, "linger.ms": 10}
    )
    for n, (key, value, headers) in enumerate(RECORDS):
        other.produce(unique_name, key=key, value=value, headers=headers, timestamp=START_MS + n)
    assert other.flush(120) == 0
    ours = await read_ours(broker.bootstrap_servers, unique_name, len(RECORDS))
    assert [(item.key, item.value, list(item.headers)) for item in ours] == RECORDS
    assert [item.offset for item in ours] == list(range(len(RECORDS)))


@on_loop
async def test_our_consumer_hides_records_that_librdkafka_aborts(broker: RunningBroker, unique_name: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    other = confluent_kafka.Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": unique_name, "linger.ms": 0}
    )
    other.init_transactions(120)
    for round_ in range(6):
        other.begin_transaction()
        for n in range(3):
            other.produce(unique_name, value=b"%d-%d" % (round_, n))
        if round_ % 2:
            other.flush(120)
            other.abort_transaction(120)
        else:
            other.commit_transaction(120)
    expected = [b"%d-%d" % (round_, n) for round_ in (0, 2, 4) for n in range(3)]
    ours = await read_ours(broker.bootstrap_servers, unique_name, 9, isolation_level="read_committed")
    assert [item.value for item in ours] == expected
    everything = await read_ours(broker.bootstrap_servers, unique_name, 18)
    assert len({item.offset for item in everything}) == 18


@on_loop
async def test_log_append_time_is_reported_to_sender_and_reader(broker: RunningBroker, unique_name: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name, message_timestamp_type="LogAppendTime")
    async with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        stored = await producer.send_and_wait(unique_name, b"v", timestamp_ms=5)
    assert stored.timestamp_type == 1
    (record,) = await read_ours(broker.bootstrap_servers, unique_name, 1)
    assert (record.timestamp, record.timestamp_type) == (stored.timestamp, 1)
    assert record.timestamp > 5
