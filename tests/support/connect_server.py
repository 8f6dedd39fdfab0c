"""A Spark Connect server as a process of its own."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.integration.spark.kafka_records import committed, create_topic, values
from tests.support.children import ends_with_us

ROOT = Path(__file__).parents[2]
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
TIMEOUT_S = 120
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
LOG_TO_FILE = """
appender.file.type = File
appender.file.name = file
appender.file.fileName = {}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c{{1}}: %m%n%ex
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
"""


class ConnectServer(NamedTuple):
    """A Connect server on this machine, whose clients use the same Python as its workers.

    :param log: what its driver logs; it contains nothing that the driver or its workers print.
    """

    address: str
    log: Path
    python: str
    variables: Mapping[str, str]


@contextmanager
def connect_server(
    folder: Path, python: str, home: Path, variables: Mapping[str, str], java_options: str
) -> Iterator[ConnectServer]:
    """A server that listens until the block ends.

    :param python: for its workers.
    :param home: of Spark.
    """
    logging = folder / "log4j2.properties"
    logging.write_text(LOG_TO_FILE.format(folder / "driver.log"))
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    settings = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        JAVA_OPTIONS: f"{java_options} -Dlog4j2.configurationFile={logging.as_uri()}",
    }
    command = [str(home / "bin" / "spark-submit"), "--class", SERVER, "--master", "local[2]"]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    log = folder / "server.log"
    environment = {**variables, "PYSPARK_PYTHON": python}
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*command, "spark-internal"], stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=folder
        )
    ends_with_us(server.pid)
    try:
        _await_port(port, server, log)
        yield ConnectServer(f"sc://127.0.0.1:{port}", folder / "driver.log", python, variables)
    finally:
        server.terminate()
        server.wait(60)


def _await_port(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert server.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.1)


def check_through(server: ConnectServer, address: str, name: str, folder: Path, *, refusals: bool) -> None:
    """Reading, writing and ``for_each_batch`` through the server.

    :param refusals: whether checkpoints of other queries are refused too, which takes four more queries.
    """
    for topic in (name, *(f"{name}-{end}" for end in ("copy", "each", "other"))):
        create_topic(address, topic, 2)
    command = [server.python, "-m", "tests.support.connect_session", server.address, address, name, str(folder)]
    command += ["refusals"] if refusals else []
    environment = {name: value for name, value in server.variables.items() if name != "SPARK_SUBMIT_OPTS"}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=800, check=False, env=environment, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr[-4000:]
    expected = sorted(f"v{n}" for n in range(20))
    reported = json.loads(ran.stdout.splitlines()[-1])
    assert reported["read"] == expected
    reasons = ("which does not run in this session", "that query has ended it")
    for refusal, says in zip(reported["refused"], reasons if refusals else (), strict=True):
        assert re.search(f"checkpointLocation of for_each_batch names .*, .*{says}", refusal), refusal
        assert says in server.log.read_text()
    assert sorted(value.decode() for value in values(committed(address, f"{name}-copy"))) == expected
    assert sorted(record.key or b"" for record in committed(address, f"{name}-each")) == sorted(
        b"%d" % n for n in range(20)
    )
