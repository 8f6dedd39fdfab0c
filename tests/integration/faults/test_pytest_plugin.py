"""The pytest plugin as its users meet it: their test file, run by pytest in a separate process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import oncelog
from oncelog.apps.conformance.raw.group_members import stable_alone
from oncelog.apps.conformance.raw.transactional_producer import find_coordinator
from oncelog.apps.conformance.raw.wire import GROUP, TRANSACTION, RawConnection
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.testing.brokers import Embedded, ExistingCluster

TESTS = """
import pytest
from confluent_kafka import Consumer, Producer

def produce(servers, topic, value, **settings):
    producer = Producer({"bootstrap.servers": servers, "retry.backoff.ms": 10, **settings})
    producer.produce(topic, value)
    assert producer.flush(120) == 0

def consume(servers, topic):
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest",
                         "enable.partition.eof": True})
    consumer.subscribe([topic])
    values = []
    while not (message := consumer.poll(120)).error():
        values.append(message.value())
    consumer.close()
    return values

def test_round_trip(oncelog_broker, oncelog_topic):
    produce(oncelog_broker.bootstrap_servers, oncelog_topic, b"x")
    assert consume(oncelog_broker.bootstrap_servers, oncelog_topic) == [b"x"]

def test_left_over(oncelog_broker):
    oncelog_broker.create_topic("left-over")
    left = Producer({"bootstrap.servers": oncelog_broker.bootstrap_servers, "transactional.id": "open"})
    left.init_transactions(120)
    left.begin_transaction()
    left.produce("left-over", b"x")
    left.flush(120)

def test_what_the_last_one_left_is_gone(oncelog_broker, pytestconfig):
    if pytestconfig.getoption("--kafka-bootstrap-server") is None:
        assert oncelog_broker.admin.list_topics() == []
        assert oncelog_broker.admin.list_transactions(states=["Ongoing"]) == []

def test_a_lost_acknowledgement(oncelog_broker, oncelog_topic, oncelog_faults):
    with oncelog_faults.lose_answer("Produce", topic=oncelog_topic) as fault:
        produce(oncelog_broker.bootstrap_servers, oncelog_topic, b"x", **{"enable.idempotence": True})
    assert fault.hits == 1
    assert consume(oncelog_broker.bootstrap_servers, oncelog_topic) == [b"x"]

@pytest.mark.oncelog(nodes=3)
def test_three_nodes_and_a_coordinator_that_crashes(oncelog_broker, oncelog_topic, oncelog_faults):
    producer = Producer({"bootstrap.servers": oncelog_broker.bootstrap_servers, "transactional.id": "x"})
    producer.init_transactions(120)
    with oncelog_faults.crash_coordinator("prepare", transactional_id="x") as fault:
        producer.begin_transaction()
        producer.produce(oncelog_topic, b"x")
        producer.commit_transaction(120)
        assert fault.wait(120) is fault
    assert oncelog_broker.node(2).is_up
    assert consume(oncelog_broker.bootstrap_servers, oncelog_topic) == [b"x"]

@pytest.mark.oncelog()
def test_an_hour_passes(oncelog_broker, oncelog_topic, oncelog_clock):
    producer = Producer({"bootstrap.servers": oncelog_broker.bootstrap_servers, "transactional.id": "slow"})
    producer.init_transactions(120)
    producer.begin_transaction()
    producer.produce(oncelog_topic, b"x")
    producer.flush(120)
    oncelog_clock.advance(1800)
    oncelog_broker.pass_time(1800)
    assert oncelog_broker.admin.list_transactions(states=["Ongoing"]) == []
    with pytest.raises(Exception):
        producer.commit_transaction(120)

@pytest.mark.oncelog(settings={"num.partitions": 7}, data="folder")
def test_its_own_broker(oncelog_broker, tmp_path):
    produce(oncelog_broker.bootstrap_servers, "made-by-itself", b"x")
    assert len(list((tmp_path / "oncelog-data").glob("made-by-itself-*"))) == 7
"""
FAILING = """
def test_that_fails(oncelog_broker, oncelog_topic, oncelog_faults):
    with oncelog_faults.lose_answer("EndTxn"):
        assert False
"""
RETENTION = """
import oncelog
import pytest

OLD_MS = 1_360_000_000_000  # 2013

def produce(broker, topic):
    with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send_and_wait(topic, b"1", timestamp_ms=OLD_MS)
        producer.send_and_wait(topic, b"2", timestamp_ms=OLD_MS)
    broker.pass_time(60)
    return broker.admin.list_offsets({oncelog.TopicPartition(topic, 0): -2})[oncelog.TopicPartition(topic, 0)].offset

@pytest.mark.oncelog()
def test_lost(oncelog_broker):
    assert produce(oncelog_broker, oncelog_broker.create_topic("flights")) == 0

@pytest.mark.oncelog()
def test_kept(oncelog_broker):
    assert produce(oncelog_broker, oncelog_broker.create_topic("flights", keep=True)) == 0

@pytest.mark.oncelog(settings={"log.retention.ms": -1})
def test_all_kept(oncelog_broker, oncelog_topic):
    assert produce(oncelog_broker, oncelog_topic) == 0
"""
LEADER = """
import oncelog
import pytest

@pytest.mark.oncelog(nodes=3)
def test_a_leader_stops(oncelog_broker, oncelog_topic):
    one = oncelog_broker.create_topic("one", replication_factor=1)
    assert oncelog_broker.admin.describe_topics([one])[0].partitions[0].isr == (oncelog_broker.leader(one, 0),)
    with oncelog.Producer(bootstrap_servers=oncelog_broker.bootstrap_servers) as producer:
        producer.send_and_wait(oncelog_topic, b"1")
        oncelog_broker.node(oncelog_broker.leader(oncelog_topic, 0)).stop()
        assert producer.send_and_wait(oncelog_topic, b"2").offset == 1
"""
WRONG = """
import pytest

@pytest.mark.oncelog(brokers=3)
def test_wrong(oncelog_broker):
    pass

@pytest.mark.oncelog(settings=["num.partitions"])
def test_wrong_settings(oncelog_broker):
    pass
"""
INSIDE = """
import pytest

def test_outside(oncelog_broker, oncelog_topic, oncelog_faults):
    with oncelog_faults.delay(1, "Metadata"):
        pass

def test_inside(oncelog_broker, oncelog_topic, oncelog_faults):
    with oncelog_faults.hold_markers():
        assert False

def test_node(oncelog_broker):
    with pytest.raises(AttributeError, match="node exists with an embedded broker only"):
        oncelog_broker.node(1)
"""


def run(folder: Path, source: str, *options: str) -> str:
    (folder / "test_users.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *options, "test_users.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=200).stdout


def test_the_tests_of_a_user_can_use_the_fixtures(tmp_path: Path) -> None:
    assert "7 passed" in run(tmp_path, TESTS)


def test_the_fixtures_work_in_several_processes(tmp_path: Path) -> None:
    assert "7 passed" in run(tmp_path, TESTS, "-n", "2")


def test_the_same_tests_run_against_a_cluster_that_exists(tmp_path: Path) -> None:
    with oncelog.Broker(settings={"group.initial.rebalance.delay.ms": 0}) as cluster:
        shown = run(tmp_path, TESTS, "--kafka-bootstrap-server", cluster.bootstrap_servers)
        with oncelog.Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
            assert not [name for name in admin.list_topics() if name.startswith("test-")]
    assert "4 passed, 3 skipped" in shown
    assert "an existing cluster cannot be given" in shown


def test_a_failed_test_shows_its_faults(tmp_path: Path) -> None:
    assert "lose_answer (EndTxn) struck 0 times" in run(tmp_path, FAILING)


def test_a_failed_test_shows_records_deleted_by_retention(tmp_path: Path) -> None:
    output = run(tmp_path, RETENTION)
    assert "1 failed, 2 passed" in output
    assert "flights-0: 2 offsets, because their records were older than the topic's retention allows" in output
    assert "create_topic('flights', keep=True)" in output


def test_topics_on_several_nodes_survive_the_loss_of_a_leader(tmp_path: Path) -> None:
    assert "1 passed" in run(tmp_path, LEADER)


def test_a_fault_inside_a_broker_skips_the_test_on_a_cluster_that_exists(tmp_path: Path) -> None:
    with oncelog.Broker() as cluster:
        shown = run(tmp_path, INSIDE, "--kafka-bootstrap-server", cluster.bootstrap_servers)
    assert "2 passed, 1 skipped" in shown
    assert "hold_markers needs an embedded broker" in shown


def test_a_fault_of_a_test_is_removed_before_the_next_test() -> None:
    """A disk that a test has filled would refuse every transactional id of the next one."""
    with Embedded({}) as shared:
        with RawConnection(shared.bootstrap_servers) as client:
            find_coordinator(client, "x", TRANSACTION)
            with shared.faults.full_disk():
                request = InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=60_000)
                assert client.ask(request, 2).error_code != 0
        for break_it in (lambda: None, shared.stop):
            break_it()
            shared.clean()
            with RawConnection(shared.bootstrap_servers) as client:
                find_coordinator(client, "x", TRANSACTION)
                assert client.ask(request, 2).error_code == 0


def test_after_a_test_has_stopped_the_broker_the_next_test_can_use_it() -> None:
    """After a restart at another port, the fixtures' admin client asked at the old one and waited a minute each
    time.
    """
    with Embedded({}) as shared:
        shared.create_topic("t")
        shared.stop()
        shared.clean()
        assert shared.admin.list_topics() == []
        shared.stop()
        shared.start()
        assert shared.admin.list_topics() == []


def test_the_fixture_is_an_oncelog_broker() -> None:
    with Embedded({"default.replication.factor": 3}, nodes=3) as shared:
        assert isinstance(shared, oncelog.Broker)
        assert shared.direct_bootstrap_servers == shared.bootstrap_servers
        shared.create_topic("t")
        leader = shared.leader("t", 0)
        shared.move_leader("t", 0, leader % 3 + 1)
        assert shared.leader("t", 0) != leader
        shared.node(leader).stop()
        assert not shared.node(leader).is_up
        shared.pass_time(1)
        assert shared.faults.report() == []
        assert not hasattr(shared, "broker")


def test_an_external_cluster_reports_unsupported_fixtures() -> None:
    shared = ExistingCluster("127.0.0.1:9")
    for name in ("node", "faults", "pass_time", "leader", "move_leader", "restart", "data"):
        with pytest.raises(AttributeError) as reported:
            getattr(shared, name)
        assert str(reported.value) == (
            f"{name} exists with an embedded broker only, and these tests run against an existing cluster"
        )
    assert not hasattr(shared, "nothing_of_the_kind")


def test_group_members_left_by_a_test_do_not_delay_a_later_test() -> None:
    with Embedded({}) as shared, RawConnection(shared.bootstrap_servers) as client:
        find_coordinator(client, "g", GROUP)
        stable_alone(client, "g")
        shared.clean()
        assert shared.admin.list_consumer_groups() == []


def test_a_topic_deleted_by_a_test_does_not_disturb_a_later_test() -> None:
    with oncelog.Broker() as cluster, ExistingCluster(cluster.bootstrap_servers) as shared:
        shared.admin.delete_topics([shared.create_topic("t")])
        shared.create_topic("t")
        shared.clean()
        assert shared.admin.list_topics() == []


def test_an_invalid_pytest_marker_is_refused(tmp_path: Path) -> None:
    shown = run(tmp_path, WRONG)
    assert "the marker oncelog takes settings, data, nodes by name, not brokers" in shown
    assert "the marker oncelog takes settings={\"NAME\": VALUE}, not ['num.partitions']" in shown


@pytest.mark.parametrize("module", ["asyncio", "oncelog.broker.server.embedded", "oncelog.client.blocking"])
def test_the_pytest_plugin_costs_no_time_before_it_is_used(module: str) -> None:
    loads = "import sys; before = set(sys.modules); import oncelog.pytest_plugin; added = set(sys.modules) - before"
    code = f"{loads}; print({module!r} in added)"
    shown = subprocess.run([sys.executable, "-c", f"import pytest; {code}"], capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"


def test_pytest_does_not_rewrite_the_modules_of_the_package(tmp_path: Path) -> None:
    """Pytest rewrites all modules of a plugin's distribution: that costs seconds in every new environment."""
    (tmp_path / "marking.py").write_text('import pytest\n\npytest.register_assert_rewrite("oncelog")\n')
    source = """
import sys

def test_loaders(oncelog_broker):
    from oncelog.broker.server import embedded
    assert not hasattr(embedded.__loader__, "_must_rewrite")
    assert hasattr(sys.modules[__name__].__loader__, "_must_rewrite")
"""
    assert "1 passed" in run(tmp_path, source, "-p", "marking")
