"""Three real Apache Kafka nodes for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog.client.blocking import Admin
from tests.compatibility.interop.cluster.disturber import TIMEOUT_S
from tests.support.kafka_cluster import KafkaCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[KafkaCluster]:
    with KafkaCluster(tmp_path) as found:
        yield found


@pytest.fixture
def admin(cluster: KafkaCluster) -> Iterator[Admin]:
    with Admin(
        bootstrap_servers=cluster.bootstrap_servers,
        default_api_timeout_ms=TIMEOUT_S * 1000,
        request_timeout_ms=10_000,
    ) as found:
        yield found
