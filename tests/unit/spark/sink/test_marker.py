"""The decision about a micro-batch: the whole table, over every state of checkpoint, marker and clocks."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.marker import (
    OFFSETS_IN_MARKER,
    BatchPlan,
    LastWrite,
    Marker,
    MarkerTopic,
    NamedWrite,
    OffsetLogEntry,
    PreviousBatch,
    Refuse,
    Skip,
    Write,
    could_have_expired,
    decide,
)

MINUTE = 60_000
NOW = 1_800_000_000_000
WEEK = 10_080 * MINUTE
GROUP = "oncelog-q-out"
HERE = LastWrite("cluster", GROUP, 0)


def planned(batch_id: int, age_ms: int = 1000, text: str = "") -> OffsetLogEntry:
    return OffsetLogEntry(batch_id, f"print-{batch_id}{text}", NOW - age_ms, f'{{"in": {{"0": {10 * batch_id}}}}}')


def plan(
    batch_id: int,
    *,
    age_ms: int = 1000,
    previous_age_ms: int = 30 * WEEK,
    ended: bool = True,
    remembered: LastWrite | None = HERE,
    retention_ms: int | None = WEEK,
    on_missing: OnMissingMarker = OnMissingMarker.FAIL,
) -> BatchPlan:
    previous = PreviousBatch(planned(batch_id - 1, previous_age_ms), ended) if batch_id else None
    return BatchPlan(
        group=GROUP,
        query_id="q",
        checkpoint="/ck",
        batch=planned(batch_id, age_ms),
        previous=previous,
        remembered=remembered,
        cluster_id="cluster",
        retention_ms=retention_ms,
        on_missing=on_missing,
    )


def marker(batch_id: int, *, other: str = "", query_id: str = "q") -> Marker:
    batch = planned(batch_id, text=other)
    return Marker(query_id, batch_id, 5, batch.fingerprint, batch.planned_at_ms, batch.offsets)


# --- with a marker: clocks, memories and options do not count

AROUND = [
    plan(5, age_ms=age, remembered=memory, retention_ms=retention, on_missing=option, ended=ended)
    for age, memory, retention, option, ended in product(
        (-WEEK, 0, 30 * WEEK),
        (None, HERE, LastWrite("other", GROUP, 0)),
        (None, MINUTE, WEEK),
        OnMissingMarker,
        (True, False),
    )
]


@pytest.mark.parametrize(
    ("found", "expected", "says"),
    [
        (marker(5), Skip, "this very plan"),
        (marker(5, other="x"), Refuse, "the log holds another plan of it"),
        (marker(6), Refuse, "the log holds batch 6 already"),
        (marker(90), Refuse, "the log holds batch 90 already"),
        (marker(4), Write, "the one before"),
        (marker(4, other="x"), Refuse, "two copies of a checkpoint have written"),
        (marker(3), Refuse, "batch 4 is not in this log, whose last is batch 3"),
        (marker(3), Refuse, "a function in foreachBatch did not call the sink for them"),
        (marker(3), Refuse, "remove the files above 3, and the hidden .4.crc and so on beside them, from offsets"),
        (marker(3), Refuse, "if the checkpoint has a folder state, start with a new checkpoint instead"),
        (marker(0), Refuse, "batches 1 to 4 are not in this log, whose last is batch 0"),
        (marker(5, query_id="another"), Refuse, "a marker of query another"),
    ],
)
def test_an_existing_marker_decides_whatever_clock_checkpoint_and_options_say(
    found: Marker, expected: type, says: str
) -> None:
    for one in AROUND:
        decision = decide(one, found, NOW)
        assert type(decision) is expected
        assert says in decision.reason
        assert not isinstance(decision, Skip) or not decision.leave_marker


@pytest.mark.parametrize("age_ms", [0, 30 * WEEK])
def test_the_marker_of_a_first_batch_skips_only_a_batch_with_the_same_plan(age_ms: int) -> None:
    assert isinstance(decide(plan(0, age_ms=age_ms), marker(0), NOW), Skip)
    assert isinstance(decide(plan(0, age_ms=age_ms), marker(0, other="x"), NOW), Refuse)
    assert isinstance(decide(plan(0, age_ms=age_ms), marker(7), NOW), Refuse)


def test_the_marker_decides_even_after_spark_removed_the_previous_plan() -> None:
    one = replace(plan(5), previous=PreviousBatch(None, True))
    assert isinstance(decide(one, marker(4, other="x"), NOW), Write)


# --- without one

AGES = {"young": 1000, "old": WEEK, "from the future": -WEEK}
BEFORE = {
    "ended long ago": PreviousBatch(planned(4, 30 * WEEK), True),
    "ended now": PreviousBatch(planned(4, 2000), True),
    "not ended": PreviousBatch(planned(4, 30 * WEEK), False),
    "removed": PreviousBatch(None, True),
}
MEMORIES = {
    "same": LastWrite("cluster", GROUP, 0),
    "same since this batch": LastWrite("cluster", GROUP, 5),
    "none": None,
    "other cluster": LastWrite("old", GROUP, 0),
}


@pytest.mark.parametrize(("age", "before", "memory"), list(product(AGES, BEFORE, MEMORIES)))
def test_a_missing_marker_is_conclusive_only_if_none_could_have_expired(age: str, before: str, memory: str) -> None:
    """The one row that writes: planned now, by the checkpoint that wrote here last, after a batch that ended.

    And the marker of that batch is missing for a reason: it is old, or it was not this group's.
    """
    writes = (
        age == "young"
        and memory in ("same", "same since this batch")
        and before in (("ended long ago",) if memory == "same" else ("ended long ago", "ended now"))
    )
    for option in OnMissingMarker:
        one = replace(
            plan(5, age_ms=AGES[age], remembered=MEMORIES[memory], on_missing=option), previous=BEFORE[before]
        )
        decision = decide(one, None, NOW)
        if writes or option is OnMissingMarker.WRITE:
            assert isinstance(decision, Write)
            assert bool(decision.warning) is not writes
        elif option is OnMissingMarker.SKIP:
            assert isinstance(decision, Skip)
            assert decision.leave_marker and decision.warning
        else:
            assert isinstance(decision, Refuse)
            assert "cannot be known whether it is written" in decision.reason
            assert "onMissingMarker to write (batch 5 is not there) or skip (it is)" in decision.reason


@pytest.mark.parametrize(
    ("age", "memory", "expected"),
    [
        ("young", "none", Write),
        ("young", "same", Write),
        ("young", "other cluster", Refuse),
        ("old", "none", Refuse),
        ("old", "same", Refuse),
        ("from the future", "none", Refuse),
    ],
)
def test_a_first_batch_without_a_marker_is_written_or_refused_depending_on_its_age_and_the_checkpoint(
    age: str, memory: str, expected: type
) -> None:
    assert type(decide(plan(0, age_ms=AGES[age], remembered=MEMORIES[memory]), None, NOW)) is expected


def test_a_first_batch_is_refused_if_its_checkpoint_wrote_it_to_another_group() -> None:
    decision = decide(replace(plan(0, remembered=None), other_write=LastWrite("cluster", "old-q-out", 0)), None, NOW)
    assert isinstance(decision, Refuse)
    assert "/ck has never written there, but to group old-q-out (" in decision.reason


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (plan(5, remembered=None), "has never written there"),
        (plan(5, remembered=None), "a function in foreachBatch did not call the sink for the batches before"),
        (
            plan(5, remembered=LastWrite("old", GROUP, 0)),
            "wrote last to the cluster with id old, while this is cluster",
        ),
        (plan(5, age_ms=WEEK), "markers may expire after 10080 minutes"),
        (plan(5, age_ms=2 * MINUTE, retention_ms=None), "option offsetsRetentionMinutes"),
        (plan(5, ended=False), "does not say that batch 4 ended"),
        (plan(5, previous_age_ms=5000), "cannot have expired yet: the log lost it"),
        (replace(plan(5), previous=PreviousBatch(None, True)), "/ck holds no offsets/4 any more"),
    ],
)
def test_a_refusal_explains_why_the_outcome_is_unknown(one: BatchPlan, says: str) -> None:
    decision = decide(one, None, NOW)
    assert isinstance(decision, Refuse)
    assert says in decision.reason
    assert decision.reason.startswith(f"Batch 5 of query q has no marker in group {GROUP}, and ")


@pytest.mark.parametrize("retention_ms", [MINUTE, 60 * MINUTE, WEEK])
def test_clocks_may_differ_by_a_tenth_of_the_offsets_retention(retention_ms: int) -> None:
    tenth = retention_ms // 10
    assert not could_have_expired(NOW - (retention_ms - tenth - 1), NOW, retention_ms)
    assert could_have_expired(NOW - (retention_ms - tenth), NOW, retention_ms)
    assert not could_have_expired(NOW + tenth, NOW, retention_ms)
    assert could_have_expired(NOW + tenth + 1, NOW, retention_ms)


def test_an_unknown_offsets_retention_is_assumed_to_be_the_minimum_that_kafka_allows() -> None:
    assert not could_have_expired(NOW - 50_000, NOW, None)
    assert could_have_expired(NOW - 55_000, NOW, None)


# --- what users read


def test_the_refusal_of_a_restored_checkpoint_names_the_batch_and_both_plans() -> None:
    decision = decide(plan(5), replace(marker(5), fingerprint="another", offsets='{"in": {"0": 40}}'), NOW)
    assert isinstance(decision, Refuse)
    for part in ("Batch 5 of query q", '5 rows, planned at 2027-01-15T07:59:59Z, up to {"in": {"0": 40}}'):
        assert part in decision.reason
    assert "that of checkpoint /ck was planned at 2027-01-15T07:59:59Z, up to" in decision.reason
    assert 'up to {"in": {"0": 50}} (fingerprint print-5)' in decision.reason
    assert "startingOffsets" in decision.reason


@pytest.mark.parametrize("one", [*AROUND[:2], plan(0), plan(5, remembered=None), plan(5, age_ms=WEEK)])
def test_every_reason_for_a_refusal_is_one_sentence(one: BatchPlan) -> None:
    for found in (None, marker(2), marker(4, other="x"), marker(5, other="x"), marker(9), marker(5, query_id="z")):
        decision = decide(one, found, NOW)
        assert "\n" not in decision.reason
        assert ". " not in decision.reason
        assert not decision.reason.endswith(".")


def test_a_repeated_batch_with_another_number_of_rows_logs_a_warning() -> None:
    decision = decide(plan(5), marker(5), NOW, 7)
    assert isinstance(decision, Skip)
    assert "written with 5 rows and has 7 now that it is repeated" in decision.warning
    assert not decide(plan(5), marker(5), NOW, 5).warning  # type: ignore[union-attr]


# --- writes with an id, memories, the marker's form


def test_only_the_marker_of_a_write_with_an_id_decides_whether_it_is_skipped() -> None:
    one = NamedWrite("daily:7:out", "daily", 7)
    assert isinstance(decide(one, None, NOW, 4), Write)
    written = Marker.of(one, 4)
    assert decide(one, written, NOW, 4) == Skip("batchId 7 was already written")
    warned = decide(one, written, NOW, 9)
    assert isinstance(warned, Skip)
    assert "already written with 4 rows and has 9 now" in warned.warning


def test_the_file_of_the_last_write_names_the_first_batch_of_the_unbroken_series() -> None:
    assert plan(5).last_write(skipped=False) == HERE
    assert plan(5, remembered=None).last_write(skipped=False) == LastWrite("cluster", GROUP, 5)
    assert plan(5, remembered=LastWrite("old", GROUP, 2)).last_write(skipped=False) == LastWrite("cluster", GROUP, 5)


def test_the_file_of_the_last_write_records_a_batch_declared_written_until_the_next_batch() -> None:
    skipped = plan(5).last_write(skipped=True)
    assert skipped == replace(HERE, skipping=plan(5).batch.fingerprint)
    assert plan(6, remembered=skipped).last_write(skipped=False) == HERE


def test_a_marker_is_the_same_after_a_round_trip_through_metadata_and_a_plan_after_pickling() -> None:
    one = plan(5)
    assert Marker.decode(Marker.of(one, 3).encode()) == Marker.of(one, 3)
    assert pickle.loads(pickle.dumps(one)) == one


def test_a_marker_fits_into_offset_metadata_for_any_length_of_plan() -> None:
    long = replace(plan(5), batch=replace(planned(5), offsets="é" * OFFSETS_IN_MARKER))
    assert Marker.of(long, 3).offsets == ""
    most = replace(plan(5), query_id="q" * 36, batch=replace(planned(5), offsets='"' * 1499, fingerprint="f" * 64))
    assert Marker.of(most, 3).offsets
    assert len(Marker.of(most, 2**40).encode().encode()) <= 4096


@pytest.mark.parametrize(
    "metadata",
    [
        *["", "x", "[]", '{"queryId": "q"}', '{"queryId": "q", "batchId": null, "rows": 1}', json.dumps([1]), "3"],
        *["null", '{"queryId": "q", "batchId": Infinity, "rows": 1}', "[" * 4000],
    ],
)
def test_foreign_metadata_is_not_a_marker(metadata: str) -> None:
    assert Marker.decode(metadata) is None


# --- markerTopic, changed or deleted

OLD, NEW = MarkerTopic("old", "1"), MarkerTopic("new", "2")


def with_topics(batch_id: int, before: MarkerTopic | None, now: str, ids: dict[str, str], **given: Any) -> BatchPlan:
    one = plan(batch_id, remembered=replace(HERE, marker_topic=before), **given)
    return one.with_marker_topic(now, lambda names: {name: ids[name] for name in names if name in ids})


@pytest.mark.parametrize(
    ("now", "ids"),
    [
        ("new", {"old": "1", "new": "3"}),  # made again
        ("old", {"old": "1"}),  # the option is what it was before
        ("", {}),  # unset
    ],
)
def test_an_older_marker_is_ignored_once_the_topic_of_the_last_marker_is_deleted(now: str, ids: dict[str, str]) -> None:
    """Batch 5 changed the option and may have left its marker in the topic that is gone: no marker of 5 proves
    nothing.
    """
    for found, batch_id in ((marker(4), 5), (None, 0)):
        decision = decide(with_topics(batch_id, NEW, now, ids), found, NOW)
        assert isinstance(decision, Refuse)
        assert "topic new, into which checkpoint /ck put its last marker, was deleted since" in decision.reason
        write, skip = OnMissingMarker.WRITE, OnMissingMarker.SKIP
        assert isinstance(decide(with_topics(batch_id, NEW, now, ids, on_missing=write), found, NOW), Write)
        skipped = decide(with_topics(batch_id, NEW, now, ids, on_missing=skip), found, NOW)
        assert isinstance(skipped, Skip)
        assert skipped.leave_marker
    assert isinstance(decide(with_topics(5, NEW, now, ids), marker(5), NOW), Skip)


@pytest.mark.parametrize(
    ("before", "now", "ids"),
    [
        (NEW, "new", {"old": "1", "new": "2"}),  # remembered, but not committed: the marker before is the last one
        (NEW, "new", {}),  # one answer without it
        (OLD, "new", {"old": "1", "new": "2"}),  # changed now
        (None, "new", {"new": "2"}),
        (None, "", {}),
        (NEW, "", {"new": "2"}),
    ],
)
def test_if_every_topic_still_exists_the_batch_is_written(
    before: MarkerTopic | None, now: str, ids: dict[str, str]
) -> None:
    assert isinstance(decide(with_topics(5, before, now, ids), marker(4), NOW), Write)
    assert isinstance(decide(with_topics(0, before, now, ids), None, NOW), Write)


def test_the_topic_of_the_marker_is_remembered_by_its_id() -> None:
    assert with_topics(5, OLD, "new", {"new": "2"}).last_write(skipped=False) == replace(HERE, marker_topic=NEW)
    assert with_topics(5, NEW, "new", {}).last_write(skipped=False) == replace(HERE, marker_topic=NEW)
    assert with_topics(5, None, "new", {}).last_write(skipped=False) == HERE
    assert with_topics(5, NEW, "", {"new": "2"}).last_write(skipped=False) == HERE
    elsewhere = replace(with_topics(5, NEW, "new", {"new": "2"}), cluster_id="another")
    assert elsewhere.last_write(skipped=False) == LastWrite("another", GROUP, 5, NEW)


def test_topic_ids_of_another_cluster_are_ignored() -> None:
    """A copy of a cluster may give its topics other ids; a different cluster is recognised when no marker is found."""
    one = replace(plan(5, remembered=LastWrite("old cluster", GROUP, 0, NEW)), cluster_id="cluster")
    assert one.with_marker_topic("new", lambda names: {"new": "7"}).deleted_topic == ""
