"""Spark Connect: reading, both sinks and ``for_each_batch`` through a real Connect server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pyspark
import pytest

from tests.class_archive import QUICK_START
from tests.spark.kafka_records import committed, create_topic, values

CLIENT = Path(__file__).parent / "connect_session.py"
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
PATIENCE_S = 120


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


@pytest.fixture(scope="module")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Connect server on this machine."""
    folder = tmp_path_factory.mktemp("connect")
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    settings = QUICK_START | {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [str(submit), "--class", SERVER, "--master", "local[2]"]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    log = folder / "server.log"
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*command, "spark-internal"], stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=folder
        )
    try:
        _await_port(port, server, log)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(60)


def _await_port(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert server.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.1)


def test_reading_writing_and_each_batch_work_through_a_connect_server(
    connect_server: str, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    for name in (unique_name, f"{unique_name}-copy", f"{unique_name}-each"):
        create_topic(address, name, 2)
    command = [sys.executable, str(CLIENT), connect_server, address, unique_name, str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_SUBMIT_OPTS"}
    environment["PYTHONPATH"] = str(CLIENT.parents[2])
    ran = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr[-4000:]
    expected = sorted(f"v{n}" for n in range(20))
    assert json.loads(ran.stdout.splitlines()[-1]) == expected
    assert sorted(value.decode() for value in values(committed(address, f"{unique_name}-copy"))) == expected
    assert sorted(record.key or b"" for record in committed(address, f"{unique_name}-each")) == sorted(
        b"%d" % n for n in range(20)
    )
