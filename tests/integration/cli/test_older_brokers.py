"""Commands on brokers that offer what Apache Kafka 2.8 does, and on older ones."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.cli.doctor import doctor_cluster
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.core.client_errors import UnsupportedVersionError
from oncelog.protocol.generated.metadata_request import MetadataRequest
from tests.integration.cli.conftest import call
from tests.support.apache_kafka import ApacheKafka
from tests.support.hanging import SETTINGS, leave_hanging
from tests.support.older_broker import KAFKA_2_3, KAFKA_2_4, older_broker


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    """With a topic ``orders`` in which a transaction of ``load-1`` is committed."""
    with older_broker(settings=SETTINGS) as broker:
        with oncelog.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("orders", num_partitions=2)])
        with (
            oncelog.Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id="load-1") as producer,
            producer.transaction(),
        ):
            producer.send("orders", b"one", partition=0)
        yield broker.bootstrap_servers


def findings(servers: str, check: str) -> list[dict[str, Any]]:
    found = call("doctor", "--json", "--bootstrap-server", servers).json
    return [finding for finding in found if finding["check"] == check]


@pytest.mark.parametrize(
    "command",
    [
        ("topics", "create", "t"),
        ("produce", "--topic", "t"),
        ("transactions", "list"),
        ("redrive", "t"),
        ("conformance",),
        ("lab", "acks-lost"),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("highest", [KAFKA_2_3, KAFKA_2_4], ids=["2.3", "2.4"])
def test_a_broker_older_than_kafka_2_5_is_refused_by_name_and_nothing_is_created(
    highest: Mapping[int, int], command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with older_broker(highest) as broker:
        servers = broker.bootstrap_servers
        refused = call(*command, "--bootstrap-server", servers).sentence()
        with RawConnection(servers) as connection:
            assert connection.ask(MetadataRequest(topics=None), 1).topics == []
    assert f"{servers} is older than Apache Kafka 2.5" in refused


def test_doctor_advises_to_upgrade_a_broker_older_than_kafka_2_5() -> None:
    with older_broker(KAFKA_2_3) as broker:
        (found,) = findings(broker.bootstrap_servers, "cluster")
    assert (found["status"], found["todo"]) == ("bad", "upgrade it")
    assert "is older than Apache Kafka 2.5" in found["found"]


@pytest.mark.kafka
@pytest.mark.soak
def test_a_broker_of_apache_kafka_2_4_is_refused_by_name() -> None:
    with ApacheKafka(version="2.4.1") as kafka:
        refused = call("topics", "list", "--bootstrap-server", kafka.bootstrap_servers).sentence()
    assert "is older than Apache Kafka 2.5" in refused


def test_a_missing_feature_is_reported_with_the_release_that_has_it(servers: str) -> None:
    reported = call("transactions", "list", "--bootstrap-server", servers).sentence()
    assert "does not offer ListTransactions; Apache Kafka supports it since 3.0" in reported
    reported = call("transactions", "list", "--longer-than", 60, "--bootstrap-server", servers).sentence()
    assert "since 3.8" in reported and "cannot be encoded" not in reported


def test_groups_of_kip_848_are_reported_with_the_release_that_they_need(servers: str) -> None:
    with (
        oncelog.Consumer("orders", bootstrap_servers=servers, group_id="g", group_protocol="consumer") as consumer,
        pytest.raises(
            UnsupportedVersionError, match=r"does not offer ConsumerGroupHeartbeat; .* since 4\.0\. "
        ) as reported,
    ):
        consumer.getmany(timeout_ms=60_000)
    assert "group.version 1" in str(reported.value)
    assert "group.protocol=classic" in str(reported.value)


def test_max_timestamp_is_not_requested_from_a_broker_that_does_not_support_it(servers: str) -> None:
    reported = call("get-offsets", "--topic", "orders", "--time", "max-timestamp", "--bootstrap-server", servers)
    assert "offers versions 1 to 6 of ListOffsets" in reported.sentence()
    with oncelog.Admin(bootstrap_servers=servers) as admin, pytest.raises(UnsupportedVersionError):
        admin.list_offsets({oncelog.TopicPartition("orders", 0): -3})


def test_records_are_shown_without_transactional_ids_on_older_brokers(servers: str) -> None:
    shown = call(
        *("consume", "--topic", "orders", "--from-beginning", "--max-messages", 1, "--show-transactions", "--json"),
        *("--bootstrap-server", servers),
    ).done()
    record = shown.json_lines[0]
    assert (record["value"], record["outcome"], record["transactional_id"]) == ("one", "committed", None)


def test_top_shows_what_an_older_broker_provides(servers: str) -> None:
    (screen,) = call("top", "--once", "--json", "--interval", 0.1, "--bootstrap-server", servers).done().json_lines
    assert [row["topic"] for row in screen["topics"]] == ["orders"]
    assert screen["transactions"] is None
    drawn = call("top", "--once", "--interval", 0.1, "--bootstrap-server", servers).done().out
    assert "transactions: not listed by this cluster" in drawn


def test_a_producer_is_fenced_where_its_transaction_cannot_be_described(servers: str) -> None:
    (row,) = call("transactions", "fence", "load-1", "--json", "--bootstrap-server", servers).done().json
    assert row["transactional_id"] == "load-1"


def test_a_record_with_a_future_timestamp_is_reported(servers: str) -> None:
    assert [finding["status"] for finding in findings(servers, "cluster's clock")] == ["ok"]
    with oncelog.Admin(bootstrap_servers=servers) as admin:
        allowed = {"message.timestamp.after.max.ms": str(2 * 86_400_000)}
        admin.create_topics([NewTopic("tomorrow", num_partitions=1, topic_configs=allowed)])
    with oncelog.Producer(bootstrap_servers=servers) as producer:
        producer.send("tomorrow", b"now")
        producer.send("tomorrow", b"then", timestamp_ms=int(time.time() * 1000) + 86_400_000)
    (finding,) = findings(servers, "cluster's clock")
    assert finding["status"] == "warn" and "tomorrow-0 has a record with a timestamp" in finding["found"]


def test_doctor_does_not_ask_an_older_broker_for_permissions(servers: str) -> None:
    (finding,) = findings(servers, "transactions")
    assert finding["status"] == "warn" and "does not offer ListTransactions" in finding["found"]
    assert finding["todo"] == "upgrade the brokers"


def test_doctor_finds_long_open_transactions_in_consumer_offsets_too(
    servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Coordinators cannot be asked whether they know it."""
    monkeypatch.setattr(doctor_cluster, "OLD_TRANSACTION_S", -1)
    with oncelog.Producer(bootstrap_servers=servers, transactional_id="waits") as producer:
        producer.begin_transaction()
        producer.send_offsets_to_transaction({oncelog.TopicPartition("orders", 0): 1}, "waits")
        _, finding = findings(servers, "transactions")
        producer.abort_transaction()
    assert finding["status"] == "warn"
    assert "__consumer_offsets-" in finding["found"]
    assert "--force --topic __consumer_offsets --partition " in finding["todo"]
    assert len(findings(servers, "transactions")) == 1


def test_a_possibly_hanging_transaction_is_aborted_only_with_force(servers: str) -> None:
    with oncelog.Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic("held", num_partitions=1)])
    leave_hanging(servers, "held", b"hangs")
    where = ("--topic", "held", "--partition", 0, "--start-offset", 0, "--bootstrap-server", servers)
    assert "give --force" in call("transactions", "abort", *where).sentence()
    call("transactions", "abort", "--force", *where).done()
    stable = call("get-offsets", "--topic", "held", "--read-committed", "--bootstrap-server", servers, "--json")
    assert [row["offset"] for row in stable.json] == [2]
