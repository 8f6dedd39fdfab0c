"""``oncelog conformance``: what it reports about correct and incorrect brokers, and that it cleans up."""

from __future__ import annotations

import ast
import dataclasses
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

import oncelog
from oncelog.apps.conformance.expect import CheckFailed, among, eventually, holds, same
from oncelog.apps.conformance.fixture import Fixture
from oncelog.apps.conformance.raw.group_members import Member
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.apps.conformance.registry import all_checks, cases_of
from oncelog.apps.conformance.runner import CheckOutcome, ConformanceReport, run
from oncelog.apps.proxy.proxy import FaultProxy
from oncelog.client.core.config import AdminConfig
from oncelog.errors import Error
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import call
from tests.support.apache_kafka import ApacheKafka
from tests.support.older_broker import older_broker

PACKAGE = Path(oncelog.__file__).parent / "apps" / "conformance"
SOME = (
    "resend_of_any_of_the_last_five_batches_is_acknowledged_with_its_offset",
    "the_end_is_seen_on_every_partition_soon_after_the_answer",
    "list_transactions_filters",
    "the_first_open_transaction_holds_back_what_others_committed",
    "a_follower_that_joins_again_unchanged_keeps_the_generation",
    "offset_commit_in_every_version",
    "a_static_member_keeps_its_partitions_over_a_leave",
    "find_coordinator_in_every_version",
    "groups_are_listed_described_and_deleted",
    "a_member_that_dies_in_the_middle_of_a_batch_releases_the_rest",
    "offsets_are_altered_once_the_group_is_empty",
)


def run_some(address: str, *names: str, **login: str) -> ConformanceReport:
    settings = {"bootstrap.servers": address, **{name.replace("_", "."): value for name, value in login.items()}}
    checks = [check for check in all_checks() if check.name in names]
    assert len(checks) == len(names)
    return run(AdminConfig.from_properties(settings), cases_of(checks))


def wrong(report: ConformanceReport) -> list[tuple[str, str]]:
    return [(result.name, result.text) for result in report.results if result.outcome is not CheckOutcome.PASSED]


def left_on(address: str) -> list[str]:
    with oncelog.Admin(bootstrap_servers=address) as admin:
        names = [*admin.list_topics(), *(group.group_id for group in admin.list_consumer_groups())]
    return [name for name in names if name.startswith("oncelog-conformance-")]


@pytest.fixture(scope="module")
def three() -> Iterator[str]:
    with oncelog.Broker(nodes=3, settings={"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker.bootstrap_servers


def test_conformance_asks_each_coordinator_of_several_nodes_and_leaves_nothing(three: str) -> None:
    report = run_some(three, *SOME)
    assert (wrong(report), report.nodes, report.left_behind) == ([], 3, [])
    assert left_on(three) == []


def test_conformance_leaves_nothing_on_a_single_broker(broker: RunningBroker) -> None:
    others = set(left_on(broker.bootstrap_servers))
    report = run_some(broker.bootstrap_servers, *SOME[:3], SOME[6])
    assert (wrong(report), report.left_behind) == ([], [])
    assert set(left_on(broker.bootstrap_servers)) <= others


def open_in_the_topic_of_offsets(address: str) -> set[int]:
    """Producer ids."""
    return {producer_id for _, producer_id in open_on(address, ["__consumer_offsets"])}


def open_on(address: str, topics: list[str] | None = None) -> set[tuple[TopicPartition, int]]:
    """Partitions of these topics, or of all, with an open transaction, and the producer ids."""
    with oncelog.Admin(bootstrap_servers=address) as admin:
        described = admin.describe_topics(admin.list_topics(internal=True) if topics is None else topics)
        names = [TopicPartition(one.name, part.partition) for one in described for part in one.partitions]
        found = admin.describe_producers(names)
    return {
        (name, one.producer_id) for name, each in found.items() for one in each if one.transaction_start_offset >= 0
    }


def test_offsets_in_a_transaction_that_a_failed_check_left_open_are_aborted(broker: RunningBroker) -> None:
    """Another's open transaction stays as it is."""
    mine: list[int] = []

    def fail(fixture: Fixture) -> None:
        producer = RawTransactionalProducer(fixture.connection, fixture.name + "-id").init()
        producer.send_offsets(fixture.group(), {(fixture.topic(), 0): 3})
        mine.append(producer.pid)
        raise CheckFailed("left open")

    (check,) = [item for item in all_checks() if item.name == "producers_are_counted_apart"]
    broken = dataclasses.replace(check, function=fail)
    with RawConnection(broker.bootstrap_servers) as connection:
        fixture = Fixture(connection, uuid.uuid4().hex)
        other = RawTransactionalProducer(connection, fixture.name).init()
        other.send_offsets(fixture.group(), {(fixture.topic(), 0): 1})
        report = run(AdminConfig.from_properties({"bootstrap.servers": broker.bootstrap_servers}), cases_of([broken]))
        found = open_in_the_topic_of_offsets(broker.bootstrap_servers)
        other.abort()
    assert [result.outcome for result in report.results] == [CheckOutcome.FAILED]
    assert report.left_behind == []
    assert mine and found.isdisjoint(mine)
    assert other.pid in found


@pytest.mark.kafka
@pytest.mark.soak
@pytest.mark.parametrize("version", ["2.8.2", "3.6.2"])
def test_offsets_that_an_older_kafka_accepts_outside_a_transaction_are_removed(version: str) -> None:
    """As if every release promised to refuse them."""
    name = "offsets_without_the_group_in_the_transaction_are_refused"
    (check,) = [dataclasses.replace(check, since="") for check in all_checks() if check.name == name]
    with ApacheKafka(version=version) as kafka:
        report = run(AdminConfig.from_properties({"bootstrap.servers": kafka.bootstrap_servers}), cases_of([check]))
        assert [result.outcome for result in report.results].count(CheckOutcome.FAILED) == 4
        assert report.left_behind == []
        assert open_on(kafka.bootstrap_servers) == set()


NOT_VERIFIED = (
    "a_partition_that_was_not_added_is_refused",
    "a_transactional_batch_of_someone_else_is_refused",
    "a_batch_in_an_open_transaction_is_not_verified_again",
    "offsets_without_the_group_in_the_transaction_are_refused",
)
"""Checks of what brokers do since they verify transactions."""


def test_a_broker_without_transaction_verification_fails_only_if_its_api_versions_promise_it() -> None:
    settings = {"transaction.partition.verification.enable": "false"}
    with oncelog.Broker(settings=settings) as broker:
        found = run_some(broker.bootstrap_servers, *NOT_VERIFIED)
    assert {result.check.name for result in found.results if result.outcome is CheckOutcome.FAILED} == {*NOT_VERIFIED}
    with older_broker(settings=settings) as broker:
        older = run_some(broker.bootstrap_servers, *NOT_VERIFIED)
    assert {result.outcome for result in older.results} == {CheckOutcome.NOT_OFFERED}
    assert older.results[0].text == "Apache Kafka promises this since 3.6, which has AddPartitionsToTxn 4"


def test_a_postponed_end_txn_is_retried_but_not_forever(three: str) -> None:
    (check,) = [item for item in all_checks() if item.name == "there_is_nothing_to_end_in_an_empty_transaction"]
    for times, outcome in ((2, CheckOutcome.PASSED), (None, CheckOutcome.FAILED)):
        with FaultProxy(three) as proxy, proxy.faults.answer_error("EndTxn", "CONCURRENT_TRANSACTIONS", times=times):
            config = AdminConfig.from_properties({"bootstrap.servers": proxy.bootstrap_servers})
            report = run(config, cases_of([check])[:1], timeout_s=5)
        assert [result.outcome for result in report.results] == [outcome]


def test_transaction_version_2_is_checked_only_where_the_cluster_has_finalized_it() -> None:
    name = "produce_12_adds_the_partition_itself"
    with older_broker() as broker:
        (result,) = run_some(broker.bootstrap_servers, name).results
    assert (result.outcome, result.text) == (CheckOutcome.NOT_OFFERED, "transaction.version is 0, and this needs 2")


def test_an_interrupted_conformance_run_leaves_nothing(three: str) -> None:
    def break_off(result: object) -> None:
        raise KeyboardInterrupt

    (check,) = [item for item in all_checks() if item.name == "producers_are_counted_apart"]
    with pytest.raises(KeyboardInterrupt):
        run(AdminConfig.from_properties({"bootstrap.servers": three}), cases_of([check]), on_result=break_off)
    assert left_on(three) == []


def test_a_run_that_is_interrupted_while_a_member_joins_leaves_no_group() -> None:
    """The group waits for more members, and is empty only after the member that joined has been admitted and
    removed.
    """

    def break_off(fixture: Fixture) -> None:
        Member(fixture.connection, fixture.group(), instance="one").send_join()
        raise KeyboardInterrupt

    (check,) = [item for item in all_checks() if item.name == "producers_are_counted_apart"]
    broken = dataclasses.replace(check, function=break_off)
    with oncelog.Broker(settings={"group.initial.rebalance.delay.ms": 300}) as waiting:
        servers = waiting.bootstrap_servers
        with pytest.raises(KeyboardInterrupt):
            run(AdminConfig.from_properties({"bootstrap.servers": servers}), cases_of([broken]))
        assert left_on(servers) == []


@pytest.mark.parametrize(
    "command", [["conformance"], ["lab", "all", "--html", "page.html"]], ids=["conformance", "lab"]
)
def test_a_terminated_command_removes_what_it_created(command: list[str], three: str, tmp_path: Path) -> None:
    """SIGTERM, which is what a cancelled job receives."""
    with oncelog.Admin(bootstrap_servers=three) as admin:
        before = set(admin.list_topics())
        process = subprocess.Popen(
            [sys.executable, "-m", "oncelog", *command, "--bootstrap-server", three],
            cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            eventually(lambda: set(admin.list_topics()) > before, 120)
            process.terminate()
            assert process.wait(120) == 143
        finally:
            process.kill()
        assert set(admin.list_topics()) == before
    assert left_on(three) == []


def test_conformance_runs_with_a_login() -> None:
    settings = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "group.initial.rebalance.delay.ms": 0,
    }
    user = "SCRAM-SHA-256=[name=anna,password=secret]"
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    with oncelog.Broker(settings=settings, first_users=[user]) as secured:
        report = run_some(
            secured.bootstrap_servers,
            *SOME[:2],
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-256",
            sasl_jaas_config=f'{module} required username="anna" password="secret";',
        )
    assert wrong(report) == []


def test_a_failed_check_reports_what_the_broker_did_and_the_kip(three: str) -> None:
    with FaultProxy(three) as proxy, proxy.faults.answer_error("EndTxn", "UNKNOWN_SERVER_ERROR", times=None):
        name = "the_end_is_seen_on_every_partition_soon_after_the_answer"
        arguments = ("conformance", "--bootstrap-server", proxy.bootstrap_servers, "--check", name)
        reported = call(*arguments)
        answer = json.loads(call(*arguments, "--json").out)
    assert reported.code == 1
    assert "2 of 2 cases failed" in reported.err
    assert f"KIP-98  transactions: {name}[commit=True]" in reported.out
    assert {result["outcome"] for result in answer["results"]} == {"failed"}
    assert left_on(three) == []


def test_a_feature_that_a_broker_does_not_offer_is_not_a_failure() -> None:
    from oncelog.apps.conformance.expect import NotOffered
    from oncelog.apps.conformance.fixture import Fixture
    from oncelog.apps.conformance.raw.wire import RawConnection, TestedCluster

    with oncelog.Broker() as broker:
        world = TestedCluster(1, 1, {0: (3, 7), 1: (4, 11), 2: (1, 5), 3: (0, 8), 19: (2, 4), 22: (0, 1)})
        with RawConnection(broker.bootstrap_servers, world=world) as connection:
            fixture = Fixture(connection, "older")
            (check,) = [
                item for item in all_checks() if item.name == "a_gap_is_out_of_order_and_the_right_batch_is_taken_later"
            ]
            check.function(fixture)
            with pytest.raises(NotOffered, match="DescribeProducers 0 is not offered"):
                connection.send(61, 0, b"")


def test_an_expected_error_is_reported_by_its_name() -> None:
    with pytest.raises(CheckFailed, match=r"expected \(OUT_OF_ORDER_SEQUENCE_NUMBER, -1\), found \(NONE, 7\)"):
        same((0, 7), (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, -1))
    with pytest.raises(CheckFailed, match="found UNKNOWN_SERVER_ERROR"):
        among(-1, (Error.NONE, Error.INVALID_TXN_STATE))
    with pytest.raises(CheckFailed, match="not so: water is dry"):
        holds(0, "water is dry")
    with pytest.raises(CheckFailed, match="did not hold within 0 s"):
        eventually(lambda: None, 0)


def test_unknown_areas_and_checks_are_refused_and_the_nearest_name_suggested() -> None:
    assert "did you mean isolation?" in call("conformance", "--area", "isolations").sentence()
    assert "did you mean producers_are_counted_apart?" in call("conformance", "--check", "producers_counted").sentence()


def test_every_check_is_listed_with_its_kip() -> None:
    listed = json.loads(call("conformance", "--list", "--json").done().out)
    assert len(listed) == len(all_checks())
    assert all(entry["kip"].startswith("KIP-") or entry["kip"] == "protocol" for entry in listed)
    assert len({entry["check"] for entry in listed}) == len(listed)


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.stem)
def test_the_kit_needs_no_pytest_and_has_no_assert_statement(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    names = {
        name.name if isinstance(node, ast.Import) else node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert not {name for name in names if name.split(".")[0] in ("pytest", "tests")}
