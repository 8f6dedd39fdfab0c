"""The diagnosis of a checkpoint: the next start does what the decision says about the batch that it would run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.spark.kafka.interface import ClusterFacts
from oncelog.spark.sink.checkpoint import Checkpoint, CheckpointError
from oncelog.spark.sink.doctor import SinkLogState, diagnose, groups_of
from oncelog.spark.sink.marker import LastWrite, Marker, MarkerTopic
from oncelog.types import TopicPartition
from tests.unit.spark.sink.test_checkpoint import spark_writes

NOW = 1_800_000_000_000
LONG_AGO = NOW - 40 * 24 * 3_600_000
GROUP = "oncelog-84d98cca-out"
OUT = TopicPartition("out", 0)


def log_of(marker: Marker | None = None) -> SinkLogState:
    offsets = {} if marker is None else {OUT: OffsetAndMetadata(marker.batch_id, marker.encode())}
    return SinkLogState(ClusterFacts("cluster", 10_080 * 60_000), offsets, "CompleteCommit", {OUT: 30})


def written(checkpoint: Checkpoint, batch_id: int) -> Marker:
    batch = checkpoint.planned(batch_id)
    assert batch is not None
    return Marker("84d98cca", batch_id, 10, batch.fingerprint, batch.planned_at_ms, batch.offsets)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """Batches 0 and 1 ended long ago, 2 is planned."""
    for number in (0, 1):
        spark_writes(tmp_path, number, at_ms=LONG_AGO, offset=10 * number)
    spark_writes(tmp_path, 2, at_ms=NOW - 1000, offset=20, ended=False)
    found = Checkpoint.open(str(tmp_path))
    found.remember(LastWrite("cluster", GROUP, 0))
    return found


def test_the_doctor_uses_the_marker_to_say_whether_an_unfinished_batch_is_skipped_written_or_refused(
    checkpoint: Checkpoint,
) -> None:
    skips = diagnose(checkpoint, GROUP, log_of(written(checkpoint, 2)), NOW)
    assert (skips.next_batch, skips.repeats, skips.verdict) == (2, True, "skip")
    writes = diagnose(checkpoint, GROUP, log_of(written(checkpoint, 1)), NOW)
    assert (writes.next_batch, writes.repeats, writes.verdict) == (2, True, "write")
    lost = diagnose(checkpoint, GROUP, log_of(written(checkpoint, 0)), NOW)
    assert lost.verdict == "refuse"
    assert "batch 1 is not in this log" in lost.reason


def test_the_doctor_names_a_commit_log_file_that_spark_could_not_read(checkpoint: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "commits" / "1").write_text('v1\n{"nextBatchWater')
    with pytest.raises(CheckpointError, match="a file commits/1 that is empty or cut off"):
        diagnose(checkpoint, GROUP, log_of(written(checkpoint, 1)), NOW)


def test_the_doctor_reports_a_deleted_topic_of_the_last_marker(checkpoint: Checkpoint) -> None:
    checkpoint.remember(LastWrite("cluster", GROUP, 0, MarkerTopic("markers", "1")))
    before = log_of(written(checkpoint, 1))
    there = diagnose(checkpoint, GROUP, replace(before, topic_ids={"markers": "1"}), NOW)
    assert there.verdict == "write"
    gone = diagnose(checkpoint, GROUP, before, NOW)
    assert gone.verdict == "refuse"
    assert "topic markers, into which" in gone.reason


def test_the_doctor_says_that_an_idle_query_will_plan_the_next_batch(checkpoint: Checkpoint, tmp_path: Path) -> None:
    spark_writes(tmp_path, 2, at_ms=LONG_AGO, offset=20)
    goes_on = diagnose(checkpoint, GROUP, log_of(), NOW)
    assert (goes_on.next_batch, goes_on.repeats, goes_on.verdict) == (3, False, "write")
    after = diagnose(checkpoint, GROUP, log_of(written(checkpoint, 2)), NOW)
    assert (after.next_batch, after.verdict) == (3, "write")


def test_the_doctor_reports_a_checkpoint_older_than_the_log_before_a_batch_is_planned(
    checkpoint: Checkpoint, tmp_path: Path
) -> None:
    spark_writes(tmp_path, 2, at_ms=NOW - 1000, offset=20)
    refused = diagnose(checkpoint, GROUP, log_of(Marker("84d98cca", 3, 9, "x", NOW, '{"in":{"0":40}}')), NOW)
    assert refused.verdict == "refuse"
    assert "the log holds batch 3 already (9 rows" in refused.reason
    assert "not planned yet" not in refused.reason


def test_the_doctor_describes_a_new_query_as_new(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id":"84d98cca"}')
    begins = diagnose(Checkpoint.open(str(tmp_path)), GROUP, log_of(), NOW)
    assert (begins.next_batch, begins.repeats, begins.verdict) == (0, False, "write")
    assert dict(begins.lines())["planned"] == "no batch"
    with pytest.raises(CheckpointError, match="name the group of its marker with --group") as reported:
        groups_of(Checkpoint.open(str(tmp_path)), "")
    assert "PREFIXoncelog-marker-84d98cca-TOPIC" in str(reported.value)
    printed = diagnose(Checkpoint.open(str(tmp_path)), GROUP, log_of(Marker("84d98cca", -1, 0, "unknown")), NOW)
    assert dict(printed.lines())["marker"] == "no batch is written yet"
    assert dict(printed.lines())["next start"] == "plans batch 0: write, the marker says that none is written yet"
    assert "for a pipeline, whose PREFIX is its name and '-'" in str(reported.value), (
        "it said oncelog- for pipelines, too"
    )


def test_the_diagnoses_in_json_and_in_lines_agree(checkpoint: Checkpoint) -> None:
    reported = diagnose(checkpoint, groups_of(checkpoint, "")[0], log_of(written(checkpoint, 2)), NOW)
    answer = reported.as_json()
    assert (answer["group"], answer["ended"], answer["ends"]) == (GROUP, 1, {"out-0": 30})
    assert answer["planned"]["batchId"] == answer["marker"]["batchId"] == 2
    assert answer["planned"]["fingerprint"] == answer["marker"]["fingerprint"]
    assert answer["remembers"] == {"clusterId": "cluster", "sinceBatchId": 0}
    assert answer["next"]["verdict"] == "skip"
    lines = dict(reported.lines())
    assert lines["next start"] == "repeats batch 2: skip, batch 2 is written: the marker holds this very plan"
    assert lines["log"] == "out-0 ends at 30"


def test_doctor_counts_empty_partitions_and_lists_the_others(checkpoint: Checkpoint) -> None:
    ends = {TopicPartition("out", number): 7 if number == 8 else 0 for number in range(50)}
    reported = replace(diagnose(checkpoint, groups_of(checkpoint, "")[0], log_of(), NOW), ends=ends)
    assert dict(reported.lines())["log"] == "out-8 ends at 7, 49 partitions without a record"
    assert len(reported.as_json()["ends"]) == 50
