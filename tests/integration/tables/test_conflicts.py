"""Others who write at the same time, and commits of which nobody hears: one copy of the batch, whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from oncelog.spark.sink.engine import BatchOutcome, BatchStep, SinkRefused
from oncelog.spark.tables.commit import ATTEMPTS
from oncelog.spark.tables.options import TableFormat, TableOptions
from oncelog.spark.tables.sink import open_store
from oncelog.spark.tables.store import Commit, Conflict, TableLayout, TableLook, TableStore, TaskWriter, WrittenPart
from tests.integration.tables.worlds import SCHEMA, Query, Row, World, arrow, parts

AT_EACH_STEP = (BatchStep.STARTED, BatchStep.MARKER_READ, BatchStep.PRODUCED, BatchStep.MARKER_ADDED)


@pytest.fixture
def query(world: World) -> Query:
    query = Query(world.folder / "checkpoint", world.options)
    query.run(0, [(0, "a")])
    return query


def once_at(step: BatchStep, act: Callable[[], object]) -> Callable[[BatchStep, int | None], None]:
    """An observer that acts when the step is reached for the first time."""
    done: list[bool] = []

    def observe(reached: BatchStep, batch_id: int | None) -> None:
        if reached is step and not done:
            done.append(True)
            act()

    return observe


@pytest.mark.parametrize("step", AT_EACH_STEP)
def test_no_row_is_lost_if_another_writer_commits_at_any_step(world: World, query: Query, step: BatchStep) -> None:
    observe = once_at(step, lambda: world.append_as_another((9, "another's")))
    assert query.run(1, [(1, "b")], observe=observe).outcome is BatchOutcome.WRITTEN
    assert world.read() == [(0, "a"), (1, "b"), (9, "another's")]


@pytest.mark.parametrize("step", AT_EACH_STEP)
def test_two_drivers_with_one_checkpoint_write_each_row_once(world: World, query: Query, step: BatchStep) -> None:
    """A zombie of an earlier run is faster."""
    zombie = Query(query.root, world.options)
    observe = once_at(step, lambda: zombie.write(1, [(1, "b")]))
    query.run(1, [(1, "b")], observe=observe)
    assert world.read() == [(0, "a"), (1, "b")]


@pytest.mark.parametrize("step", AT_EACH_STEP)
def test_a_batch_is_refused_after_a_zombie_has_written_a_later_one(world: World, query: Query, step: BatchStep) -> None:
    copy = query.copied(world.folder / "copy")

    def resume() -> None:
        copy.run(1, [(1, "copy")], upto=50)
        copy.run(2, [(2, "copy")], upto=60)

    with pytest.raises(SinkRefused, match="the table holds batch 2 already"):
        query.write(1, [(1, "own")], observe=once_at(step, resume))
    assert world.read() == [(0, "a"), (1, "copy"), (2, "copy")]


class Unheard:
    """A store whose answer to a commit is lost, as often as said; the commit takes effect or does not."""

    def __init__(self, store: TableStore, times: int, *, takes_effect: bool) -> None:
        self._store = store
        self._times = times
        self._takes_effect = takes_effect

    def look(self, group: str, plans: Sequence[str], known: Collection[str] = ()) -> TableLook:
        return self._store.look(group, plans, known)

    def prepare(self, schema: StructType, options: TableOptions) -> str:
        return self._store.prepare(schema, options)

    def layout(self) -> TableLayout | None:
        return self._store.layout()

    def arranged(self, rows: DataFrame) -> DataFrame:
        return self._store.arranged(rows)

    def task_writer(self) -> TaskWriter:
        return self._store.task_writer()

    def commit(self, commit: Commit) -> None:
        if self._times == 0:
            return self._store.commit(commit)
        self._times -= 1
        if self._takes_effect:
            self._store.commit(commit)
        raise Conflict("the connection ended after COMMIT was sent")


@pytest.mark.parametrize("takes_effect", [True, False], ids=["committed", "not committed"])
def test_a_commit_whose_answer_is_lost_is_stored_once(world: World, query: Query, takes_effect: bool) -> None:
    made: list[int] = []

    def make() -> Sequence[WrittenPart]:
        made.append(1)
        return parts([(1, "b")])

    query.store = Unheard(query.store, 2, takes_effect=takes_effect)
    assert query.run(1, [], made=make).outcome is BatchOutcome.WRITTEN
    assert (world.read(), len(made)) == ([(0, "a"), (1, "b")], 1)
    assert query.run(2, [(2, "c")]).outcome is BatchOutcome.WRITTEN
    assert world.read() == [(0, "a"), (1, "b"), (2, "c")]


def test_a_batch_that_loses_every_conflict_fails(world: World, query: Query) -> None:
    query.store = Unheard(query.store, ATTEMPTS, takes_effect=False)
    with pytest.raises(Conflict, match="COMMIT was sent"):
        query.write(1, [(1, "b")])
    query.store = Query(query.root, world.options).store
    assert query.run(1, [(1, "b")]).outcome is BatchOutcome.WRITTEN
    assert world.read() == [(0, "a"), (1, "b")]


@pytest.mark.parametrize("form", [TableFormat.DELTA], indirect=True)
@pytest.mark.parametrize("step", AT_EACH_STEP)
def test_a_delta_table_that_is_compacted_during_the_batch_contains_each_row_once(
    world: World, query: Query, step: BatchStep
) -> None:
    world.append_as_another((9, "another's"))
    observe = once_at(step, lambda: DeltaTable(world.options.table).optimize.compact())
    query.run(1, [(1, "b")], observe=observe)
    assert world.read() == [(0, "a"), (1, "b"), (9, "another's")]


@pytest.mark.parametrize("form", [TableFormat.POSTGRESQL], indirect=True)
def test_queries_with_other_columns_do_not_disturb_staged_rows(world: World, query: Query) -> None:
    """Tasks of both have copied their rows before either commits."""
    other = Query(world.folder / "other", world.options, query_id="another")
    ids = pa.table({"id": range(10_000, 100_000)})

    def other_writes() -> None:
        other.run(0, [], schema=StructType([SCHEMA["id"]]), made=lambda: by_task(other, ids))

    many: list[Row] = [(number, f"{number:>200}") for number in range(1, 5000)]
    query.run(1, [], made=lambda: by_task(query, arrow(many)), observe=once_at(BatchStep.PRODUCED, other_writes))
    found = world.read()
    assert found[: len(many) + 1] == [(0, "a"), *many]
    assert [row[0] for row in found[len(many) + 1 :]] == list(range(10_000, 100_000))
    assert open_store(world.options).leftovers(0) == []


def by_task(query: Query, rows: pa.Table) -> list[WrittenPart]:
    """What a task makes of so many rows that it writes them itself."""
    written = list(query.store.task_writer()(iter(rows.to_batches(max_chunksize=1000))))
    assert all(part.inline is None for part in written)
    return written
