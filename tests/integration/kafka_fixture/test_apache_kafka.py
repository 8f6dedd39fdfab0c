"""The fixture itself: a real node that starts, keeps its data through stop and kill, runs Kafka's tools and is shared
by the workers of a run.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Producer

from oncelog import Admin
from oncelog.spark.maven import spark_connector_jars
from tests.support.apache_kafka import ApacheKafka, KafkaFailed, run_tool
from tests.support.shared_kafka import KafkaForWorkers, RunningKafka, ask

pytestmark = pytest.mark.kafka


def produce(bootstrap_servers: str, topic: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    producer.produce(topic, value)
    assert producer.flush(120) == 0


def end_offsets(kafka: ApacheKafka, topic: str) -> list[str]:
    tool = "org.apache.kafka.tools.GetOffsetShell"
    return kafka.run_tool(tool, "--bootstrap-server", kafka.bootstrap_servers, "--topic", topic).split()


def test_records_outlive_stop_and_kill_on_the_same_address(tmp_path: Path) -> None:
    with ApacheKafka(tmp_path / "node") as kafka:
        address = kafka.bootstrap_servers
        produce(address, "kept", b"one")
        kafka.restart()
        produce(address, "kept", b"two")
        kafka.kill()
        kafka.start()
        assert kafka.bootstrap_servers == address
        assert end_offsets(kafka, "kept") == ["kept:0:2"]


def test_workers_share_a_node_that_the_first_of_them_starts() -> None:
    owner = KafkaForWorkers({})
    try:
        with ThreadPoolExecutor(2) as workers:
            one, other = workers.map(ask, [owner.address] * 2)
        assert one == other
        with Admin(bootstrap_servers=one.bootstrap_servers) as admin:
            assert admin.list_topics() == []
    finally:
        owner.close()
    assert not one.data_folder.exists()


def test_properties_reach_the_node_and_a_node_that_does_not_start_is_reported_to_each_worker() -> None:
    owner = KafkaForWorkers({"num.partitions": "none"})
    try:
        for _ in range(2):
            with pytest.raises(KafkaFailed, match=r"num\.partitions"):
                ask(owner.address)
    finally:
        owner.close()


def test_tool_that_fails_is_reported_with_its_output(apache_kafka: RunningKafka) -> None:
    with pytest.raises(KafkaFailed, match="no-such-topic"):
        run_tool(
            "org.apache.kafka.tools.TopicCommand",
            *("--bootstrap-server", apache_kafka.bootstrap_servers, "--describe", "--topic", "no-such-topic"),
        )


def test_the_jars_of_sparks_kafka_connector_are_four() -> None:
    names = [path.name for path in spark_connector_jars()]
    assert [name.rsplit("-", 1)[0] for name in names] == [
        "commons-pool2",
        "kafka-clients",
        "spark-sql-kafka-0-10_2.13",
        "spark-token-provider-kafka-0-10_2.13",
    ]
