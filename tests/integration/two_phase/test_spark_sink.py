"""The sink's transaction without a timeout, on a broker that allows two-phase commit; driven without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog import Admin, Broker
from oncelog.errors import ConfigError, Error, KafkaError
from oncelog.records.batch import Record, encode_batch
from oncelog.spark.executors.carrier import timeouts_ms
from oncelog.spark.kafka.connections import cluster_for
from oncelog.spark.kafka.interface import PartitionBatch
from oncelog.spark.options import SinkOptions, TopicCreation, parse_sink_options
from oncelog.spark.sink.planning import now_ms
from tests.conftest import RunningBroker
from tests.integration.client.reading import read_back

SETTING = "kafka.transaction.two.phase.commit.enable"


@pytest.fixture(scope="module")
def enabled() -> Iterator[Broker]:
    with Broker(settings={"transaction.two.phase.commit.enable": True}) as broker:
        yield broker


def options(broker: RunningBroker, topic: str, folder: Path, **more: str) -> SinkOptions:
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": topic, "checkpointLocation": str(folder)}
    return parse_sink_options(given | {SETTING: "true"} | more, streaming=True)


def test_a_two_phase_batch_has_no_timeout_and_the_next_start_aborts_leftovers(
    enabled: Broker, unique_name: str, tmp_path: Path
) -> None:
    chosen = options(enabled, unique_name, tmp_path)
    cluster = cluster_for(chosen)
    cluster.create_topics([unique_name], TopicCreation(1))
    (timeout_ms,) = timeouts_ms(chosen)

    def batch(value: bytes) -> list[PartitionBatch]:
        return [PartitionBatch(unique_name, 0, 1, bytes(encode_batch([Record(0, now_ms(), None, value)])))]

    engine = cluster.transaction(unique_name, timeout_ms)
    engine.init_producer_id()
    engine.produce(batch(b"given up"))
    with Admin(bootstrap_servers=enabled.bootstrap_servers) as admin:
        (described,) = admin.describe_transactions([unique_name])
        assert (described.state, described.two_phase_commit) == ("Ongoing", True)
    engine = cluster.transaction(unique_name, timeout_ms)
    engine.init_producer_id()
    engine.produce(batch(b"again"))
    engine.end(commit=True)
    assert [seen.value for seen in read_back(enabled.bootstrap_servers, unique_name)] == [b"again"]


def test_a_cluster_without_two_phase_commit_is_reported(
    oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    engine = cluster_for(options(oncelog_broker, unique_name, tmp_path)).transaction(unique_name, 60_000)
    with pytest.raises(KafkaError, match=rf"{SETTING}=true was refused") as refused:
        engine.init_producer_id()
    assert refused.value.error is Error.UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({SETTING: "yes"}, "takes true or false, not 'yes'"),
        ({"kafka.transaction.timeout.ms": "1000"}, "contradicts"),
    ],
)
def test_contradicting_options_are_refused(
    oncelog_broker: RunningBroker, tmp_path: Path, more: dict[str, str], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        options(oncelog_broker, "t", tmp_path, **more)
