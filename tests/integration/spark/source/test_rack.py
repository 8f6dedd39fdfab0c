"""Readers in a rack fetch from the replica there (KIP-392), on two nodes of Apache Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from oncelog.client.core.config import ClientConfig
from oncelog.records.arrow import BatchBytes
from oncelog.spark.kafka.interface import OffsetRange
from oncelog.spark.kafka.kafka_cluster import KafkaCluster, KafkaFetcher
from oncelog.spark.options import ClusterOptions
from oncelog.types import IsolationLevel, TopicPartition
from tests.integration.spark.kafka_records import eventually, produce
from tests.support.apache_kafka import ApacheKafka

SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
RACKS = {1: "near", 2: "far"}


@pytest.fixture(scope="module")
def two_racks() -> Iterator[ApacheKafka]:
    """A node that is also the controller, and a second broker, each in a rack of its own."""
    with ExitStack() as stack:
        aware = {"replica.selector.class": SELECTOR}
        first = stack.enter_context(ApacheKafka(properties=aware | {"broker.rack": RACKS[1]}))
        second = ApacheKafka()
        stack.callback(second.close)
        second.start(
            aware
            | {
                "node.id": "2",
                "process.roles": "broker",
                "broker.rack": RACKS[2],
                "controller.quorum.voters": f"1@{first.controller}",
                "listeners": f"PLAINTEXT://{second.bootstrap_servers}",
            }
        )
        admin = AdminClient({"bootstrap.servers": first.bootstrap_servers})
        eventually(lambda: len(admin.list_topics(timeout=120).brokers), 2)
        yield first


@pytest.mark.parametrize("node", RACKS)
def test_reader_fetches_from_the_replica_in_its_rack(two_racks: ApacheKafka, unique_name: str, node: int) -> None:
    address = two_racks.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(unique_name, 1, 2)])[unique_name].result(120)
    produce(address, unique_name, [b"%d:v" % n for n in range(50)])
    cluster = KafkaCluster.connect(
        ClientConfig.from_properties({"bootstrap.servers": address}), ClusterOptions(rack=RACKS[node])
    )
    partition = TopicPartition(unique_name, 0)
    leader = next(iter(cluster.run(cluster.aio.leaders([partition]))))
    fetcher = cluster.fetcher(OffsetRange(partition, 0, 50), IsolationLevel.READ_COMMITTED)
    assert isinstance(fetcher, KafkaFetcher)
    batches: list[BatchBytes] = []
    position = 0
    while position < 50:
        fetched = fetcher.fetch(position)
        batches += fetched.batches
        position = fetched.next_offset
    assert sum(batch.header.records_count for batch in batches) == 50
    assert fetcher.replica == (None if leader == node else node)
