"""What a flow's sink does when the flow has been given a new checkpoint and its records are in the topic already."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oncelog.spark.options import parse_sink_options
from oncelog.spark.pipeline.declarative import starting_after
from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.spark.sink.engine import SinkRefused
from oncelog.spark.sink.full_refresh import check_full_refresh, written_until
from oncelog.spark.sink.marker import Found, LastWrite, Marker

ID = "topic-id"


def line(end: int, start: int | None = None, id_: str = ID) -> str:
    fields: dict[str, object] = {"0": end, "id": id_}
    return json.dumps({"in": fields if start is None else fields | {"from": {"0": start}}})


class Flow:
    """The checkpoints of a flow, as Spark and the sink leave them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "_checkpoints" / "out" / "flow"

    def plan(self, number: int, batch_id: int, *lines: str, ended: bool = True, wrote: bool = True) -> Checkpoint:
        root = self.folder / str(number)
        for name in ("offsets", "commits"):
            (root / name).mkdir(parents=True, exist_ok=True)
        (root / "metadata").write_text(json.dumps({"id": f"query-{number}"}))
        (root / "offsets" / str(batch_id)).write_text("\n".join(["v1", '{"batchTimestampMs":7}', *lines]))
        if ended:
            (root / "commits" / str(batch_id)).write_text("v1\n{}")
        checkpoint = self.at(number)
        if wrote:
            checkpoint.remember(LastWrite("cluster", f"oncelog-marker-query-{number}-out", 0))
        return checkpoint

    def at(self, number: int) -> Checkpoint:
        return Checkpoint.open(str(self.folder / str(number)))

    def marker(self, number: int, batch_id: int) -> Marker:
        planned = self.at(number).planned(batch_id)
        assert planned is not None
        return Marker(f"query-{number}", batch_id, 1, planned.fingerprint)

    def check(self, number: int, choice: str, found: Found = None, topic: str = "out") -> None:
        given = {"kafka.bootstrap.servers": "nowhere:1", "topic": topic, "onFullRefresh": choice}
        given |= {"checkpointLocation": str(self.folder / str(number))}
        group = f"oncelog-marker-query-{number}-{topic}"
        check_full_refresh(
            parse_sink_options(given, streaming=True), self.at(number), group, Checkpoint.open, lambda name: found
        )


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    return Flow(tmp_path)


def test_the_first_checkpoint_of_a_flow_is_not_a_full_refresh(flow: Flow) -> None:
    flow.plan(0, 0, line(10, 0), wrote=False)
    flow.check(0, "fail")


def test_a_full_refresh_is_refused_unless_it_is_requested(flow: Flow) -> None:
    flow.plan(0, 0, line(10, 0))
    flow.plan(1, 0, line(10, 0), ended=False, wrote=False)
    with pytest.raises(SinkRefused, match=r"was refreshed in full, and what .*/0 has written to topic 'out' is still"):
        flow.check(1, "fail")
    flow.check(1, "append")


def test_a_full_refresh_that_has_begun_to_write_continues(flow: Flow) -> None:
    flow.plan(0, 0, line(10, 0))
    flow.plan(1, 0, line(10, 0))
    flow.check(1, "fail")


def test_a_full_refresh_into_another_topic_writes_nothing_twice(flow: Flow) -> None:
    flow.plan(0, 0, line(10, 0))
    flow.plan(1, 0, line(10, 0), wrote=False)
    flow.check(1, "fail", topic="elsewhere")


def test_earlier_refreshes_that_wrote_nothing_are_skipped(flow: Flow) -> None:
    flow.plan(0, 0, line(10, 0))
    flow.plan(1, 0, line(10, 0), ended=False, wrote=False)
    flow.plan(2, 0, line(12, 10), ended=False, wrote=False)
    flow.check(2, "after", flow.marker(0, 0))
    with pytest.raises(SinkRefused, match="/0 has written to"):
        flow.check(2, "fail")


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (line(12, 0), "begins before"),
        (line(12, 11), "leaves a record out"),
        (line(12, 10, "other-id"), "is another topic"),
        ('{"in": {"0": 12}}', "does not say where it begins"),
        ("-", "has no offset"),
    ],
)
def test_on_full_refresh_after_refuses_a_batch_that_does_not_continue(flow: Flow, first: str, why: str) -> None:
    flow.plan(0, 0, line(10, 0))
    flow.plan(1, 0, first, ended=False, wrote=False)
    with pytest.raises(SinkRefused, match=r'startingOffsets \{"in": \{"0": 10\}\}'):
        flow.check(1, "after", flow.marker(0, 0))


def test_on_full_refresh_after_accepts_a_batch_without_new_records(flow: Flow) -> None:
    flow.plan(0, 0, line(10, 0))
    flow.plan(1, 0, line(10), ended=False, wrote=False)
    flow.check(1, "after", flow.marker(0, 0))


def test_the_marker_says_how_far_a_killed_flow_has_written(flow: Flow) -> None:
    flow.plan(0, 0, line(10, 0))
    killed = flow.plan(0, 1, line(20), ended=False)
    assert written_until(killed, flow.marker(0, 1)) == line(20)
    assert written_until(killed, flow.marker(0, 0)) == line(10, 0)


def test_without_a_marker_only_an_ended_batch_is_known_to_be_written(flow: Flow) -> None:
    assert written_until(flow.plan(0, 0, line(10, 0)), None) == line(10, 0)
    assert written_until(flow.plan(0, 1, line(20), ended=False), None) is None
    flow.plan(1, 0, line(30, 20), ended=False, wrote=False)
    with pytest.raises(SinkRefused, match="it cannot be known how far"):
        flow.check(1, "after", None)


def test_starting_after_returns_the_end_offsets_of_the_last_ended_batch(flow: Flow) -> None:
    assert starting_after(str(flow.folder)) == "earliest"
    flow.plan(0, 0, line(10, 0))
    flow.plan(0, 1, line(20), ended=False)
    flow.plan(1, 0, line(10, 0), ended=False, wrote=False)
    assert json.loads(starting_after(str(flow.folder))) == {"in": {"0": 10, "id": ID}}  # not in a recreated topic


def test_named_sources_are_compared_by_name(flow: Flow) -> None:
    flow.plan(0, 0, f"a:{line(10, 0)}", f"b:{line(7, 0)}")
    flow.plan(1, 0, f"b:{line(9, 7)}", f"a:{line(12, 10)}", ended=False, wrote=False)
    flow.check(1, "after", flow.marker(0, 0))
    assert json.loads(starting_after(str(flow.folder), source="b")) == {"in": {"0": 7, "id": ID}}
    flow.plan(2, 0, f"b:{line(9, 7)}", ended=False, wrote=False)
    with pytest.raises(SinkRefused, match="does not begin"):
        flow.check(2, "after", flow.marker(0, 0))
