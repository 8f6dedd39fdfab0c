"""``oncelog verify log`` on running brokers: sound topics, and faults planted through the protocol."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer as LibrdkafkaProducer

from oncelog import Broker
from oncelog.apps.verify.second_look import still_there
from oncelog.client import aio
from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import Outcome, call
from tests.integration.conformance.nodes import running_node
from tests.support.shared_kafka import RunningKafka


def verify(broker: RunningBroker, *arguments: object) -> Outcome:
    return call("verify", "log", *arguments, "--json", env={"ONCELOG_BOOTSTRAP_SERVER": broker.bootstrap_servers})


def found(outcome: Outcome, verdict: str = "found") -> list[dict[str, Any]]:
    return [one for one in outcome.json["findings"] if one["verdict"] == verdict]


@pytest.fixture
def admin(broker: RunningBroker) -> Any:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as made:
        yield made


def create(admin: Admin, topic: str, partitions: int = 2, **configs: str) -> None:
    admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=configs)])


def transactional(broker: RunningBroker, name: str) -> Producer[Any, Any]:
    return Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id=name)


def test_ordinary_transactions_have_no_findings(broker: RunningBroker, admin: Admin, unique_name: str) -> None:
    create(admin, unique_name)
    other = LibrdkafkaProducer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": f"{unique_name}-l"})
    other.init_transactions()
    with transactional(broker, unique_name) as producer:
        for number in range(12):
            producer.begin_transaction()
            other.begin_transaction()
            for partition in range(2):
                producer.send(unique_name, b"x" * 100, partition=partition)
                other.produce(unique_name, b"y", partition=partition)
            producer.flush()
            other.flush()
            (producer.abort_transaction if number % 3 else producer.commit_transaction)()
            (other.abort_transaction if number % 2 else other.commit_transaction)()
        with Producer(bootstrap_servers=broker.bootstrap_servers, enable_idempotence=True) as plain:
            for number in range(100):
                plain.send(unique_name, b"z", partition=number % 2)
        outcome = verify(broker, unique_name).done()
    totals = outcome.json["looked_at"]
    assert outcome.json["status"] == "nothing_found"
    assert totals["records"] == 48 + 100
    assert (totals["transactions"], totals["committed"]) == (48, 2 * (4 + 6))
    assert totals["shown"] == 2 * (4 + 6) + 100
    assert found(outcome) == found(outcome, "unknown") == []


def test_an_open_transaction_is_reported_but_is_not_a_finding(
    broker: RunningBroker, admin: Admin, unique_name: str
) -> None:
    create(admin, unique_name, 1)
    with transactional(broker, unique_name) as producer:
        producer.begin_transaction()
        producer.send(unique_name, b"open").get()
        outcome = verify(broker, unique_name).done()
        (reported,) = found(outcome, "allowed")
        assert reported["finding"] == "open-transaction"
        assert (reported["partition"], reported["first_offset"]) == (0, 0)
        assert reported["transactional_id"] == unique_name
        producer.abort_transaction()


def test_a_transaction_torn_by_an_operator_is_found(broker: RunningBroker, admin: Admin, unique_name: str) -> None:
    create(admin, unique_name)
    with transactional(broker, unique_name) as producer:
        producer.begin_transaction()
        for partition in range(2):
            producer.send(unique_name, b"torn", partition=partition).get()
        admin.abort_transaction(TopicPartition(unique_name, 1), start_offset=0)
        producer.commit_transaction()
        outcome = verify(broker, unique_name)
    assert outcome.code == 1
    (torn,) = found(outcome)
    assert torn["finding"] == "torn-transaction"
    assert torn["transactional_id"] == unique_name
    assert (torn["first_offset"], torn["last_offset"]) == (0, 1)
    text = call("verify", "log", unique_name, env={"ONCELOG_BOOTSTRAP_SERVER": broker.bootstrap_servers})
    assert text.code == 1
    assert text.out.startswith(f"torn-transaction: {unique_name}-")
    assert "What to do: decide which outcome is right" in text.out


def test_a_torn_transaction_of_the_older_protocol_is_found_in_the_log_of_its_coordinator(
    broker: RunningBroker, admin: Admin, unique_name: str
) -> None:
    create(admin, unique_name)
    producer = LibrdkafkaProducer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": unique_name})
    producer.init_transactions()
    for number in range(6):  # one after the other, each in one partition
        producer.begin_transaction()
        producer.produce(unique_name, b"whole", partition=number % 2)
        producer.flush()
        (producer.abort_transaction if number % 2 else producer.commit_transaction)()
    assert "outcomes-differ" not in verify(broker, unique_name).done().json["counts"]
    producer.begin_transaction()
    for partition in range(2):
        producer.produce(unique_name, b"torn", partition=partition)
        producer.flush()
    admin.abort_transaction(TopicPartition(unique_name, 1), start_offset=6)
    producer.commit_transaction()
    outcome = verify(broker, unique_name)
    assert outcome.code == 1
    (torn,) = found(outcome)
    assert (torn["finding"], torn["transactional_id"]) == ("torn-transaction", unique_name)


def test_a_compacted_topic_has_no_findings(broker: RunningBroker, admin: Admin, unique_name: str) -> None:
    create(admin, unique_name, 1, **{"cleanup.policy": "compact"})
    with transactional(broker, unique_name) as producer:
        for number in range(20):
            producer.begin_transaction()
            producer.send(unique_name, b"v", key=b"k%d" % (number % 3)).get()
            (producer.commit_transaction if number % 4 else producer.abort_transaction)()
    outcome = verify(broker, unique_name).done()
    assert outcome.json["looked_at"]["transactions"] == 20
    assert found(outcome) == []


def test_records_that_arrive_while_open_transactions_are_looked_up_are_checked(
    broker: RunningBroker, admin: Admin, unique_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(admin, unique_name, 1, **{"cleanup.policy": "compact"})
    listed = aio.Admin.list_transactions

    with transactional(broker, unique_name) as producer:
        producer.begin_transaction()
        producer.send_and_wait(unique_name, b"v", key=b"open")

        async def after_more(self: aio.Admin, *given: Any) -> Any:
            async with aio.Producer(bootstrap_servers=broker.bootstrap_servers) as plain:
                await plain.send_and_wait(unique_name, b"v", key=b"another")
            return await listed(self, *given)

        monkeypatch.setattr(aio.Admin, "list_transactions", after_more)
        outcome = verify(broker, unique_name).done()
        assert outcome.json["looked_at"]["records"] == 2
        assert [one["finding"] for one in found(outcome, "allowed")] == ["open-transaction"]
        producer.abort_transaction()


def test_only_records_still_in_the_log_are_checked(broker: RunningBroker, admin: Admin, unique_name: str) -> None:
    create(admin, unique_name, 1)
    where = TopicPartition(unique_name, 0)
    with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        for _ in range(6):
            producer.send_and_wait(unique_name, b"v")
    admin.delete_records({where: 3})

    async def ask() -> set[int]:
        async with aio.Admin(bootstrap_servers=broker.bootstrap_servers) as asking:
            return await still_there(asking, where, [1, 2, 3, 5, 9])

    assert asyncio.run(ask()) == {3, 5}


@pytest.mark.parametrize("kind", ["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)])
def test_internal_topics_have_no_findings(kind: str, unique_name: str) -> None:
    with running_node(kind) as node, Admin(bootstrap_servers=node.bootstrap_servers) as admin:
        create(admin, unique_name, 1)
        with transactional(node, unique_name) as producer:
            for _ in range(5):
                producer.begin_transaction()
                producer.send(unique_name, b"v").get()
                producer.send_offsets_to_transaction({TopicPartition(unique_name, 0): 1}, f"{unique_name}-group")
                producer.commit_transaction()
        outcome = verify(node, "__consumer_offsets", "__transaction_state")
    assert found(outcome) == []
    assert outcome.json["looked_at"]["transactions"] == 5


def test_a_log_that_cannot_be_checked_ends_verify_with_its_own_exit_status(
    broker: RunningBroker, unique_name: str
) -> None:
    outcome = verify(broker, unique_name)
    assert outcome.code == 2
    assert outcome.err.startswith(f"oncelog: could not be checked: topic {unique_name!r} does not exist")
    assert call("verify", "log").code == 2


@pytest.mark.kafka
def test_verify_reads_folders_of_apache_kafka_and_oncelog_without_a_broker(
    apache_kafka: RunningKafka, tmp_path: Path, unique_name: str
) -> None:
    def fill(servers: str) -> None:
        with Admin(bootstrap_servers=servers) as admin:
            create(admin, unique_name)
        with Producer(bootstrap_servers=servers, transactional_id=unique_name) as producer:
            for number in range(6):
                producer.begin_transaction()
                for partition in range(2):
                    producer.send(unique_name, b"v", partition=partition).get()
                (producer.commit_transaction if number % 2 else producer.abort_transaction)()

    fill(apache_kafka.bootstrap_servers)
    with Broker(data=tmp_path) as broker:
        fill(broker.bootstrap_servers)
    for folder in (apache_kafka.data_folder, tmp_path):
        outcome = call("verify", "log", unique_name, "--log-dir", folder, "--json").done()
        assert outcome.json["looked_at"]["transactions"] == 12
        assert outcome.json["looked_at"]["aborted"] == 6
        assert outcome.json["findings"] == []
        part = call("verify", "log", "--log-dir", Path(folder) / f"{unique_name}-1", "--json").done()
        assert part.json["looked_at"]["partitions"] == 1
