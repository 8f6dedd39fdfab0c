"""What ``oncelog doctor`` asks a cluster about transactions."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import pytest

from oncelog.cli.doctor import doctor_cluster
from oncelog.cli.doctor.findings import Status
from oncelog.client.core.admin.admin_types import PartitionDescription, ProducerState, TopicDescription
from oncelog.client.core.client_errors import KafkaTimeoutError, UnsupportedVersionError
from oncelog.errors import Error, KafkaError, OncelogError
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TopicPartition

OFFSETS = TopicPartition(CONSUMER_OFFSETS_TOPIC, 0)


class Hung:
    """A cluster in whose topic of offsets a transaction hangs.

    :param lists: whether coordinators list their transactions.
    """

    def __init__(self, lists: bool) -> None:
        self.lists = lists
        written_ms = int(time.time() * 1000) - 3_600_000
        self.producer = ProducerState(7, 0, 0, written_ms, 0, 12)

    def list_topics(self, *, internal: bool = False) -> list[str]:
        return ["orders", *([CONSUMER_OFFSETS_TOPIC] if internal else [])]

    def describe_topics(self, names: Iterable[str]) -> list[TopicDescription]:
        part = PartitionDescription(0, 1, 0, (1,), (1,))
        return [TopicDescription(name, bytes(16), name == CONSUMER_OFFSETS_TOPIC, (part,)) for name in names]

    def list_transactions(self) -> list[Any]:
        if not self.lists:
            raise UnsupportedVersionError(Error.UNSUPPORTED_VERSION, "not offered")
        return []

    def describe_producers(self, names: Iterable[TopicPartition]) -> dict[TopicPartition, list[ProducerState]]:
        return {name: [self.producer] if name == OFFSETS else [] for name in names}

    def find_hanging_transactions(self, names: Iterable[TopicPartition]) -> list[tuple[TopicPartition, ProducerState]]:
        return [(name, self.producer) for name in names if name == OFFSETS]


def reported(admin: Any) -> list[tuple[Status, str, str]]:
    return [(found.status, found.found, found.todo) for found in doctor_cluster._transactions(admin)]


def test_a_hanging_transaction_in_an_internal_topic_is_reported_as_bad() -> None:
    ((status, found, todo),) = reported(Hung(lists=True))
    assert status is Status.BAD and f"{OFFSETS} has a transaction of producer 7" in found
    assert todo.startswith("oncelog transactions abort --topic __consumer_offsets --partition 0 --start-offset 12")


def test_a_stalled_transaction_is_reported_without_a_list_of_transactions() -> None:
    (_, refused, advice), (status, found, todo) = reported(Hung(lists=False))
    assert "not offered" in refused and advice == "upgrade the brokers"
    assert status is Status.WARN and f"{OFFSETS} has a transaction of producer 7 from 12 on" in found
    assert "--force" in todo


def test_an_offsets_retention_that_the_cluster_does_not_report_is_a_warning() -> None:
    """A service may answer DescribeConfigs without the settings of Apache Kafka."""
    (found,) = doctor_cluster._of_broker("broker 1", {"min.insync.replicas": "2"}, 60)
    assert found.status is Status.WARN and "offsets.retention.minutes cannot be read" in found.found
    assert "offsetsRetentionMinutes" in found.todo
    assert list(doctor_cluster._of_broker("broker 1", {"offsets.retention.minutes": "10080"}, 60)) == []


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (
            KafkaTimeoutError(Error.REQUEST_TIMED_OUT, "no answer within 30 s"),
            "run the command again when the brokers answer",
        ),
        (KafkaError(Error.CLUSTER_AUTHORIZATION_FAILED, "denied"), "use a principal that may describe it"),
        (UnsupportedVersionError(Error.UNSUPPORTED_VERSION, "not offered"), "upgrade the brokers"),
    ],
)
def test_the_advice_fits_the_reason_for_which_a_check_fails(error: OncelogError, advice: str) -> None:
    assert doctor_cluster._remedy(error) == advice
