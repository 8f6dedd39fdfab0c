"""Spark's checkpoint as the sink reads it, and the memory that it keeps there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import LocalFileSystem

from oncelog.spark.kafka.interface import ClusterFacts
from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.checkpoint import Checkpoint, CheckpointError, marker_group, named_group, plan_of
from oncelog.spark.sink.marker import LastWrite, MarkerTopic
from oncelog.spark.tables.store import table_group

FACTS = ClusterFacts("cluster", 600_000)


def spark_writes(root: Path, batch_id: int, *, at_ms: int = 7, offset: int = 10, ended: bool = True) -> None:
    """A checkpoint as Spark 4 leaves it; ``.crc`` files are those of Hadoop's local file system."""
    for folder in ("offsets", "commits"):
        (root / folder).mkdir(exist_ok=True, parents=True)
        (root / folder / f".{batch_id}.crc").write_bytes(b"crc")
    (root / "metadata").write_text('{"id":"84d98cca"}')
    header = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": at_ms, "conf": {"a": "b"}})
    (root / "offsets" / str(batch_id)).write_text(f'v1\n{header}\n{{"in":{{"0":{offset}}}}}\n-')
    if ended:
        (root / "commits" / str(batch_id)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def test_the_plan_of_a_batch_contains_the_offsets_that_spark_wrote(tmp_path: Path) -> None:
    spark_writes(tmp_path, 0)
    spark_writes(tmp_path, 1, at_ms=99, offset=20, ended=False)
    checkpoint = Checkpoint.open(str(tmp_path))
    plan = plan_of(checkpoint, 1, "g", FACTS, OnMissingMarker.SKIP)
    assert (plan.query_id, plan.number, plan.batch.planned_at_ms) == ("84d98cca", 1, 99)
    assert plan.batch.offsets == '{"in":{"0":20}}\n-'
    assert plan.previous is not None and plan.previous.ended
    assert plan.previous.batch is not None and plan.previous.batch.planned_at_ms == 7
    assert (plan.remembered, plan.cluster_id, plan.retention_ms) == (None, "cluster", 600_000)
    assert plan_of(checkpoint, 0, "g", FACTS, OnMissingMarker.FAIL).previous is None
    assert (checkpoint.batches("offsets"), checkpoint.batches("commits")) == ([0, 1], [0])


def test_the_fingerprint_changes_with_any_byte_of_the_plan(tmp_path: Path) -> None:
    prints = set()
    for at_ms, offset in ((7, 10), (8, 10), (7, 11)):
        spark_writes(tmp_path, 0, at_ms=at_ms, offset=offset)
        planned = Checkpoint.open(str(tmp_path)).planned(0)
        assert planned is not None
        prints.add(planned.fingerprint)
    assert len(prints) == 3


def test_a_previous_batch_that_spark_removed_or_did_not_end_is_recognised(tmp_path: Path) -> None:
    spark_writes(tmp_path, 7)
    plan = plan_of(Checkpoint.open(str(tmp_path)), 7, "g", FACTS, OnMissingMarker.FAIL)
    assert plan.previous is not None
    assert (plan.previous.batch, plan.previous.ended) == (None, False)


def with_names(root: Path, batch_id: int, **ends: object) -> None:
    spark_writes(root, batch_id)
    lines = [f"{name}:{json.dumps({'t': {'id': 'A', **end}})}" for name, end in ends.items() if isinstance(end, dict)]
    (root / "offsets" / str(batch_id)).write_text("\n".join(["v2", '{"batchTimestampMs": 7}', *lines]))


@pytest.mark.parametrize(
    ("begin", "refused"),
    [
        ({"0": 9, "from": {"0": 0}}, True),
        ({"0": 9, "from": {"0": 7}}, True),
        ({"0": 9, "from": {"0": 3}}, False),
        ({"0": 9, "from": {"0": 3, "1": 0}, "1": 4}, False),  # a partition that is new
        ({"0": 9, "from": {"0": 3}, "id": "B"}, True),
        ({"0": 3}, False),  # it began there and had nothing
        ({"0": 5}, True),
    ],
)
def test_a_named_source_that_spark_has_forgotten_is_refused_unless_it_begins_at_its_old_offsets(
    tmp_path: Path, begin: dict[str, object], refused: bool
) -> None:
    with_names(tmp_path, 0, one={"0": 3}, two={"0": 1})
    with_names(tmp_path, 1, two={"0": 2})
    with_names(tmp_path, 2, two={"0": 3})
    with_names(tmp_path, 3, two={"0": 4}, one=begin, three={"0": 4, "from": {"0": 0}})
    checkpoint = Checkpoint.open(str(tmp_path))

    def planned(batch_id: int) -> int:
        return plan_of(checkpoint, batch_id, "g", FACTS, OnMissingMarker.FAIL).number

    if refused:
        with pytest.raises(CheckpointError, match=r'source one again, .* Remove offsets/3 .* {"t": {"0": 3}}$'):
            planned(3)
    else:
        assert planned(3) == 3
    with_names(tmp_path, 2, one={"0": 3})  # Spark goes back by one batch
    assert planned(3) == 3
    with_names(tmp_path, 2, two={"0": 3})
    checkpoint.keep("reads", b"{}")
    assert planned(3) == 3  # a pipeline places its reads itself


def test_the_file_name_of_the_last_write_fits_the_longest_topic_name(tmp_path: Path) -> None:
    """Kafka's topic names have up to 249 characters, most file systems' names 255 bytes."""
    checkpoint = Checkpoint.open(str(tmp_path))
    groups = [marker_group("oncelog-", "84d98cca-0000-0000-0000-000000000000", "x" * 248 + last) for last in "ab"]
    for since, group in enumerate(groups):
        checkpoint.remember(LastWrite("cluster", group, since))
    assert [checkpoint.remembered(group) for group in groups] == [
        LastWrite("cluster", g, n) for n, g in enumerate(groups)
    ]
    assert {one.group for one in checkpoint.last_writes()} == set(groups)


def test_the_file_of_the_last_write_exists_per_group_and_is_replaced(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(str(tmp_path))
    assert checkpoint.remembered("a/b:c") is None
    checkpoint.remember(LastWrite("one", "a/b:c", 0))
    checkpoint.remember(LastWrite("two", "a/b:c", 4))
    checkpoint.remember(LastWrite("two", "other", 1))
    assert checkpoint.remembered("a/b:c") == LastWrite("two", "a/b:c", 4)
    assert checkpoint.last_writes() == [LastWrite("two", "a/b:c", 4), LastWrite("two", "other", 1)]
    checkpoint.remember(LastWrite("two", "other", 1, MarkerTopic("markers", "id")))
    assert checkpoint.remembered("other") == LastWrite("two", "other", 1, MarkerTopic("markers", "id"))
    checkpoint.remember(LastWrite("two", "other", 1, skipping="print"))
    assert checkpoint.remembered("other") == LastWrite("two", "other", 1, skipping="print")
    assert not list(tmp_path.rglob("*.partial"))


class Suspended:
    """A file system in which another process does something just before a call."""

    def __init__(self, call: str, act: Callable[[], object]) -> None:
        self._call, self._act = call, act
        self._real = LocalFileSystem()

    def __getattr__(self, name: str) -> Any:
        if name == self._call:
            self._act()
        return getattr(self._real, name)


@pytest.mark.parametrize("call", ["open_output_stream", "move"])
def test_a_run_that_is_suspended_while_it_stores_its_last_write_disturbs_no_other_run(
    tmp_path: Path, call: str
) -> None:
    other = Checkpoint.open(str(tmp_path))

    files: Any = Suspended(call, lambda: other.remember(LastWrite("cluster", "group", 5)))
    Checkpoint(str(tmp_path), files, str(tmp_path)).remember(LastWrite("cluster", "group", 4))
    assert other.remembered("group") == LastWrite("cluster", "group", 4)


def test_two_runs_that_store_their_last_write_at_once_leave_a_complete_file(tmp_path: Path) -> None:
    def store(_: int) -> None:
        checkpoint = Checkpoint.open(str(tmp_path))
        for since in range(50):
            checkpoint.remember(LastWrite("cluster", "group", since))
            assert checkpoint.remembered("group") is not None

    with ThreadPoolExecutor(2) as runs:
        list(runs.map(store, range(2)))
    assert Checkpoint.open(str(tmp_path)).remembered("group") == LastWrite("cluster", "group", 49)
    assert [path.name for path in (tmp_path / "oncelog").iterdir()] == ["group.json"]


def test_the_first_batch_detects_a_group_of_an_unrelated_query(tmp_path: Path) -> None:
    for number in (0, 1):
        spark_writes(tmp_path, number)
    checkpoint = Checkpoint.open(str(tmp_path))

    def elsewhere(batch_id: int, siblings: Sequence[str] | None) -> str:
        found = plan_of(checkpoint, batch_id, "g", FACTS, OnMissingMarker.FAIL, siblings).other_write
        return "" if found is None else found.group

    assert elsewhere(0, ()) == ""
    checkpoint.remember(LastWrite("cluster", "old", 0))
    assert (elsewhere(0, ()), elsewhere(0, ["old"]), elsewhere(0, None), elsewhere(1, ())) == ("old", "", "", "old")
    checkpoint.remember(LastWrite("cluster", "g", 0))
    assert elsewhere(0, ()) == ""


def test_a_file_of_the_last_write_without_a_marker_topic_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "oncelog"
    folder.mkdir()
    (folder / "g.json").write_text('{"clusterId": "one", "group": "g", "sinceBatchId": 3}')
    assert Checkpoint.open(str(tmp_path)).remembered("g") == LastWrite("one", "g", 3)
    (folder / "g.json").write_text('{"clusterId": "one", "group": "g", "sinceBatchId": 3, "markerTopic": "m"}')
    with pytest.raises(CheckpointError, match="that the sink did not write"):
        Checkpoint.open(str(tmp_path)).remembered("g")


@pytest.mark.parametrize("spelling", ["{}", "{}/", "file:{}", "file://{}", "file://localhost{}"])
def test_a_checkpoint_location_is_accepted_in_all_of_hadoops_spellings(tmp_path: Path, spelling: str) -> None:
    root = tmp_path / "a%20b#c"
    spark_writes(root, 0)
    assert Checkpoint.open(spelling.format(root)).query_id() == "84d98cca"


def test_a_relative_location_is_resolved_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark_writes(tmp_path / "ck", 0)
    monkeypatch.chdir(tmp_path)
    assert Checkpoint.open("ck").query_id() == "84d98cca"


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("metadata missing", "holds no file metadata that this driver's Python can see: name the folder of the query"),
        ("metadata", "holds a file metadata that Spark did not write, or not in full: restore it"),
        ("offsets/0", "holds a file offsets/0 that is empty or cut off, .* remove it"),
        ("offsets missing", "holds no offsets/1, the plan of the batch to be written"),
        ("oncelog/g.json", "holds a file oncelog/g.json that the sink did not write, .* remove it and start again"),
        ("folder", "cannot be read .offsets/0: "),
    ],
)
def test_the_refusal_names_an_unreadable_checkpoint_file(tmp_path: Path, damage: str, says: str) -> None:
    spark_writes(tmp_path, 0)
    number = 0
    if damage == "metadata missing":
        (tmp_path / "metadata").unlink()
    elif damage == "offsets missing":
        number = 1
    elif damage == "folder":
        (tmp_path / "offsets" / "0").unlink()
        (tmp_path / "offsets" / "0").mkdir()
    else:
        (tmp_path / damage).parent.mkdir(exist_ok=True)
        (tmp_path / damage).write_text("v1\nnothing")
    with pytest.raises(CheckpointError, match=says):
        plan_of(Checkpoint.open(str(tmp_path)), number, "g", FACTS, OnMissingMarker.FAIL)


@pytest.mark.parametrize("left", [None, b"", bytes(45)])
@pytest.mark.parametrize("table", ["", "delta table lake/flights"])
def test_advice_on_a_lost_query_id_names_the_id_that_the_sinks_have_stored(
    tmp_path: Path, left: bytes | None, table: str
) -> None:
    query_id, metadata = "84d98cca-0000-4000-8000-0123456789ab", tmp_path / "metadata"
    spark_writes(tmp_path, 0)
    checkpoint = Checkpoint.open(str(tmp_path))
    for name in ("", "second"):
        group = table_group(query_id, name) if table else marker_group("my-", query_id, "flights", name)
        checkpoint.remember(LastWrite("one", group, 0, table=table))
    metadata.unlink()
    if left is not None:
        metadata.write_bytes(left)
    with pytest.raises(CheckpointError, match=r"remove the file \.metadata\.crc") as caught:
        checkpoint.query_id()
    advised = re.findall(r"write (\{.*\}), the id", str(caught.value))[0]
    metadata.write_text(advised)
    assert checkpoint.query_id() == query_id


@pytest.mark.parametrize("log", ["offsets", "commits"])
@pytest.mark.parametrize("newer", [False, True])
def test_a_batch_cut_by_a_power_failure_is_refused_with_the_files_to_remove(
    tmp_path: Path, log: str, newer: bool
) -> None:
    """The newest file may be removed. Spark needs an older one, which is therefore to be restored."""
    checkpoint = Checkpoint.open(str(tmp_path))
    (tmp_path / log).mkdir()
    source = '{"orders":{"0":12,"1":7}}'
    whole = (
        f'v1\n{{"batchTimestampMs":1,"conf":{{}}}}\n{source}' if log == "offsets" else 'v1\n{"nextBatchWatermarkMs":0}'
    )
    read = checkpoint.planned if log == "offsets" else checkpoint.ended
    file = tmp_path / log / "0"
    file.write_text(whole)
    assert read(0)
    if newer:
        (tmp_path / log / "1").write_text(whole)
    says = (
        rf"a file {log}/0 .* restore it" if newer else rf"a file {log}/0 that is .* remove it, .* file {log}/\.0\.crc"
    )
    for left in [b"", bytes(40), *(whole[:length].encode() for length in range(1, len(whole)))]:
        if left in (b"v1", b"v1\n") and log == "commits":
            continue  # Spark takes this file for a complete one
        file.write_bytes(left)
        with pytest.raises(CheckpointError, match=says):
            read(0)


def test_a_plan_of_named_sources_is_refused_if_the_last_source_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    whole = 'v2\n{"batchTimestampMs":1}\nlate:-\norders:{"orders":{"0":12}}'
    (tmp_path / "offsets" / "0").write_text(whole)
    checkpoint = Checkpoint.open(str(tmp_path))
    assert checkpoint.planned(0)
    (tmp_path / "offsets" / "0").write_text(whole[:-1])
    with pytest.raises(CheckpointError, match="a file offsets/0 that is empty or cut off"):
        checkpoint.planned(0)


@pytest.mark.parametrize("planned_at", ["1e400", "null", '"x"', "[" * 100_000])
def test_a_plan_with_an_invalid_time_is_refused_and_the_error_names_the_file(tmp_path: Path, planned_at: str) -> None:
    spark_writes(tmp_path, 0)
    (tmp_path / "offsets" / "0").write_text(f'v1\n{{"batchTimestampMs":{planned_at}}}\n-')
    with pytest.raises(CheckpointError, match="holds a file offsets/0 that is empty or cut off"):
        Checkpoint.open(str(tmp_path)).planned(0)


@pytest.mark.parametrize("location", ["nfs://host/x", "dbfs:/x"])
def test_a_file_system_that_pyarrow_does_not_support_is_refused(location: str) -> None:
    with pytest.raises(CheckpointError, match=r"cannot be reached through pyarrow\.fs .*hdfs:, s3a:"):
        Checkpoint.open(location)


def test_object_stores_are_reached_under_hadoops_names() -> None:
    assert Checkpoint.open("gs://bucket/a/")._root == "bucket/a"
    assert Checkpoint.open("abfss://files@account.dfs.core.windows.net/a")._root == "files/a"
    assert Checkpoint.open("s3a://key:word@bucket/a/b/?region=eu-west-1")._root == "bucket/a/b"


def test_the_group_contains_the_destination_and_names_never_collide() -> None:
    groups = [
        marker_group("p-", "q", ""),
        marker_group("p-", "q", "t"),
        marker_group("p-", "q", "t", "n"),
        marker_group("p-", "q", "t-n"),
        marker_group("p-", "q", "", "t"),
        named_group("p", 1, ""),
        named_group("p", 1, "2"),
        named_group("p:1", 2, ""),
    ]
    assert len(set(groups)) == len(groups)
    assert groups[1] == "p-oncelog-marker-q-t"
    assert all("oncelog-marker-" in group for group in groups)
