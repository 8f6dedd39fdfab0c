"""What arrives late of a transaction that was aborted is committed by no broker, however old."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oncelog import Admin, Broker, NewTopic
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import TRANSACTIONAL, batch
from oncelog.apps.conformance.raw.single_node import single_node
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.client.core.config import AdminConfig, ClientConfig
from oncelog.errors import Error
from oncelog.spark.kafka.interface import PartitionBatch
from oncelog.spark.kafka.kafka_cluster import KafkaCluster
from tests.integration.client.reading import values
from tests.support.apache_kafka import ApacheKafka
from tests.support.hanging import SETTINGS
from tests.support.older_broker import KAFKA_2_8, older_broker

OLD_KAFKA = [pytest.mark.kafka, pytest.mark.soak]


@pytest.fixture(
    params=[
        "transactions of version 1",
        "transactions of version 2",
        pytest.param("2.8.2", marks=OLD_KAFKA),
        pytest.param("3.4.1", marks=OLD_KAFKA),
    ]
)
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    """A broker that does not verify: ours, which is told not to, or an Apache Kafka before 3.6."""
    if request.param[0].isdigit():
        with ApacheKafka(version=request.param) as kafka:
            yield kafka.bootstrap_servers
    elif request.param.endswith("1"):
        with older_broker(KAFKA_2_8, SETTINGS) as broker:
            yield broker.bootstrap_servers
    else:
        with Broker(settings=SETTINGS) as broker:
            yield broker.bootstrap_servers


@pytest.mark.parametrize("shared", [False, True])
def test_a_late_batch_of_an_aborted_transaction_is_refused(servers: str, shared: bool) -> None:
    """Its producer gave up on the answer. Stored, it would be committed by the next transaction of the id."""
    with Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic("t", 1, 1)])
    config = AdminConfig.from_properties({"bootstrap.servers": servers})
    with single_node(config) as (address, world), RawConnection(address, world=world) as connection:
        cluster = KafkaCluster.connect(ClientConfig.from_properties({"bootstrap.servers": servers}))
        try:
            transaction = cluster.transaction("id", 60_000)
            transaction.init_producer_id()
            producer = transaction.producer()
            if shared:
                transaction.join(producer)
            transaction.produce([PartitionBatch("t", 0, 1, batch(b"aborted"))])
            transaction.end(commit=False)
            eventually(lambda: any(stored.is_control for stored in connection.fetch("t").batches), 60)
            pid, epoch = producer
            late = batch(b"late", pid=pid, epoch=epoch, sequence=1, attributes=TRANSACTIONAL)
            answer = connection.produce("t", late, transactional_id="id", version=9)
            assert answer.error == Error.INVALID_PRODUCER_EPOCH
            transaction.init_producer_id()
            transaction.produce([PartitionBatch("t", 0, 1, batch(b"committed"))])
            transaction.end(commit=True)
        finally:
            cluster.close()
    assert values(servers, "t") == [b"committed"]
