"""What the sink asks the cluster before a batch: its destinations, and the topic of its marker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from pyspark.sql.types import StringType, StructType

from oncelog.errors import ConfigError, Error, KafkaError
from oncelog.spark.options import parse_sink_options
from oncelog.spark.sink import planning as sink

BY_ROWS = StructType().add("topic", StringType()).add("value", StringType())


class Topics:
    """Answers a list of all topics, and a question for one by name."""

    def __init__(self, listed: dict[str, int], named: dict[str, int | Error]) -> None:
        self._listed, self._named = listed, named

    def partition_counts(self, topics: Sequence[str] | None, *, wait: bool = False) -> Mapping[str, int]:
        if topics is None:
            return self._listed
        found: dict[str, int] = {}
        for topic in topics:
            match self._named.get(topic):
                case Error() as error:
                    raise KafkaError(error, topic)
                case int(count):
                    found[topic] = count
        return found


def counts(monkeypatch: pytest.MonkeyPatch, cluster: Topics, **given: str) -> Mapping[str, int]:
    monkeypatch.setattr(sink, "cluster_for", lambda options: cluster)
    base = {"kafka.bootstrap.servers": "h:1", "checkpointLocation": "/ck", "markerTopic": "m"}
    return sink.encoding_for(BY_ROWS, parse_sink_options(base | given, streaming=True)).partition_counts


def test_a_marker_topic_missing_from_the_list_is_requested_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a missing right is reported as such; a list omits what may not be seen, and internal topics."""
    with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
        counts(monkeypatch, Topics({"out": 3}, {"m": Error.TOPIC_AUTHORIZATION_FAILED}))
    with pytest.raises(ConfigError, match="Topic 'm' of option markerTopic does not exist at h:1"):
        counts(monkeypatch, Topics({"out": 3}, {}))
    assert counts(monkeypatch, Topics({"out": 3}, {"m": 1})) == {"out": 3}
    assert counts(monkeypatch, Topics({"out": 3, "m": 1}, {})) == {"out": 3, "m": 1}


def test_rows_without_a_topic_never_go_to_the_marker_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    assert counts(monkeypatch, Topics({}, {"out": 3, "m": 1}), topic="out") == {"out": 3}
    with pytest.raises(ConfigError, match="Topic 'm' of option markerTopic does not exist"):
        counts(monkeypatch, Topics({}, {"out": 3}), topic="out")
