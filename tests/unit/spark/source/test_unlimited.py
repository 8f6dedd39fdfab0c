"""The reader for a Spark that does not say where a batch begins, in the orders in which Spark 4.0 and 4.1 call it."""

from __future__ import annotations

import json
import logging

import pytest

from oncelog.spark.kafka.place import Json
from oncelog.spark.options import parse_source_options
from oncelog.spark.source.planned_offsets import DataLoss
from oncelog.spark.source.unlimited import UnlimitedReader
from oncelog.types import TopicPartition
from tests.unit.spark.source.test_stream import Clock, FakeCluster, ranges

A0 = TopicPartition("a", 0)


def reader(cluster: FakeCluster, **options: str) -> UnlimitedReader:
    base = {"kafka.bootstrap.servers": "h:1", "subscribe": "a", "startingOffsets": "earliest"}
    return UnlimitedReader(parse_source_options(base | options, streaming=True), lambda _: cluster, Clock())


def logged(offset: Json) -> Json:
    """An offset as Spark keeps it."""
    found: Json = json.loads(json.dumps(offset))
    return found


def begun(cluster: FakeCluster, **options: str) -> tuple[UnlimitedReader, Json, Json]:
    """A new query after the plan of its first batch: the reader, and that batch's start and end."""
    one = reader(cluster, **options)
    end = logged(one.latestOffset())
    start = logged(one.initialOffset())
    assert ranges(one.partitions(start, end)) == [(0, 0, cluster.end[A0])] or options
    return one, start, end


def test_a_new_query_reads_everything_first_and_then_respects_max_offsets_per_trigger() -> None:
    cluster = FakeCluster(a=[100])
    one, _, end = begun(cluster, maxOffsetsPerTrigger="10")
    cluster.end[A0] = 150
    then = logged(one.latestOffset())
    assert ranges(one.partitions(end, then)) == [(0, 100, 110)]
    assert ranges(one.partitions(then, logged(one.latestOffset()))) == [(0, 110, 120)]


def test_a_restarted_query_begins_exactly_at_its_checkpoint() -> None:
    cluster = FakeCluster(a=[100])
    _, _, end = begun(cluster)
    cluster.end[A0] = 150
    again = reader(cluster)
    assert again.partitions(end, end) == []
    assert ranges(again.partitions(end, logged(again.latestOffset()))) == [(0, 100, 150)]


def test_the_first_end_offset_after_a_restart_is_the_end_of_the_log() -> None:
    cluster = FakeCluster(a=[100])
    _, _, end = begun(cluster)
    cluster.end[A0] = 150
    again = reader(cluster, maxOffsetsPerTrigger="10")
    again.partitions(end, end)
    whole = logged(again.latestOffset())
    assert ranges(again.partitions(end, whole)) == [(0, 100, 150)]


def test_a_repeated_first_batch_of_a_query_from_latest_reads_the_same_records() -> None:
    cluster = FakeCluster(a=[100])
    one = reader(cluster, startingOffsets="latest")
    assert one.latestOffset() == one.initialOffset()
    cluster.end[A0] = 120
    end = logged(one.latestOffset())
    assert ranges(one.partitions(logged(one.initialOffset()), end)) == [(0, 100, 120)]
    cluster.end[A0] = 150
    again = reader(cluster, startingOffsets="latest")
    again.partitions(end, end)
    assert ranges(again.partitions(logged(again.initialOffset()), end)) == [(0, 100, 120)]
    assert ranges(again.partitions(end, logged(again.latestOffset()))) == [(0, 120, 150)]


def test_an_end_offset_before_the_position_is_reported_as_data_loss() -> None:
    """Trigger.AvailableNow asks first; a log that lost its end meanwhile must not pass for one with nothing new."""
    cluster = FakeCluster(a=[100])
    _, _, end = begun(cluster)
    cluster.end[A0] = 40
    again = reader(cluster)
    target = logged(again.latestOffset())
    again.partitions(end, end)
    with pytest.raises(DataLoss, match="ends at offset 40 and the query is at 100"):
        again.partitions(end, target)


def test_a_restarted_query_begins_at_its_checkpoint_and_not_at_its_first_end_offset() -> None:
    cluster = FakeCluster(a=[100])
    _, _, end = begun(cluster)
    cluster.end[A0] = 150
    again = reader(cluster)
    target = logged(again.latestOffset())
    again.partitions(end, end)
    assert ranges(again.partitions(end, target)) == [(0, 100, 150)]


def test_a_run_that_ends_after_a_repeated_batch_reports_that_it_did_not_look_for_new_records(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = FakeCluster(a=[100])
    _, start, end = begun(cluster)
    again = reader(cluster)
    again.partitions(end, end)
    again.partitions(start, end)
    with caplog.at_level(logging.WARNING):
        again.stop()
    assert "ended before it looked for new records" in caplog.text


def test_the_first_end_offset_after_a_restart_waits_for_transactions_that_are_being_ended() -> None:
    cluster = FakeCluster(a=[100])
    one = reader(cluster)
    end = logged(one.latestOffset())
    assert cluster.waited_beyond.count({A0: 0}) == 1  # by initialOffset
    assert None in cluster.waited_beyond
    one.partitions(logged(one.initialOffset()), end)
    cluster.waited_beyond.clear()
    one.latestOffset()
    assert cluster.waited_beyond == [{A0: 100}]
