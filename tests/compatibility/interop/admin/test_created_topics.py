"""A sink's topic that a broker refuses to create: the sentence names the topic and what was asked for."""

from __future__ import annotations

import pytest

from oncelog.client.blocking import Admin
from oncelog.client.core.config import ClientConfig
from oncelog.errors import KafkaError
from oncelog.spark.kafka.kafka_cluster import KafkaCluster
from oncelog.spark.options import TopicCreation
from tests.conftest import RunningBroker

REFUSED = [
    (TopicCreation(3, 3), '"partitions": 3, "replication": 3}: .*replication factor', "INVALID_REPLICATION_FACTOR"),
    (TopicCreation(1, settings={"retention.mss": "5"}), "Unknown topic config name: retention.mss", "INVALID_CONFIG"),
]


def test_an_error_names_its_topic_and_the_other_topics_are_created(broker: RunningBroker, unique_name: str) -> None:
    address, topic = broker.bootstrap_servers, f"{unique_name}-late"
    cluster = KafkaCluster.connect(ClientConfig.from_properties({"bootstrap.servers": address}))
    for creation, why, code in REFUSED:
        with pytest.raises(KafkaError, match=rf"^topic '{topic}' cannot be created with {{.*{why}.* \[{code}\]$"):
            cluster.create_topics([topic], creation)
    for _ in range(2):  # another may be first
        cluster.create_topics([topic, f"{topic}-r"], TopicCreation(2))
    assert cluster.partition_counts([topic, f"{topic}-r"]) == {topic: 2, f"{topic}-r": 2}
    cluster.close()
    with Admin(bootstrap_servers=address) as admin:
        admin.delete_topics([topic, f"{topic}-r"])
