"""The consumer: groups under both protocols, positions, commits, isolation, errors."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

import confluent_kafka
import pytest

import oncelog
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.client.aio import Consumer, ConsumerRebalanceListener, Producer
from oncelog.client.aio.connection.cluster_access import settled
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType
from oncelog.client.core.group.consumer_group_member import ConsumerGroupMember
from oncelog.client.core.group.group_member import GroupMember
from oncelog.client.errors import (
    CommitFailedError,
    ConsumerStoppedError,
    IllegalStateError,
    KafkaConnectionError,
    KafkaError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    UnsupportedVersionError,
)
from oncelog.protocol.generated.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.client.proxy import FETCH, Fault, KafkaProxy
from tests.integration.client.reading import make_topic, on_loop

PROTOCOLS = pytest.mark.parametrize("protocol", ["classic", "consumer"])


async def fill(servers: str, topic: str, count: int, partitions: int = 1) -> None:
    async with Producer(bootstrap_servers=servers) as producer:
        for n in range(count):
            await producer.send(topic, b"%04d" % n, partition=n % partitions)
        await producer.flush()


@pytest.fixture
def group_id(broker: RunningBroker, unique_name: str) -> str:
    """A group that, if its protocol is KIP-848's, sends heartbeats twice a second: by default, one in five seconds."""
    resource = ConfigResource(ConfigResourceType.GROUP, unique_name)
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.alter_configs({resource: {"consumer.heartbeat.interval.ms": "500"}})
    return unique_name


def group(servers: str, name: str, **settings: Any) -> dict[str, Any]:
    return {
        "bootstrap_servers": servers,
        "group_id": name,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        **settings,
    }


async def drain(consumer: Consumer, count: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < count:
        for records in (await consumer.getmany(timeout_ms=1000)).values():
            found += [record.value or b"" for record in records]
    return found


@PROTOCOLS
@on_loop
async def test_a_group_reads_everything_and_continues_after_a_restart(
    broker: RunningBroker, group_id: str, protocol: str
) -> None:
    servers, unique_name = broker.bootstrap_servers, group_id
    await make_topic(servers, unique_name, 3)
    await fill(servers, unique_name, 90, 3)
    async with Consumer(unique_name, **group(servers, unique_name, group_protocol=protocol)) as consumer:
        assert sorted(await drain(consumer, 90)) == [b"%04d" % n for n in range(90)]
        assert consumer.assignment() == {TopicPartition(unique_name, n) for n in range(3)}
        await consumer.commit()
        assert await consumer.committed(TopicPartition(unique_name, 1)) == 30
    await fill(servers, unique_name, 3, 3)
    async with Consumer(unique_name, **group(servers, unique_name, group_protocol=protocol)) as consumer:
        assert sorted(await drain(consumer, 3)) == [b"0000", b"0001", b"0002"]


class Watching(ConsumerRebalanceListener):
    def __init__(self, name: str, events: list[tuple[str, str, set[int]]]) -> None:
        self.name = name
        self.events = events

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        self.events.append((self.name, "revoked", {item.partition for item in revoked}))

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self.events.append((self.name, "assigned", {item.partition for item in assigned}))


@pytest.mark.parametrize(
    "settings",
    [
        {"partition_assignment_strategy": ["range"]},
        {"partition_assignment_strategy": ["roundrobin"]},
        {"partition_assignment_strategy": ["sticky"]},
        {"partition_assignment_strategy": ["cooperative-sticky"]},
        {"group_protocol": "consumer"},
    ],
    ids=lambda item: (
        next(iter(item.values())) if "group_protocol" in item else item["partition_assignment_strategy"][0]
    ),
)
@on_loop
async def test_group_members_share_partitions_and_pass_them_on_when_membership_changes(
    broker: RunningBroker, group_id: str, settings: dict[str, Any]
) -> None:
    servers, unique_name = broker.bootstrap_servers, group_id
    await make_topic(servers, unique_name, 4)
    events: list[tuple[str, str, set[int]]] = []
    shared = group(servers, unique_name, heartbeat_interval_ms=200, session_timeout_ms=10_000, **settings)
    first, second = Consumer(**shared), Consumer(**shared)
    first.subscribe([unique_name], listener=Watching("first", events))
    second.subscribe([unique_name], listener=Watching("second", events))
    await first.start()
    await _until(lambda: len(first.assignment()) == 4, first)
    await second.start()
    await _until(lambda: len(first.assignment()) == 2 and len(second.assignment()) == 2, first, second)
    assert not first.assignment() & second.assignment()
    await fill(servers, unique_name, 40, 4)
    assert sorted(await drain(first, 20) + await drain(second, 20)) == [b"%04d" % n for n in range(40)]
    cooperative = "cooperative-sticky" in str(settings) or "group_protocol" in settings
    revoked = [parts for name, what, parts in events if name == "first" and what == "revoked"]
    assert revoked == ([{item.partition for item in second.assignment()}] if cooperative else [{0, 1, 2, 3}])
    await first.stop()
    await _until(lambda: len(second.assignment()) == 4, second)
    await second.stop()


async def _until(condition: Any, *consumers: Consumer) -> None:
    async with asyncio.timeout(60):
        while not condition():
            for consumer in consumers:
                await consumer.getmany(timeout_ms=50)


@on_loop
async def test_a_group_of_oncelog_and_librdkafka_shares_partitions(broker: RunningBroker, unique_name: str) -> None:
    servers = broker.bootstrap_servers
    await make_topic(servers, unique_name, 4)
    strategy = ["cooperative-sticky"]
    settings = group(servers, unique_name, heartbeat_interval_ms=200, partition_assignment_strategy=strategy)
    async with Consumer(unique_name, **settings) as ours:
        await _until(lambda: len(ours.assignment()) == 4, ours)
        other = confluent_kafka.Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": unique_name,
                "partition.assignment.strategy": "cooperative-sticky",
                "heartbeat.interval.ms": 200,
            }
        )
        other.subscribe([unique_name])
        await _until(lambda: other.poll(0) is None and len(ours.assignment()) == 2 == len(other.assignment()), ours)
        theirs = {TopicPartition(item.topic, item.partition) for item in other.assignment()}
        assert theirs | ours.assignment() == {TopicPartition(unique_name, n) for n in range(4)}
        other.close()
        await _until(lambda: len(ours.assignment()) == 4, ours)


@on_loop
async def test_a_static_member_keeps_its_partitions_over_a_restart(broker: RunningBroker, unique_name: str) -> None:
    servers = broker.bootstrap_servers
    await make_topic(servers, unique_name, 2)
    events: list[tuple[str, str, set[int]]] = []
    settings = group(servers, unique_name, heartbeat_interval_ms=200)
    async with Consumer(**settings, group_instance_id="one") as one:
        one.subscribe([unique_name], listener=Watching("one", events))
        two = Consumer(unique_name, **settings, group_instance_id="two")
        await two.start()
        await _until(lambda: len(one.assignment()) == 1 and len(two.assignment()) == 1, one, two)
        kept, seen = two.assignment(), len(events)
        await two.stop()
        again = Consumer(unique_name, **settings, group_instance_id="two")
        await again.start()
        await _until(lambda: again.assignment(), one, again)
        assert again.assignment() == kept
        assert len(events) == seen
        await again.stop()


@pytest.mark.parametrize("excluded", [True, False])
@on_loop
async def test_a_pattern_matches_internal_topics_only_if_they_are_not_excluded(
    broker: RunningBroker, unique_name: str, excluded: bool
) -> None:
    servers = broker.bootstrap_servers
    await make_topic(servers, unique_name)
    settings = group(servers, unique_name, exclude_internal_topics=excluded)
    async with Consumer(**settings) as consumer:
        await consumer.committed(TopicPartition(unique_name, 0))  # now there is a topic with the groups' offsets
        consumer.subscribe(pattern=f"{unique_name}|__consumer_offsets")
        wanted = {unique_name} if excluded else {unique_name, "__consumer_offsets"}
        await _until(lambda: {name.topic for name in consumer.assignment()} == wanted, consumer)


@PROTOCOLS
@on_loop
async def test_the_partitions_of_a_stuck_static_member_are_not_given_to_others(
    broker: RunningBroker, group_id: str, protocol: str
) -> None:
    """For the session timeout, whose default is longer than this test."""
    servers = broker.bootstrap_servers
    await make_topic(servers, group_id, 2)
    events: list[tuple[str, str, set[int]]] = []
    settings = group(servers, group_id, group_protocol=protocol, heartbeat_interval_ms=200)
    async with (
        Consumer(**settings, group_instance_id="stuck", max_poll_interval_ms=2000) as stuck,
        Consumer(**settings, group_instance_id="other") as other,
    ):
        stuck.subscribe([group_id], listener=Watching("stuck", events))
        other.subscribe([group_id], listener=Watching("other", events))
        await _until(lambda: len(stuck.assignment()) == 1 and len(other.assignment()) == 1, stuck, other)
        kept, seen = stuck.assignment(), [event for event in events if event[0] == "other"]
        await _until(lambda: not stuck.assignment(), other)
        await _until(stuck.assignment, stuck, other)
        assert stuck.assignment() == kept
        assert [event for event in events if event[0] == "other"] == seen


@on_loop
async def test_read_committed_consumer_waits_behind_an_open_transaction(
    broker: RunningBroker, unique_name: str
) -> None:
    servers, name = broker.bootstrap_servers, TopicPartition(unique_name, 0)
    await make_topic(servers, unique_name)
    reader = {"bootstrap_servers": servers, "auto_offset_reset": "earliest"}
    async with (
        Producer(bootstrap_servers=servers, transactional_id=unique_name) as slow,
        Producer(bootstrap_servers=servers) as fast,
        Consumer(isolation_level="read_committed", **reader) as committed,
        Consumer(**reader) as uncommitted,
    ):
        committed.assign([name])
        uncommitted.assign([name])
        await slow.begin_transaction()
        await slow.send_and_wait(unique_name, b"open")
        await fast.send_and_wait(unique_name, b"behind")
        assert await drain(uncommitted, 2) == [b"open", b"behind"]
        assert await committed.end_offsets([name]) == {name: 0}
        assert await uncommitted.end_offsets([name]) == {name: 2}
        async with asyncio.timeout(60):
            while committed.highwater(name) != 2:  # as of the fetch after the one that was waiting
                assert await committed.getmany(timeout_ms=300) == {}
        assert committed.last_stable_offset(name) == 0
        await slow.commit_transaction()
        assert await drain(committed, 2) == [b"open", b"behind"]


@on_loop
async def test_consumer_seeks_pauses_and_finds_offsets_by_time(broker: RunningBroker, unique_name: str) -> None:
    servers, name = broker.bootstrap_servers, TopicPartition(unique_name, 0)
    await make_topic(servers, unique_name, retention_ms="-1")  # records of 1970 are deleted when Kafka looks next
    async with Producer(bootstrap_servers=servers) as producer:
        for n in range(10):
            await producer.send_and_wait(unique_name, b"%d" % n, timestamp_ms=1000 * n)
    async with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([name])
        assert (await consumer.getone()).value == b"0"
        assert await consumer.position(name) == 1
        consumer.seek(name, 7)
        assert [(await consumer.getone(name)).value for _ in range(2)] == [b"7", b"8"]
        await consumer.seek_to_beginning(name)
        assert (await consumer.getone()).offset == 0
        await consumer.seek_to_end()
        assert await consumer.position(name) == 10
        found = await consumer.offsets_for_times({name: 3500})
        assert (it := found[name]) is not None and it.offset == 4
        assert (await consumer.offsets_for_times({name: 10**6}))[name] is None
        assert await consumer.beginning_offsets([name]) == {name: 0}
        consumer.seek(name, 5)
        consumer.pause(name)
        assert consumer.paused() == {name}
        assert await consumer.getmany(timeout_ms=200) == {}
        consumer.resume(name)
        batch = await consumer.getmany(timeout_ms=60_000, max_records=3)
        assert [record.value for record in batch[name]] == [b"5", b"6", b"7"]
        assert consumer.partitions_for_topic(unique_name) == {0}
        assert unique_name in await consumer.topics()
        with pytest.raises(IllegalStateError, match="not assigned"):
            consumer.seek(TopicPartition(unique_name, 5), 0)


@on_loop
async def test_a_pattern_finds_topics_created_later(broker: RunningBroker, unique_name: str) -> None:
    servers = broker.bootstrap_servers
    await make_topic(servers, f"{unique_name}-a")
    async with Consumer(**group(servers, unique_name, metadata_max_age_ms=300)) as consumer:
        consumer.subscribe(pattern=f"{unique_name}-.*")
        await _until(lambda: len(consumer.assignment()) == 1, consumer)
        await make_topic(servers, f"{unique_name}-b")
        await _until(lambda: len(consumer.assignment()) == 2, consumer)
        assert consumer.subscription() == {f"{unique_name}-a", f"{unique_name}-b"}
        consumer.unsubscribe()
        assert consumer.assignment() == frozenset()


@on_loop
async def test_a_fenced_consumer_reads_nothing_more_and_every_call_raises_the_error(unique_name: str) -> None:
    with oncelog.Broker() as broker:
        await _fenced_by_another(broker.bootstrap_servers, unique_name)


async def _fenced_by_another(servers: str, unique_name: str) -> None:
    await make_topic(servers, unique_name)
    await fill(servers, unique_name, 3)
    settings = group(servers, unique_name, group_instance_id="one", heartbeat_interval_ms=100)
    async with Consumer(unique_name, **settings) as fenced:
        assert await drain(fenced, 3) == [b"0000", b"0001", b"0002"]
        async with Consumer(unique_name, **settings) as other:
            assert await drain(other, 3) == [b"0000", b"0001", b"0002"]
            with pytest.raises(KafkaError, match="FENCED_INSTANCE_ID"):
                await fenced.getone()
            await fill(servers, unique_name, 1)
            with pytest.raises(KafkaError, match="FENCED_INSTANCE_ID"):
                await fenced.getone()
            assert not fenced.assignment()
            assert await drain(other, 1) == [b"0000"]


@on_loop
async def test_without_a_group_all_partitions_are_read(broker: RunningBroker, unique_name: str) -> None:
    servers = broker.bootstrap_servers
    await make_topic(servers, unique_name, 3)
    await fill(servers, unique_name, 30, 3)
    async with Consumer(unique_name, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        assert sorted(await drain(consumer, 30)) == [b"%04d" % n for n in range(30)]
        with pytest.raises(IllegalStateError, match="group_id"):
            await consumer.commit()


@on_loop
async def test_an_out_of_range_position_is_reset_as_configured_or_reported(
    broker: RunningBroker, unique_name: str
) -> None:
    servers, name = broker.bootstrap_servers, TopicPartition(unique_name, 0)
    await make_topic(servers, unique_name)
    await fill(servers, unique_name, 5)
    async with Consumer(bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([name])
        consumer.seek(name, 1000)
        assert (await consumer.getone()).offset == 0
    async with Consumer(bootstrap_servers=servers, auto_offset_reset="none") as consumer:
        consumer.assign([name])
        with pytest.raises(NoOffsetForPartitionError, match=unique_name):
            await consumer.getone()
        consumer.seek(name, 1000)
        with pytest.raises(OffsetOutOfRangeError, match="1000"):
            await consumer.getone()


@on_loop
async def test_a_partition_without_a_start_position_does_not_stop_the_others(
    broker: RunningBroker, unique_name: str
) -> None:
    servers = broker.bootstrap_servers
    zero, one = (TopicPartition(unique_name, number) for number in range(2))
    await make_topic(servers, unique_name, 2)
    async with Producer(bootstrap_servers=servers) as producer:
        for number in (0, 1):
            await producer.send_and_wait(unique_name, b"%d" % number, partition=number)
    async with Consumer(bootstrap_servers=servers, group_id=unique_name, auto_offset_reset="none") as consumer:
        await consumer.commit({one: 0})  # first: an assignment asks for what is committed
        consumer.assign([zero, one])
        with pytest.raises(NoOffsetForPartitionError, match=f"{unique_name}-0"):
            await consumer.getone()
        assert (await consumer.getone()).partition == 1
        with pytest.raises(NoOffsetForPartitionError):
            await consumer.position(zero)
        await consumer.seek_to_beginning(zero)
        assert (await consumer.getone()).partition == 0


@on_loop
async def test_auto_commit_stores_the_positions_after_the_delivered_records(
    broker: RunningBroker, unique_name: str
) -> None:
    servers = broker.bootstrap_servers
    await make_topic(servers, unique_name)
    await fill(servers, unique_name, 10)
    settings = group(servers, unique_name, enable_auto_commit=True)
    async with Consumer(unique_name, **settings) as consumer:
        for _ in range(4):
            await consumer.getone()
    async with Consumer(unique_name, **settings) as consumer:
        assert (await consumer.getone()).offset == 4


@on_loop
async def test_a_commit_of_a_stale_member_is_refused(broker: RunningBroker, unique_name: str) -> None:
    servers, name = broker.bootstrap_servers, TopicPartition(unique_name, 0)
    await make_topic(servers, unique_name)
    async with Consumer(**group(servers, unique_name)) as outsider:
        outsider.assign([name])
        async with Consumer(unique_name, **group(servers, unique_name)) as member:
            await _until(lambda: member.assignment(), member)
            with pytest.raises(CommitFailedError, match="rebalanced"):
                await outsider.commit({name: 1})


@PROTOCOLS
@on_loop
async def test_a_member_whose_commit_fails_with_unknown_member_id_rejoins_and_reads_no_lost_partition(
    broker: RunningBroker, unique_name: str, protocol: str
) -> None:
    servers, name = broker.bootstrap_servers, TopicPartition(unique_name, 0)
    await make_topic(servers, unique_name)
    await fill(servers, unique_name, 10)
    async with Consumer(unique_name, **group(servers, unique_name), group_protocol=protocol) as consumer:
        first = await consumer.getone()
        assert consumer._group is not None
        member = consumer._group.membership
        node = member.finder.node
        assert node is not None
        if isinstance(member, GroupMember):  # what an operator does who removes it
            await settled(member._send_leave(node, member._member_id, "removed"), 10)
        elif isinstance(member, ConsumerGroupMember):
            await settled(member._send_farewell(node), 10)
        gone = member.identity
        with pytest.raises(CommitFailedError):
            await consumer.commit({name: first.offset + 1})
        assert member.identity != gone
        again = await consumer.getone()  # of the partition, assigned again: nothing was committed
        assert (first.offset, again.offset) == (0, 0)
        await consumer.commit()


@on_loop
async def test_a_consumer_loses_no_record_over_a_cut_connection(broker: RunningBroker, unique_name: str) -> None:
    servers, name = broker.bootstrap_servers, TopicPartition(unique_name, 0)
    await make_topic(servers, unique_name)
    await fill(servers, unique_name, 3000)
    async with KafkaProxy(servers, faults=[Fault(FETCH, 2, "answer"), Fault(FETCH, 4, "request")]) as proxy:
        settings = {"max_partition_fetch_bytes": 4000, "auto_offset_reset": "earliest", "retry_backoff_ms": 10}
        async with Consumer(bootstrap_servers=proxy.bootstrap_servers, **settings) as consumer:
            consumer.assign([name])
            assert await drain(consumer, 3000) == [b"%04d" % n for n in range(3000)]


@on_loop
async def test_the_error_names_a_record_that_cannot_be_deserialized_and_it_can_be_skipped(
    broker: RunningBroker, unique_name: str
) -> None:
    servers, name = broker.bootstrap_servers, TopicPartition(unique_name, 0)
    await make_topic(servers, unique_name)
    async with Producer(bootstrap_servers=servers, linger_ms=20) as producer:
        for value in (b"1", b"2", b"broken", b"4"):
            await producer.send(unique_name, value)
        await producer.flush()
    settings: dict[str, Any] = {
        "bootstrap_servers": servers,
        "auto_offset_reset": "earliest",
        "value_deserializer": int,
    }
    async with Consumer(**settings) as consumer:
        consumer.assign([name])
        assert [(await consumer.getone()).value for _ in range(2)] == [1, 2]
        with pytest.raises(KafkaError, match="offset 2"):
            await consumer.getone()
        consumer.seek(name, 3)
        assert (await consumer.getone()).value == 4


@on_loop
async def test_a_broker_that_does_not_exist_is_reported_with_the_next_step() -> None:
    consumer = Consumer("t", bootstrap_servers="127.0.0.1:1")
    with pytest.raises(KafkaConnectionError, match=r"127\.0\.0\.1:1.*check bootstrap\.servers"):
        await consumer.start()


@on_loop
async def test_stopping_a_consumer_ends_a_waiting_read(broker: RunningBroker, unique_name: str) -> None:
    await make_topic(broker.bootstrap_servers, unique_name)
    consumer = Consumer(unique_name, bootstrap_servers=broker.bootstrap_servers)
    await consumer.start()

    async def read() -> list[object]:
        return [record async for record in consumer]

    task = asyncio.create_task(read())
    await asyncio.sleep(0)
    await consumer.stop()
    assert await asyncio.wait_for(task, 60) == []
    with pytest.raises(ConsumerStoppedError):
        await consumer.getmany()


def test_a_disabled_consumer_protocol_is_reported(unique_name: str) -> None:
    update = FeatureUpdateKey(feature="group.version", max_version_level=0, upgrade_type=2)
    with oncelog.Broker() as broker:
        with oncelog.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([oncelog.NewTopic(unique_name, 1, 1)])
        with RawConnection(broker.bootstrap_servers) as connection:
            assert connection.ask(UpdateFeaturesRequest(feature_updates=[update]), 1).error_code == 0
        settings: dict[str, Any] = {
            "bootstrap_servers": broker.bootstrap_servers,
            "group_id": "g",
            "group_protocol": "consumer",
        }
        with (
            oncelog.Consumer(unique_name, **settings) as consumer,
            pytest.raises(UnsupportedVersionError, match=r"group\.version 0.*group\.protocol=classic"),
        ):
            consumer.getmany(timeout_ms=60_000)
