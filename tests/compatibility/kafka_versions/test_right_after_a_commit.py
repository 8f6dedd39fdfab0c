"""On each release of Apache Kafka: who asks for the ends right after a commit gets all of it."""

from __future__ import annotations

import pytest

import oncelog
from oncelog import NewTopic, TopicPartition
from oncelog.client.core.client_errors import AbortableTransactionError
from tests.support.apache_kafka import ApacheKafka

PARTITIONS = 30
ROUNDS = 50


@pytest.mark.soak  # the newest release runs the like in tests/integration/spark/source on each run
def test_end_offsets_listed_after_an_acknowledged_commit_include_its_records(
    kafka: ApacheKafka, unique_name: str
) -> None:
    names = [TopicPartition(unique_name, number) for number in range(PARTITIONS)]
    missed: list[tuple[int, TopicPartition]] = []
    with (
        oncelog.Admin(bootstrap_servers=kafka.bootstrap_servers) as admin,
        oncelog.Producer(bootstrap_servers=kafka.bootstrap_servers, transactional_id=unique_name) as producer,
    ):
        admin.create_topics([NewTopic(unique_name, PARTITIONS)])
        rounds = 0
        while rounds < ROUNDS:
            try:
                with producer.transaction():
                    sent = [producer.send(unique_name, b"value", partition=name.partition) for name in names]
            except AbortableTransactionError:
                continue  # 3.6 sometimes refuses a transaction that begins while the markers of the last are written
            rounds += 1
            ends = admin.settled_ends(names)
            stored = {name: future.result().offset for name, future in zip(names, sent, strict=True)}
            missed += [(rounds, name) for name in names if ends[name].offset <= stored[name]]
    assert missed == []


def test_an_open_transaction_does_not_delay_the_listing_of_end_offsets(kafka: ApacheKafka, unique_name: str) -> None:
    name = TopicPartition(unique_name, 0)
    with (
        oncelog.Admin(bootstrap_servers=kafka.bootstrap_servers) as admin,
        oncelog.Producer(bootstrap_servers=kafka.bootstrap_servers, transactional_id=unique_name) as producer,
    ):
        admin.create_topics([NewTopic(unique_name, 1)])
        with producer.transaction():
            producer.send(unique_name, b"committed")
        with producer.transaction():
            producer.send(unique_name, b"open").result()
            assert admin.settled_ends([name])[name].offset == 2
