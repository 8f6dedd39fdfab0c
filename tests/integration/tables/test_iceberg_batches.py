"""The last batch in an Iceberg table whose snapshots have expired, with and without a rollback before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oncelog.errors import ConfigError
from oncelog.spark.sink.engine import BatchOutcome, BatchStep, SinkRefused
from oncelog.spark.tables.options import TableFormat
from tests.integration.tables.test_conflicts import once_at
from tests.integration.tables.worlds import NOW_MS, IcebergWorld, Query, world_of

SKIPPED, WRITTEN = BatchOutcome.SKIPPED, BatchOutcome.WRITTEN


@pytest.fixture
def world(tmp_path: Path) -> IcebergWorld:
    made = world_of(TableFormat.ICEBERG, tmp_path, str)
    assert isinstance(made, IcebergWorld)
    return made


@pytest.fixture
def query(world: IcebergWorld) -> Query:
    """A query that has written two batches."""
    query = Query(world.folder / "checkpoint", world.options)
    for number in range(2):
        query.run(number, [(number, "a")])
    return query


def remove_earlier_metadata_files(world: IcebergWorld) -> None:
    """As ``write.metadata.delete-after-commit.enabled`` does."""
    for entry in world.catalog().load_table(world.options.table).metadata.metadata_log:
        Path(entry.metadata_file.removeprefix("file://")).unlink()


@pytest.mark.parametrize("keeps_metadata", [True, False])
def test_a_query_continues_after_all_snapshots_of_its_batches_have_expired(
    world: IcebergWorld, query: Query, keeps_metadata: bool
) -> None:
    """Also if more commits followed than the table has earlier metadata files."""
    query.write(2, [(2, "a")])
    world.append_as_another((9, "another's"))
    world.expire_snapshots()
    world.append_as_another((9, "another's"))
    world.expire_snapshots()
    if not keeps_metadata:
        remove_earlier_metadata_files(world)
    again = Query(query.root, world.options)
    assert again.run(2, [(2, "a")]).outcome is SKIPPED
    assert again.run(3, [(3, "a")]).outcome is WRITTEN
    assert world.read() == [*((number, "a") for number in range(4)), (9, "another's"), (9, "another's")]


def test_a_rollback_is_noticed_after_its_snapshot_has_expired(world: IcebergWorld, query: Query) -> None:
    """The earlier metadata files still have the snapshots."""
    roll_back = world.saved()
    query.run(2, [(2, "a")])
    roll_back()
    world.append_as_another((9, "another's"))
    world.expire_snapshots()
    with pytest.raises(SinkRefused, match="batch 2 is not in this table, whose last is batch 1"):
        query.write(3, [(3, "a")])
    query.forget(2)
    query.forget(3)
    assert query.write(2, [(2, "b")], at_ms=NOW_MS + 1).outcome is WRITTEN
    assert query.write(2, [(2, "b")]).outcome is SKIPPED
    assert world.read() == [(0, "a"), (1, "a"), (2, "b"), (9, "another's")]


def test_a_rollback_is_noticed_without_metadata_files_while_the_snapshot_of_the_batch_exists(
    world: IcebergWorld, query: Query
) -> None:
    roll_back = world.saved()
    query.run(2, [(2, "a")])
    roll_back()
    table = world.catalog().load_table(world.options.table)
    restored = table.current_snapshot()
    assert restored is not None
    world.append_as_another((9, "another's"))
    world.catalog().load_table(world.options.table).maintenance.expire_snapshots().by_id(restored.snapshot_id).commit()
    remove_earlier_metadata_files(world)
    with pytest.raises(SinkRefused, match=r"the table lost it \(a restored backup, a rollback"):
        query.write(3, [(3, "a")])


def test_the_batches_of_a_renamed_sink_are_found_after_their_snapshots_have_expired(
    world: IcebergWorld, query: Query
) -> None:
    query.write(2, [(2, "a")])
    world.append_as_another((9, "another's"))
    world.expire_snapshots()
    renamed = Query(query.root, world.options, name="flights")
    with pytest.raises(SinkRefused, match="is refused, as it is written"):
        renamed.write(2, [(2, "a")])


@pytest.mark.parametrize("meanwhile", [True, False])
def test_an_upgrade_to_format_version_3_is_refused_with_a_remedy(
    world: IcebergWorld, query: Query, meanwhile: bool
) -> None:
    def upgrade() -> None:
        place = world.catalog().load_table(world.options.table).metadata_location.removeprefix("file://")
        metadata = json.loads(Path(place).read_text())
        Path(place).write_text(json.dumps(metadata | {"format-version": 3, "next-row-id": 0}))

    if not meanwhile:
        upgrade()
    observe = once_at(BatchStep.MARKER_ADDED, upgrade if meanwhile else lambda: None)
    with pytest.raises(ConfigError, match=r"has format-version 3, .* copy the rows in Spark"):
        query.write(2, [(2, "a")], observe=observe)
