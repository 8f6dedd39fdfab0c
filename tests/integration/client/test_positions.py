"""Back to the committed position: no uncommitted record is skipped."""

from __future__ import annotations

import asyncio

from oncelog.client.aio import Consumer, Producer
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.client.reading import make_topic, on_loop
from tests.integration.client.test_consumer import PROTOCOLS, drain, fill, group


@PROTOCOLS
@on_loop
async def test_uncommitted_records_are_read_again_after_an_abort(
    broker: RunningBroker, unique_name: str, protocol: str
) -> None:
    """The position stayed after the records of the aborted transaction, so nobody copied them."""
    servers, name = broker.bootstrap_servers, TopicPartition(unique_name, 0)
    await make_topic(servers, unique_name)
    await fill(servers, unique_name, 6)
    settings = group(servers, unique_name, group_protocol=protocol, isolation_level="read_committed")
    async with (
        Consumer(unique_name, **settings) as consumer,
        Producer(bootstrap_servers=servers, transactional_id=unique_name) as producer,
    ):
        for end in (2, 4):
            assert [(await consumer.getone()).offset for _ in range(2)] == [end - 2, end - 1]
            await producer.begin_transaction()
            await producer.send_offsets_to_transaction({name: end}, consumer.group_metadata())
            await producer.abort_transaction()
        assert await consumer.seek_to_committed() == {name: None}
        assert await consumer.position(name) == 0
        assert await drain(consumer, 6) == [b"%04d" % n for n in range(6)]
        await producer.begin_transaction()
        await producer.send_offsets_to_transaction({name: 4}, consumer.group_metadata())
        await producer.commit_transaction()
        assert await consumer.seek_to_committed() == {name: 4}
        assert await drain(consumer, 2) == [b"0004", b"0005"]


@on_loop
async def test_without_a_committed_offset_an_abort_returns_to_the_first_position(
    broker: RunningBroker, unique_name: str
) -> None:
    servers, name = broker.bootstrap_servers, TopicPartition(unique_name, 0)
    await make_topic(servers, unique_name)
    await fill(servers, unique_name, 8)
    async with Consumer(**group(servers, unique_name, auto_offset_reset="latest")) as consumer:
        consumer.assign([name])
        assert await consumer.position(name) == 8
        await fill(servers, unique_name, 2)
        assert await drain(consumer, 2) == [b"0000", b"0001"]
        await consumer.seek_to_committed()
        assert await consumer.position(name) == 8  # not the end, where the reset would put it
        consumer.seek(name, 3)  # before anything is handed out: it begins here
        assert (await consumer.getone()).offset == 3
        consumer.seek(name, 6)  # passes over some; what was handed out before is still not committed
        assert (await consumer.getone()).offset == 6
        await consumer.seek_to_committed()
        assert (await consumer.getone()).offset == 3


@on_loop
async def test_a_partition_lost_during_an_offset_request_does_not_stop_others_from_rewinding(
    broker: RunningBroker, unique_name: str
) -> None:
    servers = broker.bootstrap_servers
    names = [TopicPartition(unique_name, n) for n in range(2)]
    await make_topic(servers, unique_name, 2)
    await fill(servers, unique_name, 4, 2)
    async with Consumer(**group(servers, unique_name)) as consumer:
        consumer.assign(names)
        await drain(consumer, 4)
        await consumer.commit(dict.fromkeys(names, 1))
        seeking = asyncio.create_task(consumer.seek_to_committed())
        await asyncio.sleep(0)  # it has asked
        consumer.assign(names[1:])
        assert await seeking == dict.fromkeys(names, 1)
        assert [(await consumer.getone()).value, await consumer.position(names[1])] == [b"0003", 2]
