"""Right after a commit was acknowledged: the ends that a reader of everything takes have it, on both brokers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oncelog.client.aio import settled_ends
from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker

ROUNDS = 100
PARTITIONS = 30


@pytest.fixture
def admin(broker: RunningBroker) -> Iterator[Admin]:
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        yield admin


def made(admin: Admin, topic: str, partitions: int = PARTITIONS) -> list[TopicPartition]:
    admin.create_topics([NewTopic(topic, partitions)])
    return [TopicPartition(topic, number) for number in range(partitions)]


def test_end_offsets_listed_after_an_acknowledged_commit_include_its_records(
    broker: RunningBroker, admin: Admin, unique_name: str
) -> None:
    names = made(admin, unique_name)
    missed: list[tuple[int, TopicPartition]] = []
    with Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id=unique_name) as producer:
        for number in range(ROUNDS):
            with producer.transaction():
                for name in names:
                    producer.send(name.topic, b"value", partition=name.partition)
            ends = admin.settled_ends(names)
            wanted = 2 * number + 1  # each transaction leaves a record and a marker
            missed += [(number, name) for name in names if ends[name].offset < wanted]
    assert missed == []


def test_a_request_for_settled_end_offsets_does_not_wait_for_an_open_transaction(
    broker: RunningBroker, admin: Admin, unique_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settled_ends, "WAIT_FOR_UNKNOWN_S", 3600.0)
    monkeypatch.setattr(settled_ends, "WAIT_FOR_MARKERS_S", 3600.0)
    (name,) = made(admin, unique_name, 1)
    with Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id=unique_name) as producer:
        with producer.transaction():
            producer.send(unique_name, b"committed")
        with producer.transaction():
            producer.send(unique_name, b"open").result()
            assert admin.settled_ends([name])[name].offset == 2
        assert admin.settled_ends([name])[name].offset == 4
