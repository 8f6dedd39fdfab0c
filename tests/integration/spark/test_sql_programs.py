"""SQL tables in PySpark's own programs: ``spark-sql`` makes one, and JDBC clients of its Thrift server use that."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from tests.conftest import RunningBroker
from tests.integration.spark.kafka_records import committed, create_topic, eventually, values
from tests.support.children import ends_with_us
from tests.support.class_archive import QUICK_JAVA

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]
HOME = Path(pyspark.__file__).parent
SETTINGS = ("--master", "local[1]", "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1")
THRIFT = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


def variables() -> dict[str, str]:
    return {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(HOME), "SPARK_SUBMIT_OPTS": QUICK_JAVA}


def printed(folder: Path, *command: str) -> str:
    """What a program says, in a folder that has the metastore."""
    words = [str(HOME / "bin" / command[0]), *command[1:]]
    ran = subprocess.run(words, cwd=folder, env=variables(), capture_output=True, text=True, timeout=400, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


@contextmanager
def thrift_server(folder: Path) -> Iterator[str]:
    """The address of a server, for JDBC, until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    hive = ["--hiveconf", f"hive.server2.thrift.port={port}", "--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1"]
    command = [str(HOME / "bin" / "spark-submit"), *SETTINGS, "--class", THRIFT, "spark-internal", *hive]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, env=variables(), stdout=log, stderr=subprocess.STDOUT)
    ends_with_us(server.pid)

    def listens() -> bool:
        assert server.poll() is None, (folder / "server.log").read_text()[-3000:]
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) == 0

    try:
        eventually(listens, True, timeout_s=300)
        yield f"jdbc:hive2://127.0.0.1:{port}/default"
    finally:
        server.terminate()
        server.wait(60)


def test_a_spark_sql_table_persists_and_is_used_through_the_thrift_server(
    oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = oncelog_broker.bootstrap_servers
    topic = create_topic(address, unique_name, 1)
    create = f"CREATE TABLE orders USING oncelog OPTIONS (kafka.bootstrap.servers '{address}', subscribe '{topic}')"
    printed(tmp_path, "spark-sql", *SETTINGS, "-e", f"{create}; INSERT INTO orders (value) VALUES (X'4F4E45')")
    statements = "INSERT INTO orders (value) VALUES (X'54574F'); SELECT CAST(value AS STRING) AS text FROM orders"
    with thrift_server(tmp_path) as server:
        shown = printed(tmp_path, "beeline", "-u", server, "-e", statements)
    assert "ONE" in shown and "TWO" in shown
    assert values(committed(address, topic)) == [b"ONE", b"TWO"]
