"""Faults inside the embedded broker, each with clients that know nothing about them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import KafkaException
from confluent_kafka import Producer as ConfluentProducer

import oncelog
from oncelog.broker.faults.rules import Fault, FaultError
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.core.client_errors import KafkaTimeoutError
from oncelog.errors import KafkaError
from oncelog.types import TopicPartition

QUICK = {
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.min.heartbeat.interval.ms": 500,
    "group.consumer.heartbeat.interval.ms": 500,
}
GIVES_UP_SOON: dict[str, Any] = {"delivery_timeout_ms": 1500, "request_timeout_ms": 500}


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker(settings=QUICK) as broker:
        yield broker


def committed(broker: oncelog.Broker, count: int, topic: str = "t") -> list[bytes | None]:
    """What librdkafka reads with read_committed, and that nothing more arrives."""
    consumer = ConfluentConsumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": f"reader-{time.monotonic_ns()}",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.subscribe([topic])
    values: list[bytes | None] = []
    while True:
        message = consumer.poll(120)
        assert message is not None
        if message.error() is not None:
            if len(values) >= count:
                break
            continue
        values.append(message.value())
    consumer.close()
    return values


def transactional(broker: oncelog.Broker, name: str = "x", **settings: object) -> ConfluentProducer:
    producer = ConfluentProducer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name, **settings})
    producer.init_transactions(120)
    return producer


# --- on requests


def test_a_lost_acknowledgement_duplicates_nothing(broker: oncelog.Broker) -> None:
    producer = ConfluentProducer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True})
    with broker.faults.lose_answer("Produce", topic="t") as fault:
        producer.produce("t", b"once")
        assert producer.flush(120) == 0
    assert fault.hits == 1
    assert committed(broker, 1) == [b"once"]


def test_a_lost_acknowledgement_duplicates_a_record_without_idempotence(broker: oncelog.Broker) -> None:
    """The bug that the fault reveals."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": False, "acks": 1}
    producer = ConfluentProducer(settings)
    with broker.faults.lose_answer("Produce", topic="t"):
        producer.produce("t", b"twice")
        assert producer.flush(120) == 0
    assert committed(broker, 2) == [b"twice", b"twice"]


def test_a_client_whose_requests_are_dropped_gives_up_after_its_timeout(broker: oncelog.Broker) -> None:
    with Producer(
        bootstrap_servers=broker.bootstrap_servers, client_id="dark", delivery_timeout_ms=4000, request_timeout_ms=1000
    ) as dark:
        dark.send_and_wait("t", b"heard")
        with broker.faults.blackhole(client_id="dark"), pytest.raises(KafkaTimeoutError):
            dark.send_and_wait("t", b"never heard")
    with Producer(bootstrap_servers=broker.bootstrap_servers, client_id="lit") as lit:
        assert lit.send_and_wait("t", b"as always").offset == 1


# --- markers and coordinators


def test_markers_that_a_fault_delays_hold_readers_back(broker: oncelog.Broker) -> None:
    """The transaction is committed and answered but invisible: what the literature calls a hanging transaction."""
    producer = transactional(broker)
    with broker.faults.hold_markers(topic="t") as fault:
        producer.begin_transaction()
        producer.produce("t", b"committed")
        producer.commit_transaction(120)
        fault.wait(120)
        assert broker.faults.held(fault) == 1
        settings: dict[str, Any] = {"bootstrap_servers": broker.bootstrap_servers, "auto_offset_reset": "earliest"}
        with Consumer("t", isolation_level="read_committed", **settings) as consumer:
            assert consumer.getmany(timeout_ms=200) == {}
            assert broker.faults.release(fault) == 1
            assert consumer.getone().value == b"committed"


@pytest.mark.parametrize("kind", ["lose_marker", "repeat_marker"])
def test_lost_and_repeated_markers_change_nothing(broker: oncelog.Broker, kind: str) -> None:
    producer = transactional(broker)
    with getattr(broker.faults, kind)(topic="t", times=2) as fault:
        for value in (b"a", b"b", b"c"):
            producer.begin_transaction()
            producer.produce("t", value)
            (producer.abort_transaction if value == b"b" else producer.commit_transaction)(30)
        fault.wait(30, hits=2)
    assert committed(broker, 2) == [b"a", b"c"]


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("after", ["prepare", "first-marker", "markers", "AddPartitionsToTxn", "EndTxn"])
def test_another_coordinator_takes_over_after_a_crash(after: str, nodes: int) -> None:
    """Every partition has all or nothing, and the producer continues."""
    with oncelog.Broker(nodes=nodes, settings=QUICK) as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("t", num_partitions=3, replication_factor=nodes)])
        # An older producer names its partitions first; the newer protocol sends no AddPartitionsToTxn.
        producer = transactional(broker)
        hits = 0
        for number, commit in enumerate((True, False, True)):
            with broker.faults.crash_coordinator(after, transactional_id="x") as fault:
                producer.begin_transaction()
                for partition in range(3):
                    producer.produce("t", b"%d" % number, partition=partition)
                producer.flush(120)
                (producer.commit_transaction if commit else producer.abort_transaction)(30)
                if after != "AddPartitionsToTxn":
                    fault.wait(60)
                hits += fault.hits
        assert hits or after == "AddPartitionsToTxn"
        producer.begin_transaction()
        producer.produce("t", b"last", partition=0)
        producer.commit_transaction(120)
        assert sorted(value or b"" for value in committed(broker, 7)) == sorted([b"0"] * 3 + [b"2"] * 3 + [b"last"])


def test_a_transaction_expires_on_request(broker: oncelog.Broker) -> None:
    producer = transactional(broker)
    producer.begin_transaction()
    producer.produce("t", b"too slow")
    producer.flush(120)
    broker.faults.expire_transaction("x")
    with pytest.raises(KafkaException) as refused:
        producer.commit_transaction(120)
    assert refused.value.args[0].fatal() or refused.value.args[0].txn_requires_abort()
    with Producer(bootstrap_servers=broker.bootstrap_servers) as plain:
        plain.send_and_wait("t", b"plain")
    assert committed(broker, 1) == [b"plain"]
    with pytest.raises(FaultError, match="'x' has no open transaction"):
        broker.faults.expire_transaction("x")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_expires_on_request(broker: oncelog.Broker, protocol: str) -> None:
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send_and_wait("t", b"a")
    consumer = ConfluentConsumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "group.protocol": protocol,
            "enable.auto.commit": False,
        }
    )
    lost: list[object] = []
    consumer.subscribe(["t"], on_lost=lambda _, partitions: lost.append(partitions))
    assert consumer.poll(120).value() == b"a"  # type: ignore[union-attr]
    expired = broker.faults.expire_member("g")
    assert len(expired) == 1
    deadline = time.monotonic() + 120
    while not lost and time.monotonic() < deadline:
        consumer.poll(0.1)
    assert lost
    consumer.close()
    with pytest.raises(FaultError, match="the group 'nobody' has no member with a session"):
        broker.faults.expire_member("nobody")


def test_a_forgotten_producer_continues_without_duplicates(broker: oncelog.Broker) -> None:
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send_and_wait("t", b"0")
        assert len(broker.faults.forget_producer("t")) == 1
        producer.send_and_wait("t", b"1")
    assert committed(broker, 2) == [b"0", b"1"]
    with pytest.raises(FaultError, match="t-0 knows no such producer"):
        broker.faults.forget_producer("t", producer_id=12345)


# --- the disk


def _refused_by(fault: Fault, producer: Producer) -> None:
    """A record is refused; once more if it expired before the disk was asked."""
    while not fault.hits:
        with pytest.raises(KafkaError):
            producer.send_and_wait("t", b"refused")


def test_a_full_disk_refuses_records_and_a_restart_recovers(tmp_path: Path) -> None:
    with oncelog.Broker(tmp_path, settings=QUICK, faults=True) as broker:
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            producer.send_and_wait("t", b"fits")
        with (
            Producer(bootstrap_servers=broker.bootstrap_servers, **GIVES_UP_SOON) as refused,
            broker.faults.full_disk() as fault,
        ):
            _refused_by(fault, refused)
        broker.restart()
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            producer.send_and_wait("t", b"fits again")
        assert committed(broker, 2) == [b"fits", b"fits again"]


@pytest.mark.parametrize(("policy", "kept"), [("commit", [b"0", b"1"]), ("none", [])])
def test_a_power_failure_loses_unsynced_records(tmp_path: Path, policy: str, kept: list[bytes]) -> None:
    settings = {"oncelog.flush.policy": policy, **QUICK}
    with oncelog.Broker(tmp_path, settings=settings, faults=True) as broker:
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            for value in (b"0", b"1"):
                producer.send_and_wait("t", value)
        lost = broker.faults.power_loss()
        assert any("t-0" in path for path in lost) is (policy == "none")
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            producer.send_and_wait("t", b"after")
        assert committed(broker, len(kept) + 1) == [*kept, b"after"]


def test_a_failing_sync_stops_its_partition(tmp_path: Path) -> None:
    with (
        oncelog.Broker(tmp_path, settings={"oncelog.flush.policy": "commit"}, faults=True) as broker,
        Producer(bootstrap_servers=broker.bootstrap_servers) as producer,
        Producer(bootstrap_servers=broker.bootstrap_servers, **GIVES_UP_SOON) as refused,
    ):
        producer.send_and_wait("t", b"synced")
        with broker.faults.slow_disk(5, times=1) as slow:
            producer.send_and_wait("t", b"slowly")
        assert slow.hits == 1
        with broker.faults.failing_sync() as fault:
            _refused_by(fault, refused)


# --- what cannot be


def test_impossible_faults_are_refused(broker: oncelog.Broker, tmp_path: Path) -> None:
    faults = broker.faults
    with pytest.raises(FaultError, match="full_disk needs a broker created with faults=True"):
        faults.full_disk()
    with pytest.raises(FaultError, match="a marker has a transactional_id, a topic and a partition, not a group"):
        faults.hold_markers(group="g")
    with pytest.raises(FaultError, match="a coordinator crashes after prepare, first-marker, markers, or after"):
        faults.crash_coordinator("lunch")
    with pytest.raises(FaultError, match="there is no API 'Prodce'"):
        faults.lose_answer("Prodce")
    with pytest.raises(KafkaError, match="there is no partition nowhere-0"):
        faults.forget_producer("nowhere")
    with (
        oncelog.Broker(faults=True) as memory,
        pytest.raises(FaultError, match="power_loss needs a broker with a data folder"),
    ):
        memory.faults.power_loss()


def test_faults_outlive_a_restart_and_are_reported(tmp_path: Path) -> None:
    with oncelog.Broker(tmp_path) as broker, broker.faults.lose_answer("Produce", topic="t") as fault:
        broker.restart()
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            producer.send_and_wait("t", b"once")
        assert fault.hits == 1
        assert broker.faults.report() == ["lose_answer (Produce, topic t) struck 1 time"]
        with Consumer("t", bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            assert consumer.getone().value == b"once"
            assert consumer.end_offsets([TopicPartition("t", 0)]) == {TopicPartition("t", 0): 1}


def test_a_broker_with_metrics_comes_back_after_a_power_loss(tmp_path: Path) -> None:
    with oncelog.Broker(tmp_path, faults=True, metrics="127.0.0.1:0") as broker:
        before = broker.metrics_address
        broker.faults.power_loss()
        assert broker.metrics_address == before
