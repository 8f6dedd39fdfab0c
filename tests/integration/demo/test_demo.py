"""``oncelog demo`` in its small version: on our broker, on Apache Kafka, and on a Spark cluster of two workers."""

from __future__ import annotations

import html
import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.children import of_family
from tests.support.shared_kafka import RunningKafka
from tests.support.spark_cluster import SparkCluster

FLIGHTS = 10_000

pytestmark = pytest.mark.timeout(900)


def demo(folder: Path, *options: str) -> dict[str, Any]:
    """Run the demo; returns its JSON result, which comes with exit status 0 only if the topics are exact."""
    run = subprocess.run(
        [sys.executable, "-m", "oncelog", "demo", "--flights", str(FLIGHTS), "--data", str(folder), "--json", *options],
        capture_output=True,
        text=True,
        timeout=880,
        check=False,
        env=of_family(),
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
    inside = [crash for crash in result["crashes"] if "'s commit: " in crash["where"]]
    assert len(inside) == 2
    assert result["batches_skipped_on_replay"] >= 1
    enriched = next(topic for topic in result["topics"] if topic["topic"].endswith("flights-enriched"))
    assert enriched["of_aborted_transactions"] > 0


def assert_not_compared(result: dict[str, Any]) -> None:
    assert result["sparks_own_sink"] is None


def assert_sparks_sink_doubles(result: dict[str, Any]) -> None:
    """Spark's own sink under one kill delivers at least once, as it says."""
    sparks_sink = result["sparks_own_sink"]
    assert sparks_sink["missing"] == ""
    assert sparks_sink["duplicates"] > 0
    assert (sparks_sink["kills"], sparks_sink["lost"], sparks_sink["expected"]) == (1, 0, FLIGHTS)
    assert sparks_sink["delivered"] == FLIGHTS + sparks_sink["duplicates"]


def assert_commands_show_the_aborted_record(result: dict[str, Any], report: str) -> None:
    """Runs the report's commands exactly as they are printed."""
    found = re.search(r"<pre>(.*?)</pre>", report, re.DOTALL)
    assert found is not None
    serve, show = (shlex.split(html.unescape(line)) for line in found[1].splitlines())
    with running([sys.executable, "-m", *serve]) as broker:
        assert broker.stdout is not None
        assert "listen" in broker.stdout.readline()
        shown = subprocess.run(
            [sys.executable, "-m", *show], capture_output=True, text=True, timeout=300, check=True
        ).stdout
    record = result["aborted_record"]
    line = next(line for line in shown.splitlines() if "aborted" in line)
    assert re.search(rf"\b{record['offset']}\b", line)


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that is stopped at the end."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.parametrize(
    ("options", "compared"),
    [
        pytest.param(["--no-comparison"], assert_not_compared, id="alone"),
        pytest.param([], assert_sparks_sink_doubles, id="beside Spark's own sink", marks=pytest.mark.soak),
    ],
)
def test_the_demo_writes_each_record_once_although_all_processes_are_killed(
    tmp_path: Path, options: Sequence[str], compared: Callable[[dict[str, Any]], None]
) -> None:
    result = demo(tmp_path / "demo", *options)
    assert_exact(result)
    assert_crashes_counted(result, driver=2, producer=1, broker=1, writer=1)
    assert result["written_by_executors"] > 0
    compared(result)
    report = Path(result["report"]).read_text()
    assert report.count("<svg") == 2
    assert "Every record exactly once" in report
    assert not re.search(r"""(src|href)\s*=|@import|url\(|<script|https?://""", report)
    assert result["transactions"]["committed"] >= FLIGHTS / 1000
    assert_commands_show_the_aborted_record(result, report)


@pytest.mark.kafka
@pytest.mark.soak
def test_demo_is_exact_on_apache_kafka_too(tmp_path: Path, apache_kafka: RunningKafka, unique_name: str) -> None:
    prefix = f"{unique_name}-"
    address = apache_kafka.bootstrap_servers
    result = demo(tmp_path / "demo", "--bootstrap-server", address, "--prefix", prefix)
    assert result["bootstrap_servers"] == address
    assert_exact(result, prefix)
    assert_crashes_counted(result, driver=2, producer=1, writer=1)
    assert_sparks_sink_doubles(result)


@pytest.mark.kafka
@pytest.mark.soak
def test_demo_runs_on_a_spark_cluster_and_apache_kafka_unchanged(
    tmp_path: Path,
    spark_cluster: SparkCluster,
    apache_kafka: RunningKafka,
    unique_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    prefix, address = f"{unique_name}-", apache_kafka.bootstrap_servers
    result = demo(
        tmp_path / "demo", "--master", spark_cluster.master, "--calm", "--bootstrap-server", address, "--prefix", prefix
    )
    assert result["bootstrap_servers"] == address
    assert_exact(result, prefix)
    assert result["crashes"] == []
    executors = [folder for folder in spark_cluster.folder.glob("work-*/app-*/*") if folder.is_dir()]
    assert len(executors) >= 2
