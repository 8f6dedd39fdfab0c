"""``oncelog reassign --throttle`` on three real brokers: copies wait, and the throttles are removed at the end."""

from __future__ import annotations

import pytest

from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin_types import ConfigResource, ConfigResourceType, NewTopic
from oncelog.conformance.expect import eventually
from oncelog.types import TopicPartition
from tests.cli.conftest import Outcome, call
from tests.interop.cluster.disturber import PATIENCE_S
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.kafka, pytest.mark.soak]

BATCH = bytes(500_000)
BATCHES = 60
SLOW = 50_000
"""Bytes per second: at this rate the copies would take ten minutes."""
TOPIC, BROKERS = ConfigResource(ConfigResourceType.TOPIC, "t"), ConfigResource(ConfigResourceType.BROKER, "")
REPLICAS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


def settings(admin: Admin) -> list[str | None]:
    """Throttled replicas of the topic, and the rates; None for those that are not set."""
    found = [
        admin.describe_configs([resource], names=names)[resource].get(name)
        for resource, names in ((TOPIC, REPLICAS), (BROKERS, RATES))
        for name in names
    ]
    return [None if entry is None or entry.is_default or not entry.value else entry.value for entry in found]


def test_copies_take_no_more_than_the_throttle_until_it_is_lifted(cluster: KafkaCluster, admin: Admin) -> None:
    servers = cluster.bootstrap_servers
    admin.create_topics([NewTopic("t", replica_assignments={0: [1]}, topic_configs={"min.insync.replicas": "1"})])
    with Producer(bootstrap_servers=servers) as producer:
        for future in [producer.send("t", BATCH) for _ in range(BATCHES)]:
            future.result(300)

    def reassign(*words: str) -> Outcome:
        return call("reassign", "t", "--replication-factor", "3", *words, "-b", servers)

    assert "1 partition still to be moved after --timeout 5" in reassign("--throttle", str(SLOW), "--timeout", "5").err
    eventually(lambda: None not in settings(admin), PATIENCE_S)  # each broker learns of them in its own time
    sources, added, *rates = settings(admin)
    assert (sources, sorted((added or "").split(",")), rates) == ("0:1", ["0:2", "0:3"], [str(SLOW)] * 2)
    assert TopicPartition("t", 0) in admin.list_partition_reassignments()
    reassign("--throttle", "1000000000").done()
    eventually(lambda: settings(admin) == [None] * 4, PATIENCE_S)
    assert sorted(admin.describe_topics(["t"])[0].partitions[0].isr) == [1, 2, 3]
