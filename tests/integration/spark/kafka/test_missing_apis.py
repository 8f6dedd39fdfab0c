"""What the sink does on brokers that lack an API: services with Kafka's protocol, and brokers that are too old."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from oncelog import Admin, NewTopic
from oncelog.apps.conformance.raw.batches import batch
from oncelog.broker.core.registry import SERVED
from oncelog.client.core.client_errors import UnsupportedVersionError
from oncelog.client.core.config import ClientConfig
from oncelog.protocol.api_keys import ApiKey
from oncelog.spark.kafka.interface import PartitionBatch
from oncelog.spark.kafka.kafka_cluster import KafkaCluster
from oncelog.types import IsolationLevel, TopicPartition
from tests.support.older_broker import KAFKA_2_3, older_broker

NOTHING = (TopicPartition("t", 0), 1, "")


def newest_but(*missing: ApiKey) -> Mapping[int, int]:
    return {key: row.high for key, row in SERVED.items() if key not in missing}


@contextmanager
def cluster_of(servers: str) -> Iterator[KafkaCluster]:
    cluster = KafkaCluster.connect(ClientConfig.from_properties({"bootstrap.servers": servers}))
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        (ApiKey.INIT_PRODUCER_ID, "InitProducerId"),
        (ApiKey.TXN_OFFSET_COMMIT, "TxnOffsetCommit"),
        (ApiKey.END_TXN, "EndTxn"),
    ],
)
def test_a_broker_without_transactions_shows_no_records_and_the_error_names_the_missing_api(
    missing: ApiKey, named: str
) -> None:
    with older_broker(newest_but(missing)) as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("t", 1, 1)])
        with cluster_of(broker.bootstrap_servers) as cluster:
            transaction = cluster.transaction("id", 60_000)

            def batch_and_marker() -> None:
                transaction.init_producer_id()
                transaction.produce([PartitionBatch("t", 0, 1, batch(b"v"))])
                transaction.add_offset(*NOTHING)
                transaction.end(commit=True)

            with pytest.raises(UnsupportedVersionError, match=f"does not offer {named}"):
                batch_and_marker()
            ends = cluster.log_ends([NOTHING[0]], IsolationLevel.READ_COMMITTED)
        assert ends[NOTHING[0]].offset == 0


def test_without_describe_configs_the_offsets_retention_is_unknown() -> None:
    with older_broker(newest_but(ApiKey.DESCRIBE_CONFIGS)) as broker, cluster_of(broker.bootstrap_servers) as cluster:
        assert cluster.facts("group").retention_ms is None
        assert cluster.tells_retention is False


def test_without_offset_for_leader_epoch_truncation_is_not_reported() -> None:
    with older_broker(newest_but(ApiKey.OFFSET_FOR_LEADER_EPOCH)) as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("t", 1, 1)])
        with cluster_of(broker.bootstrap_servers) as cluster:
            assert cluster.epoch_ends({NOTHING[0]: 0}) == {}


def test_a_broker_of_kafka_2_3_is_refused_in_one_sentence_before_anything_is_written() -> None:
    with (
        older_broker(KAFKA_2_3) as broker,
        pytest.raises(UnsupportedVersionError, match=r"is older than Apache Kafka 2\.5") as refused,
    ):
        KafkaCluster.connect(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap_servers}))
    assert "upgrade the brokers" in str(refused.value)
    assert "\n" not in str(refused.value)
