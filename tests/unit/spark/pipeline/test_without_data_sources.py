"""PySpark 3.5 has no Python data sources, and pipelines run there behind Spark's own connector."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence

import pytest

from oncelog.spark.pipeline import running
from oncelog.spark.pipeline.definition import ONLY, Pipeline, Sink, Source
from oncelog.types import IsolationLevel, TopicPartition

WITHOUT = """
import sys
sys.modules["pyspark.sql.datasource"] = sys.modules["pyspark.sql.streaming.datasource"] = None
import oncelog.cli.programs.pipeline, oncelog.spark.pipeline.running, oncelog.spark.session, oncelog.spark.tables.sink
"""


def test_pipelines_are_imported_where_pyspark_has_no_data_sources() -> None:
    ended = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr


class Cluster:
    """A cluster of three topics that notes whose ends are awaited."""

    def __init__(self) -> None:
        self.awaited: list[tuple[list[TopicPartition], IsolationLevel]] = []

    def connect(self, *_: object) -> Cluster:
        return self

    def close(self) -> None:
        pass

    def partition_counts(self, topics: Sequence[str] | None) -> Mapping[str, int]:
        return {"a": 2, "ab": 1, "c": 1}

    def settled_ends(self, partitions: list[TopicPartition], isolation: IsolationLevel) -> None:
        self.awaited.append((partitions, isolation))


def test_a_run_to_the_end_waits_for_transactions_that_are_being_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()
    monkeypatch.setattr(running, "KafkaCluster", cluster)
    source = Source(options={"subscribePattern": "a.*"})
    one = Pipeline("p", {ONLY: source}, {ONLY: Sink("out")}, lambda rows: rows)
    running._await_ends(one, running.RunSettings("h:1", "checkpoint", once=True))
    partitions = [TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("ab", 0)]
    assert cluster.awaited == [(partitions, IsolationLevel.READ_COMMITTED)]
