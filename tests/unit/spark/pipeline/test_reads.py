"""Names of a pipeline's reads, and where one begins that the checkpoint does not know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oncelog.spark.pipeline import running
from oncelog.spark.pipeline.definition import Pipeline, PipelineError, Sink, Source
from oncelog.spark.pipeline.reads import KnownReads, SourceRead, begins_of, known_reads, reads_of, starting_offsets
from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.types import TopicPartition

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def made(*sinks: str, sources: tuple[str, ...] = ("orders",), dead: str = "") -> Pipeline:
    source = Source("t", schema="id int", malformed="dead-letter" if dead else "fail", dead_letter=dead)
    return Pipeline("p", dict.fromkeys(sources, source), {name: Sink(name) for name in sinks}, lambda **rows: rows)


def test_names_of_reads_are_words_of_spark_and_never_the_same() -> None:
    names = ["a", "A", "a_", "_a", "a-b", "a_b", "a__b", "a.b", "dead_letters", "a_2d_b", "b"]
    reads = {SourceRead(source, sink).name for source in names for sink in [*names, None]}
    assert len(reads) == len(names) * (len(names) + 1)
    assert all(name.replace("_", "").isalnum() and name.isascii() for name in reads)
    assert SourceRead("orders-eu", "late").name == "orders_2d_eu__late"


def test_each_sink_reads_each_source_and_dead_letters_once_more() -> None:
    found = [read.name for read in reads_of(made("a", "b", sources=("x", "y"), dead="d"))]
    assert found == ["x__a", "y__a", "x__b", "y__b", "x__dead_letters", "y__dead_letters"]


def test_one_more_sink_and_dead_letters_begin_where_the_others_of_the_source_are() -> None:
    known = KnownReads({"orders__a": {P0: 7, P1: 5}, "orders__b": {P0: 6, P1: 9}}, repeats=True)
    begins = begins_of(made("a", "b", "c", dead="d"), known)
    assert begins == {SourceRead("orders", "c"): {P0: 6, P1: 5}, SourceRead("orders"): {P0: 6, P1: 5}}
    assert begins_of(made("a"), None) == {}


def test_source_that_comes_new_begins_where_it_says() -> None:
    assert begins_of(made("a", sources=("orders", "refunds")), KnownReads({"orders__a": {P0: 7}}, False)) == {}


def test_sink_with_another_name_continues_where_all_are() -> None:
    known = KnownReads({"orders__source": {P0: 7}}, repeats=False)
    assert begins_of(made("a", "b"), known) == {SourceRead("orders", "a"): {P0: 7}, SourceRead("orders", "b"): {P0: 7}}


@pytest.mark.parametrize(
    ("one", "begins", "repeats", "told"),
    [
        (
            made("b"),
            {"orders__a": {P0: 7}},
            True,
            "planned a batch and did not end it, and the batch has the reads ord",
        ),
        (
            made("a", "c"),
            {"orders__a": {P0: 7}, "orders__b": {P0: 8}},
            False,
            "cannot be told where orders__c continues",
        ),
        (
            made("a", sources=("sales",)),
            {"orders__a": {P0: 7}},
            False,
            "none of a source 'sales', which would be read fr",
        ),
    ],
)
def test_what_would_leave_out_or_double_a_record_is_refused(
    one: Pipeline, begins: dict[str, dict[TopicPartition, int]], repeats: bool, told: str
) -> None:
    with pytest.raises(PipelineError, match=told):
        begins_of(one, KnownReads(begins, repeats))


def wrote(folder: Path, batch: int, **ends: str) -> None:
    (folder / "offsets").mkdir(exist_ok=True)
    lines = ["v2", json.dumps({"batchTimestampMs": 1}), *(f"{name}:{line}" for name, line in ends.items())]
    (folder / "offsets" / str(batch)).write_text("\n".join(lines))


def test_reads_of_a_batch_that_has_not_ended_begin_where_it_does(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(str(tmp_path))
    assert known_reads(checkpoint) is None
    first = '{"t": {"0": 9, "from": {"0": 4}}}'
    wrote(tmp_path, 0, orders__a=first)
    assert known_reads(checkpoint) == KnownReads({"orders__a": {P0: 4}}, repeats=True)
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "0").write_text("v1\n{}")
    assert known_reads(checkpoint) == KnownReads({"orders__a": {P0: 9}}, repeats=False)
    wrote(tmp_path, 1, orders__b=first, orders__a='{"t": {"0": 12}}', orders__c="-")
    found = known_reads(checkpoint)
    assert found == KnownReads({"orders__a": {P0: 9}, "orders__b": {P0: 4}, "orders__c": {}}, repeats=True)
    assert found.have_names
    (tmp_path / "offsets" / "1").write_text('v1\n{"batchTimestampMs": 1}\n{"t": {"0": 12}}')
    unnamed = known_reads(checkpoint)
    assert unnamed is not None and not unnamed.have_names


def test_start_names_exactly_the_partitions_that_are_read() -> None:
    text = starting_offsets({P0: 3, TopicPartition("gone", 0): 8}, [P0, P1], -2)
    assert json.loads(text) == {"t": {"0": 3, "1": -2}}


def test_start_of_a_read_takes_the_place_of_the_sources_own() -> None:
    source = Source("t", options={"startingOffsetsByTimestamp": '{"t": {"0": 1}}', "STARTINGTIMESTAMP": 5})
    assert source.reader_options("h:1")["startingOffsetsByTimestamp"]
    found = source.reader_options("h:1", '{"t": {"0": 3}}')
    assert [(name, text) for name, text in found.items() if name.lower().startswith("starting")] == [
        ("startingOffsets", '{"t": {"0": 3}}')
    ]


def test_checkpoint_with_names_is_refused_on_an_older_pyspark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p").mkdir()
    wrote(tmp_path / "p", 0, orders__a='{"t": {"0": 9}}')
    monkeypatch.setattr(running, "HAS_SOURCE_NAMES", False)
    nowhere: Any = None
    with pytest.raises(PipelineError, match=r"names the reads \(orders__a\), which PySpark 4\.3 and later continue"):
        running.start(nowhere, made("a"), running.RunSettings("h:1", str(tmp_path)))
