"""Transactions under both protocols, with lost answers, zombies and failures."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from oncelog.client.aio import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import TransactionListing
from oncelog.client.core.transactions.transaction_states import ClientTxnState
from oncelog.client.errors import (
    AbortableTransactionError,
    IllegalStateError,
    KafkaError,
    ProducerClosed,
    ProducerFenced,
    RecordTooLargeError,
)
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.client.proxy import (
    ADD_PARTITIONS,
    END_TXN,
    INIT_PRODUCER_ID,
    PRODUCE,
    TXN_OFFSET_COMMIT,
    Fault,
    KafkaProxy,
)
from tests.integration.client.reading import make_topic, on_loop, values

FAST = {"retry_backoff_ms": 20, "request_timeout_ms": 3000, "delivery_timeout_ms": 120_000}
PROTOCOLS = pytest.mark.parametrize("without_v2", [False, True], ids=["v2", "v1"])


async def _fail_inside(producer: Producer, topic: str) -> None:
    async with producer.transaction():
        await producer.send_and_wait(topic, b"bad")
        raise ZeroDivisionError


async def _send_inside(producer: Producer, topic: str, sent: list[bytes]) -> None:
    async with producer.transaction():
        for value in sent:
            await producer.send(topic, value)


@PROTOCOLS
@on_loop
async def test_only_committed_records_are_read(broker: RunningBroker, unique_name: str, without_v2: bool) -> None:
    await make_topic(broker.bootstrap_servers, unique_name, 2)
    async with KafkaProxy(broker.bootstrap_servers, without_v2) as proxy:
        async with Producer(
            bootstrap_servers=proxy.bootstrap_servers, transactional_id=unique_name, **FAST
        ) as producer:
            for round_ in range(6):
                await producer.begin_transaction()
                for partition in (0, 1):
                    await producer.send(unique_name, b"%d" % round_, partition=partition)
                if round_ % 2:
                    await producer.abort_transaction()
                else:
                    await producer.commit_transaction()
        if without_v2:
            assert max(proxy.versions[END_TXN]) <= 4
            assert max(proxy.versions[PRODUCE]) <= 11
            assert proxy.requests[ADD_PARTITIONS] > 0
        else:
            assert proxy.versions[END_TXN] == {5}
            assert proxy.versions[PRODUCE] == {12}
            assert proxy.requests[ADD_PARTITIONS] == 0
    assert values(broker.bootstrap_servers, unique_name, 2) == [b"0", b"2", b"4"] * 2
    everything = values(broker.bootstrap_servers, unique_name, 2, "read_uncommitted")
    assert {b"0", b"2", b"4"} <= set(everything)


@PROTOCOLS
@on_loop
async def test_the_transaction_block_commits_or_aborts(
    broker: RunningBroker, unique_name: str, without_v2: bool
) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    async with (
        KafkaProxy(broker.bootstrap_servers, without_v2) as proxy,
        Producer(bootstrap_servers=proxy.bootstrap_servers, transactional_id=unique_name, **FAST) as producer,
    ):
        async with producer.transaction():
            await producer.send_and_wait(unique_name, b"good")
        with pytest.raises(ZeroDivisionError):
            await _fail_inside(producer, unique_name)
        async with producer.transaction():
            await producer.send_and_wait(unique_name, b"good again")
    assert values(broker.bootstrap_servers, unique_name) == [b"good", b"good again"]


@PROTOCOLS
@on_loop
async def test_after_a_refused_record_the_transaction_can_be_aborted_and_the_next_one_commits(
    broker: RunningBroker, unique_name: str, without_v2: bool
) -> None:
    await make_topic(broker.bootstrap_servers, unique_name, max_message_bytes="2000")
    async with (
        KafkaProxy(broker.bootstrap_servers, without_v2) as proxy,
        Producer(bootstrap_servers=proxy.bootstrap_servers, transactional_id=unique_name, **FAST) as producer,
    ):
        await producer.begin_transaction()
        await producer.send_and_wait(unique_name, b"lost")
        with pytest.raises(RecordTooLargeError):
            await producer.send_and_wait(unique_name, b"x" * 3000)
        with pytest.raises(AbortableTransactionError, match="call abort_transaction"):
            await producer.send(unique_name, b"too late")
        with pytest.raises(AbortableTransactionError):
            await producer.commit_transaction()
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send_and_wait(unique_name, b"kept")
        with pytest.raises(KafkaError):
            await _send_inside(producer, unique_name, [b"lost too", b"x" * 3000])
        async with producer.transaction():
            await producer.send(unique_name, b"kept too")
    assert values(broker.bootstrap_servers, unique_name) == [b"kept", b"kept too"]


@PROTOCOLS
@on_loop
async def test_a_zombie_is_fenced(broker: RunningBroker, unique_name: str, without_v2: bool) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    async with KafkaProxy(broker.bootstrap_servers, without_v2) as proxy:
        settings = {"bootstrap_servers": proxy.bootstrap_servers, "transactional_id": unique_name, **FAST}
        zombie = Producer(**settings)
        await zombie.start()
        await zombie.begin_transaction()
        await zombie.send_and_wait(unique_name, b"zombie")
        async with Producer(**settings) as successor:
            async with successor.transaction():
                await successor.send(unique_name, b"successor")
            with pytest.raises(ProducerFenced, match=unique_name):
                await zombie.commit_transaction()
            with pytest.raises(ProducerFenced):
                await zombie.begin_transaction()
            async with successor.transaction():
                await successor.send(unique_name, b"still there")
        await zombie.stop()
    assert values(broker.bootstrap_servers, unique_name) == [b"successor", b"still there"]


@PROTOCOLS
@pytest.mark.parametrize("lose", ["answer", "request"])
@pytest.mark.parametrize("api", [INIT_PRODUCER_ID, END_TXN, PRODUCE, ADD_PARTITIONS])
@on_loop
async def test_a_lost_request_or_answer_in_any_step_does_not_change_the_outcome_of_a_transaction(
    broker: RunningBroker, unique_name: str, api: int, lose: str, without_v2: bool
) -> None:
    await make_topic(broker.bootstrap_servers, unique_name, 2)
    async with (
        KafkaProxy(broker.bootstrap_servers, without_v2, [Fault(api, 1, lose), Fault(api, 4, lose)]) as proxy,
        Producer(bootstrap_servers=proxy.bootstrap_servers, transactional_id=unique_name, **FAST) as producer,
    ):
        for round_ in range(6):
            await producer.begin_transaction()
            for partition in (0, 1):
                await producer.send(unique_name, b"%d" % round_, partition=partition)
            if round_ == 3:
                await producer.abort_transaction()
            else:
                await producer.commit_transaction()
    assert values(broker.bootstrap_servers, unique_name, 2) == [b"0", b"1", b"2", b"4", b"5"] * 2


@PROTOCOLS
@on_loop
async def test_input_offsets_and_outputs_commit_or_abort_together(
    broker: RunningBroker, unique_name: str, without_v2: bool
) -> None:
    source, target, group = f"{unique_name}-in", f"{unique_name}-out", f"{unique_name}-group"
    await make_topic(broker.bootstrap_servers, source, 2)
    await make_topic(broker.bootstrap_servers, target)
    async with Producer(bootstrap_servers=broker.bootstrap_servers) as filler:
        for n in range(40):
            await filler.send(source, b"%02d" % n, partition=n % 2)
        await filler.flush()
    async with KafkaProxy(broker.bootstrap_servers, without_v2, [Fault(TXN_OFFSET_COMMIT, 2, "answer")]) as proxy:
        reader = {
            "bootstrap_servers": proxy.bootstrap_servers,
            "group_id": group,
            "enable_auto_commit": False,
            "auto_offset_reset": "earliest",
            "isolation_level": "read_committed",
        }
        writer = {"bootstrap_servers": proxy.bootstrap_servers, "transactional_id": unique_name, **FAST}
        done = crashes = 0
        while done < 40:
            async with Consumer(source, **reader) as consumer, Producer(**writer) as producer:
                while done < 40:
                    batch = await consumer.getmany(timeout_ms=60_000, max_records=7)
                    records = [record for records in batch.values() for record in records]
                    await producer.begin_transaction()
                    for record in records:
                        await producer.send(target, record.value)
                    offsets = {name: found[-1].offset + 1 for name, found in batch.items()}
                    await producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
                    if crashes < 3 and done >= 7 * crashes:
                        crashes += 1
                        await producer.abort_transaction()
                        break  # start again from the committed offsets
                    await producer.commit_transaction()
                    done += len(records)
        assert crashes == 3
    assert sorted(value or b"" for value in values(broker.bootstrap_servers, target)) == [
        b"%02d" % n for n in range(40)
    ]


@PROTOCOLS
@on_loop
async def test_transactional_offsets_of_a_member_that_left_the_generation_are_refused(
    broker: RunningBroker, unique_name: str, without_v2: bool
) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    async with KafkaProxy(broker.bootstrap_servers, without_v2) as proxy:
        group = {
            "bootstrap_servers": proxy.bootstrap_servers,
            "group_id": unique_name,
            "enable_auto_commit": False,
            "isolation_level": "read_committed",  # waits for the marker, which follows the answer of EndTxn
        }
        writer = {"bootstrap_servers": proxy.bootstrap_servers, "transactional_id": unique_name, **FAST}
        async with Consumer(unique_name, **group) as consumer, Producer(**writer) as producer:
            while not consumer.assignment():
                await consumer.getmany(timeout_ms=100)
            stale = consumer.group_metadata()._replace(generation_id=consumer.group_metadata().generation_id - 1)
            await producer.begin_transaction()
            await producer.send(unique_name, b"lost")
            with pytest.raises(AbortableTransactionError, match="ILLEGAL_GENERATION"):
                await producer.send_offsets_to_transaction({TopicPartition(unique_name, 0): 5}, stale)
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send_offsets_to_transaction(
                    {TopicPartition(unique_name, 0): (7, "note")}, consumer.group_metadata()
                )
            assert await consumer.committed(TopicPartition(unique_name, 0)) == 7


@on_loop
async def test_misuse_of_transactions_is_reported_with_the_next_step(broker: RunningBroker, unique_name: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    servers = broker.bootstrap_servers
    async with Producer(bootstrap_servers=servers) as plain:
        with pytest.raises(IllegalStateError, match="transactional_id"):
            await plain.begin_transaction()
    async with Producer(bootstrap_servers=servers, transactional_id=unique_name) as producer:
        with pytest.raises(IllegalStateError, match="begin_transaction"):
            await producer.send(unique_name, b"v")
        with pytest.raises(IllegalStateError, match="begin_transaction"):
            await producer.commit_transaction()
        await producer.begin_transaction()
        with pytest.raises(IllegalStateError, match="commit or abort"):
            await producer.begin_transaction()
        await producer.commit_transaction()


@on_loop
async def test_stopping_a_producer_aborts_its_open_transaction(broker: RunningBroker, unique_name: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    async with Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id=unique_name) as producer:
        await producer.begin_transaction()
        await producer.send_and_wait(unique_name, b"open")
    assert values(broker.bootstrap_servers, unique_name) == []


@on_loop
async def test_a_transaction_timeout_above_the_brokers_maximum_is_reported(
    broker: RunningBroker, unique_name: str
) -> None:
    producer = Producer(
        bootstrap_servers=broker.bootstrap_servers, transactional_id=unique_name, transaction_timeout_ms=2**31 - 1
    )
    with pytest.raises(KafkaError, match=r"transaction\.max\.timeout\.ms"):
        await asyncio.wait_for(producer.start(), 30)


@on_loop
async def test_a_commit_does_not_wait_for_linger_ms(broker: RunningBroker, unique_name: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name, 1)
    async with Producer(
        bootstrap_servers=broker.bootstrap_servers, transactional_id=unique_name, linger_ms=600_000, max_block_ms=30_000
    ) as producer:
        await producer.begin_transaction()
        await producer.send(unique_name, b"kept")
        await producer.commit_transaction()
    assert values(broker.bootstrap_servers, unique_name, 1) == [b"kept"]


class _AskedLate(Admin):
    """Something happens before the coordinators are asked."""

    before: Callable[[], Awaitable[None]]

    async def list_transactions(self, **narrowed: Any) -> list[TransactionListing]:
        await self.before()
        return await super().list_transactions(**narrowed)


@pytest.mark.parametrize("goes_on", [False, True], ids=["ends", "goes on"])
@on_loop
async def test_a_transaction_that_ends_during_the_search_is_not_reported_as_hanging(
    broker: RunningBroker, unique_name: str, goes_on: bool
) -> None:
    servers, name = broker.bootstrap_servers, TopicPartition(unique_name, 0)
    await make_topic(servers, unique_name, 1)
    async with Producer(bootstrap_servers=servers, transactional_id=unique_name) as producer:

        async def end() -> None:
            await producer.commit_transaction()
            if goes_on:
                await producer.begin_transaction()
                await producer.send_and_wait(unique_name, b"the next one's", partition=0)

        await producer.begin_transaction()
        await producer.send_and_wait(unique_name, b"open", partition=0)
        async with _AskedLate(bootstrap_servers=servers) as admin:
            admin.before = end
            assert await admin.find_hanging_transactions([name]) == []
        if goes_on:
            await producer.abort_transaction()


@PROTOCOLS
@pytest.mark.parametrize("end", ["commit_transaction", "abort_transaction"])
@on_loop
async def test_a_repeated_commit_or_abort_reports_the_outcome_of_the_transaction(
    broker: RunningBroker, unique_name: str, without_v2: bool, end: str
) -> None:
    """A program that called again, as the timeout's message advised, was informed that no transaction was open."""
    await make_topic(broker.bootstrap_servers, unique_name)
    async with (
        KafkaProxy(broker.bootstrap_servers, without_v2) as proxy,
        Producer(bootstrap_servers=proxy.bootstrap_servers, transactional_id=unique_name, **FAST) as producer,
    ):
        transactions = producer._transactions
        assert transactions is not None
        for _ in range(2):
            await producer.begin_transaction()
            await producer.send_and_wait(unique_name, b"in it")
            ending = asyncio.create_task(getattr(producer, end)())
            await asyncio.sleep(0)
            ending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await ending
            while transactions.state is not ClientTxnState.READY:
                await asyncio.sleep(0.01)
            await getattr(producer, end)()
            with pytest.raises(IllegalStateError, match="no transaction is open"):
                await getattr(producer, end)()
    expected = [b"in it"] * 2 if end == "commit_transaction" else []
    assert values(broker.bootstrap_servers, unique_name) == expected


@on_loop
async def test_stopping_a_producer_ends_a_pending_commit_or_abort_with_an_error(
    broker: RunningBroker, unique_name: str
) -> None:
    """The call waited in vain for ``max.block.ms``."""
    await make_topic(broker.bootstrap_servers, unique_name)
    async with KafkaProxy(broker.bootstrap_servers, faults=[Fault(END_TXN, 1, "silence")]) as proxy:
        producer = Producer(
            bootstrap_servers=proxy.bootstrap_servers, transactional_id=unique_name, max_block_ms=3_600_000
        )
        await producer.start()
        await producer.begin_transaction()
        await producer.send_and_wait(unique_name, b"v")
        ending = asyncio.create_task(producer.commit_transaction())
        while not proxy.requests[END_TXN]:
            await asyncio.sleep(0.01)
        stopping = asyncio.create_task(producer.stop())
        await asyncio.sleep(0)
        stopping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping
        with pytest.raises(ProducerClosed):
            await ending


@PROTOCOLS
@pytest.mark.parametrize("end", ["commit_transaction", "abort_transaction"])
@on_loop
async def test_a_cancelled_commit_completes_before_the_producer_stops(
    broker: RunningBroker, unique_name: str, without_v2: bool, end: str
) -> None:
    """A transaction left halfway blocked readers of committed records until the transaction's timeout."""
    await make_topic(broker.bootstrap_servers, unique_name)
    async with KafkaProxy(broker.bootstrap_servers, without_v2, [Fault(END_TXN, 1, "request")]) as proxy:
        async with Producer(
            bootstrap_servers=proxy.bootstrap_servers, transactional_id=unique_name, **FAST
        ) as producer:
            await producer.begin_transaction()
            await producer.send_and_wait(unique_name, b"in it")
            ending = asyncio.create_task(getattr(producer, end)())
            await asyncio.sleep(0)
            ending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await ending
        async with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            (found,) = await admin.describe_transactions([unique_name])
    assert found.state in {"commit_transaction": ("PrepareCommit", "CompleteCommit")}.get(
        end, ("PrepareAbort", "CompleteAbort", "PrepareEpochFence", "Empty")
    )


@on_loop
async def test_an_abort_does_not_warn_about_each_unread_future(broker: RunningBroker, unique_name: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    warned: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: warned.append(context))
    async with Producer(
        bootstrap_servers=broker.bootstrap_servers, transactional_id=unique_name, linger_ms=60_000, **FAST
    ) as producer:
        await producer.begin_transaction()
        for _ in range(3):
            await producer.send(unique_name, b"taken back")
        await producer.abort_transaction()
        await producer.begin_transaction()
        queueing = asyncio.create_task(producer.send_many(unique_name, [b"taken back" * 100] * 10_000))
        await asyncio.sleep(0)
        queueing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await queueing
        sent = [await producer.send(unique_name, b"taken back") for _ in range(3)]
        await producer.abort_transaction()
        assert all(isinstance(future.exception(), AbortableTransactionError) for future in sent)
    gc.collect()
    assert warned == []
