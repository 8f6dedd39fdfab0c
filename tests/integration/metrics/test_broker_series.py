"""What a running broker says about itself."""

from __future__ import annotations

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.broker.metrics.catalog import FAMILIES
from oncelog.broker.metrics.exposition import MetricKind
from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from tests.integration.metrics.conftest import Busy
from tests.integration.metrics.dashboards import CONFLUENT, ELSEWHERE, STRIMZI
from tests.integration.metrics.pages import Page, scrape

COUNTED_FROM_FIRST = {
    f"kafka_{meter}{end}"
    for meter in (
        "network_requestmetrics_requests",
        "network_requestmetrics_errors",
        "server_sharegroupmetrics_deadletterqueuetotalproducerequests",
        "server_sharegroupmetrics_deadletterqueuefailedproducerequests",
    )
    for end in ("_total", "persec")
}
"""Clients, errors and groups make these counts' labels: a series begins with its first event, as in Kafka."""


@pytest.fixture(scope="module")
def page(busy: Busy) -> Page:
    return scrape(busy.metrics)


@pytest.mark.parametrize("name", sorted({*STRIMZI, *CONFLUENT}))
def test_every_series_of_a_published_dashboard_exists(page: Page, name: str) -> None:
    here = [reason for begin, reason in ELSEWHERE.items() if name.startswith(begin)]
    assert (name in page.names) != bool(here), here


def test_every_series_of_the_catalogue_exists_and_no_other(page: Page) -> None:
    ends = {MetricKind.COUNTER: "", MetricKind.SUMMARY: "_count"}
    there = {name for name, family in FAMILIES.items() if f"{name}{ends.get(family.kind, '')}" in page.names}
    assert set(FAMILIES) == there
    reported = {name.removesuffix("_total") for name in FAMILIES}
    assert {family.removesuffix("_total") for family in page.families} <= reported


def test_counters_exist_before_their_first_event(page: Page) -> None:
    """``increase`` over a series that begins with its first event sees nothing of it."""

    def counters(page: Page, topic: str) -> set[tuple[str, tuple[tuple[str, str], ...]]]:
        return {
            (sample.name, tuple(sorted(sample.labels.items())))
            for sample in page.samples
            if sample.name in FAMILIES
            and FAMILIES[sample.name].kind in (MetricKind.COUNTER, MetricKind.UNKNOWN)
            and sample.name not in COUNTED_FROM_FIRST
            and sample.labels.get("topic", topic) == topic
        }

    with oncelog.Broker(metrics="127.0.0.1:0") as broker:
        untouched = {name for name, _ in counters(scrape(broker.metrics_address), "orders")}
        of_topics = {name for name, family in FAMILIES.items() if "topic" in family.labels}
        kinds = (MetricKind.COUNTER, MetricKind.UNKNOWN)
        every = {name for name, family in FAMILIES.items() if family.kind in kinds}
        assert every - untouched - of_topics == COUNTED_FROM_FIRST
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("orders", num_partitions=1)])
        fresh = counters(scrape(broker.metrics_address), "orders")
    assert counters(page, "orders") == fresh
    assert ("oncelog_defects_total", (("request", "Produce"),)) in fresh
    assert ("oncelog_refused_batches_total", (("error", "CORRUPT_MESSAGE"), ("topic", "orders"))) in fresh


def test_labels_are_those_of_the_catalogue(page: Page) -> None:
    for sample in page.samples:
        base = sample.name.removesuffix("_count").removesuffix("_sum")
        family = FAMILIES[sample.name if sample.name in FAMILIES else base]
        implied = {"quantile"} if family.kind is MetricKind.SUMMARY else set()
        assert set(sample.labels) <= set(family.labels) | implied, sample


def test_openmetrics_output_has_the_same_values(busy: Busy) -> None:
    strict = scrape(busy.metrics, as_open_metrics=True)
    assert strict.value("kafka_server_brokertopicmetrics_messagesin_total", topic="orders") == 12
    assert strict.families["kafka_server_brokertopicmetrics_messagesin"].type == "counter"
    assert strict.families["kafka_server_brokertopicmetrics_messagesinpersec"].type == "unknown"


def test_topics_count_records_bytes_and_batches(page: Page) -> None:
    prefix = "kafka_server_brokertopicmetrics_"
    # 3 plain, 3 in transactions that ended, their 2 markers, 4 that are open
    assert page.value(f"{prefix}messagesin_total", topic="orders") == 12
    assert page.value("kafka_log_log_logendoffset", topic="orders") == 12
    assert page.value(f"{prefix}bytesin_total", topic="orders") == page.value("kafka_log_log_size", topic="orders")
    assert page.value(f"{prefix}failedproducerequests_total", topic="orders") == 1  # corrupt ones do not count
    assert page.value(f"{prefix}bytesout_total", topic="gone") > 0
    assert page.value(f"{prefix}totalfetchrequests_total", topic="gone") == 1
    for meter in ("messagesin", "bytesin", "totalproducerequests"):
        assert page.values(f"{prefix}{meter}_total") == page.values(f"{prefix}{meter}persec")


def test_partition_metrics_show_records_held_back_by_transactions(page: Page) -> None:
    assert page.value("kafka_cluster_partition_laststableoffsetlag", topic="orders") == 4
    assert page.value("oncelog_partitions_held_back") == 1
    assert page.value("oncelog_transactions_open", state="Ongoing") == 1
    assert page.value("oncelog_transactions_oldest_seconds") > 0


def test_transactions_duplicates_and_fencing_are_counted(page: Page) -> None:
    assert page.value("oncelog_transactions_ended_total", outcome="committed") == 1
    assert page.value("oncelog_transactions_ended_total", outcome="aborted") == 1
    assert page.value("oncelog_markers_total", topic="orders", outcome="aborted") == 1
    assert page.value("oncelog_duplicate_batches_total", topic="orders") == 1
    assert page.value("oncelog_fenced_total", where="partition") == 1
    assert page.value("oncelog_refused_batches_total", topic="orders", error="CORRUPT_MESSAGE") == 1
    assert page.value("oncelog_transaction_verifications_total", result="verified") >= 3
    assert page.value("kafka_server_transaction_coordinator_metrics_transactional_id_count") == 2
    assert page.value("oncelog_transaction_completion_seconds_count") == 2


def test_group_lag_is_reported_to_the_log_end_and_to_the_last_stable_offset(page: Page) -> None:
    labels = {"consumergroup": "readers", "topic": "orders"}
    assert page.value("kafka_consumergroup_current_offset", **labels) == 2
    assert page.value("kafka_consumergroup_lag", **labels) == 10
    assert page.value("oncelog_consumergroup_stable_lag", **labels) == 6


def test_share_group_metrics_show_records_in_flight_and_no_consumer_lag(page: Page) -> None:
    at = {"group": "sharers", "topic": "jobs", "partition": "0"}
    assert page.value("oncelog_sharegroup_start_offset", **at) == 0
    assert page.value("oncelog_sharegroup_lag", **at) == 4
    assert page.value("oncelog_sharegroup_acquired", **at) == 4
    assert page.value("kafka_server_sharepartitionmetrics_inflightmessagecount", **at) == 5
    assert page.value("kafka_server_sharepartitionmetrics_acquisitionlocktimeout_total", **at) == 1
    assert page.value("oncelog_sharegroup_members", group="sharers") == 1
    assert page.value("kafka_server_group_coordinator_metrics_share_group_count", state="Stable") == 2
    assert page.value("kafka_server_group_coordinator_metrics_group_count", protocol="share") == 2
    assert page.value("kafka_server_sharesessioncache_sharepartitionscount") == 2
    kinds = {
        kind: page.value("kafka_server_sharegroupmetrics_recordacknowledgements_total", ackType=kind)
        for kind in ("Accept", "Release", "Reject", "Renew")
    }
    assert kinds == {"Accept": 1, "Release": 1, "Reject": 1, "Renew": 0}
    assert page.value("kafka_server_brokertopicmetrics_totalshareacknowledgementrequests_total") == 3
    assert page.value("kafka_server_brokertopicmetrics_failedshareacknowledgementrequests_total") == 1
    assert page.value("kafka_server_brokertopicmetrics_failedsharefetchrequests_total") == 0
    assert page.value("kafka_server_sharesessioncache_sharesessionevictions_total") == 0
    assert "sharers" not in {sample.labels.get("consumergroup") for sample in page.samples}


def test_dead_letters_of_share_groups_are_counted(page: Page) -> None:
    prefix = "kafka_server_sharegroupmetrics_deadletterqueue"
    assert page.value(f"{prefix}recordcount", group="buriers") == 1
    assert page.value(f"{prefix}totalproducerequests_total", group="buriers") == 1
    assert page.value(f"{prefix}failedproducerequests_total", group="buriers") == 0


def test_requests_are_counted_by_api_and_error(page: Page) -> None:
    prefix = "kafka_network_requestmetrics_"
    assert page.value(f"{prefix}errors_total", request="Produce", error="CORRUPT_MESSAGE") == 1
    produced = sum(page.values(f"{prefix}requests_total", request="Produce"))
    assert produced == page.value(f"{prefix}totaltimems_count", request="Produce") >= 12
    assert page.value(f"{prefix}totaltimems", request="Produce", quantile="0.50") > 0
    assert page.value(f"{prefix}totaltimems_count", request="FetchFollower") == 0


def test_connections_are_reported_by_listener_and_software(page: Page) -> None:
    count = page.value("kafka_server_socket_server_metrics_connection_count", listener="PLAINTEXT")
    opened = page.value("oncelog_connections_opened_total", listener="PLAINTEXT")
    assert opened - page.value("oncelog_connections_closed_total", listener="PLAINTEXT") == count >= 2
    assert sum(page.values("kafka_server_socketservermetrics_connections")) == count


def test_counts_of_all_topics_never_fall_when_one_is_deleted(busy: Busy) -> None:
    name = "kafka_server_brokertopicmetrics_messagesin_total"

    def of_all(page: Page) -> float:
        return next(sample.value for sample in page.samples if sample.name == name and not sample.labels)

    before = of_all(scrape(busy.metrics))
    with Admin(bootstrap_servers=busy.broker.bootstrap_servers) as admin:
        admin.delete_topics(["gone"])
    after = eventually(lambda: seen if not (seen := scrape(busy.metrics)).values(name, topic="gone") else None)
    assert of_all(after) == before


def test_metrics_of_several_nodes_show_missing_replicas() -> None:
    with oncelog.Broker(nodes=3, metrics="127.0.0.1:0") as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("t", num_partitions=1, replication_factor=3)])
        whole = scrape(broker.metrics_address)
        assert whole.value("kafka_cluster_partition_insyncreplicascount", topic="t") == 3
        assert whole.value("kafka_brokers") == 3
        broker.node(broker.leader("t", 0)).stop()
        short = scrape(broker.metrics_address)
        assert short.value("kafka_cluster_partition_replicascount", topic="t") == 3
        assert short.value("kafka_topic_partition_in_sync_replica", topic="t") == 2
        assert short.value("kafka_cluster_partition_underreplicated", topic="t") == 1
        assert short.value("kafka_topic_partition_leader", topic="t") == broker.leader("t", 0)
        assert short.value("kafka_topic_partition_leader_is_preferred", topic="t") == 0
        assert (short.value("kafka_brokers"), short.value("kafka_controller_kafkacontroller_fencedbrokercount")) == (
            2,
            1,
        )
        assert len(short.values("kafka_broker_info")) == 2


def test_changes_of_in_sync_replicas_and_unclean_elections_are_counted() -> None:
    with oncelog.Broker(nodes=3, metrics="127.0.0.1:0") as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            unclean = {"unclean.leader.election.enable": "true"}
            admin.create_topics([NewTopic("t", 1, 2, topic_configs=unclean)])
        leader = broker.leader("t", 0)
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            (described,) = admin.describe_topics(["t"])
        (follower,) = set(described.partitions[0].replicas) - {leader}

        def counted(name: str) -> float:
            return scrape(broker.metrics_address).value(name)

        def under_replicated() -> float:
            return counted("kafka_server_replicamanager_underreplicatedpartitions")

        broker.shrink_isr("t", 0, follower)
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            producer.send_and_wait("t", b"not copied")
        assert counted("kafka_server_replicamanager_isrshrinks_total") == under_replicated() == 1
        assert counted("kafka_server_replicafetchermanager_maxlag") == 1
        broker.node(leader).stop()
        assert counted("kafka_controller_controllerstats_uncleanleaderelections_total") == 1
        broker.node(leader).start()
        assert counted("kafka_server_replicamanager_isrexpands_total") == 1
        assert under_replicated() == counted("kafka_server_replicafetchermanager_maxlag") == 0
