"""Checkpoints that were damaged or moved, with which other sinks wrote batches twice, as public reports have them. Each
test names its report.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.engine import BatchOutcome, BatchStep, SinkRefused
from oncelog.spark.tables.options import TableFormat
from tests.integration.tables.worlds import DAY_MS, NOW_MS, DeltaWorld, Query, World, world_of

SKIPPED, WRITTEN = BatchOutcome.SKIPPED, BatchOutcome.WRITTEN


@pytest.mark.parametrize("choice", list(OnMissingMarker), ids=lambda one: str(one.value))
@pytest.mark.parametrize("batch", [1, 2])
def test_a_query_whose_checkpoint_lost_the_query_id_writes_no_row_twice(
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


def test_a_written_batch_is_skipped_even_if_its_entry_in_the_commit_log_is_gone(world: World) -> None:
    """apache/paimon#9667, apache/hudi#6098, apache/iceberg#8809 and delta-io/delta#1141: the batch was there twice."""
    query = Query(world.folder / "checkpoint", world.options)
    for number in range(3):
        query.run(number, [(number, "a")])
    (query.root / "commits" / "2").unlink()
    again = Query(query.root, world.options)
    assert again.run(2, [(2, "a")]).outcome is SKIPPED
    assert again.run(3, [(3, "a")]).outcome is WRITTEN
    assert world.read() == [(number, "a") for number in range(4)]


def test_a_query_continues_after_its_checkpoint_was_moved(world: World) -> None:
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


@pytest.fixture
def restored(tmp_path: Path) -> tuple[DeltaWorld, Query]:
    """A Delta table with batches 0 to 3, of which RESTORE has taken 2 and 3 back, and their query."""
    world = world_of(TableFormat.DELTA, tmp_path, str)
    assert isinstance(world, DeltaWorld)
    query = Query(tmp_path / "checkpoint", world.options)
    for number in range(4):
        query.run(number, [(number, "a")])
    world.table().restore(2)  # its version 0 made the table
    assert world.read() == [(0, "a"), (1, "a")]
    return world, query


def test_the_error_lists_the_batches_that_a_restored_delta_table_lost_and_the_query_can_write_them_again(
    restored: tuple[DeltaWorld, Query],
) -> None:
    """delta-io/delta#1813: RESTORE does not take application transactions back, so the rows were skipped in silence."""
    world, query = restored
    for again in (query, Query(query.root, world.options)):
        with pytest.raises(SinkRefused, match=r"batches 2 to 3 are not in this table, whose last is batch 1 \(1 rows"):
            again.write(4, [(4, "a")])
    for number in (2, 3, 4):
        query.forget(number)
    for number in (2, 3, 4):
        assert query.run(number, [(number, "a")], at_ms=NOW_MS + 1).outcome is WRITTEN
        assert query.write(number, [(number, "a")]).outcome is SKIPPED
    assert world.read() == [(number, "a") for number in range(5)]


def test_a_last_batch_that_a_restore_removed_is_written_again(restored: tuple[DeltaWorld, Query]) -> None:
    """delta-io/delta#1813, as reported: the last batch was taken out of checkpoint and table, to be run again."""
    world, query = restored
    query.forget(3)
    world.append_as_another((9, "another's"))
    assert query.write(2, [(2, "a")]).outcome is WRITTEN
    assert query.write(2, [(2, "a")]).outcome is SKIPPED
    world.maintain()
    assert Query(query.root, world.options).run(2, [(2, "a")]).outcome is SKIPPED
    assert query.run(3, [(3, "b")], at_ms=NOW_MS + 1).outcome is WRITTEN
    assert world.read() == [(0, "a"), (1, "a"), (2, "a"), (3, "b"), (9, "another's")]


def test_a_batch_is_refused_if_its_table_is_restored_while_the_batch_is_written(
    restored: tuple[DeltaWorld, Query],
) -> None:
    world, query = restored
    query.forget(3)
    query.run(2, [(2, "a")])

    def take_back(step: BatchStep, batch_id: int | None) -> None:
        if step is BatchStep.MARKER_ADDED:
            world.table().restore(2)

    with pytest.raises(SinkRefused, match="batch 2 is not in this table, whose last is batch 1"):
        query.write(3, [(3, "a")], observe=take_back)
    assert world.read() == [(0, "a"), (1, "a")]


def test_a_restore_that_undoes_only_changes_of_other_programs_undoes_no_batch(tmp_path: Path) -> None:
    world = world_of(TableFormat.DELTA, tmp_path, str)
    assert isinstance(world, DeltaWorld)
    query = Query(tmp_path / "checkpoint", world.options)
    query.run(0, [(0, "a")])
    query.run(1, [])
    world.table().delete()
    world.table().restore(2)
    query.run(2, [])
    world.append_as_another((9, "another's"))
    world.table().restore(world.table().version() - 1)
    assert query.write(2, []).outcome is SKIPPED
    assert query.run(3, [(3, "a")]).outcome is WRITTEN
    assert world.read() == [(0, "a"), (3, "a")]


def test_the_user_decides_about_a_table_restored_to_a_version_before_its_first_batch(
    restored: tuple[DeltaWorld, Query],
) -> None:
    world, query = restored
    world.table().restore(0)
    with pytest.raises(SinkRefused, match=r"the table lost it .* set onMissingMarker to write"):
        query.write(4, [(4, "a")])
    assert query.run(4, [(4, "a")], on_missing=OnMissingMarker.WRITE).outcome is WRITTEN
    assert query.run(5, [(5, "a")]).outcome is WRITTEN
    assert world.read() == [(4, "a"), (5, "a")]


def test_a_long_idle_query_is_refused_if_its_iceberg_table_was_rolled_back(tmp_path: Path) -> None:
    """Not even an idle time longer than Iceberg keeps snapshots makes a batch count as expired."""
    world = world_of(TableFormat.ICEBERG, tmp_path, str)
    query = Query(tmp_path / "checkpoint", world.options)
    query.run(0, [(0, "a")])
    roll_back = world.saved()
    for number in (1, 2):
        query.run(number, [(number, "a")])
    roll_back()
    with pytest.raises(SinkRefused, match=r"batches 1 to 2 are not in this table, whose last is batch 0"):
        query.write(3, [(3, "a")], at_ms=NOW_MS + 365 * DAY_MS)
