"""Checkpoints that were damaged or moved, with which other sinks wrote batches twice, as public reports have them. Each
test names its report.
"""

from __future__ import annotations

import json
import re
import shutil

import pytest

from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.engine import BatchOutcome, SinkRefused
from tests.integration.tables.worlds import Query, World

SKIPPED, WRITTEN = BatchOutcome.SKIPPED, BatchOutcome.WRITTEN


@pytest.mark.parametrize("choice", list(OnMissingMarker), ids=lambda one: str(one.value))
@pytest.mark.parametrize("batch", [1, 2])
def test_checkpoint_that_has_lost_the_query_id_writes_nothing_twice(
    world: World, batch: int, choice: OnMissingMarker
) -> None:
    """apache/spark#53844 (SPARK-55058): without its file metadata the checkpoint gets another id, for which no batch
    counts as written.
    """
    query = Query(world.folder / "checkpoint", world.options)
    for number in range(batch):
        query.run(number, [(number, "a")])
    query.write(batch, [(batch, "a")])
    (query.root / "metadata").unlink()
    other = Query(query.root, world.options, query_id="another-id")
    rows = [(number, "a") for number in range(batch + 1)]
    with pytest.raises(SinkRefused, match=r"its file metadata has lost this id: write \{") as refused:
        other.write(batch, [(batch, "a")], on_missing=choice)
    other.end(batch)
    with pytest.raises(SinkRefused, match=r"its file metadata has lost this id: write \{"):
        other.write(batch + 1, [(batch + 1, "a")], on_missing=choice)
    assert world.read() == rows
    advised = json.loads(re.findall(r'write (\{"id":"[^"]*"\}) into it', str(refused.value))[0])
    back = Query(query.root, world.options, query_id=advised["id"])
    assert back.run(batch, [(batch, "a")]).outcome is SKIPPED
    assert back.run(batch + 1, [(batch + 1, "a")]).outcome is WRITTEN
    assert world.read() == [*rows, (batch + 1, "a")]


def test_batch_whose_entry_in_the_commit_log_is_gone_is_skipped(world: World) -> None:
    """apache/paimon#9667, apache/hudi#6098, apache/iceberg#8809 and delta-io/delta#1141: the batch was there twice."""
    query = Query(world.folder / "checkpoint", world.options)
    for number in range(3):
        query.run(number, [(number, "a")])
    (query.root / "commits" / "2").unlink()
    again = Query(query.root, world.options)
    assert again.run(2, [(2, "a")]).outcome is SKIPPED
    assert again.run(3, [(3, "a")]).outcome is WRITTEN
    assert world.read() == [(number, "a") for number in range(4)]


def test_checkpoint_that_was_moved_continues(world: World) -> None:
    """neo4j/neo4j-spark-connector#579 and the page of datachef.co, "Mysterious Spark Checkpoints Behaviour"."""
    query = Query(world.folder / "checkpoint", world.options)
    query.run(0, [(0, "a")])
    query.write(1, [(1, "a")])
    moved = world.folder / "v1" / "moved checkpoint"
    moved.parent.mkdir()
    shutil.move(query.root, moved)
    link = world.folder / "link"
    link.symlink_to(moved)
    assert Query(link, world.options).run(1, [(1, "a")]).outcome is SKIPPED
    assert Query(moved, world.options).run(2, [(2, "a")]).outcome is WRITTEN
    assert world.read() == [(number, "a") for number in range(3)]
