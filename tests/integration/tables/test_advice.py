"""What a refusal advises is done here, and no row is there twice afterwards, nor is one left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.checkpoint import CheckpointError
from oncelog.spark.sink.engine import BatchOutcome, SinkRefused
from tests.integration.tables.worlds import DAY_MS, NOW_MS, Query, Row, World

SKIPPED, WRITTEN = BatchOutcome.SKIPPED, BatchOutcome.WRITTEN
ROWS: list[Row] = [(0, "a"), (1, "b"), (2, "c"), (3, "d"), (4, "e")]
"""Batch N reads the source up to offset N, which is row N."""


@pytest.fixture
def query(world: World) -> Query:
    """Three batches have ended."""
    made = Query(world.folder / "checkpoint", world.options)
    for number in range(3):
        made.run(number, [ROWS[number]])
    return made


def goes_on_after(world: World, until: int) -> None:
    """A new checkpoint whose ``startingOffsets`` are those of the message: it reads what comes after."""
    new = Query(world.folder / "new", world.options, query_id="new-query")
    for number, row in enumerate(ROWS[until + 1 :]):
        assert new.run(number, [row]).outcome is WRITTEN
    assert world.read() == ROWS


def written_until(refusal: SinkRefused) -> int:
    """The offset that the message says the table is written up to."""
    found = re.search(r'written there is .*?\{"in": \{"0": (\d+)\}\}', str(refusal))
    assert found is not None, refusal
    return int(found[1])


def test_an_older_checkpoint_is_refused_with_advice_that_works(world: World, query: Query) -> None:
    for number in (1, 2):
        query.forget(number)
    with pytest.raises(
        SinkRefused, match="start with a new checkpoint and, as startingOffsets, the offsets"
    ) as reported:
        query.write(1, [(1, "b")], at_ms=NOW_MS + 1)
    goes_on_after(world, written_until(reported.value))


def test_the_advice_for_copies_of_a_checkpoint_works(world: World, query: Query) -> None:
    copy = query.copied(world.folder / "copy")
    copy.run(3, [ROWS[3]])
    query.plan(3, upto=33)
    query.end(3)
    with pytest.raises(SinkRefused, match="two copies of a checkpoint have written: continue with") as reported:
        query.write(4, [ROWS[4]])
    goes_on_after(world, written_until(reported.value))


def test_the_advice_for_a_table_that_lost_batches_works(world: World, query: Query) -> None:
    restore = world.saved()
    query.run(3, [ROWS[3]])
    query.run(4, [ROWS[4]])
    restore()
    query.plan(5)
    reported = "batches 3 to 4 are not in this table, whose last is batch 2 .* remove the files above 2"
    with pytest.raises(SinkRefused, match=reported):
        query.write(5, [])
    for number in (3, 4, 5):
        query.forget(number)
    for number in (3, 4):
        assert query.run(number, [ROWS[number]], at_ms=NOW_MS + DAY_MS).outcome is WRITTEN
    assert world.read() == ROWS


def test_the_advice_for_a_sink_without_which_the_query_ran_works(world: World, query: Query) -> None:
    for number in (3, 4):
        query.plan(number)
        query.end(number)
    with pytest.raises(SinkRefused, match=r"the query ran without this sink .* give the sink another name, and set"):
        query.write(5, [(5, "f")])
    renamed = Query(query.root, world.options, name="again")
    assert renamed.run(5, [(5, "f")], on_missing=OnMissingMarker.WRITE).outcome is WRITTEN
    assert renamed.run(6, [(6, "g")]).outcome is WRITTEN
    assert world.read() == [*ROWS[:3], (5, "f"), (6, "g")]


@pytest.mark.parametrize("is_there", [True, False])
def test_the_advice_for_a_possibly_written_batch_works(world: World, query: Query, is_there: bool) -> None:
    """The identities were removed: the message says to look, and what to choose then."""
    if is_there:
        query.write(3, [ROWS[3]])
    query.plan(3)
    world.clean_identities()
    late_ms = NOW_MS + 400 * DAY_MS
    there = [row for row in world.read() if row[0] < 10]
    reported = r"look at what the destination holds, then set onMissingMarker to write \(batch 3 is not there\)"
    with pytest.raises(SinkRefused, match=reported):
        query.write(3, [ROWS[3]], now_ms=late_ms)
    choice = OnMissingMarker.SKIP if ROWS[3] in there else OnMissingMarker.WRITE
    query.write(3, [ROWS[3]], now_ms=late_ms, on_missing=choice)
    query.end(3)
    assert query.run(4, [ROWS[4]], now_ms=late_ms, at_ms=late_ms).outcome is WRITTEN
    assert [row for row in world.read() if row[0] < 10] == ROWS


def test_the_advice_for_an_empty_checkpoint_file_works(world: World, query: Query) -> None:
    query.write(3, [ROWS[3]])
    plan = query.root / "offsets" / "3"
    plan.write_bytes(b"\0" * 100)
    with pytest.raises(
        CheckpointError, match="a file offsets/3 that is empty or cut off, as a power failure leaves it: remove it"
    ):
        query.write(3, [ROWS[3]])
    plan.unlink()
    with pytest.raises(SinkRefused, match="the table holds another plan of it") as reported:
        query.write(3, [ROWS[3], ROWS[4]], upto=4, at_ms=NOW_MS + 5)
    goes_on_after(world, written_until(reported.value))


def test_the_advice_for_an_unreadable_checkpoint_file_works(world: World, query: Query) -> None:
    Path(query.root / "metadata").write_text("nonsense")
    reported = (
        "restore it, or start with a new checkpoint and, as startingOffsets, the offsets up to which the destination"
    )
    with pytest.raises(CheckpointError, match=reported):
        query.write(3, [ROWS[3]])
    goes_on_after(world, 2)
