"""Courses that the explorer found, sent to running brokers: what is not promised holds on Apache Kafka no more than on
ours."""

from __future__ import annotations

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer, find_coordinator
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.errors import Error
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tests.conftest import RunningBroker


def test_a_late_produce_of_the_older_protocol_makes_the_next_transaction_fail(
    broker: RunningBroker, unique_name: str
) -> None:
    """It is known as repeated, and yet the lowest sequence that waits for verification is its own from then on."""
    with RawConnection(broker.bootstrap_servers) as connection:
        connection.create_topic(unique_name)
        producer = RawTransactionalProducer(connection, unique_name).init()
        producer.send(unique_name, b"one")
        producer.commit()
        producer.add((unique_name, 0))
        assert producer.send_once(unique_name, b"one", sequence=0).error == Error.NONE
        assert producer.send_once(unique_name, b"two").error == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
        producer.abort()
        producer.send(unique_name, b"three")
        producer.commit()
        assert connection.read_committed(unique_name) == [b"one", b"three"]


def test_a_late_heartbeat_raises_the_epoch_of_a_member_without_reporting_its_partitions(
    broker: RunningBroker, unique_name: str
) -> None:
    one, other = "A" * 22, "B" * 22

    def heartbeat(connection: RawConnection, member_id: str, epoch: int) -> tuple[int, list[int] | None]:
        joins = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=unique_name,
            member_id=member_id,
            member_epoch=epoch,
            rebalance_timeout_ms=60_000 if joins else -1,
            subscribed_topic_names=[unique_name] if joins else None,
            topic_partitions=[],
        )
        answer = connection.ask(request, 1)
        assert answer.error_code == Error.NONE
        reported = answer.assignment
        partitions = None if reported is None else [p for topic in reported.topic_partitions for p in topic.partitions]
        return answer.member_epoch, partitions

    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 2, 1)])
    with RawConnection(broker.bootstrap_servers) as connection:
        find_coordinator(connection, unique_name, 0)
        epoch, reported = eventually(lambda: found if (found := heartbeat(connection, one, 0))[1] else None)
        assert reported == [0, 1]
        heartbeat(connection, other, 0)
        newer = eventually(lambda: found[0] if (found := heartbeat(connection, one, 0))[0] > epoch else None)
        assert heartbeat(connection, one, epoch) == (newer, None)
        eventually(lambda: heartbeat(connection, other, 0)[1])  # the other one may read what the first one was told
