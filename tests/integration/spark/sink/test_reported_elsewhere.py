"""Checkpoints and topics with which other sinks failed, as public reports have them. Each test names its report."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.conftest import RunningBroker
from tests.integration.spark.kafka_records import create_topic
from tests.integration.spark.sink.test_marker import Job
from tests.support.both_brokers import KAFKA_IN_SOAK

pytestmark = KAFKA_IN_SOAK


@pytest.fixture
def job(spark: SparkSession, broker: RunningBroker, unique_name: str, tmp_path: Path) -> Job:
    return Job(spark, broker, unique_name, tmp_path)


@pytest.mark.parametrize("by_batch", [False, True], ids=["format", "for_each_batch"])
def test_a_query_whose_checkpoint_lost_the_query_id_writes_no_record_twice(job: Job, by_batch: bool) -> None:
    """apache/spark#53844 (SPARK-55058): a PySpark that does not notice gives the checkpoint another id."""
    job.by_batch = by_batch
    for _ in range(2):
        job.send()
        job.run()
    job.crash_before_commit_log(1)
    metadata = job.checkpoint / "metadata"
    kept = json.loads(metadata.read_text())
    metadata.write_text(json.dumps({"id": "11111111-2222-3333-4444-555555555555"}))
    job.without_checksum(metadata)
    for choice in ("fail", "write", "skip"):
        says = job.refused("its file metadata has lost this id", onMissingMarker=choice)
        assert json.loads(re.findall(r'write (\{"id":"[^"]*"\}) into it', says)[0]) == kept
    assert job.numbers() == list(range(20))
    metadata.write_text(json.dumps(kept))
    job.send()
    job.run()
    assert job.numbers() == list(range(30))


def test_a_query_whose_checkpoint_lost_its_metadata_writes_no_record_twice(job: Job) -> None:
    """apache/spark#53844 (SPARK-55058)."""
    for _ in range(2):
        job.send()
        job.run()
    job.crash_before_commit_log(1)
    metadata = job.checkpoint / "metadata"
    kept = metadata.read_text()
    metadata.unlink()
    job.without_checksum(metadata)
    with pytest.raises(PySparkException, match=r"MISSING_METADATA_FILE|its file metadata has lost this id"):
        job.run()
    assert job.numbers() == list(range(20))
    metadata.write_text(kept)
    job.run()
    assert job.numbers() == list(range(20))


def test_a_query_whose_checkpoint_was_moved_continues_under_another_query_name(job: Job) -> None:
    """neo4j/neo4j-spark-connector#579, airbnb/chronon#1146 and the page of datachef.co, "Mysterious Spark Checkpoints
    Behaviour": everything was read or written again.
    """
    job.send()
    job.run(queryName="first")
    job.crash_before_commit_log(0)
    moved = job.checkpoint.with_name("v1") / "moved Ünder"
    moved.parent.mkdir()
    shutil.move(job.checkpoint, moved)
    job.checkpoint = moved
    job.run(queryName="second")
    assert job.numbers() == list(range(10))
    job.send()
    job.run(queryName="third")
    assert job.numbers() == list(range(20))


def test_topic_of_the_longest_name_is_written_once(job: Job, unique_name: str) -> None:
    """robinhood/faust#411, apache/flink#14144, confluentinc/librdkafka#529 and fluent/fluent-bit#8789: names made of
    the topic's were too long.
    """
    job.sink = create_topic(job.address, f"{unique_name}-".ljust(249, "d"), 3)
    job.send()
    job.run()
    job.crash_before_commit_log(0)
    job.run()
    assert sorted(job.numbers()) == list(range(10))
    job.send()
    job.run()
    assert sorted(job.numbers()) == list(range(20))
