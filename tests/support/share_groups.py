"""Topics and share groups for tests of share consumers (KIP-932)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from confluent_kafka import AcknowledgeType, Message, ShareConsumer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

TIMEOUT_S = 120


def make_topic_and_group(servers: str, topic: str, group: str, partitions: int = 1, **settings: str) -> None:
    """A new topic, and a new share group that reads it from its beginning.

    :param settings: the group's, without ``share.`` and with underscores for dots.
    """
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, partitions)])[topic].result(TIMEOUT_S)
    values = {"auto_offset_reset": "earliest", **settings}
    entries = [
        ConfigEntry(f"share.{name.replace('_', '.')}", value, incremental_operation=AlterConfigOpType.SET)
        for name, value in values.items()
    ]
    resource = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)


@contextmanager
def share_consumer(servers: str, topic: str, group: str) -> Iterator[ShareConsumer]:
    """One that acknowledges what it is told to."""
    settings = {"bootstrap.servers": servers, "group.id": group, "share.acknowledgement.mode": "explicit"}
    made = ShareConsumer(settings)
    made.subscribe([topic])
    yield made
    made.close()


def polled(
    consumer: ShareConsumer, enough: Callable[[list[Message]], bool], kind: Callable[[Message], AcknowledgeType]
) -> list[Message]:
    """Acknowledge records, each as ``kind`` says, until there are enough."""
    found: list[Message] = []
    deadline = time.monotonic() + TIMEOUT_S
    while not enough(found):
        assert time.monotonic() < deadline, f"{len(found)} records"
        for message in consumer.poll(1.0):
            assert message.error() is None
            found.append(message)
            consumer.acknowledge(message, kind(message))
        for failed in consumer.commit_sync(TIMEOUT_S).values():
            assert failed is None
    return found


def accept(message: Message) -> AcknowledgeType:
    return AcknowledgeType.ACCEPT
