"""The faults of share groups, with confluent-kafka's share consumer and with several nodes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import AcknowledgeType, KafkaError, KafkaException, Message, Producer, ShareConsumer

import oncelog
from oncelog.broker.faults.fault_texts import do
from oncelog.broker.faults.rules import FaultError
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType
from oncelog.testing.brokers import Embedded
from tests.support.share_groups import TIMEOUT_S, accept, make_topic_and_group, polled, share_consumer


@pytest.fixture(params=[1, 3])
def broker(request: pytest.FixtureRequest) -> Iterator[oncelog.Broker]:
    with oncelog.Broker(nodes=request.param) as running:
        yield running


def produce(broker: oncelog.Broker, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce("t", value)
    assert producer.flush(TIMEOUT_S) == 0


def first(consumer: ShareConsumer) -> list[Message]:
    found: list[Message] = []
    while not found:
        found = list(consumer.poll(1.0))
    return found


@pytest.mark.parametrize("after", ["ShareGroupHeartbeat", "ShareFetch", "ShareAcknowledge"])
def test_the_next_share_coordinator_knows_accepted_and_released_records(broker: oncelog.Broker, after: str) -> None:
    make_topic_and_group(broker.bootstrap_servers, "t", "g")
    produce(broker, b"accepted", b"released")

    def kind(message: Message) -> AcknowledgeType:
        return AcknowledgeType.ACCEPT if message.value() == b"accepted" else AcknowledgeType.RELEASE

    with (
        broker.faults.crash_coordinator(after=after, group="g") as fault,
        share_consumer(broker.bootstrap_servers, "t", "g") as consumer,
    ):
        found = first(consumer)
        for message in found:
            consumer.acknowledge(message, kind(message))
        failed = [error for error in consumer.commit_sync(TIMEOUT_S).values() if error is not None]
        assert bool(failed) == (after == "ShareAcknowledge")
        assert fault.wait(TIMEOUT_S).hits == 1
        (again,) = polled(consumer, bool, accept)
    assert [message.value() for message in found] == [b"accepted", b"released"]
    assert again.value() == b"released"
    assert again.delivery_count() == (found[1].delivery_count() or 0) + 1


def test_acquisition_locks_expire_and_a_late_acknowledgement_is_refused(broker: oncelog.Broker) -> None:
    make_topic_and_group(broker.bootstrap_servers, "t", "g", delivery_count_limit="2")
    produce(broker, b"a", b"b")
    with share_consumer(broker.bootstrap_servers, "t", "g") as consumer:
        late = first(consumer)
        assert do(broker.faults, "expire_lock g") == 2
        for message in late:
            consumer.acknowledge(message)
        (refused,) = consumer.commit_sync(TIMEOUT_S).values()
        assert isinstance(refused, KafkaException)
        assert refused.args[0].code() == KafkaError.INVALID_RECORD_STATE
        late = first(consumer)
        assert [message.delivery_count() for message in late] == [2, 2]
        assert broker.faults.expire_lock("g") == 2
        for message in late:
            consumer.acknowledge(message)
        consumer.commit_sync(TIMEOUT_S)
        produce(broker, b"c")  # a and b are given up
        assert [message.value() for message in polled(consumer, bool, accept)] == [b"c"]
        with pytest.raises(FaultError, match="no member of a share group 'g' has acquired a record"):
            broker.faults.expire_lock("g")


def test_faults_of_share_groups_that_could_never_strike_are_refused() -> None:
    with oncelog.Broker() as broker:
        faults = broker.faults
        with pytest.raises(FaultError, match="name its transactional_id, not a group"):
            faults.crash_coordinator("prepare", group="g")
        with pytest.raises(FaultError, match="a ShareAcknowledge request names no transactional_id"):
            faults.crash_coordinator("ShareAcknowledge", transactional_id="x")
        with pytest.raises(FaultError, match=r"ShareAcknowledge, not after 'Produce'"):
            faults.crash_coordinator("Produce", group="g")
        with pytest.raises(FaultError, match="DeleteShareGroupOffsets request names no partition"):
            faults.lose_answer("DeleteShareGroupOffsets", partition=1)
        with pytest.raises(FaultError, match="no member of a share group 'g'"):
            faults.expire_lock("g")


def test_a_share_group_and_its_settings_are_removed_after_the_test() -> None:
    with Embedded({}) as broker:
        for expected in (b"read from the beginning", b"and again"):
            broker.create_topic("t")
            produce(broker, expected)
            group = broker.share_group("g", {"share.record.lock.duration.ms": "20000"})
            with share_consumer(broker.bootstrap_servers, "t", group) as consumer:
                assert [message.value() for message in polled(consumer, bool, accept)] == [expected]
            broker.clean()
            assert broker.admin.list_consumer_groups() == []
            (found,) = broker.admin.describe_configs([ConfigResource(ConfigResourceType.GROUP, "g")]).values()
            assert found["share.record.lock.duration.ms"].value == "30000"
