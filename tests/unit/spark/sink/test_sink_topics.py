"""A sink writes to topics that exist, and creates others only if it is told how."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest

from oncelog.errors import ConfigError
from oncelog.spark.options import TopicCreation, parse_sink_options
from oncelog.spark.sink.sink_topics import destinations

BASE = {"kafka.bootstrap.servers": "h:1"}


class Topics:
    def __init__(self, **counts: int) -> None:
        self.counts = counts
        self.created: list[tuple[list[str], TopicCreation]] = []

    def partition_counts(self, topics: Sequence[str] | None, *, wait: bool = False) -> Mapping[str, int]:
        return {name: count for name, count in self.counts.items() if topics is None or name in topics}

    def create_topics(self, topics: Collection[str], creation: TopicCreation) -> None:
        self.created.append((list(topics), creation))
        self.counts |= dict.fromkeys(topics, creation.partitions)


def found(cluster: Topics, **options: str) -> Mapping[str, int]:
    return destinations(cluster, parse_sink_options(BASE | options, streaming=False))


def test_misspelt_topic_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError) as reported:
        found(Topics(late_flights=3, orders=1), topic="lat_flights")
    assert str(reported.value) == (
        "Topic 'lat_flights' does not exist at h:1; did you mean late_flights? Correct the name, or have it created "
        'with the option createTopics, as in {"partitions": 3, "replication": 1}'
    )


def test_a_topic_without_a_similar_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="Topic 'x' does not exist at h:1: correct the name, or have it created"):
        found(Topics(late_flights=3), topics="late_flights,x")


def test_missing_topics_are_created_once_as_the_option_says() -> None:
    cluster = Topics(a=1)
    creation = '{"partitions": 3, "replication": 2, "retention.ms": 3600000, "cleanup.policy": "compact,delete"}'
    for _ in range(2):
        assert found(cluster, topics="a,b,c", createTopics=creation) == {"a": 1, "b": 3, "c": 3}
    settings = {"retention.ms": "3600000", "cleanup.policy": "compact,delete"}
    assert cluster.created == [(["b", "c"], TopicCreation(3, 2, settings))]


def test_the_marker_topic_is_not_created_by_the_option_create_topics() -> None:
    cluster = Topics()
    with pytest.raises(ConfigError, match=r"'m' of option markerTopic .* or create it with one partition"):
        found(cluster, topic="a", createTopics='{"partitions": 1}', markerTopic="m")
    assert cluster.created == [], "nothing is created for a sink that is refused"


WRONG = (
    "3",
    "[]",
    "{}",
    "partitions=3",
    '{"partitions": 0}',
    '{"partitions": "3"}',
    '{"partitions": true}',
    '{"partitions": 1, "replication": 0}',
    '{"partitions": 1, "a": [1]}',
)


@pytest.mark.parametrize("text", WRONG)
def test_option_create_topics_lists_its_valid_entries(text: str) -> None:
    with pytest.raises(ConfigError, match="for option createTopics: it takes partitions, replication"):
        found(Topics(), topic="a", createTopics=text)


def test_option_create_topics_needs_named_topics() -> None:
    with pytest.raises(ConfigError, match="createTopics creates the topics that the option topic or topics names"):
        found(Topics(), createTopics='{"partitions": 3}')
