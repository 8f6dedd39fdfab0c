"""``oncelog doctor`` and ``--version``: which parts run, what is missing, and what endangers a cluster."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin_types import NewTopic
from oncelog.records import native
from oncelog.types import TopicPartition
from tests.cli.conftest import call, run
from tests.conftest import RunningBroker

HIDDEN = """
import sys
sys.modules["oncelog.records._native"] = None
from oncelog.cli.main import main
main(["--version"])
"""


def doctor(*arguments: object) -> dict[str, list[dict[str, Any]]]:
    """What it found, by check."""
    found: dict[str, list[dict[str, Any]]] = {}
    for finding in call("doctor", "--json", *arguments).json:
        assert set(finding) == {"check", "status", "found", "todo"}
        assert bool(finding["todo"]) == (finding["status"] != "ok"), finding
        found.setdefault(finding["check"], []).append(finding)
    return found


def test_it_tells_every_part(tmp_path: Path) -> None:
    found = doctor("--data", tmp_path, "--listen", "127.0.0.1:0")
    assert list(found) == [
        "oncelog", "python", "record codec", "event loop", "port", "descriptors", "data on disk", "disk", "sync time",
        "clock", "spark", "java", "spark's python",
    ]  # fmt: skip
    assert found["record codec"][0]["status"] == ("ok" if native.compiled is not None else "warn")
    assert "fdatasync" in found["data on disk"][0]["found"]
    assert "record codec" in call("doctor").out
    assert list(tmp_path.iterdir()) == []


def test_a_port_in_use_and_a_folder_that_is_none_are_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        found = doctor("--listen", f"127.0.0.1:{taken.getsockname()[1]}", "--data", tmp_path / "none")
    assert found["port"][0]["status"] == "warn" and "in use" in found["port"][0]["found"]
    assert found["disk"][0]["status"] == "bad"
    assert call("doctor", "--data", tmp_path / "none").code == 1


def test_a_python_that_spark_could_not_start_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/nowhere/python")
    (finding,) = doctor("--listen", "127.0.0.1:0")["spark's python"]
    assert finding["status"] == "bad" and "/nowhere/python" in finding["found"]
    assert "PYSPARK_PYTHON" in finding["todo"]


@pytest.mark.parametrize("command", [["--version"], ["doctor"]])
def test_a_twin_that_was_asked_for_is_named(command: list[str]) -> None:
    assert "pure Python, slower (ONCELOG_PURE is set)" in run(*command, env={"ONCELOG_PURE": "1"}).out


def test_a_compiled_module_that_is_missing_is_named() -> None:
    ended = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True, check=True)
    assert "pure Python, slower (the compiled module is not there" in ended.stdout


def test_a_cluster_is_looked_at_whoever_wrote_it(broker: RunningBroker) -> None:
    found = doctor("--bootstrap-server", broker.bootstrap_servers, "--listen", "127.0.0.1:0")
    assert "1 nodes" in found["cluster"][0]["found"]
    assert {"topics", "transactions", "groups"} <= set(found)
    assert not [one for one in found["cluster"] if "whole" in one["found"]]


def test_settings_that_break_exactly_once_are_bad() -> None:
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


def test_an_open_transaction_and_a_group_that_retention_overtook_are_told() -> None:
    with oncelog.Broker() as broker:
        servers = broker.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin, Producer(bootstrap_servers=servers) as producer:
            admin.create_topics([NewTopic("t", num_partitions=1)])
            for _ in range(5):
                producer.send_and_wait("t", b"v")
            with Consumer(bootstrap_servers=servers, group_id="late") as consumer:
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


def test_a_cluster_that_is_not_there_is_bad_in_one_finding() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    found = doctor(
        "--bootstrap-server", address, "--set", "default.api.timeout.ms=1000", "--set", "request.timeout.ms=500"
    )
    (finding,) = found["cluster"]
    assert finding["status"] == "bad"


def test_a_checkpoint_needs_a_cluster() -> None:
    assert "--checkpoint needs --bootstrap-server" in call("doctor", "--checkpoint", "c").sentence()
