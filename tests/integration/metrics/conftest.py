"""A broker that has experienced everything that its metrics describe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import oncelog
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.share_members import ACCEPT, REJECT, RELEASE, RawShareMember, set_group
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.errors import Error
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from tests.integration.security.test_quotas import set_quota

SETTINGS = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.num.partitions": 2}


class Busy(NamedTuple):
    """A broker, and a connection that stays open."""

    broker: oncelog.Broker
    connection: RawConnection

    @property
    def metrics(self) -> object:
        return self.broker.metrics_address


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Busy]:
    """Topic ``orders``: 3 plain records, 2 committed, 1 aborted, 4 of an open transaction; a group that read 2."""
    data: Path = tmp_path_factory.mktemp("data")
    with oncelog.Broker(data, settings=SETTINGS, metrics="127.0.0.1:0") as broker:
        servers = broker.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic("orders", num_partitions=1), NewTopic("gone", num_partitions=1)])
        with (
            RawConnection(servers) as connection,
            Producer(bootstrap_servers=servers, transactional_id="hangs") as hangs,
        ):
            _write(connection)
            with Producer(bootstrap_servers=servers, transactional_id="orders-1") as producer:
                with producer.transaction():
                    producer.send("orders", b"committed")
                    producer.send("orders", b"committed")
                producer.begin_transaction()
                producer.send_and_wait("orders", b"aborted")
                producer.abort_transaction()
            hangs.begin_transaction()
            for _ in range(4):
                hangs.send_and_wait("orders", b"open")
            with Consumer(
                "orders", bootstrap_servers=servers, group_id="readers", auto_offset_reset="earliest"
            ) as reader:
                assert reader.getone() is not None and reader.getone() is not None
                reader.commit()
            set_quota(broker, "user", "ANONYMOUS", "producer_byte_rate", 1e9)
            set_quota(broker, "user", "ANONYMOUS", "consumer_byte_rate", 1e9)
            set_quota(broker, "user", "ANONYMOUS", "request_percentage", 1000.0)
            set_quota(broker, "user", "ANONYMOUS", "controller_mutation_rate", 1e9)
            _share(broker, connection)
            connection.create_topic("counted")
            assert connection.produce("gone", batch(b"more")).error == 0
            connection.fetch("gone")
            yield Busy(broker, connection)


def _share(broker: oncelog.Broker, connection: RawConnection) -> None:
    """Group ``sharers`` of topic ``jobs``, with 5 records: one accepted, one released, the lock of one has ended, and
    the member holds both of them again and the two others."""
    topic_id = connection.create_topic("jobs")
    member = RawShareMember(connection, "sharers", "jobs", topic_id)
    set_group(connection, "sharers", "share.auto.offset.reset", "earliest")
    member.begin()
    assert connection.produce("jobs", batch(b"0", b"1", b"2")).error == 0
    assert member.fetch().acquired == [(0, 2, 1)]
    assert member.acknowledge(1, 2, ACCEPT, RELEASE) == 0
    assert broker.faults.expire_lock("sharers") == 1
    assert member.fetch().acquired == [(0, 0, 2), (2, 2, 2)]
    assert connection.produce("jobs", batch(b"3", b"4")).error == 0
    assert member.fetch().acquired == [(3, 4, 1)]
    _bury(connection)


def _bury(connection: RawConnection) -> None:
    """Group ``buriers`` rejects the record of its topic, which becomes a dead letter, and one that does not exist."""
    topic_id = connection.create_topic("poison")
    connection.create_topic("dlq.poison", errors_deadletterqueue_group_enable="true")
    member = RawShareMember(connection, "buriers", "poison", topic_id)
    set_group(connection, "buriers", "share.auto.offset.reset", "earliest")
    set_group(connection, "buriers", "errors.deadletterqueue.topic.name", "dlq.poison")
    member.begin()
    assert connection.produce("poison", batch(b"0")).error == 0
    assert member.fetch().acquired == [(0, 0, 1)]
    assert member.acknowledge(7, 7, REJECT) == Error.INVALID_REQUEST
    assert member.acknowledge(0, 0, REJECT) == 0


def _write(connection: RawConnection) -> None:
    """Three records of an idempotent producer, one of them sent twice, one record that is fenced, and one that is
    corrupt.
    """
    made = connection.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 4)
    pid = made.producer_id
    for sequence in (0, 1):
        assert connection.produce("orders", batch(b"v", pid=pid, epoch=1, sequence=sequence)).error == 0
    assert connection.produce("orders", batch(b"v", pid=pid, epoch=1, sequence=1)).error == 0
    assert connection.produce("orders", batch(b"v", pid=pid, epoch=0, sequence=2)).error == Error.INVALID_PRODUCER_EPOCH
    assert connection.produce("orders", batch(b"v", crc=1)).error == Error.CORRUPT_MESSAGE
    assert connection.produce("orders", batch(b"v")).error == 0
    assert connection.produce("gone", batch(b"v", b"v")).error == 0
