"""``oncelog doctor`` and ``--version``: which parts work, what is missing, and what endangers a cluster."""

from __future__ import annotations

import errno
import shutil
import socket
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.broker.server.listener_settings import Address
from oncelog.cli.doctor import doctor_here
from oncelog.cli.doctor.findings import DoctorFinding, Status
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType, NewTopic
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.protocol.generated.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from oncelog.records import native
from oncelog.spark.python import worker_python_problem
from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.spark.sink.marker import LastWrite, Marker
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import call, run
from tests.support import hanging

SAFE_DOWNGRADE = 2
HIDDEN = """
import sys
sys.modules["oncelog.records._native"] = None
from oncelog.cli.main import main
main(["--version"])
"""


def doctor(*arguments: object) -> dict[str, list[dict[str, Any]]]:
    """The findings by check."""
    found: dict[str, list[dict[str, Any]]] = {}
    for finding in call("doctor", "--json", *arguments).json:
        assert set(finding) == {"check", "status", "found", "todo"}
        assert bool(finding["todo"]) == (finding["status"] != "ok"), finding
        found.setdefault(finding["check"], []).append(finding)
    return found


def test_doctor_reports_a_finding_for_every_part_of_an_installation(tmp_path: Path) -> None:
    found = doctor("--data", tmp_path, "--listen", "127.0.0.1:0")
    assert list(found) == [
        "oncelog", "python", "record codec", "event loop", "port", "descriptors", "data on disk", "disk", "sync time",
        "clock", "spark", "spark's libraries", "java", "spark's environment", "spark's python",
    ]  # fmt: skip
    assert found["record codec"][0]["status"] == ("ok" if native.compiled is not None else "warn")
    assert "fdatasync" in found["data on disk"][0]["found"]
    assert "record codec" in call("doctor").out
    assert list(tmp_path.iterdir()) == []


def test_a_port_in_use_and_a_path_that_is_not_a_folder_are_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        found = doctor("--listen", f"127.0.0.1:{taken.getsockname()[1]}", "--data", tmp_path / "file" / "none")
    assert found["port"][0]["status"] == "warn" and "in use" in found["port"][0]["found"]
    assert found["disk"][0]["status"] == "bad"
    assert call("doctor", "--data", tmp_path / "file").code == 1


def test_a_folder_that_does_not_exist_yet_is_checked_in_its_parent(tmp_path: Path) -> None:
    (finding,) = doctor("--listen", "127.0.0.1:0", "--data", tmp_path / "data" / "of" / "mine")["disk"]
    assert finding["status"] == "ok" and finding["found"].endswith("/data/of/mine, which oncelog serve would create")
    assert list(tmp_path.iterdir()) == []


def test_doctor_reports_a_folder_that_is_not_writable() -> None:
    (finding,) = doctor("--listen", "127.0.0.1:0", "--data", "/proc")["disk"]
    assert finding["status"] == "bad" and "/proc" in finding["found"]


def test_doctor_reports_a_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(folder: Path) -> DoctorFinding:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(doctor_here, "_sync_time", full)
    (reported,) = doctor("--data", tmp_path)["disk"]
    assert (reported["status"], reported["todo"]) == ("bad", doctor_here.FREE_SPACE)
    assert "even oncelog topics delete needs a little room" in reported["todo"]


def test_doctor_refuses_client_properties_without_a_bootstrap_server(broker: RunningBroker) -> None:
    refused = call("doctor", "--set", "client.id=x")
    assert refused.code == 2 and "client.id: properties of a client need --bootstrap-server" in refused.sentence()
    assert "1 node," in doctor("--set", f"bootstrap.servers={broker.bootstrap_servers}")["cluster"][0]["found"]


def test_doctor_reports_a_python_that_spark_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/nowhere/python")
    (finding,) = doctor("--listen", "127.0.0.1:0")["spark's python"]
    assert finding["status"] == "bad" and "/nowhere/python" in finding["found"]
    assert "PYSPARK_PYTHON" in finding["todo"]


@pytest.mark.parametrize("command", [["--version"], ["doctor"]])
def test_doctor_reports_that_pure_python_was_requested(command: list[str]) -> None:
    assert "pure Python, slower (ONCELOG_PURE is set)" in run(*command, env={"ONCELOG_PURE": "1"}).out


def test_doctor_names_a_missing_compiled_module() -> None:
    ended = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True, check=True)
    assert "pure Python, slower (the compiled module is missing" in ended.stdout


def test_doctor_checks_our_broker_and_apache_kafka(broker: RunningBroker) -> None:
    found = doctor("--bootstrap-server", broker.bootstrap_servers, "--listen", "127.0.0.1:0")
    assert "1 node," in found["cluster"][0]["found"]
    assert {"topics", "transactions", "groups", "cluster's clock"} <= set(found)
    (reported,) = found["cluster's version"]
    assert reported["status"] == "ok" and "transaction.version 2" in reported["found"]
    assert not [one for one in found["cluster"] if "whole" in one["found"]]


def test_doctor_reports_settings_that_break_exactly_once() -> None:
    settings = {
        "unclean.leader.election.enable": True,
        "offsets.retention.minutes": 60,
        "transaction.max.timeout.ms": 10_000,
    }
    with oncelog.Broker(settings=settings) as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("t", num_partitions=1)])
        found = doctor("--bootstrap-server", broker.bootstrap_servers)
        (retention,) = [one for one in found["broker 1"] if "offsets.retention" in one["found"]]
        assert {one["found"].partition("=")[0] for one in found["broker 1"]} == set(settings)
        assert {one["status"] for one in found["broker 1"]} == {"bad"}
        assert "4320 minutes" in retention["found"]
        assert "unclean" in found["topics"][1]["found"]
        short_pauses = doctor("--bootstrap-server", broker.bootstrap_servers, "--pause-minutes", 10)
        assert not [one for one in short_pauses["broker 1"] if "offsets.retention" in one["found"]]


def test_doctor_reports_an_open_transaction_and_a_group_overtaken_by_retention() -> None:
    with oncelog.Broker() as broker:
        servers = broker.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin, Producer(bootstrap_servers=servers) as producer:
            admin.create_topics([NewTopic("t", num_partitions=1)])
            for _ in range(5):
                producer.send_and_wait("t", b"v")
            with Consumer(bootstrap_servers=servers, group_id="late", enable_auto_commit=False) as consumer:
                consumer.assign([TopicPartition("t", 0)])
                consumer.commit({TopicPartition("t", 0): 2})
            admin.delete_records({TopicPartition("t", 0): 4})
            with Producer(bootstrap_servers=servers, transactional_id="open") as open_one:
                open_one.begin_transaction()
                open_one.send_and_wait("t", b"v")
                found = doctor("--bootstrap-server", servers)
                open_one.abort_transaction()
    assert found["transactions"][0]["found"] == "1 open"
    assert found["groups"][1]["status"] == "warn" and "'late'" in found["groups"][1]["found"]


def test_doctor_reports_an_unreachable_cluster_in_one_finding() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    found = doctor(
        "--bootstrap-server", address, "--set", "default.api.timeout.ms=1000", "--set", "request.timeout.ms=500"
    )
    (finding,) = found["cluster"]
    assert finding["status"] == "bad"


def test_the_option_checkpoint_needs_a_bootstrap_server() -> None:
    assert "--checkpoint needs --bootstrap-server" in call("doctor", "--checkpoint", "c").sentence()


# --- the machine, line by line


def here(monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, DoctorFinding]:
    """The findings on this machine with this environment; of each check, the last one."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return {one.check: one for one in doctor_here.findings(None, Address.parse("127.0.0.1:0"))}


def test_doctor_reports_java_that_is_missing_or_misnamed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = here(monkeypatch, JAVA_HOME=str(tmp_path))["java"]
    assert found.status is Status.BAD and str(tmp_path) in found.todo and "openjdk" in found.todo
    assert "unset JAVA_HOME" in found.todo


def test_doctor_reports_a_spark_home_of_another_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "holds no jars/spark-core" in here(monkeypatch, SPARK_HOME=str(tmp_path))["spark's environment"].found
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-3.5.1.jar").touch()
    other = here(monkeypatch)["spark's environment"]
    assert other.status is Status.BAD and "is Spark 3.5.1, but pyspark is" in other.found
    (tmp_path / "jars" / "spark-core_2.13-3.5.1.jar").rename(
        tmp_path / "jars" / f"spark-core_2.13-{version('pyspark')}.jar"
    )
    assert here(monkeypatch)["spark's environment"].status is Status.OK


def test_doctor_reports_an_empty_spark_home_in_which_pyspark_looks_for_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    found = here(monkeypatch, SPARK_HOME="")["spark's environment"]
    assert found.status is Status.BAD and "SPARK_HOME is set, but empty" in found.found


def test_doctor_accepts_a_platforms_own_build_of_the_same_spark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / f"spark-core_2.12-{version('pyspark')}-amzn-0.jar").touch()
    monkeypatch.setattr("oncelog.spark.versions.PYSPARK", f"{version('pyspark')}+amzn.0")
    assert here(monkeypatch, SPARK_HOME=str(tmp_path))["spark's environment"].status is Status.OK


def test_doctor_reports_libraries_that_are_missing_or_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"numpy": "1.26.4", "pandas": None, "pyarrow": "10.0.1"}
    monkeypatch.setattr("oncelog.spark.versions.libraries", lambda: found)
    reported = here(monkeypatch)["spark's libraries"]
    assert reported.status is Status.BAD
    assert reported.found == "numpy 1.26.4, pandas missing, pyarrow 10.0.1"
    assert reported.todo == "pip install 'pandas>=1.5.3' 'pyarrow>=11', on every worker too"


def test_doctor_reports_submit_arguments_that_end_the_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    found = here(monkeypatch, PYSPARK_SUBMIT_ARGS="--master local[2]")["spark's environment"]
    assert found.status is Status.BAD and "pyspark-shell" in found.todo
    assert here(monkeypatch, PYSPARK_SUBMIT_ARGS="--master local[2] pyspark-shell")["spark's environment"].todo == ""


def test_doctor_reports_workers_with_another_pyspark(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho {sys.version_info[0]}.{sys.version_info[1]} 3.5.1 0.1.0\n")
    program.chmod(0o755)
    assert f"has pyspark 3.5.1 and not {version('pyspark')}" in str(worker_python_problem(str(program)))
    program.write_text(program.read_text().replace("3.5.1 0.1.0", f"{version('pyspark')} 0.0.9"))
    assert f"has oncelog 0.0.9 and not {version('oncelog')}" in str(worker_python_problem(str(program)))
    program.write_text(program.read_text().replace(f"{version('pyspark')} 0.0.9", "-"))
    assert "has no pyspark" in str(worker_python_problem(str(program)))


@pytest.mark.parametrize("version", ["3.4.4", "5.0.0"])
def test_doctor_reports_an_unsupported_spark_release(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr("oncelog.spark.versions.PYSPARK", version)
    found = here(monkeypatch)["spark"]
    assert found.status is Status.BAD and "'pyspark>=3.5,<5'" in found.todo


@pytest.mark.parametrize(
    ("version", "lacks"), [("3.5.9", 'without format("oncelog")'), ("4.1.4", "one more source in a query")]
)
def test_doctor_reports_features_that_an_older_spark_lacks(
    monkeypatch: pytest.MonkeyPatch, version: str, lacks: str
) -> None:
    monkeypatch.setattr("oncelog.spark.versions.PYSPARK", version)
    found = here(monkeypatch)["spark"]
    assert found.status is Status.OK and lacks in found.found


@pytest.mark.parametrize(
    ("now", "kept", "status"),
    [(86_400.0, True, Status.BAD), (2e9, False, Status.WARN), (2e9, True, Status.OK), (2e9, None, Status.OK)],
)
def test_doctor_reports_a_clock_that_is_unset_or_not_synchronized(
    monkeypatch: pytest.MonkeyPatch, now: float, kept: bool | None, status: Status
) -> None:
    monkeypatch.setattr("oncelog.cli.doctor.doctor_here.real_time.time", lambda: now)
    monkeypatch.setattr(doctor_here, "kept_in_step", lambda: kept)
    assert here(monkeypatch)["clock"].status is status


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux's kernel is asked")
def test_doctor_asks_the_kernel_whether_its_clock_is_synchronized() -> None:
    assert doctor_here.kept_in_step() in (True, False)


def test_doctor_reports_slow_syncs_little_space_and_few_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    monkeypatch.setattr(doctor_here, "SLOW_SYNC_MS", -1.0)
    monkeypatch.setattr(
        "oncelog.cli.doctor.doctor_here.shutil.disk_usage",
        lambda folder: shutil._ntuple_diskusage(10**12, 10**12, 10**6),
    )
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (256, 1024))
    found = here(monkeypatch)
    assert found["sync time"].status is Status.WARN and "oncelog.flush.policy" in found["sync time"].todo
    assert found["disk"].status is Status.BAD and "free space" in found["disk"].todo
    assert found["descriptors"].status is Status.WARN and "LimitNOFILE" in found["descriptors"].todo


# --- a cluster, line by line


def test_doctor_reports_topics_that_one_failure_can_hurt() -> None:
    with oncelog.Broker(nodes=3) as broker:
        servers = broker.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin:
            lone = NewTopic("lone", 1, 3, topic_configs={"min.insync.replicas": "1"})
            admin.create_topics([lone, NewTopic("single", 3, 1), NewTopic("well", 1, 3)])
            admin.alter_configs({ConfigResource(ConfigResourceType.TOPIC, "well"): {"min.insync.replicas": "2"}})
        broker.node(3).stop(kill=True)
        found = [one["found"] for one in doctor("--bootstrap-server", servers)["topics"]]
    assert any("without a leader: single-" in one for one in found), found
    (alone,) = [one for one in found if "min.insync.replicas=1" in one]
    assert "lone" in alone and "well" not in alone
    assert any("replicas out of sync: " in one and "lone-0" in one for one in found)


def test_the_advice_of_doctor_ends_a_hanging_transaction(unique_name: str) -> None:
    with oncelog.Broker(settings=hanging.SETTINGS) as broker:
        servers = broker.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic(unique_name, 1)])
        hanging.leave_hanging(servers, unique_name, b"hangs")
        (bad,) = [one for one in doctor("--bootstrap-server", servers)["transactions"] if one["status"] == "bad"]
        assert f"{unique_name}-0 has a transaction" in bad["found"]
        call(*bad["todo"].split()[1:], "--bootstrap-server", servers).done()
        assert not [one for one in doctor("--bootstrap-server", servers)["transactions"] if one["status"] == "bad"]


def test_doctor_reports_records_with_future_timestamps() -> None:
    with oncelog.Broker() as broker:
        servers = broker.bootstrap_servers
        with Producer(bootstrap_servers=servers) as producer:
            producer.send_and_wait("t", b"v", timestamp_ms=int((time.time() + 600) * 1000))
        (clock,) = doctor("--bootstrap-server", servers)["cluster's clock"]
    assert clock["status"] == "warn" and "t-0 has a record with a timestamp" in clock["found"]


def test_doctor_reports_transactions_of_the_older_protocol() -> None:
    with oncelog.Broker() as broker:
        lowered(broker)
        (reported,) = doctor("--bootstrap-server", broker.bootstrap_servers)["cluster's version"]
    assert reported["status"] == "warn" and "transaction.version=2" in reported["todo"]


def test_doctor_reports_how_a_cluster_can_commit_rows_and_records_atomically(broker: RunningBroker) -> None:
    (reported,) = doctor("--bootstrap-server", broker.bootstrap_servers)["rows and records"]
    assert reported["status"] == "ok" and reported["found"].startswith("by an outbox or an inbox")


def lowered(broker: oncelog.Broker) -> None:
    """Have the broker speak the older protocol of transactions."""
    with RawConnection(broker.bootstrap_servers) as connection:
        lower = FeatureUpdateKey(feature="transaction.version", max_version_level=1, upgrade_type=SAFE_DOWNGRADE)
        assert connection.ask(UpdateFeaturesRequest(feature_updates=[lower]), 1).error_code == 0


def test_doctor_reports_what_two_phase_commit_lacks() -> None:
    with oncelog.Broker(settings={"transaction.two.phase.commit.enable": True}) as broker:
        (reported,) = doctor("--bootstrap-server", broker.bootstrap_servers)["rows and records"]
        assert reported["found"] == "by two-phase commit, an outbox or an inbox"
        lowered(broker)
        (reported,) = doctor("--bootstrap-server", broker.bootstrap_servers)["rows and records"]
        assert "an outbox or an inbox only; two-phase commit needs" in reported["found"]


def test_doctor_compares_a_checkpoint_with_its_marker(unique_name: str, tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id":"q"}')
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text('v1\n{"batchTimestampMs":1700000000000}\n{"in":{"0":10}}')
    checkpoint = Checkpoint.open(str(tmp_path))
    with oncelog.Broker() as broker:
        servers = broker.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic("out", 1)])
            checkpoint.remember(LastWrite("another", "oncelog-q-out", 0))
            ask = ("--bootstrap-server", servers, "--checkpoint", tmp_path)
            (lost,) = doctor(*ask)["checkpoint"]
            assert lost["status"] == "bad" and "would refuse batch 0" in lost["found"]
            batch = checkpoint.planned(0)
            assert batch is not None
            marker = Marker("q", 0, 5, batch.fingerprint, batch.planned_at_ms, batch.offsets)
            offset = OffsetAndMetadata(0, marker.encode())
            admin.alter_consumer_group_offsets("oncelog-q-out", {TopicPartition("out", 0): offset})
            (well,) = doctor(*ask)["checkpoint"]
    assert well["status"] == "ok" and "would skip batch 0" in well["found"]
