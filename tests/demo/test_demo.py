"""``oncelog demo`` in its small version: on our broker, on Apache Kafka, and on a Spark cluster of two workers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.demo.conftest import SparkCluster
from tests.support.apache_kafka import ApacheKafka

FLIGHTS = 10_000

pytestmark = pytest.mark.timeout(900)


def demo(folder: Path, *options: str) -> dict[str, Any]:
    """Run it; its JSON result, which it gives with exit status 0 only when the topics are exact."""
    run = subprocess.run(
        [sys.executable, "-m", "oncelog", "demo", "--flights", str(FLIGHTS), "--data", str(folder), "--json", *options],
        capture_output=True,
        text=True,
        timeout=880,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    result: dict[str, Any] = json.loads(run.stdout)
    return result


def assert_exact(result: dict[str, Any], prefix: str = "") -> None:
    assert result["exact"] is True
    topics = {topic["topic"].removeprefix(prefix): topic for topic in result["topics"]}
    assert set(topics) == {"flights", "flights-enriched", "delays-by-hour"}
    for topic in topics.values():
        assert topic["delivered"] == topic["expected"]
        assert [topic[name] for name in ("duplicates", "lost", "wrong", "keys_out_of_order")] == [0, 0, 0, 0]
        assert topic["control_records"] > 0
    assert topics["flights"]["expected"] == topics["flights-enriched"]["expected"] == FLIGHTS
    assert topics["flights"]["of_aborted_transactions"] > 0


def assert_crashes_counted(result: dict[str, Any], **expected: int) -> None:
    assert Counter(crash["what"] for crash in result["crashes"]) == expected
    inside = [crash for crash in result["crashes"] if "in the commit of" in crash["where"]]
    assert len(inside) == 3
    assert result["batches_skipped_on_replay"] >= 1
    enriched = next(topic for topic in result["topics"] if topic["topic"].endswith("flights-enriched"))
    assert enriched["of_aborted_transactions"] > 0


def test_demo_is_exact_though_everything_is_killed(tmp_path: Path) -> None:
    result = demo(tmp_path / "demo")
    assert_exact(result)
    assert_crashes_counted(result, driver=3, producer=1, broker=1)
    report = Path(result["report"]).read_text()
    assert report.count("<svg") == 2
    assert "Every record exactly once" in report
    assert not re.search(r"""(src|href)\s*=|@import|url\(|<script|https?://""", report)
    assert result["transactions"]["committed"] >= FLIGHTS / 1000


@pytest.mark.kafka
def test_demo_runs_on_apache_kafka_unchanged(tmp_path: Path, apache_kafka: ApacheKafka, unique_name: str) -> None:
    prefix = f"{unique_name}-"
    address = apache_kafka.bootstrap_servers
    result = demo(tmp_path / "demo", "--bootstrap-server", address, "--prefix", prefix)
    assert result["bootstrap_servers"] == address
    assert_exact(result, prefix)
    assert_crashes_counted(result, driver=3, producer=1)


def test_demo_runs_on_a_spark_cluster_unchanged(
    tmp_path: Path, spark_cluster: SparkCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    result = demo(tmp_path / "demo", "--master", spark_cluster.master, "--calm")
    assert_exact(result)
    assert result["crashes"] == []
    executors = [folder for folder in (spark_cluster.folder / "work").glob("app-*/*") if folder.is_dir()]
    assert len(executors) >= 2
