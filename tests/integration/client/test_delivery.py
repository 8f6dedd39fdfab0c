"""What each delivery mode promises when an answer or a request is lost."""

from __future__ import annotations

import asyncio

import pytest

from oncelog.client.aio import Producer
from oncelog.client.errors import KafkaError, KafkaTimeoutError, RecordTooLargeError
from tests.conftest import RunningBroker
from tests.integration.client.proxy import PRODUCE, Fault, KafkaProxy
from tests.integration.client.reading import make_topic, on_loop, read_back, values

FAST = {"retry_backoff_ms": 20, "request_timeout_ms": 2000, "delivery_timeout_ms": 120_000}


@on_loop
async def test_at_most_once_loses_the_record_of_a_lost_request(broker: RunningBroker, unique_name: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    async with (
        KafkaProxy(broker.bootstrap_servers, faults=[Fault(PRODUCE, 2, "request")]) as proxy,
        Producer(bootstrap_servers=proxy.bootstrap_servers, acks=0, **FAST) as producer,
    ):
        first = await producer.send_and_wait(unique_name, b"1")
        assert first.offset == -1
        await producer.send_and_wait(unique_name, b"2")
        while True:  # until the producer has noticed that the connection is gone, and has a new one
            await producer.send_and_wait(unique_name, b"3")
            if proxy.requests[PRODUCE] >= 4:
                break
            await asyncio.sleep(0.02)
    stored = values(broker.bootstrap_servers, unique_name)
    assert stored.count(b"1") == 1
    assert stored.count(b"2") == 0
    assert stored.count(b"3") >= 1


@on_loop
async def test_at_least_once_duplicates_the_record_of_a_lost_answer(broker: RunningBroker, unique_name: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    async with KafkaProxy(broker.bootstrap_servers, faults=[Fault(PRODUCE, 1, "answer")]) as proxy:
        settings = {"bootstrap_servers": proxy.bootstrap_servers, "acks": 1, "enable_idempotence": False}
        settings |= FAST | {"request_timeout_ms": 60_000}  # a slow answer would be asked for a third time
        async with Producer(**settings) as producer:
            await producer.send_and_wait(unique_name, b"once?")
    assert values(broker.bootstrap_servers, unique_name) == [b"once?", b"once?"]


@on_loop
async def test_an_idempotent_producer_stores_a_record_once_after_a_lost_answer(
    broker: RunningBroker, unique_name: str
) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    async with (
        KafkaProxy(broker.bootstrap_servers, faults=[Fault(PRODUCE, 1, "answer")]) as proxy,
        Producer(bootstrap_servers=proxy.bootstrap_servers, **FAST) as producer,
    ):
        stored = await producer.send_and_wait(unique_name, b"once")
        assert stored.offset == 0
    assert values(broker.bootstrap_servers, unique_name) == [b"once"]


@on_loop
async def test_a_transactional_producer_stores_a_record_once_after_a_lost_answer(
    broker: RunningBroker, unique_name: str
) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    async with KafkaProxy(broker.bootstrap_servers, faults=[Fault(PRODUCE, 1, "answer")]) as proxy:
        settings = {"bootstrap_servers": proxy.bootstrap_servers, "transactional_id": unique_name, **FAST}
        async with Producer(**settings) as producer, producer.transaction():
            await producer.send(unique_name, b"once")
    assert values(broker.bootstrap_servers, unique_name) == [b"once"]


@pytest.mark.parametrize("lose", ["answer", "request", "silence"])
@pytest.mark.parametrize("nth", [1, 3])
@on_loop
async def test_five_requests_in_flight_keep_order_and_count_despite_faults(
    broker: RunningBroker, unique_name: str, lose: str, nth: int
) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    faults = [Fault(PRODUCE, nth, lose, 2), Fault(PRODUCE, nth + 7, lose)]
    async with KafkaProxy(broker.bootstrap_servers, faults=faults) as proxy:
        settings = {"bootstrap_servers": proxy.bootstrap_servers, "max_batch_size": 1000, **FAST}
        async with Producer(**settings) as producer:
            futures = [await producer.send(unique_name, b"%06d" % n) for n in range(2000)]
            await producer.flush()
            offsets = [future.result().offset for future in futures]
    assert values(broker.bootstrap_servers, unique_name) == [b"%06d" % n for n in range(2000)]
    assert [offset for offset in offsets if offset >= 0] == [n for n, offset in enumerate(offsets) if offset >= 0]


@on_loop
async def test_after_a_gap_the_producer_resumes_from_the_batch_after_the_last_acknowledged(
    broker: RunningBroker, unique_name: str
) -> None:
    """The first of several batches in flight is lost, so the broker refuses the later ones as out of order."""
    await make_topic(broker.bootstrap_servers, unique_name, 2)
    async with KafkaProxy(broker.bootstrap_servers) as proxy:
        settings = {"bootstrap_servers": proxy.bootstrap_servers, "max_batch_size": 200, **FAST}
        async with Producer(**settings) as producer:
            await producer.send_and_wait(unique_name, b"first", partition=0)
            proxy.faults.append(Fault(PRODUCE, proxy.requests[PRODUCE] + 1, "request", 3))
            for n in range(300):
                await producer.send(unique_name, b"%04d" % n, partition=n % 2)
            await producer.flush()
    seen = read_back(broker.bootstrap_servers, unique_name, 2)
    even = [item.value for item in seen if item.partition == 0]
    odd = [item.value for item in seen if item.partition == 1]
    assert even == [b"first", *(b"%04d" % n for n in range(0, 300, 2))]
    assert odd == [b"%04d" % n for n in range(1, 300, 2)]


@on_loop
async def test_a_batch_that_expires_unsent_leaves_no_gap(broker: RunningBroker, unique_name: str) -> None:
    """Nobody knows whether the broker has the expired batch, so the producer starts a new epoch and continues."""
    await make_topic(broker.bootstrap_servers, unique_name)
    async with KafkaProxy(broker.bootstrap_servers) as proxy:
        settings = {"retry_backoff_ms": 20, "request_timeout_ms": 500, "delivery_timeout_ms": 5000}
        async with Producer(bootstrap_servers=proxy.bootstrap_servers, **settings) as producer:
            await producer.send_and_wait(unique_name, b"1")
            proxy.faults.append(Fault(PRODUCE, proxy.requests[PRODUCE] + 1, "request", 10_000))
            with pytest.raises(KafkaTimeoutError, match=r"delivery\.timeout\.ms=5000"):
                await producer.send_and_wait(unique_name, b"2")
            proxy.faults.clear()
            await producer.send_and_wait(unique_name, b"3")
    assert values(broker.bootstrap_servers, unique_name) == [b"1", b"3"]


@on_loop
async def test_a_batch_larger_than_the_topic_allows_is_split(broker: RunningBroker, unique_name: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name, max_message_bytes="5000")
    async with Producer(bootstrap_servers=broker.bootstrap_servers, linger_ms=20, **FAST) as producer:
        futures = [await producer.send(unique_name, b"%03d" % n + b"x" * 200) for n in range(70)]
        await producer.flush()
        assert [future.result().offset for future in futures] == list(range(70))
        with pytest.raises(KafkaError, match=r"max\.message\.bytes"):
            await producer.send_and_wait(unique_name, b"y" * 6000)
        await producer.send_and_wait(unique_name, b"after")
    stored = values(broker.bootstrap_servers, unique_name)
    assert [value[:3] for value in stored[:-1] if value] == [b"%03d" % n for n in range(70)]
    assert stored[-1] == b"after"


@on_loop
async def test_buffer_memory_is_a_hard_bound(broker: RunningBroker, unique_name: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    async with KafkaProxy(broker.bootstrap_servers) as proxy:
        settings = {"buffer_memory": 20_000, "max_block_ms": 300, "max_batch_size": 4000}
        async with Producer(bootstrap_servers=proxy.bootstrap_servers, **settings, **FAST) as producer:
            await producer.send_and_wait(unique_name, b"warm")
            proxy.faults.append(Fault(PRODUCE, proxy.requests[PRODUCE] + 1, "silence", 8))
            futures: list[object] = []
            with pytest.raises(KafkaTimeoutError, match=r"buffer\.memory=20000"):
                await _send_until_refused(producer, unique_name, futures)
            sent = len(futures)
            assert 10 <= sent <= 20
            proxy.faults.clear()
            await producer.flush()
    assert len(values(broker.bootstrap_servers, unique_name)) == sent + 1


async def _send_until_refused(producer: Producer, topic: str, futures: list[object]) -> None:
    while len(futures) < 1000:
        futures.append(await producer.send(topic, b"x" * 1000))


@on_loop
async def test_a_record_beyond_max_request_size_is_refused_even_if_a_batch_has_room(
    broker: RunningBroker, unique_name: str
) -> None:
    async with Producer(bootstrap_servers=broker.bootstrap_servers, max_request_size=200, linger_ms=1000) as producer:
        await producer.send(unique_name, b"small")
        with pytest.raises(RecordTooLargeError, match=r"max\.request\.size=200"):
            await producer.send(unique_name, b"x" * 500)


@on_loop
async def test_records_sent_during_topic_creation_are_stored_once_and_in_order(
    broker: RunningBroker, unique_name: str
) -> None:
    """The leaders refuse the first batches; none of the later ones may be stored before them."""
    settings = {"bootstrap_servers": broker.bootstrap_servers, "max_batch_size": 300, "linger_ms": 0}
    partitions, rounds = 12, 3
    async with Producer(**settings, **FAST) as producer:
        for turn in range(rounds):
            topic = await make_topic(broker.bootstrap_servers, f"{unique_name}-{turn}", partitions)
            sent = [
                await producer.send(topic, b"%06d" % n + b"x" * 90, partition=n % partitions)
                for n in range(40 * partitions)
            ]
            await producer.flush()
            assert [future.exception() for future in sent] == [None] * len(sent)
    for turn in range(rounds):
        seen = await asyncio.to_thread(read_back, broker.bootstrap_servers, f"{unique_name}-{turn}", partitions)
        stored = [(record.partition, int((record.value or b"")[:6])) for record in seen]
        assert stored == sorted((n % partitions, n) for n in range(40 * partitions))
