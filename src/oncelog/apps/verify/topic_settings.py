"""Derives expectations from the settings of topics and brokers.

Called by :mod:`oncelog.apps.verify.log_topics`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from oncelog.apps.verify.expected import Expected
from oncelog.apps.verify.findings import Report
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType, TopicDescription
from oncelog.client.core.client_errors import UnsupportedVersionError
from oncelog.errors import Error, KafkaError
from oncelog.runtime import real_time

FORBIDDEN = frozenset(
    {
        Error.TOPIC_AUTHORIZATION_FAILED,
        Error.CLUSTER_AUTHORIZATION_FAILED,
        Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)


async def expected_of(
    admin: Admin, topics: Sequence[TopicDescription], compacted: bool, report: Report
) -> Mapping[str, Expected]:
    """The expectations about each topic, from its settings and the broker's.

    :param compacted: the topics were compacted once, whatever their settings are now.
    """
    resources = {topic.name: ConfigResource(ConfigResourceType.TOPIC, topic.name) for topic in topics}
    broker = Expected(compacted=compacted, now_ms=real_time.time_ms())
    # unless topic settings can be read, assume compaction: it may explain a gap between offsets
    unknown = replace(broker, compacted=True)
    try:
        of_topics = await admin.describe_configs(resources.values())
        nodes = (await admin.describe_cluster()).nodes
        resource = ConfigResource(ConfigResourceType.BROKER, str(nodes[0].node_id))
        of_broker = (await admin.describe_configs([resource]))[resource]
    except UnsupportedVersionError as error:
        report.add("not-offered", None, f"settings of topics: {error}")
        return dict.fromkeys(resources, unknown)
    except KafkaError as error:
        if error.error not in FORBIDDEN:
            raise
        report.add("not-permitted", None, f"settings of topics and brokers: {error}")
        return dict.fromkeys(resources, unknown)
    limits = {
        name: int(entry.value)
        for name, entry in of_broker.items()
        if name in ("producer.id.expiration.ms", "transaction.max.timeout.ms") and entry.value is not None
    }
    broker = replace(
        broker,
        producer_expiration_ms=limits.get("producer.id.expiration.ms", broker.producer_expiration_ms),
        transaction_limit_ms=limits.get("transaction.max.timeout.ms", broker.transaction_limit_ms),
    )
    found = {}
    for name, one in resources.items():
        values = {key: entry.value or "" for key, entry in of_topics[one].items()}
        found[name] = replace(
            broker,
            compacted=compacted or "compact" in values.get("cleanup.policy", ""),
            unclean_elections=values.get("unclean.leader.election.enable") == "true",
        )
    return found
