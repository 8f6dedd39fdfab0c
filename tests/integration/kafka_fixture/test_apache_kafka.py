"""The fixture itself: a real node that starts, keeps its data through stop and kill, and runs Kafka's tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from oncelog.spark.maven import spark_connector_jars
from tests.support.apache_kafka import ApacheKafka, KafkaFailed

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


def test_properties_reach_the_node(apache_kafka: ApacheKafka, tmp_path: Path) -> None:
    with pytest.raises(KafkaFailed, match=r"num\.partitions"):
        ApacheKafka(tmp_path / "refused", {"num.partitions": "none"}).start()


def test_tool_that_fails_is_reported_with_its_output(apache_kafka: ApacheKafka) -> None:
    with pytest.raises(KafkaFailed, match="no-such-topic"):
        apache_kafka.run_tool(
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
