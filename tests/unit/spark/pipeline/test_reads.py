"""Names of a pipeline's reads, and where one begins that the checkpoint does not know."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from oncelog.spark.kafka.place import Place
from oncelog.spark.pipeline import running
from oncelog.spark.pipeline.definition import Pipeline, PipelineError, Sink, Source, TableSink
from oncelog.spark.pipeline.reads import (
    CheckpointReads,
    ReadStart,
    SourceRead,
    begins_of,
    keep_reads,
    kept_of,
    known_reads,
    reads_of,
    starting_offsets,
)
from oncelog.spark.sink.checkpoint import Checkpoint, CheckpointError
from oncelog.types import TopicPartition

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def made(*sinks: str, sources: tuple[str, ...] = ("orders",), dead: str = "") -> Pipeline:
    source = Source("t", schema="id int", malformed="dead-letter" if dead else "fail", dead_letter=dead)
    return Pipeline("p", dict.fromkeys(sources, source), {name: Sink(name) for name in sinks}, lambda **rows: rows)


def test_names_of_reads_are_valid_in_spark_and_unique() -> None:
    names = ["a", "A", "a_", "_a", "a-b", "a_b", "a__b", "a.b", "dead_letters", "a_2d_b", "b"]
    reads = {SourceRead(source, sink).name for source in names for sink in [*names, None]}
    assert len(reads) == len(names) * (len(names) + 1)
    assert all(name.replace("_", "").isalnum() and name.isascii() for name in reads)
    assert SourceRead("orders-eu", "late").name == "orders_2d_eu__late"


def test_each_added_sink_or_dead_letter_topic_reads_each_source_once_more() -> None:
    found = [read.name for read in reads_of(made("a", "b", sources=("x", "y"), dead="d"))]
    assert found == ["x__a", "y__a", "x__b", "y__b", "x__dead_letters", "y__dead_letters"]


def test_an_added_sink_or_dead_letter_topic_begins_at_the_offsets_of_the_sources_other_reads() -> None:
    known = CheckpointReads({"orders__a": Place({P0: 7, P1: 5}), "orders__b": Place({P0: 6, P1: 9})}, repeats=True)
    begins = begins_of(made("a", "b", "c", dead="d"), known)
    assert begins == {SourceRead("orders", "c"): Place({P0: 6, P1: 5}), SourceRead("orders"): Place({P0: 6, P1: 5})}
    assert begins_of(made("a"), None) == {}


def test_a_new_source_begins_at_its_configured_offsets() -> None:
    assert (
        begins_of(made("a", sources=("orders", "refunds")), CheckpointReads({"orders__a": Place({P0: 7})}, False)) == {}
    )


def test_a_renamed_sink_continues_at_the_offsets_of_the_sources_other_reads() -> None:
    known = CheckpointReads({"orders__source": Place({P0: 7})}, repeats=False)
    assert begins_of(made("a", "b"), known) == {
        SourceRead("orders", "a"): Place({P0: 7}),
        SourceRead("orders", "b"): Place({P0: 7}),
    }


@pytest.mark.parametrize(
    ("one", "begins", "repeats", "reported"),
    [
        (
            made("b"),
            {"orders__a": Place({P0: 7})},
            True,
            "planned a batch and did not end it, and the batch has the reads ord",
        ),
        (
            made("a", "c"),
            {"orders__a": Place({P0: 7}), "orders__b": Place({P0: 8})},
            False,
            "it is unknown where orders__c continues",
        ),
        (
            made("a", sources=("sales",)),
            {"orders__a": Place({P0: 7})},
            False,
            "none of a source 'sales', which would be read fr",
        ),
    ],
)
def test_a_change_that_would_skip_or_repeat_a_record_is_refused(
    one: Pipeline, begins: dict[str, Place], repeats: bool, reported: str
) -> None:
    with pytest.raises(PipelineError, match=reported):
        begins_of(one, CheckpointReads(begins, repeats))


def wrote(folder: Path, batch: int, **ends: str) -> None:
    (folder / "offsets").mkdir(exist_ok=True)
    lines = ["v2", json.dumps({"batchTimestampMs": 1}), *(f"{name}:{line}" for name, line in ends.items())]
    (folder / "offsets" / str(batch)).write_text("\n".join(lines))


@pytest.mark.parametrize("left", [b"", bytes(45)])
def test_a_query_id_lost_in_a_power_failure_is_refused_before_the_start(tmp_path: Path, left: bytes) -> None:
    (tmp_path / "metadata").write_bytes(left)
    with pytest.raises(CheckpointError, match=r"holds a file metadata that Spark did not write, .*: restore it"):
        known_reads(Checkpoint.open(str(tmp_path)))


def test_the_reads_of_an_unfinished_batch_begin_where_that_batch_begins(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(str(tmp_path))
    assert known_reads(checkpoint) is None
    first = '{"t": {"0": 9, "from": {"0": 4}}}'
    wrote(tmp_path, 0, orders__a=first)
    assert known_reads(checkpoint) == CheckpointReads({"orders__a": Place({P0: 4})}, repeats=True)
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "0").write_text("v1\n{}")
    assert known_reads(checkpoint) == CheckpointReads({"orders__a": Place({P0: 9})}, repeats=False)
    wrote(tmp_path, 1, orders__b=first, orders__a='{"t": {"0": 12}}', orders__c="-")
    found = known_reads(checkpoint)
    assert found is not None and found.have_names and found.repeats
    assert found.begins == {"orders__a": Place({P0: 9}), "orders__b": Place({P0: 4}), "orders__c": Place({})}
    (tmp_path / "offsets" / "1").write_text('v1\n{"batchTimestampMs": 1}\n{"t": {"0": 12}}')
    unnamed = known_reads(checkpoint)
    assert unnamed is not None and not unnamed.have_names


def next_start(folder: Path, one: Pipeline) -> dict[str, int]:
    """Where reads begin that Spark does not know, at the start of a run."""
    checkpoint = Checkpoint.open(str(folder))
    known = known_reads(checkpoint)
    assert known is not None
    keep_reads(checkpoint, one, known)
    return {read.name: begin.offsets[P0] for read, begin in begins_of(one, known).items()}


def test_a_removed_read_continues_at_its_offsets_when_it_is_added_again(tmp_path: Path) -> None:
    (tmp_path / "commits").mkdir()
    both, fewer = made("a", "b", sources=("orders", "refunds")), made("a")
    runs: list[tuple[dict[str, int], Pipeline, dict[str, int]]] = [
        ({"orders__a": 2, "orders__b": 2, "refunds__a": 3}, fewer, {}),
        ({"orders__a": 4}, fewer, {}),
        ({"orders__a": 5}, both, {"orders__b": 2, "refunds__a": 3, "refunds__b": 3}),
        ({"orders__a": 6, "orders__b": 6, "refunds__a": 3}, fewer, {}),
        ({"orders__a": 7}, both, {"orders__b": 6, "refunds__a": 3, "refunds__b": 3}),
    ]
    for batch, (ends, one, begins) in enumerate(runs):
        wrote(tmp_path, batch, **{name: f'{{"t": {{"0": {end}}}}}' for name, end in ends.items()})
        (tmp_path / "commits" / str(batch)).write_text("v1\n{}")
        assert next_start(tmp_path, one) == begins


def test_a_read_added_during_a_repeated_batch_begins_with_that_batch(
    tmp_path: Path,
) -> None:
    wrote(tmp_path, 0, orders__a='{"t": {"0": 9, "from": {"0": 4}}}')
    with_dead_letters = made("a", dead="d")
    assert next_start(tmp_path, with_dead_letters) == {"orders__dead_letters": 4}
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "0").write_text("v1\n{}")
    assert next_start(tmp_path, with_dead_letters) == {"orders__dead_letters": 4}
    wrote(tmp_path, 1, orders__a='{"t": {"0": 12}}')
    assert next_start(tmp_path, with_dead_letters) == {
        "orders__dead_letters": 9
    }  # the batch was made without this read


def test_the_offsets_of_a_renamed_sink_are_not_kept_under_its_old_name() -> None:
    known = CheckpointReads(
        {"orders__a": Place({P0: 7}), "orders__b": Place({P0: 7}), "orders__dead_letters": Place({P0: 7})},
        repeats=False,
    )
    assert kept_of(made("a", "c"), known) == {"orders__dead_letters": ReadStart(Place({P0: 7}))}
    assert kept_of(made("a", dead="d"), known) == {"orders__b": ReadStart(Place({P0: 7}))}


def test_a_removed_table_is_not_mistaken_for_an_added_sink() -> None:
    known = CheckpointReads(
        {"orders__a": Place({P0: 7}), "orders__x_2d_y": Place({P0: 7})},
        repeats=False, groups=("p-q:topics", "q-sqlite:t:x-y"),
    )  # fmt: skip
    assert kept_of(made("a", "c"), known) == {"orders__x_2d_y": ReadStart(Place({P0: 7}))}


def test_a_sink_that_drops_a_source_does_not_count_as_new() -> None:
    known = CheckpointReads(
        {"orders__a": Place({P0: 7}), "orders__b": Place({P0: 8}), "refunds__r": Place({P0: 3})}, repeats=False
    )
    one = made("a", "r", sources=("orders", "refunds"))
    assert kept_of(one, known) == {"orders__b": ReadStart(Place({P0: 8}))}
    assert begins_of(one, known)[SourceRead("orders", "r")] == Place({P0: 7})


def test_an_unfinished_first_batch_of_a_new_read_is_repeated_from_its_start(tmp_path: Path) -> None:
    (tmp_path / "commits").mkdir()
    wrote(tmp_path, 0, orders__a='{"t": {"0": 5}}')
    (tmp_path / "commits" / "0").write_text("v1\n{}")
    wrote(
        tmp_path,
        1,
        orders__a='{"t": {"0": 9}}',
        orders__b='{"t": {"0": 9, "from": {"0": 5}}}',
        orders__c='{"t": {"0": 5}}',
    )
    assert next_start(tmp_path, made("a", "b", "c")) == {"orders__c": 5}  # the end of the other says where
    assert (tmp_path / "oncelog" / "reads").read_text() == "{}"


def test_a_source_name_that_returns_after_a_batch_without_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "commits").mkdir()
    runs: list[tuple[dict[str, int], Pipeline]] = [
        ({"orders__a": 5}, made("b")),
        ({"orders__b": 7}, made("b")),
        ({"orders__b": 9}, made("a")),
    ]
    for batch, (ends, one) in enumerate(runs):
        wrote(tmp_path, batch, **{name: f'{{"t": {{"0": {end}}}}}' for name, end in ends.items()})
        (tmp_path / "commits" / str(batch)).write_text("v1\n{}")
        if batch == 1:
            with pytest.raises(PipelineError, match="Spark would continue orders__a where it was before the last b"):
                next_start(tmp_path, made("a"))
        begins = next_start(tmp_path, one)
    assert begins == {"orders__a": 9}


def test_a_renamed_sink_beside_others_is_refused_if_spark_keeps_state(tmp_path: Path) -> None:
    wrote(tmp_path, 0, orders__a='{"t": {"0": 9}}', orders__b='{"t": {"0": 9}}')
    for folder in ("commits", "state"):
        (tmp_path / folder).mkdir()
    (tmp_path / "commits" / "0").write_text("v1\n{}")
    known = known_reads(Checkpoint.open(str(tmp_path)))
    with pytest.raises(
        PipelineError, match=r"reads orders__a, whose sink .* no longer has, while c was added, and Spark might"
    ):
        begins_of(made("b", "c"), known)
    assert begins_of(made("b"), known) == {}
    assert begins_of(made("a", "b", "c"), known) == {SourceRead("orders", "c"): Place({P0: 9})}
    assert begins_of(made("c"), known) == {SourceRead("orders", "c"): Place({P0: 9})}


def test_a_table_or_topic_that_missed_batches_is_refused_before_a_batch_is_planned() -> None:
    table = TableSink({"format": "sqlite", "url": "x.db", "table": "t"})
    one = Pipeline("p", {"orders": Source("t")}, {"a": Sink("a"), "x": table}, lambda **rows: rows)
    kept = {"orders__x": ReadStart(Place({P0: 4})), "orders__a": ReadStart(Place({P0: 4}))}
    for name, reported in (("a", "table sink 'x' was taken out"), ("x", "the topics were taken out")):
        with pytest.raises(PipelineError, match=f"{reported} .* and batches have been written without: give the"):
            begins_of(one, CheckpointReads({f"orders__{name}": Place({P0: 7})}, repeats=False, kept=kept))


@pytest.mark.parametrize(
    ("begins", "groups", "tables", "reported"),
    [
        ("orders__a", ["p-q:topics"], [], "none to a table as sink 'x' (sqlite table t). If the sink had another name"),
        ("orders__a", ["p-q:topics", "q:y"], ["y"], "none to a table as sink 'x'"),
        ("orders__a", ["p-q:topics", "q"], [""], "none to a table as sink 'x'"),
        ("orders__x", ["q:x"], ["x"], "none to a topic. If the sink had another name"),
        ("orders__other", ["p-q:topics", "q:x"], ["x"], ""),
    ],
)
def test_a_sink_that_missed_all_batches_continues_only_with_the_option_on_missing_marker(
    begins: str, groups: list[str], tables: list[str], reported: str
) -> None:
    def made_with(**more: str) -> Pipeline:
        table = TableSink({"format": "sqlite", "url": "x.db", "table": "t", **more})
        return Pipeline("p", {"orders": Source("t")}, {"a": Sink("a", options=more), "x": table}, lambda **rows: rows)

    known = CheckpointReads({begins: Place({P0: 7})}, repeats=False, batch_id=3, groups=groups, tables=tables)
    first = CheckpointReads({begins: Place({P0: 7})}, repeats=True, groups=groups, tables=tables)
    if reported:
        with pytest.raises(
            PipelineError, match=f"{re.escape(reported)}.* set its option onMissingMarker to write until"
        ):
            begins_of(made_with(), known)
        assert begins_of(made_with(onMissingMarker="Write"), known)
        assert begins_of(made_with(), first)  # the first batch is written everywhere
    else:
        assert begins_of(made_with(), known)


def test_a_file_of_reads_that_pipelines_did_not_write_is_reported(tmp_path: Path) -> None:
    wrote(tmp_path, 0, orders__a='{"t": {"0": 9}}')
    Checkpoint.open(str(tmp_path)).keep("reads", b"{")
    with pytest.raises(CheckpointError, match="holds a file oncelog/reads that is not what pipelines write"):
        known_reads(Checkpoint.open(str(tmp_path)))


def test_starting_offsets_name_exactly_the_partitions_that_are_read() -> None:
    gone = TopicPartition("gone", 0)
    text = starting_offsets(Place({P0: 3, gone: 8}, {"t": "A", "gone": "B"}, epochs={P0: 2, gone: 1}), [P0, P1], -2)
    assert json.loads(text) == {"t": {"0": 3, "1": -2, "id": "A", "epochs": {"0": 2}}}


def test_a_new_or_returning_read_records_the_log_in_which_it_begins(tmp_path: Path) -> None:
    """So the source tells whether its topic was deleted and recreated meanwhile."""
    mark = [8, 8, -1, -1, -1, 1, 5, 77]
    line = {"t": {"0": 9, "1": 5, "id": "A", "epochs": {"0": 3, "1": 4}, "marks": {"0": mark}}}
    lower = {"t": {"0": 9, "1": 4, "id": "A", "epochs": {"0": 3, "1": 2}}}
    (tmp_path / "commits").mkdir()
    for batch, refunds in enumerate(({"refunds__a": json.dumps(line)}, {}, {})):
        wrote(tmp_path, batch, orders__a=json.dumps(line), orders__b=json.dumps(lower), **refunds)
        (tmp_path / "commits" / str(batch)).write_text("v1\n{}")
        next_start(tmp_path, made("a", "b"))
    known = known_reads(Checkpoint.open(str(tmp_path)))
    begins = begins_of(made("a", "b", "c", sources=("orders", "refunds")), known)
    texts = {read.name: json.loads(starting_offsets(begin, [P0, P1], -2)) for read, begin in begins.items()}
    lowest = {"t": {"0": 9, "1": 4, "id": "A", "epochs": {"0": 3, "1": 2}, "marks": {"0": mark}}}
    assert texts["orders__c"] == lowest
    assert texts["refunds__a"] == texts["refunds__c"] == line


def test_the_start_of_a_read_overrides_the_start_of_its_source() -> None:
    source = Source("t", options={"startingOffsetsByTimestamp": '{"t": {"0": 1}}', "STARTINGTIMESTAMP": 5})
    assert source.reader_options("h:1")["startingOffsetsByTimestamp"]
    found = source.reader_options("h:1", '{"t": {"0": 3}}')
    assert [(name, text) for name, text in found.items() if name.lower().startswith("starting")] == [
        ("startingOffsets", '{"t": {"0": 3}}')
    ]


def test_a_checkpoint_with_source_names_is_refused_on_an_older_pyspark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p").mkdir()
    wrote(tmp_path / "p", 0, orders__a='{"t": {"0": 9}}')
    monkeypatch.setattr(running, "HAS_SOURCE_NAMES", False)
    nowhere: Any = None
    with pytest.raises(PipelineError, match=r"names the reads \(orders__a\), which PySpark 4\.3 and later continue"):
        running.start(nowhere, made("a"), running.RunSettings("h:1", str(tmp_path)))
