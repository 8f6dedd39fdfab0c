"""Which partition a record goes to."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import confluent_kafka
import pytest

from oncelog.client.aio import Producer
from oncelog.client.errors import UnknownTopicOrPartitionError
from tests.conftest import RunningBroker
from tests.integration.client.reading import make_topic, on_loop, read_back

KEYS = [b"", b"a", b"key-1", b"kafka", "schlüssel".encode(), b"\x00\xff" * 7, b"0123456789" * 10]


@on_loop
async def test_a_key_goes_to_the_partition_that_java_clients_choose(broker: RunningBroker, unique_name: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name, 7)
    other = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2"})
    for key in KEYS:
        other.produce(unique_name, key=key, value=b"other")
    assert other.flush(120) == 0
    async with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for key in KEYS:
            await producer.send(unique_name, b"ours", key=key)
        await producer.flush()
    seen = read_back(broker.bootstrap_servers, unique_name, 7)
    ours = {item.key: item.partition for item in seen if item.value == b"ours"}
    others = {item.key: item.partition for item in seen if item.value == b"other"}
    del others[b""]  # librdkafka's murmur2 takes an empty key for none
    assert {key: ours[key] for key in others} == others
    assert len(set(ours.values())) > 1


@on_loop
async def test_a_record_with_an_explicit_partition_goes_to_that_partition(
    broker: RunningBroker, unique_name: str
) -> None:
    await make_topic(broker.bootstrap_servers, unique_name, 3)
    async with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for number in (2, 0, 1):
            stored = await producer.send_and_wait(unique_name, b"v", key=b"same", partition=number)
            assert stored.partition == number
        with pytest.raises(UnknownTopicOrPartitionError, match="no partition 3; its partitions are 0 to 2"):
            await producer.send(unique_name, b"v", partition=3)


@on_loop
async def test_the_round_robin_partitioner_sends_one_record_to_each_partition_in_turn(
    broker: RunningBroker, unique_name: str
) -> None:
    await make_topic(broker.bootstrap_servers, unique_name, 4)
    settings = {"bootstrap_servers": broker.bootstrap_servers, "partitioner_class": "roundrobin"}
    async with Producer(**settings) as producer:
        chosen = [(await producer.send_and_wait(unique_name, b"v")).partition for _ in range(12)]
    assert chosen == [0, 1, 2, 3] * 3


@on_loop
async def test_the_sticky_partitioner_fills_a_batch_before_it_changes_the_partition(
    broker: RunningBroker, unique_name: str
) -> None:
    await make_topic(broker.bootstrap_servers, unique_name, 4)
    settings = {"bootstrap_servers": broker.bootstrap_servers, "max_batch_size": 2000, "linger_ms": 5}
    async with Producer(**settings) as producer:
        futures = [await producer.send(unique_name, b"x" * 100) for _ in range(1600)]
        await producer.flush()
        chosen = [future.result().partition for future in futures]
    moves = sum(1 for one, next_ in pairwise(chosen) if one != next_)
    assert moves <= 1600 // 14
    counts = Counter(chosen)
    assert set(counts) == {0, 1, 2, 3}
    assert max(counts.values()) < 1600 * 0.6


@on_loop
async def test_a_custom_partitioner_chooses_the_partition(broker: RunningBroker, unique_name: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name, 3)

    def last(key: bytes | None, everything: list[int], available: list[int]) -> int:
        return everything[-1]

    async with Producer(bootstrap_servers=broker.bootstrap_servers, partitioner=last) as producer:
        assert (await producer.send_and_wait(unique_name, b"v", key=b"k")).partition == 2
