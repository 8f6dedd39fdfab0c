"""Spark's own Kafka connector works with our broker unmodified: batch and streaming, reading and writing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from confluent_kafka import Producer

from oncelog import Broker
from oncelog.testing.apache_kafka import spark_connector_jars


def test_sparks_own_connector_writes_and_reads_committed_records_only(tmp_path: Path) -> None:
    with Broker(tmp_path / "data", settings={"num.partitions": 3}) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "aborts"})
        producer.init_transactions(30)
        producer.begin_transaction()
        for number in range(20):
            producer.produce("squares", key=str(number), value="aborted")
        producer.flush(30)
        producer.abort_transaction(30)
        jars = ",".join(str(jar) for jar in spark_connector_jars())
        job = Path(__file__).with_name("connector_job.py")
        done = subprocess.run(
            [sys.executable, str(job), broker.bootstrap_servers, "squares", str(tmp_path), jars],
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["batch"] == sorted([str(number), str(number * number)] for number in range(200))
    assert seen["copied"] == sorted(str(number * number) for number in range(200))
