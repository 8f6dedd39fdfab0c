"""What the demo refuses before it starts Spark, in one sentence."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from tests.integration.spark.kafka_records import create_topic


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


def refused(folder: Path, *options: str, environment: Mapping[str, str] | None = None, status: int = 1) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "oncelog", "demo", *options],
        cwd=folder,
        env=dict(os.environ) | dict(environment or {}),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert run.returncode == status, run.stdout + run.stderr
    assert run.stderr.startswith("oncelog: "), run.stderr
    assert len(run.stderr.splitlines()) == 1, run.stderr
    return run.stderr


def test_the_demo_refuses_fewer_flights_than_its_crashes_need(tmp_path: Path) -> None:
    assert "--flights 100 leaves no room for the crashes: give 10000, or --calm" in refused(
        tmp_path, "--flights", "100"
    )


def test_the_option_flights_accepts_a_number_or_all(tmp_path: Path) -> None:
    for flights in ("most", "0"):
        sentence = refused(tmp_path, "--flights", flights, status=2)
        assert f"{flights!r} is neither a number of flights nor all" in sentence


def test_demo_leaves_a_folder_with_other_files_unchanged(tmp_path: Path) -> None:
    kept = tmp_path / "mine" / "letter.txt"
    kept.parent.mkdir()
    kept.write_text("dear")
    assert "contains files that are not from a demo" in refused(tmp_path, "--data", str(kept.parent))
    assert kept.read_text() == "dear"


def test_demo_leaves_existing_topics_unchanged(tmp_path: Path, oncelog_broker: RunningBroker, unique_name: str) -> None:
    create_topic(oncelog_broker.bootstrap_servers, f"{unique_name}flights")
    options = ("--bootstrap-server", oncelog_broker.bootstrap_servers, "--prefix", unique_name)
    sentence = refused(tmp_path, *options)
    assert "the topics cannot be created" in sentence
    assert "--prefix" in sentence


def test_broker_that_does_not_exist_is_reported_by_its_address(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    assert address in refused(tmp_path, "--bootstrap-server", address)


def test_missing_java_is_reported_with_the_next_step(tmp_path: Path) -> None:
    sentence = refused(tmp_path, environment={"PATH": "/nowhere", "JAVA_HOME": ""})
    assert "there is no java on this machine" in sentence
