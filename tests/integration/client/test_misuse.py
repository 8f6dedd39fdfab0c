"""Calls with wrong arguments are refused at once in one sentence, and leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest

import oncelog
from oncelog.aiokafka import AIOKafkaProducer
from oncelog.client import blocking
from oncelog.client.aio import Admin, Consumer, Producer
from oncelog.client.aio.admin.admin import RecordsToDelete
from oncelog.client.core.consumer.subscription import ConsumerRebalanceListener
from oncelog.client.errors import (
    IllegalStateError,
    InvalidTopicError,
    KafkaError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from oncelog.types import TopicPartition
from tests.integration.client.reading import make_topic, on_loop


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with oncelog.Broker() as broker:
        yield broker.bootstrap_servers


BAD_RECORDS = [
    ({"value": "text"}, "value must be bytes, not str; set value_serializer to a function that returns bytes"),
    ({"key": "text"}, "key must be bytes, not str; set key_serializer to a function that returns bytes"),
    ({"value": 1}, "value must be bytes, not int"),
    ({"value": b"", "headers": [(b"name", b"")]}, "a header's name must be str, not b'name'"),
    ({"value": b"", "headers": [("\udcff", b"")]}, "a header's name: text that can be encoded in UTF-8 is needed"),
    ({"value": b"", "headers": [("name", "text")]}, "the value of header 'name' must be bytes, not str"),
    ({"value": b"", "headers": {"name": b"a"}}, r"headers must be a list of \(name, bytes\), not dict"),
    ({"value": b"", "timestamp_ms": "now"}, "timestamp_ms must be int, not str"),
    ({"value": b"", "timestamp_ms": 1.5}, "timestamp_ms must be int, not float"),
    ({"value": b"", "partition": "0"}, "partition must be int, not str"),
]


@pytest.mark.parametrize(("record", "says"), BAD_RECORDS)
@on_loop
async def test_a_record_of_wrong_types_is_refused_at_once_and_leaves_nothing_queued(
    servers: str, unique_name: str, record: dict[str, Any], says: str
) -> None:
    async with Producer(bootstrap_servers=servers) as producer:
        with pytest.raises(TypeError, match=says):
            await producer.send_and_wait(unique_name, **record)
        assert (await producer.send_and_wait(unique_name, b"good")).offset == 0
        with pytest.raises(TypeError, match=says):
            await producer.send_and_wait(unique_name, **record)
        assert (await producer.send_and_wait(unique_name, b"good")).offset == 1


@pytest.mark.parametrize(("record", "says"), BAD_RECORDS)
def test_the_blocking_producer_refuses_a_record_of_wrong_types_at_once(
    servers: str, unique_name: str, record: dict[str, Any], says: str
) -> None:
    with blocking.Producer(bootstrap_servers=servers) as producer:
        with pytest.raises(TypeError, match=says):
            producer.send_and_wait(unique_name, **record)
        assert producer.send_and_wait(unique_name, b"good").offset == 0


@on_loop
async def test_a_topic_name_too_long_for_a_request_is_refused_and_delays_nothing(
    servers: str, unique_name: str
) -> None:
    """Half of a surrogate pair, which is how the operating system passes bytes that are not UTF-8."""
    async with Producer(bootstrap_servers=servers) as producer:
        with pytest.raises(TypeError, match="UTF-8"):
            await producer.send_and_wait("\udcff", b"v")
        assert (await producer.send_and_wait(unique_name, b"good")).offset == 0


TOPIC_LISTS: list[Callable[[Admin], Any]] = [
    lambda admin: admin.delete_topics("ab"),
    lambda admin: admin.describe_topics("ab"),
    lambda admin: admin.delete_topics([""]),
    lambda admin: admin.delete_topics([b"a"]),  # type: ignore[list-item]
    lambda admin: admin.delete_topics(5),  # type: ignore[arg-type]
    lambda admin: admin.create_topics("ab"),  # type: ignore[arg-type]
    lambda admin: admin.describe_consumer_groups("ab"),
    lambda admin: admin.delete_consumer_groups("ab"),
    lambda admin: admin.describe_transactions("ab"),
    lambda admin: admin.fence_producers("ab"),
    lambda admin: admin.describe_users("ab"),
    lambda admin: admin.list_transactions(states="Ongoing"),
    lambda admin: admin.list_consumer_groups(states="Stable"),
    lambda admin: admin.describe_producers("ab"),  # type: ignore[arg-type]
    lambda admin: admin.describe_producers(["ab"]),  # type: ignore[list-item]
    lambda admin: admin.describe_producers(TopicPartition("a", 0)),  # type: ignore[arg-type]
    lambda admin: admin.list_offsets({"ab": -1}),  # type: ignore[dict-item]
    lambda admin: admin.delete_consumer_group_offsets("g", "ab"),  # type: ignore[arg-type]
    lambda admin: admin.list_consumer_group_offsets("g", "ab"),  # type: ignore[arg-type]
]


@on_loop
async def test_a_string_is_refused_as_a_list(servers: str) -> None:
    async with Admin(bootstrap_servers=servers) as admin:
        before = await admin.list_topics()
        for call in TOPIC_LISTS:
            with pytest.raises(TypeError):
                await call(admin)
        assert await admin.list_topics() == before


@on_loop
async def test_delete_topics_refuses_a_string_instead_of_a_list(servers: str) -> None:
    await make_topic(servers, "a")
    await make_topic(servers, "b")
    async with Admin(bootstrap_servers=servers) as admin:
        with pytest.raises(TypeError, match=r"a list of topics is needed, not 'ab'; write \['ab'\] for one"):
            await admin.delete_topics("ab")
        assert {"a", "b"} <= set(await admin.list_topics())


@on_loop
async def test_the_consumer_accepts_only_lists_of_topics_and_partitions(servers: str) -> None:
    with pytest.raises(TypeError):
        Consumer(["a"], bootstrap_servers=servers)  # type: ignore[arg-type]
    async with Consumer(bootstrap_servers=servers) as consumer:
        bad: list[Callable[[], Any]] = [
            lambda: consumer.subscribe("ab"),
            lambda: consumer.subscribe(["\udcff"]),
            lambda: consumer.assign([TopicPartition("\udcff", 0)]),
            lambda: consumer.subscribe([TopicPartition("a", 0)]),  # type: ignore[list-item]
            lambda: consumer.assign("ab"),  # type: ignore[arg-type]
            lambda: consumer.assign(["ab"]),  # type: ignore[list-item]
            lambda: consumer.assign(TopicPartition("a", 0)),  # type: ignore[arg-type]
            lambda: consumer.pause("ab"),  # type: ignore[arg-type]
            lambda: consumer.seek("ab", 0),  # type: ignore[arg-type]
        ]
        for call in bad:
            with pytest.raises(TypeError):
                call()
        with pytest.raises(TypeError):
            await consumer.beginning_offsets("ab")  # type: ignore[arg-type]


def test_the_blocking_clients_refuse_a_string_instead_of_a_list(servers: str) -> None:
    with blocking.Admin(bootstrap_servers=servers) as admin, pytest.raises(TypeError):
        admin.delete_topics("ab")
    with blocking.Consumer(bootstrap_servers=servers) as consumer:
        with pytest.raises(TypeError):
            consumer.subscribe("ab")
        with pytest.raises(TypeError):
            consumer.assign("ab")  # type: ignore[arg-type]
    with (
        blocking.Consumer(bootstrap_servers=servers, group_id="g") as consumer,
        pytest.raises(TypeError, match="offsets are given by partition"),
    ):
        consumer.commit("ab")  # type: ignore[arg-type]


@on_loop
async def test_delete_records_accepts_offsets_and_aiokafkas_records_to_delete(servers: str, unique_name: str) -> None:
    name = TopicPartition(await make_topic(servers, unique_name), 0)
    async with Producer(bootstrap_servers=servers) as producer, Admin(bootstrap_servers=servers) as admin:
        for _ in range(5):
            await producer.send(unique_name, b"v")
        await producer.flush()
        assert await admin.delete_records({name: RecordsToDelete(before_offset=2)}) == {name: 2}
        assert await admin.delete_records({name: 3}) == {name: 3}
        assert await admin.delete_records({name: -1}) == {name: 5}
        for wrong in ("2", None, -2, True, 1.0):
            with pytest.raises(
                TypeError, match=r"takes an offset for each partition, -1 for all records, or RecordsToDelete"
            ):
                await admin.delete_records({name: wrong})  # type: ignore[dict-item]
        missing = TopicPartition(unique_name, 7)
        with pytest.raises(UnknownTopicOrPartitionError, match=r"has no partition 7; its only partition is 0"):
            await admin.delete_records({missing: 1})


@on_loop
async def test_stopping_a_producer_ends_a_send_that_waits(servers: str, unique_name: str) -> None:
    producer = Producer(bootstrap_servers=servers)
    await producer.start()
    sending = asyncio.create_task(producer.send_and_wait(unique_name, b"v"))
    await asyncio.sleep(0)
    await producer.stop()
    with pytest.raises(KafkaError, match=r"the client is closed|the producer was stopped"):
        await sending


@on_loop
async def test_a_consumer_without_a_subscription_raises_instead_of_waiting(servers: str, unique_name: str) -> None:
    async with Consumer(bootstrap_servers=servers) as consumer:
        for read in (consumer.getone, consumer.getmany, consumer.getmany_columns, consumer.getmany_arrow):
            with pytest.raises(IllegalStateError, match=r"call subscribe\(\) or assign\(\) first"):
                await read()
        consumer.assign([TopicPartition(await make_topic(servers, unique_name), 0)])
        with pytest.raises(IllegalStateError, match=f"partition {unique_name}-1 is not assigned"):
            await consumer.position(TopicPartition(unique_name, 1))
        waiting = asyncio.ensure_future(consumer.getone())
        await asyncio.sleep(0)
        consumer.unsubscribe()
        with pytest.raises(IllegalStateError, match="reads nothing"):
            await waiting


def test_a_blocking_consumer_without_a_subscription_raises_instead_of_waiting(servers: str) -> None:
    with (
        blocking.Consumer(bootstrap_servers=servers) as consumer,
        pytest.raises(IllegalStateError, match="reads nothing"),
    ):
        consumer.getone()


def test_a_record_outside_of_a_transaction_is_refused_by_send_itself(servers: str, unique_name: str) -> None:
    with blocking.Producer(bootstrap_servers=servers, transactional_id=unique_name) as producer:
        for _ in range(2):
            with pytest.raises(IllegalStateError, match=r"no transaction is open; call begin_transaction\(\) first"):
                producer.send(unique_name, b"outside")
            with producer.transaction():
                assert producer.send_and_wait(unique_name, b"inside").topic == unique_name


@pytest.mark.parametrize("kind", [Producer, AIOKafkaProducer])
@on_loop
async def test_the_asyncio_producers_refuse_a_record_outside_of_a_transaction(
    servers: str, unique_name: str, kind: type[Producer]
) -> None:
    async with kind(bootstrap_servers=servers, transactional_id=unique_name) as producer:
        for _ in range(2):
            with pytest.raises(IllegalStateError, match=r"no transaction is open; call begin_transaction\(\) first"):
                await producer.send(unique_name, b"outside")
            async with producer.transaction():
                assert (await producer.send_and_wait(unique_name, b"inside")).topic == unique_name


NO_TOPICS = ["two words", "..", ".", "x" * 250]
WHICH_NAMES = (
    r"cannot be used: a topic's name is 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', and neither"
)


@pytest.mark.parametrize("topic", NO_TOPICS)
@on_loop
async def test_an_illegal_topic_name_is_refused_and_the_error_lists_the_allowed_characters(
    servers: str, topic: str
) -> None:
    async with Producer(bootstrap_servers=servers) as producer:
        with pytest.raises(InvalidTopicError, match=WHICH_NAMES):
            await producer.send(topic, b"v")
    async with Admin(bootstrap_servers=servers) as admin:
        with pytest.raises(InvalidTopicError, match=WHICH_NAMES):
            await admin.describe_topics([topic])


@pytest.mark.parametrize("group", [None, "readers"])
@on_loop
async def test_a_consumer_of_an_illegal_topic_name_raises_instead_of_waiting(servers: str, group: str | None) -> None:
    async with Consumer("two words", bootstrap_servers=servers, group_id=group) as consumer:
        with pytest.raises(InvalidTopicError, match=WHICH_NAMES):
            await consumer.getone()
    async with Consumer(bootstrap_servers=servers) as consumer:
        consumer.assign([TopicPartition("two words", 0)])
        with pytest.raises(InvalidTopicError, match=WHICH_NAMES):
            await consumer.getone()


@on_loop
async def test_a_consumer_without_permission_for_its_topic_raises_instead_of_waiting(unique_name: str) -> None:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:somebody-else",
    }
    with oncelog.Broker(settings=settings) as broker:
        async with Consumer(unique_name, bootstrap_servers=broker.bootstrap_servers) as consumer:
            with pytest.raises(TopicAuthorizationFailedError, match=f"topic '{unique_name}' cannot be used"):
                await consumer.getone()


@on_loop
async def test_unsent_records_are_reported_as_lost_when_their_producer_is_dropped(
    servers: str, unique_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    producer = Producer(bootstrap_servers=servers, linger_ms=100_000)
    await producer.start()
    for number in range(3):
        await producer.send(unique_name, b"%d" % number)
    held = [producer]
    del producer
    with pytest.warns(ResourceWarning, match="Unclosed Producer"):
        drop(held)
    assert "a producer was dropped before 3 records were acknowledged" in caplog.text


def drop(held: list[Any]) -> None:
    held.clear()
    gc.collect()


def test_a_consumer_of_another_event_loop_is_refused_at_once(servers: str, unique_name: str) -> None:
    """The call waited forever, because only the consumer's own loop could wake it, and that loop had ended."""

    async def start() -> Consumer:
        consumer = Consumer(unique_name, bootstrap_servers=servers)
        await consumer.start()
        return consumer

    consumer = asyncio.run(start())
    calls: list[Callable[[], Any]] = [consumer.getone, consumer.getmany, consumer.topics]
    for call in calls:
        with pytest.raises(IllegalStateError, match="another event loop"):
            asyncio.run(call())


def test_a_producer_of_another_event_loop_is_refused_before_anything_is_sent(servers: str, unique_name: str) -> None:
    """The record was stored, and its caller got an error: whoever sends it again has it twice."""

    async def from_another_thread() -> None:
        async with Producer(bootstrap_servers=servers) as producer:
            await producer.send_and_wait(unique_name, b"first")
            with pytest.raises(IllegalStateError, match="another event loop"):
                await asyncio.to_thread(lambda: asyncio.run(producer.send_and_wait(unique_name, b"lost?")))
            assert (await producer.send_and_wait(unique_name, b"second")).offset == 1

    async def start() -> Producer:
        producer = Producer(bootstrap_servers=servers)
        await producer.start()
        return producer

    asyncio.run(from_another_thread())
    producer = asyncio.run(start())
    calls: list[Callable[[], Any]] = [lambda: producer.send(unique_name, b"v"), producer.flush, producer.stop]
    for call in calls:
        with pytest.raises(IllegalStateError, match="another event loop"):
            asyncio.run(call())


class _NeverGivesUp(ConsumerRebalanceListener):
    def __init__(self) -> None:
        self.is_asked = asyncio.Event()

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        self.is_asked.set()
        await asyncio.Event().wait()


def test_an_event_loop_that_ends_during_a_rebalance_logs_no_error(caplog: pytest.LogCaptureFixture) -> None:
    """What is left of the consumers is destroyed without a loop."""
    quick = {"group.consumer.min.heartbeat.interval.ms": 100, "group.consumer.heartbeat.interval.ms": 100}
    kept: list[object] = []

    async def rebalance(servers: str) -> None:
        listener = _NeverGivesUp()
        group = {"bootstrap_servers": servers, "group_id": "left", "group_protocol": "consumer"}
        first, second = Consumer(**group), Consumer(**group)
        first.subscribe(["left"], listener=listener)
        await first.start()
        while not first.assignment():
            await first.getmany(timeout_ms=100)
        second.subscribe(["left"])
        await second.start()
        kept.extend([first, second, asyncio.ensure_future(second.getmany(timeout_ms=60_000))])
        while not listener.is_asked.is_set():
            await first.getmany(timeout_ms=100)

    with oncelog.Broker(settings=quick) as broker:
        with oncelog.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([oncelog.NewTopic("left", num_partitions=2, replication_factor=1)])
        loop = asyncio.new_event_loop()
        loop.run_until_complete(rebalance(broker.bootstrap_servers))
        loop.close()
    kept.clear()
    del loop
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.name.startswith("oncelog")] == []
