"""Storage that is full or may not be written, and a batch that makes very many files."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from oncelog.errors import OncelogError
from oncelog.spark.sink.engine import BatchOutcome
from oncelog.spark.tables.inline import INLINE_BYTES
from oncelog.spark.tables.options import TableFormat
from tests.integration.tables.worlds import Query, Row, World, arrow, world_of
from tests.support.full_disk import full_disk

FILES = [TableFormat.DELTA, TableFormat.ICEBERG, TableFormat.SQLITE]
NOBODY = 65534
ROWS: list[Row] = [(number, os.urandom(100).hex()) for number in range(INLINE_BYTES // 100)]
"""So many that a task writes them itself, and so random that no compression makes them small."""


@contextlib.contextmanager
def without_rights(folder: Path) -> Iterator[None]:
    """This process may read all that is in the folder, and write nothing."""
    before = {path: path.stat().st_mode for path in [folder, *folder.rglob("*")]}
    for path in before:
        path.chmod(0o555 if path.is_dir() else 0o444)
    is_root = os.geteuid() == 0
    try:
        if is_root:
            os.seteuid(NOBODY)
        yield
    finally:
        if is_root:
            os.seteuid(0)
        for path, mode in before.items():
            path.chmod(mode)


@pytest.mark.parametrize("form", FILES, indirect=True)
@pytest.mark.parametrize("by_task", [True, False], ids=["task", "driver"])
def test_disk_that_is_full_in_the_middle_of_a_file_leaves_the_table_unchanged(world: World, by_task: bool) -> None:
    query = Query(world.folder / "checkpoint", world.options)
    query.run(0, [(-1, "a")])

    def write() -> BatchOutcome:
        if not by_task:
            return query.write(1, ROWS).outcome
        batches = arrow(ROWS).to_batches(max_chunksize=500)
        return query.write(1, [], made=lambda: list(query.store.task_writer()(iter(batches)))).outcome

    with (
        full_disk(100_000),
        pytest.raises(
            OncelogError, match=r"table .*cannot be (read or )?written: .*(File too large|full|disk I/O error)"
        ),
    ):
        write()
    assert world.read() == [(-1, "a")]
    assert write() is BatchOutcome.WRITTEN
    assert world.read() == [(-1, "a"), *ROWS]


@pytest.mark.parametrize("form", FILES)
def test_storage_without_write_permission_is_reported_before_rows_are_computed(form: TableFormat) -> None:
    with tempfile.TemporaryDirectory() as name:  # all may look into it
        folder = Path(name)
        folder.chmod(0o755)
        world = world_of(form, folder, str)
        query = Query(folder / "checkpoint", world.options)
        query.run(0, [(0, "a")])
        query.plan(1)
        made: list[int] = []
        with without_rights(folder), pytest.raises(OncelogError, match=r"may not be written|readonly database"):
            query.write(1, [], made=lambda: made.append(1) or [])  # type: ignore[func-returns-value]
        assert made == []
        assert world.read() == [(0, "a")]
        assert query.run(1, [(1, "b")]).outcome is BatchOutcome.WRITTEN
        assert world.read() == [(0, "a"), (1, "b")]


@pytest.mark.parametrize("form", FILES)
def test_a_table_location_that_cannot_be_created_is_reported(form: TableFormat, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    world = world_of(form, tmp_path / "file", str)
    with pytest.raises(
        OncelogError, match=r"may not be written|cannot be opened as a file: make its folder|unable to open database"
    ):
        Query(tmp_path / "checkpoint", world.options).write(0, [(0, "a")])


@pytest.mark.parametrize("form", [TableFormat.DELTA, TableFormat.ICEBERG], indirect=True)
@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.soak)])
def test_a_batch_may_have_thousands_of_partition_values(world: World, count: int) -> None:
    query = Query(world.folder / "checkpoint", replace(world.options, partition_by=("text",)))
    rows: list[Row] = [(number, f"v{number}") for number in range(count)]
    query.run(0, rows)
    query.run(1, [(count, "v0")])
    assert world.read() == [*rows, (count, "v0")]
