"""The blocking admin client."""

from __future__ import annotations

import time

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType, NewTopic
from oncelog.client.errors import (
    IllegalStateError,
    KafkaError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.client.reading import values


def test_topics_are_created_described_changed_and_deleted(broker: RunningBroker, topic: str) -> None:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        with pytest.raises(TopicAlreadyExistsError, match=topic):
            admin.create_topics([NewTopic(topic, 1, 1)])
        assert topic in admin.list_topics()
        (described,) = admin.describe_topics([topic])
        assert [item.partition for item in described.partitions] == [0, 1]
        admin.create_partitions({topic: 4})
        eventually(lambda: len(admin.partitions(topic)) == 4, 60)  # Kafka answers before its broker knows of a change
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)

        def retention() -> tuple[str | None, str]:
            entry = admin.describe_configs([resource], names=["retention.ms"])[resource]["retention.ms"]
            return entry.value, entry.source

        by_default = retention()
        assert admin.describe_configs([resource])[resource]["retention.ms"].is_default
        admin.alter_configs({resource: {"retention.ms": "123456"}})
        eventually(lambda: retention() == ("123456", "DYNAMIC_TOPIC_CONFIG"), 60)
        admin.alter_configs({resource: {"retention.ms": None}})
        eventually(lambda: retention() == by_default, 60)
        assert admin.describe_cluster().nodes
        admin.delete_topics([topic])
        eventually(lambda: topic not in admin.list_topics(), 60)
        with pytest.raises(UnknownTopicOrPartitionError, match=topic):
            admin.describe_topics([topic])
        with pytest.raises(UnknownTopicOrPartitionError, match=topic):
            admin.delete_topics([topic])


def test_records_are_deleted_and_offsets_listed(broker: RunningBroker, topic: str) -> None:
    servers, name = broker.bootstrap_servers, TopicPartition(topic, 0)
    now_ms = int(time.time() * 1000)
    with Producer(bootstrap_servers=servers) as producer:
        for n in range(10):
            producer.send(topic, b"%d" % n, partition=0, timestamp_ms=now_ms + n)
    with Admin(bootstrap_servers=servers) as admin:
        assert admin.delete_records({name: 4}) == {name: 4}
        assert admin.list_offsets({name: -2})[name].offset == 4
        assert admin.list_offsets({name: -1})[name].offset == 10
        assert admin.list_offsets({name: now_ms + 7})[name][:2] == (7, now_ms + 7)
        with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
            admin.delete_records({name: 50})
        with pytest.raises(UnknownTopicOrPartitionError, match="no partition 7"):
            admin.list_offsets({TopicPartition(topic, 7): -1})


def test_groups_are_listed_described_changed_and_deleted(broker: RunningBroker, topic: str) -> None:
    servers, name = broker.bootstrap_servers, TopicPartition(topic, 0)
    with Admin(bootstrap_servers=servers) as admin:
        with Consumer(topic, bootstrap_servers=servers, group_id=topic) as consumer:
            while not consumer.assignment():
                consumer.getmany(timeout_ms=100)
            (described,) = admin.describe_consumer_groups([topic])
            assert (described.type, described.state, described.assignor) == ("classic", "Stable", "range")
            assert set(described.members[0].assignment) == {name, TopicPartition(topic, 1)}
            with pytest.raises(KafkaError, match="has members"):
                admin.delete_consumer_groups([topic])
        assert topic in [item.group_id for item in admin.list_consumer_groups()]
        admin.alter_consumer_group_offsets(topic, {name: (5, "by hand"), TopicPartition(topic, 1): 6})
        assert admin.list_consumer_group_offsets(topic)[name][:2] == (5, "by hand")
        admin.delete_consumer_group_offsets(topic, [name])
        assert set(admin.list_consumer_group_offsets(topic)) == {TopicPartition(topic, 1)}
        admin.delete_consumer_groups([topic])
        assert topic not in [item.group_id for item in admin.list_consumer_groups()]


def test_transactions_are_listed_described_and_fenced(broker: RunningBroker, topic: str) -> None:
    servers, name = broker.bootstrap_servers, TopicPartition(topic, 0)
    with Admin(bootstrap_servers=servers) as admin:
        producer = Producer(bootstrap_servers=servers, transactional_id=topic)
        producer.begin_transaction()
        producer.send(topic, b"open", partition=0)
        producer.flush()
        (described,) = admin.describe_transactions([topic])
        assert (described.state, described.partitions) == ("Ongoing", (name,))
        assert topic in [item.transactional_id for item in admin.list_transactions(states=["Ongoing"])]
        (state,) = admin.describe_producers([name])[name]
        assert (state.producer_id, state.transaction_start_offset) == (described.producer_id, 0)
        assert admin.find_hanging_transactions([name]) == []
        admin.fence_producers([topic])
        with pytest.raises(KafkaError, match="stop this producer"):
            producer.commit_transaction()
        producer.stop()
        assert admin.describe_transactions([topic])[0].state in ("CompleteAbort", "Empty")


def test_a_hanging_transaction_is_ended_by_an_abort_marker(broker: RunningBroker, topic: str) -> None:
    servers, name = broker.bootstrap_servers, TopicPartition(topic, 0)
    with Admin(bootstrap_servers=servers) as admin:
        producer = Producer(bootstrap_servers=servers, transactional_id=topic)
        producer.begin_transaction()
        producer.send(topic, b"open", partition=0)
        producer.flush()
        assert admin.list_offsets({name: -1}, read_committed=True)[name].offset == 0
        with pytest.raises(IllegalStateError, match="open ones begin at"):
            admin.abort_transaction(name, start_offset=77)
        admin.abort_transaction(name, start_offset=0)
        assert admin.list_offsets({name: -1}, read_committed=True)[name].offset == 2
        admin.fence_producers([topic])
        producer.stop()
    assert values(servers, topic, 2) == []
