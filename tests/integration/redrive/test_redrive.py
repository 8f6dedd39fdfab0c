"""``oncelog redrive`` against our broker and Apache Kafka."""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path
from typing import Any

import pytest

from oncelog.apps.redrive.dead_letters import ATTEMPTS_HEADER, Plan, RedriveError
from oncelog.apps.redrive.redriving import group_of, opened
from oncelog.broker.core.registry import SERVED
from oncelog.client.aio import Admin, Consumer, ConsumerRecord, Producer
from oncelog.client.aio.admin.admin import NewTopic
from oncelog.client.core.config import ConsumerConfig, ProducerConfig
from oncelog.client.core.structs import OffsetAndMetadata, RecordMetadata
from oncelog.protocol.api_keys import ApiKey
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import Outcome, run
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.older_broker import older_broker

PARTITIONS = 3
Record = ConsumerRecord[bytes, bytes]


class World:
    """A topic, its dead letters and what is made of them."""

    def __init__(self, broker: RunningBroker, name: str) -> None:
        self.address = broker.bootstrap_servers
        self._timestamp_ms = 0
        self.origin, self.dead, self.parked = f"{name}-orders", f"{name}-dead", f"{name}-parked"

    async def fill(self, count: int, age_days: int = 0) -> None:
        """Dead letters of two partitions, of two kinds, with an aborted transaction behind them."""
        self._timestamp_ms = time.time_ns() // 1_000_000 - age_days * 86_400_000
        async with Admin(bootstrap_servers=self.address) as admin:
            topics = (self.origin, self.dead, self.parked)
            kept = {"retention.ms": "-1"}
            await admin.create_topics([NewTopic(one, PARTITIONS, 1, topic_configs=kept) for one in topics])
        async with Producer(bootstrap_servers=self.address, transactional_id=self.dead) as producer:
            async with producer.transaction():
                for number in range(count):
                    await self._write(producer, number)
            await producer.begin_transaction()
            await self._write(producer, count)
            await producer.abort_transaction()

    async def _write(self, producer: Producer[bytes, bytes], number: int) -> None:
        origin = str(number % PARTITIONS).encode()
        headers = [
            ("number", str(number).encode()),
            ("oncelog.error", b"odd" if number % 2 else b"even"),
            ("oncelog.topic", self.origin.encode()),
            ("oncelog.partition", origin),
            ("oncelog.offset", str(number).encode()),
        ]
        await producer.send(self.dead, str(number).encode(), b"key", number % 2, self._timestamp_ms, headers)

    async def read(self, topic: str) -> list[Record]:
        """What a reader of committed records finds."""
        async with (
            Admin(bootstrap_servers=self.address) as admin,
            Consumer(bootstrap_servers=self.address, isolation_level="read_committed") as consumer,
        ):
            names = await admin.partitions(topic)
            consumer.assign(names)
            await consumer.seek_to_beginning(*names)
            ends = await consumer.end_offsets(names)
            found: list[Record] = []
            while any([await consumer.position(name) < ends[name] for name in names]):
                for records in (await consumer.getmany(timeout_ms=100)).values():
                    found += records
            return found

    def values(self, topic: str) -> list[int]:
        return sorted(int(one.value or b"-1") for one in asyncio.run(self.read(topic)))

    def redrive(self, *more: str, cwd: Path | None = None) -> Outcome:
        return run("redrive", self.dead, "-b", self.address, *more, cwd=cwd)


@pytest.fixture
def world(broker: RunningBroker, unique_name: str) -> World:
    made = World(broker, unique_name)
    asyncio.run(made.fill(20))
    return made


def test_dead_letters_are_sent_back_to_their_origin_once(world: World) -> None:
    assert world.redrive("--transaction-size", "7").done().err == "20 dead letters sent back\n"
    found = asyncio.run(world.read(world.origin))
    assert sorted(int(one.value or b"") for one in found) == list(range(20))
    for one in found:
        number = int(one.value or b"")
        assert (one.key, one.partition) == (b"key", number % PARTITIONS)
        assert tuple(one.headers) == (("number", str(number).encode()), (ATTEMPTS_HEADER, b"1"))
    assert world.redrive().done().err == "0 dead letters sent back\n"
    assert world.values(world.origin) == list(range(20))


@KAFKA_IN_SOAK
def test_a_dry_run_shows_what_it_would_send_and_writes_nothing(world: World) -> None:
    lines = world.redrive("--dry-run", "--json", "--error", "odd").done().json_lines
    assert [one["outcome"] for one in lines].count("sent") == 10
    assert {"dead_letter": f"{world.dead}-1:0", "outcome": "sent", "to": f"{world.origin}-1", "error": "odd"} in lines
    shown = world.redrive("--dry-run", "--limit", "1").done()
    assert len(shown.out.splitlines()) == 1
    assert shown.err == "1 dead letter would be sent back; nothing was written\n"
    assert world.values(world.origin) == []
    assert world.redrive().done().err == "20 dead letters sent back\n"


def test_the_default_offsets_retention_is_assumed_if_broker_settings_are_hidden(
    unique_name: str,
) -> None:
    offered = {key: row.high for key, row in SERVED.items() if key is not ApiKey.DESCRIBE_CONFIGS}
    with older_broker(offered) as broker:
        world = World(broker, unique_name)
        asyncio.run(world.fill(4))
        assert world.redrive().done().err == "4 dead letters sent back\n"


@KAFKA_IN_SOAK
def test_the_options_for_selection_limit_and_name_are_respected(world: World) -> None:
    world.redrive("--error", "odd", "--limit", "4").done()
    assert len(world.values(world.origin)) == 4
    assert "--name of its own" in world.redrive().sentence()
    totals = world.redrive("--error", "odd", "--json").done().json_lines[-1]
    assert (totals["sent"], totals["left"]) == (6, 0)
    assert world.values(world.origin) == list(range(1, 20, 2))
    world.redrive("--name", "one", "--where", "number=8", "--to", world.parked).done()
    assert world.values(world.parked) == [8]


@KAFKA_IN_SOAK
def test_dead_letters_that_fail_again_are_parked_after_their_attempts(world: World) -> None:
    options = ("--max-attempts", "1", "--parking", world.parked)
    world.redrive(*options, "--limit", "3").done()

    async def again() -> None:
        async with Producer(bootstrap_servers=world.address) as producer:
            for one in await world.read(world.origin):
                await producer.send_and_wait(world.dead, one.value, one.key, 2, headers=list(one.headers))

    asyncio.run(again())
    assert world.redrive(*options).done().err == "17 dead letters sent back, 3 parked\n"
    assert world.values(world.origin) == list(range(20))
    assert len(world.values(world.parked)) == 3


async def positions(world: World) -> dict[TopicPartition, OffsetAndMetadata]:
    async with Admin(bootstrap_servers=world.address) as admin:
        return await admin.list_consumer_group_offsets(group_of(world.dead, "default"))


@KAFKA_IN_SOAK
def test_each_run_stores_the_positions_of_all_partitions_again(world: World) -> None:
    """They expire one by one: a partition without new dead letters would begin again with its old ones."""
    names = [TopicPartition(world.dead, number) for number in range(PARTITIONS)]
    world.redrive("--limit", "1").done()
    assert sorted(asyncio.run(positions(world))) == names
    world.redrive().done()

    async def expire() -> None:
        async with Admin(bootstrap_servers=world.address) as admin:
            await admin.delete_consumer_group_offsets(group_of(world.dead, "default"), names[2:])

    asyncio.run(expire())
    assert sorted(asyncio.run(positions(world))) == names[:2]
    assert world.redrive().done().err == "0 dead letters sent back\n"
    assert sorted(asyncio.run(positions(world))) == names


def test_old_dead_letters_are_not_sent_if_the_redrives_positions_may_have_expired(
    broker: RunningBroker, unique_name: str
) -> None:
    world = World(broker, unique_name)
    asyncio.run(world.fill(4, age_days=8))
    sentence = world.redrive().sentence()
    assert "has no positions, and dead letters of" in sentence
    assert "(offsets.retention.minutes = 10080)" in sentence
    assert world.values(world.origin) == []
    assert world.redrive("--first-run").done().err == "4 dead letters sent back\n"
    assert "leave --first-run out" in world.redrive("--first-run").sentence()
    assert world.redrive().done().err == "0 dead letters sent back\n"

    async def expire() -> None:
        async with Admin(bootstrap_servers=world.address) as admin:
            await admin.delete_consumer_groups([group_of(world.dead, "default")])

    asyncio.run(expire())
    assert "if none has, say --first-run" in world.redrive("--dry-run").sentence()
    assert world.values(world.origin) == list(range(4))


@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_a_redrive_fenced_between_dead_letters_ends_with_a_one_sentence_error(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = group_of(world.dead, "default")
    printed: list[object] = []

    async def fenced() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: printed.append(context))
        reading, writing = (
            ConsumerConfig(bootstrap_servers=(world.address,)),
            ProducerConfig(bootstrap_servers=(world.address,), transactional_id=group),
        )
        async with (
            Admin(bootstrap_servers=world.address) as admin,
            opened(admin, reading, writing, world.dead, group, Plan(), transaction_size=20) as redrive,
        ):
            producer = redrive._producer
            assert producer is not None
            store, send = producer.send_offsets_to_transaction, producer.send
            refused = asyncio.Semaphore(0)

            async def sending(*arguments: Any) -> asyncio.Future[RecordMetadata]:
                future = await send(*arguments)
                future.add_done_callback(lambda _: refused.release())
                return future

            async def overtaken(*arguments: Any) -> None:
                for _ in range(20):
                    await refused.acquire()
                await store(*arguments)

            async with Producer(bootstrap_servers=world.address, transactional_id=group):
                pass
            monkeypatch.setattr(producer, "send", sending)
            monkeypatch.setattr(producer, "send_offsets_to_transaction", overtaken)
            with pytest.raises(RedriveError, match="Another redrive of group"):
                await redrive.round()

    asyncio.run(fenced())
    monkeypatch.undo()
    gc.collect()
    assert printed == []
    assert world.values(world.origin) == []
    assert world.redrive().done().err == "20 dead letters sent back\n"


@KAFKA_IN_SOAK
def test_a_dead_letter_whose_origin_is_the_dead_letter_topic_is_refused(world: World) -> None:
    async def write() -> None:
        async with Producer(bootstrap_servers=world.address) as producer:
            headers = [("oncelog.topic", world.dead.encode()), ("oncelog.error", b"own")]
            await producer.send_and_wait(world.dead, b"99", headers=headers)

    asyncio.run(write())
    assert "would be sent to its own topic" in world.redrive("--error", "own").sentence()
    assert world.redrive("--error", "own", "--to", world.parked).done().err.startswith("1 dead letter sent back")


TRANSFORM = """
from dataclasses import replace

def tens(dead_letter):
    number = int(dead_letter.value)
    return replace(dead_letter, value=str(number * 10).encode()) if number % 5 else None

def thirteenth(dead_letter):
    return {"13": None}[dead_letter.value.decode()] if dead_letter.value in (b"12", b"13") else dead_letter
"""


@KAFKA_IN_SOAK
def test_a_transform_can_change_or_skip_dead_letters_or_stop_the_redrive(world: World, tmp_path: Path) -> None:
    (tmp_path / "repairs.py").write_text(TRANSFORM)
    message = world.redrive("--transform", "repairs:thirteenth", cwd=tmp_path).sentence()
    assert f"failed at dead letter {world.dead}-0:6: KeyError: '12'" in message
    assert world.values(world.origin) == []
    ended = world.redrive("--transform", "repairs:tens", cwd=tmp_path).done()
    assert ended.err == "16 dead letters sent back, 4 skipped\n"
    assert world.values(world.origin) == [number * 10 for number in range(20) if number % 5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--transform", "nomodule:f"], "cannot be loaded: ModuleNotFoundError"),
        (["--transform", "json:nothing"], "module json has no function nothing"),
        (["--transform", "json"], "takes MODULE:FUNCTION"),
        (["--where", "a"], "takes HEADER=VALUE"),
        (["--name", "a b"], "--name takes"),
        (["--max-attempts", "2"], "need each other"),
        (["--to", "dead"], "other topics"),
        (["-b", "127.0.0.1:1", "--parking", "dead", "--max-attempts", "1"], "other topics"),
    ],
)
def test_wrong_options_are_refused_before_a_broker_is_contacted(options: list[str], message: str) -> None:
    assert message in run("redrive", "dead", *options).sentence()


@KAFKA_IN_SOAK
def test_a_topic_that_does_not_exist_is_refused_and_nothing_is_sent(world: World) -> None:
    assert "UNKNOWN_TOPIC" in world.redrive("--to", f"{world.dead}-none").sentence()

    async def topics() -> list[str]:
        async with Admin(bootstrap_servers=world.address) as admin:
            assert not await admin.list_consumer_group_offsets(group_of(world.dead, "default"))
            return await admin.list_topics()

    assert f"{world.dead}-none" not in asyncio.run(topics())


@KAFKA_IN_SOAK
def test_a_dead_letter_whose_origin_partition_does_not_exist_is_refused(
    broker: RunningBroker, unique_name: str
) -> None:
    world = World(broker, unique_name)
    asyncio.run(world.fill(2))

    async def smaller() -> None:
        async with Producer(bootstrap_servers=world.address) as producer:
            headers = [("oncelog.topic", world.origin.encode()), ("oncelog.partition", b"7")]
            await producer.send_and_wait(world.dead, b"2", headers=headers, partition=0)

    asyncio.run(smaller())
    assert f"was in partition 7 of {world.origin}, which has 3 now" in world.redrive().sentence()
    assert world.values(world.origin) == []


def test_dead_letters_of_a_truncated_or_recreated_log_are_not_skipped(world: World) -> None:
    """The log lost records, or is another one: its new dead letters have offsets that the group has read already."""
    group = group_of(world.dead, "default")

    async def ahead() -> None:
        async with Admin(bootstrap_servers=world.address) as admin:
            found = await admin.list_consumer_group_offsets(group)
            await admin.alter_consumer_group_offsets(
                group, {name: (one.offset + 100, one.metadata) for name, one in found.items()}
            )

    assert world.redrive().code == 0
    asyncio.run(ahead())
    refused = world.redrive()
    assert refused.code == 1
    assert "the topic was created again, or records of it were lost" in refused.err
    assert world.redrive("--name", "again").code == 0
    assert len(world.values(world.origin)) == 40


@KAFKA_IN_SOAK
def test_dead_letters_that_retention_deleted_before_a_redrive_are_reported(world: World) -> None:
    world.redrive("--limit", "2", "--transaction-size", "2").done()

    async def delete() -> int:
        group, left = group_of(world.dead, "default"), 0
        async with Admin(bootstrap_servers=world.address) as admin:
            names = await admin.partitions(world.dead)
            read = await admin.list_consumer_group_offsets(group)
            await admin.delete_records(dict.fromkeys(names[:2], 5))
            for name in names[:2]:
                left += 5 - read[name].offset
        return left

    deleted = asyncio.run(delete())
    assert deleted > 0
    assert world.redrive("--dry-run", "--limit", "1", "--json").code == 0
    assert world.redrive().done().err == (
        f"10 dead letters sent back, {deleted} offsets deleted unread, before this redrive\n"
    )
