"""What a query may find in checkpoint and table when it starts: the table of cases of the pages, for each format."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.engine import BatchOutcome, BatchStep, SinkRefused
from oncelog.spark.tables.options import Mode, TableFormat
from tests.integration.tables.worlds import DAY_MS, NOW_MS, SCHEMA, Query, World, with_mode

WRITTEN, SKIPPED = BatchOutcome.WRITTEN, BatchOutcome.SKIPPED


@pytest.fixture
def query(world: World) -> Query:
    """A query that has written two batches."""
    query = Query(world.folder / "checkpoint", world.options)
    assert query.run(0, [(0, "a"), (1, None)]).outcome is WRITTEN
    assert query.run(1, [(2, "")]).outcome is WRITTEN
    return query


BEFORE = [(0, "a"), (1, None), (2, "")]


def test_batches_are_written_in_order(world: World, query: Query) -> None:
    assert world.read() == BEFORE


def test_a_written_batch_is_skipped_by_any_later_run(world: World, query: Query) -> None:
    again = Query(query.root, world.options)
    assert again.write(1, [(2, "")]) == (SKIPPED, [])
    assert world.read() == BEFORE
    assert again.run(2, [(3, "d")]).outcome is WRITTEN
    assert world.read() == [*BEFORE, (3, "d")]


def test_an_empty_batch_is_recorded(world: World, query: Query) -> None:
    assert query.run(2, []).outcome is WRITTEN
    assert query.write(2, []).outcome is SKIPPED
    assert query.run(3, [(3, "d")]).outcome is WRITTEN
    assert world.read() == [*BEFORE, (3, "d")]


def test_the_first_batch_can_be_empty(world: World) -> None:
    query = Query(world.folder / "checkpoint", world.options)
    assert query.run(0, []).outcome is WRITTEN
    assert query.write(0, []).outcome is SKIPPED
    assert world.read() == []


@pytest.mark.parametrize("step", [step for step in BatchStep if step is not BatchStep.HALF_PRODUCED])
def test_a_crash_at_any_step_leaves_the_whole_batch_or_no_row(world: World, query: Query, step: BatchStep) -> None:
    class Killed(Exception):
        pass

    def crash(reached: BatchStep, batch_id: int | None) -> None:
        if reached is step:
            raise Killed

    with pytest.raises(Killed):
        query.write(2, [(3, "d")], observe=crash)
    assert world.read() == (BEFORE if step is not BatchStep.COMMITTED else [*BEFORE, (3, "d")])
    again = Query(query.root, world.options).write(2, [(3, "d")])
    assert again.outcome is (SKIPPED if step is BatchStep.COMMITTED else WRITTEN)
    assert world.read() == [*BEFORE, (3, "d")]


def test_a_restored_checkpoint_is_refused(world: World, query: Query) -> None:
    """Delta's own rule, a number at or below the last one is skipped, would drop the row without a word."""
    query.forget(1)
    with pytest.raises(SinkRefused, match=r"the table holds another plan of it.*is older than the table"):
        query.write(1, [(7, "new")], upto=77, at_ms=NOW_MS + 1)
    assert world.read() == BEFORE


def test_a_checkpoint_that_lost_its_last_two_batches_is_refused(world: World, query: Query) -> None:
    query.run(2, [(3, "d")])
    for batch_id in (1, 2):
        query.forget(batch_id)
    with pytest.raises(SinkRefused, match=r"the table holds batch 2 already"):
        query.write(1, [(7, "new")], upto=77)


def test_a_copied_checkpoint_is_refused_after_the_other_copy_has_written(world: World, query: Query) -> None:
    copy = query.copied(world.folder / "copy")
    assert copy.run(2, [(3, "copy")], upto=21).outcome is WRITTEN
    with pytest.raises(SinkRefused, match=r"another plan of it"):
        query.write(2, [(3, "own")], upto=22)
    query.forget(2)
    assert world.read() == [*BEFORE, (3, "copy")]


def test_the_previous_batch_distinguishes_two_copies_of_a_checkpoint_that_have_both_written(
    world: World, query: Query
) -> None:
    copy = query.copied(world.folder / "copy")
    copy.run(2, [(3, "copy")], upto=21)
    query.plan(2, upto=22)
    query.end(2)
    with pytest.raises(SinkRefused, match=r"two copies of a checkpoint have written"):
        query.write(3, [(4, "own")])


def test_checkpoint_copied_for_another_table_is_refused(world: World, query: Query) -> None:
    table = {TableFormat.DELTA: str(world.folder / "lake" / "b"), TableFormat.ICEBERG: "lake.b"}.get(
        world.options.format, "b"
    )
    copy = query.copied(world.folder / "copy", table=table)
    with pytest.raises(SinkRefused, match=r"wrote last to the table with id .*, while there is none now"):
        copy.write(2, [(3, "d")])
    assert copy.write(2, [(3, "d")], on_missing=OnMissingMarker.WRITE).outcome is WRITTEN


def test_two_sinks_of_one_query_that_write_to_the_same_table_need_names(world: World) -> None:
    first = Query(world.folder / "checkpoint", world.options)
    second = Query(world.folder / "checkpoint", world.options, name="second")
    first.write(0, [(0, "first")])
    reported = (
        r"as it is written: .* holds batch 0 of this query as written by the sink without a name .*, and none by "
    )
    with pytest.raises(SinkRefused, match=reported):
        second.write(0, [(0, "second")])


def test_a_query_continues_after_an_idle_year(world: World, query: Query) -> None:
    query.run(2, [(3, "d")], at_ms=NOW_MS + 400 * DAY_MS)
    assert world.read() == [*BEFORE, (3, "d")]


def test_a_batch_repeated_a_year_later_is_written_unless_it_was_written_before(world: World, query: Query) -> None:
    query.write(2, [(3, "d")])
    assert query.write(2, [(3, "d")], now_ms=NOW_MS + 400 * DAY_MS).outcome is SKIPPED
    query.end(2)
    query.plan(3)
    assert query.write(3, [(4, "e")], now_ms=NOW_MS + 800 * DAY_MS).outcome is WRITTEN
    assert world.read() == [*BEFORE, (3, "d"), (4, "e")]


def test_a_recreated_table_is_refused(world: World, query: Query) -> None:
    world.drop()
    with pytest.raises(SinkRefused, match=r"wrote last to the table with id .*, while there is none now"):
        query.write(2, [(3, "d")])
    assert query.write(2, [(3, "d")], on_missing=OnMissingMarker.WRITE).outcome is WRITTEN
    assert world.read() == [(3, "d")]
    query.end(2)
    assert query.run(3, [(4, "e")]).outcome is WRITTEN


def test_a_table_that_another_program_has_recreated_is_refused(world: World, query: Query, tmp_path: Path) -> None:
    world.drop()
    query.store.prepare(SCHEMA, query.options)
    with pytest.raises(SinkRefused, match=r"wrote last to the table with id .*, while this is"):
        query.write(2, [(3, "d")])


def test_a_batch_is_refused_if_the_record_of_the_last_batch_was_cleaned_up(world: World, query: Query) -> None:
    world.clean_identities()
    with pytest.raises(SinkRefused, match=r"no marker in .*the table lost it .*so it cannot be known"):
        query.write(2, [(3, "d")])


@pytest.mark.parametrize("choice", [OnMissingMarker.WRITE, OnMissingMarker.SKIP])
def test_the_user_decides_about_a_batch_record_that_was_cleaned_up(
    world: World, query: Query, choice: OnMissingMarker
) -> None:
    world.clean_identities()
    rows = world.read()
    reported = query.write(2, [(3, "d")], on_missing=choice)
    assert reported.outcome is (WRITTEN if choice is OnMissingMarker.WRITE else SKIPPED)
    assert f"onMissingMarker is {choice.value}" in reported.warnings[0]
    assert query.write(2, [(3, "d")]).outcome is SKIPPED
    assert world.read() == (sorted([*rows, (3, "d")]) if choice is OnMissingMarker.WRITE else rows)


def test_table_maintenance_keeps_the_batch_record(world: World, query: Query) -> None:
    world.append_as_another((9, "another's"))
    query.run(2, [(3, "d")])
    world.maintain()
    assert query.write(2, [(3, "d")]).outcome is SKIPPED
    query.forget(2)
    with pytest.raises(SinkRefused, match=r"another plan of it"):
        query.write(2, [(3, "d")], upto=77)
    assert world.read() == [*BEFORE, (3, "d"), (9, "another's")]


def test_a_first_batch_is_skipped_after_a_crash_and_table_maintenance(world: World) -> None:
    """Compaction and expire_snapshots by hand once left an Iceberg table without a trace of the batch."""
    query = Query(world.folder / "checkpoint", world.options)
    query.write(0, [(0, "a")])
    world.append_as_another((9, "another's"))
    world.maintain()
    assert Query(query.root, world.options).write(0, [(0, "a")]).outcome is SKIPPED
    assert world.read() == [(0, "a"), (9, "another's")]


def test_a_restored_table_is_refused_and_the_error_names_the_batches(world: World, query: Query) -> None:
    restore = world.saved()
    query.run(2, [(3, "d")])
    query.run(3, [(4, "e")])
    restore()
    with pytest.raises(SinkRefused, match=r"batches 2 to 3 are not in this table, whose last is batch 1"):
        query.write(4, [(5, "f")])
    assert world.read() == BEFORE


def test_rows_of_other_writers_are_kept(world: World, query: Query) -> None:
    world.append_as_another((9, "another's"))
    assert query.run(2, [(3, "d")]).outcome is WRITTEN
    assert world.read() == [*BEFORE, (3, "d"), (9, "another's")]


def test_complete_mode_replaces_all_rows(world: World) -> None:
    query = Query(world.folder / "checkpoint", with_mode(world, Mode.COMPLETE))
    query.run(0, [(0, "a"), (1, "b")])
    query.run(1, [(5, "x")])
    assert query.write(1, [(5, "x")]).outcome is SKIPPED
    assert world.read() == [(5, "x")]
    query.run(2, [])
    assert world.read() == []


def test_upsert_replaces_rows_of_the_same_key(world: World) -> None:
    query = Query(world.folder / "checkpoint", with_mode(world, Mode.UPSERT, ("id",)))
    query.run(0, [(0, "a"), (1, "b")])
    query.run(1, [(1, "B"), (2, None)])
    assert query.write(1, [(1, "B"), (2, None)]).outcome is SKIPPED
    query.run(2, [])
    query.run(3, [(2, None)])
    assert query.write(3, [(2, None)]).outcome is SKIPPED
    assert world.read() == [(0, "a"), (1, "B"), (2, None)]
