"""What a mirror does and what it refuses, one rule at a time, between two of our brokers."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from oncelog import Broker
from oncelog.apps.conformance.raw.batches import TRANSACTIONAL, batch
from oncelog.apps.conformance.raw.transactional_producer import new_pid
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.apps.mirror.mirror_errors import MirrorRefused
from oncelog.apps.mirror.mirrored_topics import Selection
from oncelog.apps.mirror.run import Mirror
from oncelog.apps.mirror.settings import MirrorSettings
from oncelog.apps.mirror.waiting import REPORT_AFTER_S
from oncelog.client.aio import Admin, Consumer, Producer
from oncelog.client.aio.admin.admin import ConfigResource, ConfigResourceType, NewTopic, RecordsToDelete
from oncelog.client.aio.transactions.batch_transaction import BatchTransactions, ReadyBatch
from oncelog.client.blocking import Admin as BlockingAdmin
from oncelog.client.core.admin.admin_types import TopicDescription
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.protocol.acls import Acl, AclResourceType, Operation, PatternType, Permission
from oncelog.records.batch import BatchBuilder
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TopicPartition
from tests.integration.cli.conftest import call
from tests.support.apache_kafka import ApacheKafka
from tests.support.hanging import SETTINGS as HANGING
from tests.support.mirror_world import committed, without_offsets

TIMEOUT_S = 120.0


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[str, str]]:
    with Broker() as source, Broker() as target:
        yield source.bootstrap_servers, target.bootstrap_servers


@dataclass
class Clusters:
    """A and B, a topic of two partitions on A, and mirrors of it."""

    source: Admin
    target: Admin
    topic: str
    addresses: tuple[str, str]
    printed: list[str] = field(default_factory=list)

    @property
    def names(self) -> tuple[TopicPartition, TopicPartition]:
        return TopicPartition(self.topic, 0), TopicPartition(self.topic, 1)

    def mirror(self, name: str | None = None, **more: Any) -> Mirror:
        settings = MirrorSettings(name or self.topic, Selection((self.topic,)), **more)
        return Mirror(self.source, self.target, settings, self.printed.append)

    async def check_equal(self) -> None:
        """Readers of A and of B receive the same records, timestamps included."""
        here, there = [await committed(address, (self.topic,)) for address in self.addresses]
        assert without_offsets(here) == without_offsets(there)

    async def started(self, **more: Any) -> Mirror:
        mirror = self.mirror(**more)
        await mirror.open()
        return mirror

    async def mirrored(self, **more: Any) -> Mirror:
        """A mirror that has copied everything."""
        mirror = await self.started(**more)
        await caught_up(mirror)
        return mirror

    async def write(self, *values: bytes, partition: int = 0) -> None:
        async with Producer(bootstrap_servers=self.addresses[0]) as producer:
            for value in values:
                await producer.send_and_wait(self.topic, value, partition=partition)

    async def values(self, partition: int = 0) -> list[bytes | None]:
        contents = without_offsets(await committed(self.addresses[1], (self.topic,)))
        return [seen.value for seen in contents[TopicPartition(self.topic, partition)]]

    async def transaction(self, producer: Producer, *values: bytes) -> None:
        """A transaction that has each value on both partitions and has not ended."""
        await producer.begin_transaction()
        for value in values:
            for number in range(2):
                await producer.send_and_wait(self.topic, value, partition=number)


async def write_spark_batch(admin: Admin, group: str, name: TopicPartition, number: int) -> None:
    """A batch of a Spark sink: a record, and in the same transaction the marker, an offset of -1."""
    transaction = BatchTransactions(admin.cluster, group, 60_000)
    await transaction.init()
    builder = BatchBuilder()
    builder.append(int(time.time() * 1000), None, b"%d" % number, ())
    await transaction.append({name: ReadyBatch(1, builder.build())})
    await transaction.add_offsets(group, {name: OffsetAndMetadata(-1, f"batch {number}")})
    await transaction.end(commit=True)


async def caught_up(mirror: Mirror) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not (await mirror.round()).caught_up:
            pass


@asynccontextmanager
async def clusters(addresses: tuple[str, str], topic: str) -> AsyncIterator[Clusters]:
    async with Admin(bootstrap_servers=addresses[0]) as source, Admin(bootstrap_servers=addresses[1]) as target:
        await source.create_topics([NewTopic(topic, 2, 1)])
        yield Clusters(source, target, topic, addresses)


Flow = Callable[[Clusters], Awaitable[None]]


@pytest.fixture
def play(brokers: tuple[str, str], unique_name: str) -> Callable[[Flow], None]:
    def run(flow: Flow) -> None:
        async def main() -> None:
            async with clusters(brokers, unique_name) as made:
                await flow(made)

        asyncio.run(main())

    return run


def test_a_mirror_waits_for_an_open_transaction_and_copies_it_whole(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        mirror = await made.started()
        async with Producer(bootstrap_servers=made.addresses[0], transactional_id=made.topic) as producer:
            await made.transaction(producer, b"one", b"two")
            await made.write(b"behind")
            assert not (await mirror.round()).records
            assert await made.values() == []
            await producer.commit_transaction()
        await caught_up(mirror)
        assert await made.values() == [b"one", b"two", b"behind"]
        assert await made.values(1) == [b"one", b"two"]

    play(flow)


def test_committed_offsets_of_the_topic_consumer_offsets_are_not_mirrored(unique_name: str) -> None:
    """It has no counterpart on B, which may not even have that topic yet."""

    async def flow() -> None:
        with Broker() as source, Broker() as target:
            async with clusters((source.bootstrap_servers, target.bootstrap_servers), unique_name) as made:
                await made.write(b"one")
                internal = TopicPartition(CONSUMER_OFFSETS_TOPIC, 0)
                group = f"{unique_name}-group"
                async with Consumer(bootstrap_servers=source.bootstrap_servers, group_id=group) as consumer:
                    consumer.assign([internal, made.names[0]])
                    await consumer.commit({internal: 0, made.names[0]: 1})
                await made.mirrored()
                there = await made.target.list_consumer_group_offsets(group)
                assert {name: position.offset for name, position in there.items()} == {made.names[0]: 1}

    asyncio.run(flow())


def test_aborted_records_are_not_mirrored_and_offsets_are_translated(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        async with Producer(bootstrap_servers=made.addresses[0], transactional_id=made.topic) as producer:
            await made.transaction(producer, b"aborted")
            await producer.abort_transaction()
            await made.transaction(producer, b"kept")
            await producer.commit_transaction()
        await made.write(b"last")
        group = f"{made.topic}-group"
        await made.source.alter_consumer_group_offsets(group, {made.names[0]: 4})
        await made.mirrored()
        assert await made.values() == [b"kept", b"last"]
        offsets = [offset for offset, _ in (await committed(made.addresses[1], (made.topic,)))[made.names[0]]]
        there = await made.target.list_consumer_group_offsets(group)
        assert there[made.names[0]].offset == offsets[1]

    play(flow)


def test_a_group_offset_at_the_end_is_translated_to_the_end(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        await made.write(b"one", b"two")
        group = f"{made.topic}-group"
        await made.source.alter_consumer_group_offsets(group, {made.names[0]: (2, "note"), made.names[1]: 0})
        await made.mirrored()
        there = await made.target.list_consumer_group_offsets(group)
        assert there[made.names[0]] == (2, "note", -1)
        assert there[made.names[1]].offset == 0

    play(flow)


def test_the_marker_of_a_spark_sink_is_mirrored_with_its_batch(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        group, name = f"oncelog-marker-{made.topic}", made.names[0]

        async def marker() -> str:
            there = await made.target.list_consumer_group_offsets(group, require_stable=True, negative=True)
            assert there[name].offset == -1
            return there[name].metadata

        for number in range(3):
            await write_spark_batch(made.source, group, name, number)
        mirror = await made.mirrored()
        assert (await made.values(), await marker()) == ([b"0", b"1", b"2"], "batch 2")
        await write_spark_batch(made.source, group, name, 3)
        await caught_up(mirror)
        assert (len(await made.values()), await marker()) == (4, "batch 3")
        await made.target.delete_consumer_group_offsets(group, [name])
        await made.mirrored()
        assert await marker() == "batch 3", "what the target has forgotten is set again"
        await write_spark_batch(made.target, group, name, 4)
        await made.mirrored()
        assert await marker() == "batch 4", "the query has gone on there"
        assert any(f"{group!r} is left alone: its marker" in text for text in made.printed)

    play(flow)


def test_a_mirror_does_not_change_a_group_that_is_active_on_the_target(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        await made.write(b"one", b"two")
        mirror = await made.mirrored()
        group = f"{made.topic}-group"
        async with Consumer(made.topic, bootstrap_servers=made.addresses[1], group_id=group) as consumer:
            async with asyncio.timeout(TIMEOUT_S):
                while not consumer.assignment():
                    await consumer.getmany(timeout_ms=50)
            await made.source.alter_consumer_group_offsets(group, {made.names[0]: 1})
            await caught_up(mirror)
            assert made.names[0] not in await made.target.list_consumer_group_offsets(group)
        assert any("left alone" in text and group in text for text in made.printed)

    play(flow)


def test_a_mirror_does_not_reset_a_group_that_continued_on_the_target(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        await made.write(b"one", b"two", b"three")
        group = f"{made.topic}-group"
        await made.source.alter_consumer_group_offsets(group, {made.names[0]: 1})
        mirror = await made.mirrored()
        await made.target.alter_consumer_group_offsets(group, {made.names[0]: 3})
        await made.source.alter_consumer_group_offsets(group, {made.names[0]: 2})
        await caught_up(mirror)
        assert (await made.target.list_consumer_group_offsets(group))[made.names[0]].offset == 3

    play(flow)


def test_a_second_mirror_of_the_name_fences_the_first_and_continues(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        first = await made.started()
        await made.write(b"one")
        second = await made.mirrored()
        await made.write(b"two")
        with pytest.raises(MirrorRefused, match="has taken over"):
            await caught_up(first)
        await caught_up(second)
        assert await made.values() == [b"one", b"two"]

    play(flow)


def test_changes_of_partitions_and_settings_reach_the_target(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, made.topic)
        await made.source.alter_configs(
            {resource: {"retention.ms": "12345678", "message.timestamp.type": "LogAppendTime"}}
        )
        mirror = await made.mirrored()
        await made.source.create_partitions({made.topic: 4})
        await made.write(b"new", partition=3)
        await made.source.alter_configs({resource: {"retention.ms": None, "max.message.bytes": "54321"}})
        await caught_up(mirror)
        assert await made.values(3) == [b"new"]
        again = await made.mirrored()
        assert not (await again.round()).records
        reported = (await made.target.describe_configs([resource]))[resource]
        assert reported["max.message.bytes"].value == "54321"
        assert reported["retention.ms"].source != "DYNAMIC_TOPIC_CONFIG"
        assert reported["message.timestamp.type"].value == "CreateTime"

    play(flow)


def test_a_mirrored_record_keeps_the_timestamp_of_the_source(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, made.topic)
        await made.source.alter_configs({resource: {"message.timestamp.type": "LogAppendTime"}})
        await made.write(b"one", b"two")
        await made.mirrored()
        await made.check_equal()

    play(flow)


def test_a_mirror_refuses_a_range_deleted_on_the_source_unless_allowed(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        await made.write(b"one", b"two", b"three")
        mirror = await made.started()
        await made.source.delete_records({made.names[0]: RecordsToDelete(2)})
        with pytest.raises(MirrorRefused, match=r"begins at offset 2 .* --allow-loss"):
            await mirror.round()
        await made.mirrored(allow_loss=True)
        assert await made.values() == [b"three"]

    play(flow)


def test_mirroring_of_a_topic_recreated_on_the_source_stops_and_other_topics_continue(
    play: Callable[[Flow], None],
) -> None:
    async def flow(made: Clusters) -> None:
        await made.write(b"one")
        mirror = await made.mirrored()
        await made.source.delete_topics([made.topic])
        await made.source.create_topics([NewTopic(made.topic, 2, 1)])
        await made.write(b"again")
        await caught_up(mirror)
        assert await made.values() == [b"one"]
        assert any("recreated on the source" in text for text in made.printed)

    play(flow)


async def without_ids(admin: Admin, topics: Sequence[str] | None = None) -> list[TopicDescription]:
    """What Apache Kafka describes at inter.broker.protocol.version 2.7 or older."""
    return [topic._replace(topic_id=bytes(16)) for topic in await Admin.describe_topics(admin, topics)]


def test_topics_that_get_ids_in_an_upgrade_are_mirrored_and_recognised_by_id_afterwards(
    play: Callable[[Flow], None],
) -> None:
    async def flow(made: Clusters) -> None:
        with pytest.MonkeyPatch.context() as before:
            for admin in (made.source, made.target):
                before.setattr(admin, "describe_topics", partial(without_ids, admin))
            await made.write(b"one")
            old = await made.mirrored()
            await old.close()
        made.printed.clear()
        await made.write(b"two")
        mirror = await made.mirrored()
        assert (await made.values(), made.printed) == ([b"one", b"two"], [])
        await mirror.close()
        await made.source.delete_topics([made.topic])
        await made.source.create_topics([NewTopic(made.topic, 2, 1)])
        await made.write(b"again")
        await (await made.started()).round()
        assert await made.values() == [b"one", b"two"]
        assert any("recreated on the source" in text for text in made.printed)

    play(flow)


@pytest.mark.kafka
@pytest.mark.soak
def test_mirroring_continues_when_a_cluster_is_upgraded(unique_name: str) -> None:
    async def mirrored(addresses: tuple[str, str], before: list[bytes], value: bytes) -> None:
        async with Admin(bootstrap_servers=addresses[0]) as source, Admin(bootstrap_servers=addresses[1]) as target:
            if not before:
                await source.create_topics([NewTopic(unique_name, 2, 1)])
            made = Clusters(source, target, unique_name, addresses)
            await made.write(value)
            (topic,) = await source.describe_topics([unique_name])
            assert any(topic.topic_id) == bool(before)
            mirror = await made.mirrored()
            assert (await made.values(), made.printed) == ([*before, value], [])
            await mirror.close()

    with ApacheKafka(version="2.8.2", properties={"inter.broker.protocol.version": "2.7"}) as kafka, Broker() as target:
        addresses = kafka.bootstrap_servers, target.bootstrap_servers
        asyncio.run(mirrored(addresses, [], b"one"))
        kafka.restart({"inter.broker.protocol.version": "2.8"})
        asyncio.run(mirrored(addresses, [b"one"], b"two"))


def test_the_transaction_that_blocks_a_mirror_is_reported_once(unique_name: str) -> None:
    """The producer hangs in one partition; what it has ended in the other one, in the same epoch, cannot be told apart
    from what may belong to the open transaction.
    """

    async def flow(made: Clusters) -> None:
        pid = hang_in_the_first_of_two(made)
        mirror = await made.started()
        ends = await mirror.stable_ends()
        for _ in range(3):
            await mirror.round()
        assert not mirror.has_reached(ends)
        assert mirror.held_back_by(100.0) is None
        reported = mirror.held_back_by(100.0 + REPORT_AFTER_S)
        assert reported is not None and f"producer {pid} in {made.names[0]} from offset 0 on" in reported
        assert mirror.held_back_by(1000.0) is None
        await made.source.abort_transaction(made.names[0], start_offset=0)
        await caught_up(mirror)
        assert mirror.has_reached(ends)

    async def main() -> None:
        with Broker(settings=HANGING) as source, Broker() as target:
            async with clusters((source.bootstrap_servers, target.bootstrap_servers), unique_name) as made:
                await flow(made)

    asyncio.run(main())


def hang_in_the_first_of_two(made: Clusters) -> int:
    """A producer with an open transaction in partition 0 that no coordinator knows, and an ended one in partition 1."""
    with RawConnection(made.addresses[0]) as connection:
        pid = new_pid(connection)
        for name in made.names:
            data = batch(b"hangs", pid=pid, epoch=0, sequence=0, attributes=TRANSACTIONAL)
            stored = connection.produce(name.topic, data, partition=name.partition, transactional_id="t", version=9)
            assert stored.error == 0
    with BlockingAdmin(bootstrap_servers=made.addresses[0]) as admin:
        admin.abort_transaction(made.names[1], start_offset=0)
    return pid


@pytest.mark.parametrize("asked_before", range(3), ids=["at the start", "at the first look", "after it"])
def test_a_topic_deleted_during_a_request_is_dropped(
    play: Callable[[Flow], None], monkeypatch: pytest.MonkeyPatch, asked_before: int
) -> None:
    """The topic goes between the listing of all topics and a question about its offsets."""

    async def flow(made: Clusters) -> None:
        list_offsets, questions = made.source.list_offsets, itertools.count()

        async def deleted_before(*args: Any, **options: Any) -> Any:
            if next(questions) == asked_before:
                await made.source.delete_topics([made.topic])
            return await list_offsets(*args, **options)

        await made.write(b"one")
        monkeypatch.setattr(made.source, "list_offsets", deleted_before)
        mirror = await made.started()
        async with asyncio.timeout(TIMEOUT_S):
            while (await mirror.round()).lag:
                pass
        assert next(questions) > asked_before

    play(flow)


def test_records_of_other_producers_on_the_target_are_refused_unless_allowed(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        await made.target.create_topics([NewTopic(made.topic, 2, 1)])
        async with Producer(bootstrap_servers=made.addresses[1]) as producer:
            await producer.send_and_wait(made.topic, b"foreign", partition=0)
        await made.write(b"one")
        with pytest.raises(MirrorRefused, match="--into-existing"):
            await made.started()
        await made.mirrored(into_existing=True)
        assert await made.values() == [b"foreign", b"one"]

    play(flow)


def test_a_mirror_of_a_cluster_to_itself_is_refused(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        await made.mirrored()
        with pytest.raises(MirrorRefused, match="the same cluster"):
            await Mirror(made.source, made.source, MirrorSettings("x", Selection()), made.printed.append).open()
        assert "oncelog-mirror.x" not in await made.source.list_topics()

    play(flow)


def test_a_second_mirror_or_a_mirror_back_is_refused_even_if_the_topic_is_empty(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        mirror = await made.mirrored()
        backwards = Mirror(
            made.target, made.source, MirrorSettings(made.topic, Selection((made.topic,))), made.printed.append
        )
        for _ in range(2):
            with pytest.raises(MirrorRefused, match="in circles"):
                await backwards.open()
        with pytest.raises(MirrorRefused, match="twice"):
            await made.mirrored(name=f"{made.topic}-2", into_existing=True)
        await made.write(b"one")
        await caught_up(mirror)
        assert await made.values() == [b"one"]

    play(flow)


def test_two_mirrors_in_opposite_directions_do_not_copy_a_topic_that_is_created_later(
    play: Callable[[Flow], None],
) -> None:
    async def flow(made: Clusters) -> None:
        later = f"{made.topic}-later"
        back = MirrorSettings(f"{made.topic}-back", Selection((later,)))
        backwards = Mirror(made.target, made.source, back, made.printed.append)
        await backwards.open()
        forth = MirrorSettings(made.topic, Selection((made.topic, later)))
        mirror = Mirror(made.source, made.target, forth, made.printed.append)
        await mirror.open()
        await made.source.create_topics([NewTopic(later, 1, 1)])
        await caught_up(mirror)
        await caught_up(backwards)
        assert any("in circles" in text for text in made.printed)
        mirror.check_complete()
        with pytest.raises(MirrorRefused, match=f"chosen topics {later} are not mirrored"):
            backwards.check_complete()

    play(flow)


def test_a_mirror_copies_the_group_offsets_of_a_topic_that_is_selected_later(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        other, group = f"{made.topic}-other", f"{made.topic}-group"
        await made.source.create_topics([NewTopic(other, 1, 1)])
        await made.write(b"one", b"two")
        await made.source.alter_consumer_group_offsets(group, {made.names[0]: 1})
        first = Mirror(made.source, made.target, MirrorSettings(made.topic, Selection((other,))), made.printed.append)
        await first.open()
        await caught_up(first)
        await first.close()
        await made.mirrored()
        assert (await made.target.list_consumer_group_offsets(group))[made.names[0]].offset == 1

    play(flow)


def test_group_offsets_that_were_deleted_on_the_target_are_mirrored_again(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        group = f"{made.topic}-group"
        await made.write(b"one", b"two")
        await made.source.alter_consumer_group_offsets(group, {made.names[0]: 1})
        await made.mirrored()
        await made.target.delete_consumer_group_offsets(group, [made.names[0]])
        await made.mirrored()
        assert (await made.target.list_consumer_group_offsets(group))[made.names[0]].offset == 1

    play(flow)


def test_a_target_with_log_append_time_keeps_source_timestamps(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        await made.target.create_topics([NewTopic(made.topic, 2, 1, {}, {"message.timestamp.type": "LogAppendTime"})])
        await made.write(b"one", b"two")
        await made.mirrored()
        await made.check_equal()

    play(flow)


def test_a_mirror_with_fetches_of_one_byte_copies_every_record(play: Callable[[Flow], None]) -> None:
    async def flow(made: Clusters) -> None:
        async with Producer(bootstrap_servers=made.addresses[0], transactional_id=made.topic) as producer:
            await made.transaction(producer, b"one", b"two")
            await producer.commit_transaction()
        await made.mirrored(max_bytes=1)
        assert await made.values() == await made.values(1) == [b"one", b"two"]

    play(flow)


def test_only_selected_topics_are_mirrored() -> None:
    selection = Selection((), "orders.*", (".*-tmp",))
    chosen: Sequence[str] = [
        name for name in ("orders", "orders-tmp", "new-orders", "__consumer_offsets") if selection.takes(name)
    ]
    assert chosen == ["orders"]
    assert Selection().takes("anything")
    assert not Selection().takes("oncelog-mirror.default")


def test_without_permission_to_read_consumer_offsets_offsets_are_fetched_per_group(
    brokers: tuple[str, str], unique_name: str
) -> None:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:root",
        "allow.everyone.if.no.acl.found": "true",
    }

    async def flow(made: Clusters) -> None:
        group, sink = f"{made.topic}-group", f"oncelog-marker-{made.topic}"
        await made.write(b"one", b"two")
        await write_spark_batch(made.source, sink, made.names[0], 0)
        await made.mirrored()
        assert sink in [item.group_id for item in await made.target.list_consumer_groups()]
        await made.source.alter_consumer_group_offsets(group, {made.names[0]: 1})
        await made.source.create_acls(
            [
                Acl(
                    AclResourceType.TOPIC,
                    CONSUMER_OFFSETS_TOPIC,
                    PatternType.LITERAL,
                    "User:ANONYMOUS",
                    "*",
                    Operation.READ,
                    Permission.DENY,
                )
            ]
        )
        mirror = await made.mirrored()
        assert any("may not be read" in text for text in made.printed)
        await caught_up(mirror)
        assert (await made.target.list_consumer_group_offsets(group))[made.names[0]].offset == 1
        assert not await made.target.list_consumer_group_offsets(sink, negative=True), "it would not be its batch's"
        hidden = Acl(
            AclResourceType.GROUP,
            group,
            PatternType.LITERAL,
            "User:ANONYMOUS",
            "*",
            Operation.DESCRIBE,
            Permission.DENY,
        )
        await made.source.create_acls([hidden])
        await caught_up(mirror)
        assert any(f"DESCRIBE on {group}" in text for text in made.printed)

    async def main(source: str) -> None:
        async with clusters((source, brokers[1]), unique_name) as made:
            await flow(made)

    with Broker(settings=settings) as source:
        asyncio.run(main(source.bootstrap_servers))


@pytest.mark.parametrize("end", ["--once", "--switch-over"])
def test_a_mirror_that_ends_by_itself_is_refused_if_a_chosen_topic_does_not_exist(
    brokers: tuple[str, str], unique_name: str, end: str
) -> None:
    mirror = "mirror", "--from", brokers[0], "--to", brokers[1], "--name", unique_name, end
    nothing = call(*mirror, "--topics-matching", f"{unique_name}-nope.*").sentence()
    assert "no topic of the source is chosen by --topic, --topics-matching and --exclude" in nothing
    with BlockingAdmin(bootstrap_servers=brokers[0]) as source:
        source.create_topics([NewTopic(unique_name, 1, 1)])
    misspelt = call(*mirror, "--topic", unique_name, "--topic", f"{unique_name}-nope").sentence()
    assert f"the chosen topics {unique_name}-nope are not mirrored" in misspelt
