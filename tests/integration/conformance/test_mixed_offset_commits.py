"""TxnOffsetCommit between its versions 5 and 6 (KIP-1319), and between both group protocols: nothing is half committed.

Version 5 identifies topics by name and version 6 by id, so that the one's bytes are no request of the other.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oncelog.apps.conformance.checks.consumer_groups import NewMember
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.group_members import Member, committed_once_stable
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.conftest import RunningBroker
from tests.support.group_host import subscription


@pytest.fixture
def connection(broker: RunningBroker) -> Iterator[RawConnection]:
    with RawConnection(broker.bootstrap_servers) as opened:
        yield opened


@pytest.fixture
def producer(connection: RawConnection, unique_name: str) -> RawTransactionalProducer:
    """One with an open transaction that contains the group's partition."""
    made = RawTransactionalProducer(connection, unique_name).init()
    made.add_offsets(unique_name)
    return made


@pytest.mark.parametrize(("body", "sent"), [(5, 6), (6, 5)])
def test_a_txn_offset_commit_body_sent_under_another_version_closes_the_connection(
    broker: RunningBroker,
    connection: RawConnection,
    producer: RawTransactionalProducer,
    unique_name: str,
    body: int,
    sent: int,
) -> None:
    topic_id = connection.create_topic(unique_name, 1)
    partitions = [TxnOffsetCommitRequestPartition(0, 7)]
    topics = [TxnOffsetCommitRequestTopic(unique_name, topic_id, partitions)]
    request = TxnOffsetCommitRequest(unique_name, unique_name, producer.pid, producer.epoch, topics=topics)
    with RawConnection(broker.bootstrap_servers) as other:
        number = other.send(ApiKey.TXN_OFFSET_COMMIT, sent, request.encode(body), flexible=True)
        with pytest.raises(ConnectionClosed):
            other.receive(number, flexible=True)
    assert producer.commit_offsets_once(unique_name, {(unique_name, 0): 3}, version=body) == [0]
    producer.commit()
    assert committed_once_stable(connection, unique_name, unique_name) == 3


def test_members_of_both_protocols_are_refused_with_errors_of_their_own_protocol(
    broker: RunningBroker, connection: RawConnection, producer: RawTransactionalProducer, unique_name: str
) -> None:
    topic_id = connection.create_topic(unique_name, 2)
    newer = NewMember(connection, unique_name, [unique_name])
    eventually(lambda: newer.beat() and newer.partitions(topic_id) == [0, 1])
    with RawConnection(broker.bootstrap_servers) as another:
        classic = Member(another, unique_name)
        classic.join(metadata=subscription(unique_name, version=3))
        eventually(lambda: newer.beat().member_epoch >= classic.generation)

        def send(generation: int, member: str, version: int) -> list[int]:
            offsets = {(unique_name, 0): 3}
            return producer.commit_offsets_once(
                unique_name, offsets, version=version, generation=generation, member=member
            )

        later = newer.epoch + 5
        assert send(later, classic.id, 5) == send(later, classic.id, 6) == [Error.ILLEGAL_GENERATION]
        assert send(later, newer.id, 5) == [Error.ILLEGAL_GENERATION]
        assert send(later, newer.id, 6) == [Error.STALE_MEMBER_EPOCH]
        for member, own in ((classic.id, classic.generation), (newer.id, newer.epoch)):
            assert send(own, member, 6) == [Error.NONE]
    producer.abort()
