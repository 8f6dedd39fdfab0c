"""A topic that the broker refuses because of its name: the error says which names are allowed."""

from __future__ import annotations

import pytest

import oncelog
from oncelog.client.core.config import ClientConfig
from oncelog.client.errors import InvalidTopicError
from oncelog.spark.kafka.kafka_cluster import KafkaCluster


def test_an_illegal_topic_name_is_refused_and_the_error_lists_the_allowed_characters() -> None:
    with oncelog.Broker() as broker:
        cluster = KafkaCluster.connect(ClientConfig.from_properties({"bootstrap.servers": broker.bootstrap_servers}))
        with pytest.raises(InvalidTopicError, match="topic 'no topic' cannot be used: a topic's name is 1 to 249"):
            cluster.partition_counts(["no topic"])
