"""Checks that a sink's topics exist before a batch is written, or creates them if an option says so.

Called on the driver, before the rows of a batch are computed, and by the runner of pipelines before a query starts.
Brokers must not create a topic because a row names it: a misspelt name would become an empty topic.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from oncelog.errors import ConfigError
from oncelog.settings.fields import nearest
from oncelog.spark.options import CREATION, SinkOptions, TopicCreation
from oncelog.types import CONSUMER_OFFSETS_TOPIC


class SinkCluster(Protocol):
    """The operations of a cluster that a sink calls."""

    def partition_counts(self, topics: Sequence[str] | None, *, wait: bool = False) -> Mapping[str, int]:
        """The partition counts of topics, as a :class:`oncelog.spark.kafka.interface.KafkaAccess` returns them."""
        ...

    def create_topics(self, topics: Collection[str], creation: TopicCreation) -> None:
        """Create topics; an existing topic is left unchanged."""
        ...


def destinations(cluster: SinkCluster, options: SinkOptions) -> Mapping[str, int]:
    """The partition counts of the topics to which rows may go. Raises ConfigError for a named topic that does not
    exist, unless the options say how to create it, and for a missing ``markerTopic``."""
    named = options.named_topics
    marker = options.marker_partition.topic
    apart = [] if marker in (CONSUMER_OFFSETS_TOPIC, *named) else [marker]
    counts = dict(cluster.partition_counts([*named, *apart] if named else None))
    servers = options.bootstrap_servers
    for topic in apart:  # asked for by name, because a list of all topics omits topics that the user may not describe
        if topic not in counts and topic not in cluster.partition_counts([topic], wait=True):
            role = f"Topic {topic!r} of option markerTopic"
            raise ConfigError(missing(role, topic, cluster, servers, "or create it with one partition"))
    if absent := [topic for topic in named if topic not in counts]:
        counts |= existing(cluster, absent, options.create_topics)
    for topic in named:
        if topic not in counts:
            advice = f"or have it created with the option createTopics, as in {CREATION}"
            raise ConfigError(missing(f"Topic {topic!r}", topic, cluster, servers, advice))
    return {topic: count for topic, count in counts.items() if topic not in apart or not named}


def existing(cluster: SinkCluster, names: Sequence[str], creation: TopicCreation | None) -> Mapping[str, int]:
    """The partition counts of the existing topics among ``names``. If ``creation`` is given, missing topics are created
    first.
    """
    counts = cluster.partition_counts(names, wait=creation is None)
    absent = [name for name in names if name not in counts]
    if not absent or creation is None:
        return counts
    cluster.create_topics(absent, creation)
    return cluster.partition_counts(names, wait=True)


def missing(role: str, topic: str, cluster: SinkCluster, bootstrap_servers: str, advice: str) -> str:
    """An error message for a topic that does not exist, with the most similar name that does.

    :param advice: a remedy other than correcting the name.
    """
    near = nearest(topic, cluster.partition_counts(None))
    correct = f"{near} Correct" if near else ": correct"
    return f"{role} does not exist at {bootstrap_servers}{correct} the name, {advice}"
