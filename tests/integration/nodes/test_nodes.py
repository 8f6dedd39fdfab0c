"""Several nodes in one process as clients see them: unmodified clients, raw requests, and the outcome of records."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import KafkaException
from confluent_kafka import Producer as ConfluentProducer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin import NewTopic as ConfluentTopic

import oncelog
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType, NewTopic
from oncelog.errors import ConfigError, KafkaError, OncelogError
from oncelog.protocol.generated.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.types import TopicPartition

NOT_LEADER, NOT_COORDINATOR, NOT_ENOUGH_REPLICAS, NOT_ENOUGH_AFTER_APPEND = 6, 16, 19, 20
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, TIMED_OUT = 74, 75, 7
QUICK = {"group.initial.rebalance.delay.ms": 0}


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker(nodes=3, settings=QUICK) as broker:
        yield broker


def make_topic(broker: oncelog.Broker, name: str = "t", partitions: int = 1, **configs: str) -> str:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        settings = {key.replace("_", "."): value for key, value in configs.items()}
        admin.create_topics([NewTopic(name, num_partitions=partitions, replication_factor=3, topic_configs=settings)])
    return name


def others(broker: oncelog.Broker, topic: str = "t") -> list[int]:
    leader = broker.leader(topic, 0)
    return [node.node_id for node in broker.nodes if node.node_id != leader]


def to_leader(broker: oncelog.Broker, topic: str = "t") -> RawConnection:
    return RawConnection(broker.node(broker.leader(topic, 0)).bootstrap_servers)


def one(value: bytes) -> bytes:
    return batch(value)


def test_clients_see_a_cluster_of_three(broker: oncelog.Broker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for created in admin.create_topics([ConfluentTopic("t", 6, 3), ConfluentTopic("single", 3, 1)]).values():
        created.result(120)
    metadata = admin.list_topics(timeout=120)
    assert sorted(metadata.brokers) == [1, 2, 3]
    ports = {str(node.port) for node in metadata.brokers.values()}
    assert ports == {address.rpartition(":")[2] for address in broker.bootstrap_servers.split(",")}
    partitions = metadata.topics["t"].partitions.values()
    assert sorted(partition.leader for partition in partitions) == [1, 1, 2, 2, 3, 3]
    assert all(sorted(partition.replicas) == sorted(partition.isrs) == [1, 2, 3] for partition in partitions)
    assert sorted(partition.leader for partition in metadata.topics["single"].partitions.values()) == [1, 2, 3]
    with pytest.raises(KafkaException, match="only 3 broker"):
        next(iter(admin.create_topics([ConfluentTopic("five", 1, 5)]).values())).result(120)


def test_a_node_that_does_not_lead_names_the_leader(broker: oncelog.Broker) -> None:
    make_topic(broker)
    with to_leader(broker) as leader, RawConnection(broker.node(others(broker)[0]).bootstrap_servers) as follower:
        assert leader.produce("t", one(b"a")).error == 0
        assert follower.produce("t", one(b"b")).error == NOT_LEADER
        assert follower.fetch("t").error == NOT_LEADER
        assert leader.fetch("t").error == 0


def test_leader_epochs_distinguish_old_leaders_from_new_leaders(broker: oncelog.Broker) -> None:
    make_topic(broker)
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        before = admin.describe_topics(["t"])[0].partitions[0].leader_epoch
        broker.move_leader("t", 0, others(broker)[0])
        after = admin.describe_topics(["t"])[0].partitions[0].leader_epoch
    assert after == before + 1
    with to_leader(broker) as leader:

        def error(epoch: int) -> int:
            return leader.fetch_all({("t", 0): RawFetchPosition(0, leader_epoch=epoch)}).partitions["t", 0].error

        assert error(before) == FENCED_LEADER_EPOCH
        assert error(after + 1) == UNKNOWN_LEADER_EPOCH
        assert error(after) == 0


def test_acks_all_waits_for_the_in_sync_replicas_and_requires_min_insync_replicas(broker: oncelog.Broker) -> None:
    make_topic(broker, min_insync_replicas="2")
    first, second = others(broker)
    with to_leader(broker) as leader:
        broker.node(first).pause_replication()
        assert leader.produce("t", one(b"held"), acks=-1, timeout_ms=50).error == TIMED_OUT
        assert leader.produce("t", one(b"acked by one"), acks=1).error == 0
        assert leader.fetch("t").high_watermark == 0
        broker.shrink_isr("t", 0, first)
        assert leader.fetch("t").high_watermark == 2
        broker.shrink_isr("t", 0, second)
        assert leader.produce("t", one(b"refused"), acks=-1).error == NOT_ENOUGH_REPLICAS
        assert leader.produce("t", one(b"taken"), acks=1).error == 0
        broker.grow_isr("t", 0, second)
        broker.node(second).pause_replication()
        waiting = leader.send_produce({("t", 0): one(b"too late")}, acks=-1)
        broker.shrink_isr("t", 0, second)
        assert leader.receive_produce(waiting)["t", 0].error == NOT_ENOUGH_AFTER_APPEND
        broker.node(first).resume_replication()
        assert leader.produce("t", one(b"all is well"), acks=-1).error == 0


def test_an_unclean_leader_cuts_the_log_and_consumers_notice(broker: oncelog.Broker) -> None:
    make_topic(broker, unclean_leader_election_enable="true")
    leader, (first, second) = broker.leader("t", 0), others(broker)
    partition = TopicPartition("t", 0)
    with (
        Producer(bootstrap_servers=broker.bootstrap_servers) as producer,
        Consumer(bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest") as consumer,
    ):
        consumer.assign([partition])
        for value in (b"0", b"1"):
            producer.send_and_wait("t", value)
        broker.node(first).stop()
        broker.node(second).stop()
        for value in (b"lost 2", b"lost 3"):
            producer.send_and_wait("t", value)
        assert [consumer.getone().value for _ in range(4)] == [b"0", b"1", b"lost 2", b"lost 3"]
        broker.node(leader).stop(kill=True)
        broker.node(first).start()
        assert broker.leader("t", 0) == first
        producer.send_and_wait("t", b"2 again")
        broker.node(leader).start()
        assert consumer.getone().value == b"2 again"
        assert consumer.position(partition) == 3


def test_without_unclean_elections_a_partition_waits_for_its_last_in_sync_replica(broker: oncelog.Broker) -> None:
    make_topic(broker)
    leader, (first, second) = broker.leader("t", 0), others(broker)
    broker.node(first).stop()
    broker.node(second).stop()
    with RawConnection(broker.node(leader).bootstrap_servers) as connection:
        assert connection.produce("t", one(b"only here"), acks=-1).error == 0
    broker.node(leader).stop()
    broker.node(first).start()
    assert broker.leader("t", 0) == -1
    broker.node(leader).start()
    assert broker.leader("t", 0) == leader
    with Consumer("t", bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        assert consumer.getone().value == b"only here"


def test_transactions_continue_while_nodes_are_killed_and_coordinators_move(broker: oncelog.Broker) -> None:
    """librdkafka, transactional, over six partitions: each record once and in order, whatever happens to the nodes."""
    make_topic(broker, partitions=6)
    producer = ConfluentProducer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "x"})
    producer.init_transactions()
    for number in range(12):
        victim = number // 4 + 1
        producer.begin_transaction()
        for partition in range(6):
            producer.produce("t", b"%d" % number, partition=partition)
        if number % 4 == 1:
            broker.node(victim).stop(kill=True)
        producer.flush()
        if number % 4 == 2:
            coordinator = broker.coordinator(transactional_id="x")
            to = next(node.node_id for node in broker.nodes if node.is_up and node.node_id != coordinator)
            broker.move_coordinator(to, transactional_id="x")
        if number % 4 == 3:
            broker.node(victim).start()
        producer.commit_transaction()
    consumer = ConfluentConsumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["t"])
    found: dict[int, list[int]] = {}
    for message in consumer.consume(72, timeout=60):
        assert message.error() is None
        found.setdefault(message.partition() or 0, []).append(int(message.value() or b""))
    consumer.close()
    assert found == {partition: list(range(12)) for partition in range(6)}


def test_an_isolated_producers_retry_is_stored_once(broker: oncelog.Broker) -> None:
    """aiokafka's idempotent producer loses its leader in the middle and resends; no record is there twice."""
    make_topic(broker)

    async def run() -> list[bytes]:
        servers = broker.bootstrap_servers
        async with AIOKafkaProducer(
            bootstrap_servers=servers, enable_idempotence=True, request_timeout_ms=1500
        ) as producer:
            await producer.send_and_wait("t", b"0")
            sends = [await producer.send("t", b"%d" % number) for number in range(1, 6)]
            leader = broker.leader("t", 0)
            await asyncio.to_thread(broker.isolate, leader)
            sends += [await producer.send("t", b"%d" % number) for number in range(6, 10)]
            await asyncio.gather(*sends)
            await asyncio.to_thread(broker.node(leader).heal)
        async with AIOKafkaConsumer("t", bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
            return [(await consumer.getone()).value for _ in range(10)]

    assert asyncio.run(run()) == [b"%d" % number for number in range(10)]


def test_a_group_continues_with_another_coordinator(broker: oncelog.Broker) -> None:
    make_topic(broker)
    with (
        Producer(bootstrap_servers=broker.bootstrap_servers) as producer,
        Consumer(
            "t", bootstrap_servers=broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest"
        ) as consumer,
    ):
        producer.send_and_wait("t", b"a")
        assert consumer.getone().value == b"a"
        consumer.commit()
        coordinator = broker.coordinator(group="g")
        broker.node(coordinator).stop(kill=True)
        assert broker.coordinator(group="g") != coordinator
        producer.send_and_wait("t", b"b")
        assert consumer.getone().value == b"b"
        consumer.commit()
        assert consumer.committed(TopicPartition("t", 0)) == 2
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            assert [group.group_id for group in admin.list_consumer_groups()] == ["g"]


def test_each_node_takes_settings_of_its_own(broker: oncelog.Broker) -> None:
    """Kafka's own tools set and remove throttles on each broker when they move partitions."""
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        resource = ConfigResource(ConfigResourceType.BROKER, "3")
        admin.alter_configs({resource: {"num.io.threads": "4"}})
        for node_id, threads in (("1", "8"), ("3", "4")):
            asked = ConfigResource(ConfigResourceType.BROKER, node_id)
            found = admin.describe_configs([asked])[asked]
            assert found["num.io.threads"].value == threads


def test_a_preferred_leader_leads_again_after_an_election(broker: oncelog.Broker) -> None:
    make_topic(broker)
    preferred = broker.leader("t", 0)
    broker.node(preferred).stop()
    broker.node(preferred).start()
    assert broker.leader("t", 0) != preferred
    with to_leader(broker) as connection:
        asked = ElectLeadersRequest(election_type=0, topic_partitions=[TopicPartitions("t", [0])], timeout_ms=1000)
        connection.ask(asked, 2)
    assert broker.leader("t", 0) == preferred


def test_a_data_folder_keeps_its_replicas_and_its_epochs_never_decrease(tmp_path: Path) -> None:
    with oncelog.Broker(tmp_path, nodes=3) as broker:
        make_topic(broker)
        for to in (*others(broker), broker.leader("t", 0)):
            broker.move_leader("t", 0, to)
        with to_leader(broker) as leader:
            assert leader.produce("t", one(b"kept"), acks=-1).error == 0
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            before = admin.describe_topics(["t"])[0].partitions[0]
    with oncelog.Broker(tmp_path, nodes=3) as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            after = admin.describe_topics(["t"])[0].partitions[0]
        assert (after.leader, after.replicas) == (before.replicas[0], before.replicas)
        assert after.leader_epoch > before.leader_epoch
        with to_leader(broker) as leader:
            assert leader.fetch("t").high_watermark == 1
    with (
        oncelog.Broker(tmp_path) as alone,
        Consumer("t", bootstrap_servers=alone.bootstrap_servers, auto_offset_reset="earliest") as consumer,
    ):
        assert consumer.getone().value == b"kept"


def test_a_node_with_id_0_can_be_stopped_started_and_chosen_as_leader_like_any_other() -> None:
    with oncelog.Broker(nodes=2, settings={**QUICK, "node.id": 0}) as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("t", num_partitions=1, replication_factor=2)])
        broker.faults.stop_node(0)
        assert broker.leader("t", 0) == 1
        broker.faults.start_node(0)
        broker.faults.move_leader("t", 0, 0)
        assert broker.leader("t", 0) == 0


def test_an_impossible_cluster_is_refused_in_a_sentence(broker: oncelog.Broker) -> None:
    with pytest.raises(ConfigError, match="nodes=0: a broker has from 1 to 9 nodes"):
        oncelog.Broker(nodes=0)
    with pytest.raises(ConfigError, match="nodes='3': a broker has from 1 to 9 nodes"):
        oncelog.Broker(nodes="3")  # type: ignore[arg-type]
    with pytest.raises(KafkaError, match="there is no node 7: the cluster has 1, 2, 3"):
        broker.node(7)
    with pytest.raises(KafkaError, match="there is no partition nowhere-0"):
        broker.leader("nowhere", 0)
    with pytest.raises(TypeError, match="partition is a number, not '0'"):
        broker.leader("nowhere", "0")  # type: ignore[arg-type]
    with pytest.raises(OncelogError, match="name either a group or a transactional_id"):
        broker.coordinator()
    with (
        oncelog.Broker() as alone,
        pytest.raises(OncelogError, match=r"the broker has one node: start it with Broker\(nodes=3\)"),
    ):
        alone.node(1)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e300, 315_360_001])
def test_pass_time_refuses_negative_and_excessive_times(broker: oncelog.Broker, seconds: float) -> None:
    with pytest.raises(oncelog.OncelogError, match=r"a number of seconds above 0|at most 315360000 seconds, because"):
        broker.pass_time(seconds)


def test_commits_of_a_connection_are_refused_once_another_node_is_the_coordinator(broker: oncelog.Broker) -> None:
    """Those that differ only in their offset from the one before take a shorter path."""
    make_topic(broker)
    first = broker.coordinator(group="g")
    with RawConnection(broker.node(first).bootstrap_servers) as connection:

        def commit(offset: int) -> int:
            topic = OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, offset, -1, "")])
            answer = connection.ask(OffsetCommitRequest("g", topics=[topic]), 9)
            return int(answer.topics[0].partitions[0].error_code)

        assert [commit(offset) for offset in range(5)] == [0] * 5
        broker.move_coordinator(next(node.node_id for node in broker.nodes if node.node_id != first), group="g")
        assert [commit(offset) for offset in range(5, 8)] == [NOT_COORDINATOR] * 3
