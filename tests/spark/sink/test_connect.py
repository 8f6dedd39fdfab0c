"""Spark Connect: reading, both sinks and ``for_each_batch`` through a real Connect server."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import pyspark
import pytest

from tests.class_archive import QUICK_START
from tests.spark.kafka_records import committed, create_topic, values

CLIENT = Path(__file__).parent / "connect_session.py"
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
PATIENCE_S = 120
JAVA_OPTIONS = "spark.driver.extraJavaOptions"


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


LOG_TO_FILE = """
appender.file.type = File
appender.file.name = file
appender.file.fileName = {}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c{{1}}: %m%n%ex
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
"""


class Server(NamedTuple):
    """A Connect server on this machine.

    :param log: what its driver logs; it contains nothing that the driver or its workers print.
    """

    address: str
    log: Path


@pytest.fixture(scope="module")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("connect")
    logging = folder / "log4j2.properties"
    logging.write_text(LOG_TO_FILE.format(folder / "driver.log"))
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
        JAVA_OPTIONS: f"{QUICK_START[JAVA_OPTIONS]} -Dlog4j2.configurationFile={logging.as_uri()}",
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
        yield Server(f"sc://127.0.0.1:{port}", folder / "driver.log")
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


@pytest.mark.parametrize(
    "broker", ["oncelog", pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.soak])], indirect=True
)
def test_reading_writing_and_each_batch_work_through_a_connect_server(
    connect_server: Server, broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    for name in (unique_name, *(f"{unique_name}-{end}" for end in ("copy", "each", "other"))):
        create_topic(address, name, 2)
    command = [sys.executable, str(CLIENT), connect_server.address, address, unique_name, str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_SUBMIT_OPTS"}
    environment["PYTHONPATH"] = os.pathsep.join([str(CLIENT.parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])])
    ran = subprocess.run(command, capture_output=True, text=True, timeout=800, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr[-4000:]
    expected = sorted(f"v{n}" for n in range(20))
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["read"] == expected
    reasons = ("which does not run in this session", "that query has ended it")
    for refusal, says in zip(told["refused"], reasons, strict=True):
        assert re.search(f"checkpointLocation of for_each_batch names .*, .*{says}", refusal), refusal
        assert says in connect_server.log.read_text()
    assert sorted(value.decode() for value in values(committed(address, f"{unique_name}-copy"))) == expected
    assert sorted(record.key or b"" for record in committed(address, f"{unique_name}-each")) == sorted(
        b"%d" % n for n in range(20)
    )
