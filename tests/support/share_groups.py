"""Topics and share groups for tests of share consumers (KIP-932)."""

from __future__ import annotations

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
