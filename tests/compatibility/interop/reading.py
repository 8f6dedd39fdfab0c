"""Reading back with another client."""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition

import oncelog


def consumed_values(bootstrap_servers: str, topic: str, partition: int = 0) -> list[bytes | None]:
    """What librdkafka reads of a partition with read_committed, from its start to the last stable offset.

    Commits that were acknowledged before are waited for: their markers are written later.
    """
    with oncelog.Admin(bootstrap_servers=bootstrap_servers) as admin:
        admin.settled_ends([oncelog.TopicPartition(topic, partition)])
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0)])
    values: list[bytes | None] = []
    try:
        while True:
            message = consumer.poll(60)
            assert message is not None, f"only {len(values)} records came"
            if message.error():
                return values
            values.append(message.value())
    finally:
        consumer.close()
