"""A mirror that is killed at any point and restarted loses, doubles, splits and reorders nothing: ours, Apache
Kafka.
"""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from tests.conftest import RunningBroker
from tests.support.mirror_world import killed_again_and_again


@pytest.mark.parametrize(
    ("direction", "kills"),
    [
        ("to-kafka", 2),
        pytest.param("to-kafka", 50, marks=pytest.mark.soak),
        pytest.param("from-kafka", 50, marks=pytest.mark.soak),
    ],
)
def test_killed_mirror_continues_where_its_last_transaction_ended(
    direction: str, kills: int, oncelog_broker: RunningBroker, apache_kafka: RunningBroker, unique_name: str
) -> None:
    ours, kafka = oncelog_broker.bootstrap_servers, apache_kafka.bootstrap_servers
    source, target = (ours, kafka) if direction == "to-kafka" else (kafka, ours)
    asyncio.run(killed_again_and_again(source, target, unique_name, kills, Random().randrange(2**32)))
