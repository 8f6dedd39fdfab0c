"""A7: contradictory and unknown settings are refused by name, with what is allowed."""

from __future__ import annotations

import pytest

from oncelog.client.aio.aiokafka_keywords import split_settings
from oncelog.client.core.config import AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig
from oncelog.errors import ConfigError


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"enable.idempotence": "true", "acks": "1"}, r"acks=1 contradicts enable\.idempotence=true.*allowed is all"),
        ({"enable.idempotence": "true", "acks": "0"}, r"acks=0 contradicts"),
        ({"enable.idempotence": "true", "retries": "0"}, r"retries=0 contradicts.*at least 1"),
        ({"max.in.flight.requests.per.connection": "6"}, r"max\.in\.flight\.requests\.per\.connection=6.*1 to 5"),
        ({"transactional.id": "x", "enable.idempotence": "false"}, r"transactional\.id='x' needs enable\.idempotence"),
        ({"transactional.id": "x", "acks": "1"}, r"acks=1 contradicts transactional\.id"),
        ({"transactional.id": "x", "retries": "0"}, r"retries=0 contradicts transactional\.id"),
        ({"transactional.id": ""}, r"transactional\.id: it must not be empty"),
        ({"delivery.timeout.ms": "1000"}, r"delivery\.timeout\.ms=1000 must be at least linger\.ms"),
        ({"ack": "1"}, r"Unknown configuration 'ack'; did you mean acks\?"),
        ({"acks": "2"}, r"acks: .*all, -1, 0, 1"),
        ({"linger.ms": "-1"}, r"linger\.ms"),
        ({"compression.type": "rar"}, r"compression.*none, gzip, snappy, lz4, zstd"),
        ({"bootstrap.servers": "nowhere"}, r"bootstrap\.servers: it takes host:port"),
        ({"security.protocol": "SASL_PLAINTEXT"}, r"sasl\.username"),
    ],
)
def test_a_producer_refuses_invalid_settings(properties: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        ProducerConfig.from_properties(properties)


def test_a_bootstrap_address_may_name_its_protocol_as_in_javas_clients() -> None:
    """Kafka's ``Utils.HOST_PORT_PATTERN``: host:port and protocol://host:port."""
    config = ProducerConfig.from_properties({"bootstrap.servers": "PLAINTEXT://kafka:9092,[::1]:9093"})
    assert config.bootstrap_servers == ("kafka:9092", "[::1]:9093")
    keywords = split_settings({"bootstrap_servers": "SASL_SSL://kafka, PLAINTEXT://other:9"})
    assert ProducerConfig.from_keywords(**keywords).bootstrap_servers == ("kafka:9092", "other:9")
    with pytest.raises(ConfigError, match=r"bootstrap\.servers: it takes host:port"):
        ProducerConfig.from_properties({"bootstrap.servers": "PLAINTEXT://kafka"})


def test_conflicting_settings_disable_idempotence_unless_it_was_requested() -> None:
    assert not ProducerConfig.from_properties({"acks": "1"}).enable_idempotence
    assert not ProducerConfig.from_properties({"retries": "0"}).enable_idempotence
    assert ProducerConfig.from_properties({}).enable_idempotence


def test_a_delivery_timeout_that_was_not_set_is_raised_if_other_settings_need_it() -> None:
    assert ProducerConfig.from_properties({"request.timeout.ms": "150000"}).delivery_timeout_ms == 150_000


def test_settings_are_accepted_under_aiokafkas_names_with_aiokafkas_types() -> None:
    config = ProducerConfig.from_keywords(
        bootstrap_servers=["a:1", "b:2"], acks=-1, linger_ms=5, max_batch_size=100, transactional_id=None
    )
    assert (config.bootstrap_servers, config.acks_number, config.linger_ms) == (("a:1", "b:2"), -1, 5.0)
    with pytest.raises(ConfigError, match=r"Unknown setting 'linger'; did you mean linger_ms\?"):
        ProducerConfig.from_keywords(linger=5)


def test_javas_class_names_are_understood() -> None:
    producer = ProducerConfig.from_properties(
        {"partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner", "key.serializer": "x.Y"}
    )
    assert producer.partitioner_class == "roundrobin"
    consumer = ConsumerConfig.from_properties(
        {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"}
    )
    assert consumer.partition_assignment_strategy == ("cooperative-sticky",)


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"heartbeat.interval.ms": "60000"}, r"heartbeat\.interval\.ms=60000 must be less than"),
        ({"group.id": ""}, r"group\.id"),
        ({"isolation.level": "committed"}, r"isolation\.level: .*read_uncommitted, read_committed"),
        ({"auto.offset.reset": "first"}, r"auto\.offset\.reset: .*earliest, latest, none"),
    ],
)
def test_a_consumer_refuses_invalid_settings(properties: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        ConsumerConfig.from_properties(properties)


JAVAS_FILE = {
    "bootstrap.servers": "kafka:9092",
    "client.dns.lookup": "use_all_dns_ips",
    "key.serializer": "org.apache.kafka.common.serialization.StringSerializer",
    "group.id": "billing",
    "acks": "all",
    "enable.metrics.push": "false",
    "ssl.cipher.suites": "TLS_AES_256_GCM_SHA384",
    "sasl.oauthbearer.assertion.private.key.passphrase": "hunter2",
}


@pytest.mark.parametrize("kind", [AdminConfig, ConsumerConfig, ProducerConfig])
def test_a_properties_file_of_javas_clients_is_accepted(
    kind: type[ClientConfig], caplog: pytest.LogCaptureFixture
) -> None:
    config = kind.from_properties(JAVAS_FILE)
    assert config.bootstrap_servers == ("kafka:9092",)
    assert [record.getMessage().partition("=")[0] for record in caplog.records] == [
        "ssl.cipher.suites",
        "sasl.oauthbearer.assertion.private.key.passphrase",
    ]
    assert "TLS_AES_256_GCM_SHA384 has no effect" in caplog.text
    assert "hunter2" not in caplog.text


def test_settings_of_other_clients_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    assert ConsumerConfig.from_properties(JAVAS_FILE).group_id == "billing"
    assert not hasattr(AdminConfig.from_properties(JAVAS_FILE), "group_id")


@pytest.mark.parametrize("kind", [AdminConfig, ConsumerConfig, ProducerConfig])
def test_a_misspelt_setting_is_refused_and_the_nearest_name_suggested(kind: type[ClientConfig]) -> None:
    with pytest.raises(ConfigError, match=r"client\.idd.*client\.id"):
        kind.from_properties({"client.idd": "x"})
