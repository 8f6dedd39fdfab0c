"""A history in words, and a partition as a drawing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oncelog.apps.console.offset_chart import MAX_SEGMENTS, WIDTH, ChartSegment, draw, segments
from oncelog.apps.console.timeline import TimelineStep, events
from oncelog.broker.coordinator.transaction.states import TransactionState as S
from oncelog.broker.coordinator.transaction.states import Txn
from oncelog.client.aio.admin.log_reader import DecidedBatch, RecordOutcome, StoredBatch
from oncelog.client.aio.admin.sink_markers import SinkMarker
from oncelog.records.batch import BatchHeader
from oncelog.records.control import ControlType
from oncelog.spark.sink.marker import Marker
from oncelog.types import TopicPartition

FIRST = Txn(
    transactional_id="t", producer_id=7, producer_epoch=0, timeout_ms=60_000, state=S.EMPTY, partitions=frozenset(),
    start_ms=-1, last_update_ms=0, previous_producer_id=-1, next_producer_id=-1, client_transaction_version=2,
)  # fmt: skip
BEGUN = FIRST._replace(
    state=S.ONGOING, start_ms=100, last_update_ms=100, partitions=frozenset({TopicPartition("a", 0)})
)


def reported(*txns: Txn | None) -> list[tuple[str, str]]:
    found = events(TimelineStep(n, n, txn) for n, txn in enumerate(txns))
    return [(event.kind, event.title) for event in found]


def test_the_timeline_shows_a_commit_of_a_newer_client() -> None:
    prepare = BEGUN._replace(state=S.PREPARE_COMMIT, producer_epoch=1, last_update_ms=150)
    complete = prepare._replace(state=S.COMPLETE_COMMIT, partitions=frozenset(), last_update_ms=152)
    assert reported(FIRST, BEGUN, prepare, complete) == [
        ("begin", "Producer initialized"), ("begin", "Began"), ("prepare", "Prepare commit"), ("commit", "Committed"),
    ]  # fmt: skip
    last = events([TimelineStep(0, 0, prepare), TimelineStep(1, 1, complete)])[-1]
    assert "2 ms after it was decided" in last.detail


def test_the_timeline_names_partitions_added_later() -> None:
    more = BEGUN._replace(partitions=BEGUN.partitions | {TopicPartition("b", 3)})
    assert events([TimelineStep(0, 0, BEGUN), TimelineStep(1, 1, more)])[-1].detail == "with b-3 too"


def test_an_abort_by_timeout_is_reported() -> None:
    prepare = BEGUN._replace(state=S.PREPARE_ABORT, producer_epoch=1, last_update_ms=100 + 60_000)
    assert reported(BEGUN, prepare)[-1] == ("fence", "Prepare abort: its timeout passed")


def test_an_epoch_that_rises_by_more_than_its_protocol_does_is_shown_as_fenced() -> None:
    old = BEGUN._replace(client_transaction_version=0)
    own = old._replace(state=S.PREPARE_ABORT, last_update_ms=120)
    assert reported(old, own)[-1] == ("prepare", "Prepare abort")
    assert reported(old, own._replace(producer_epoch=1))[-1] == ("fence", "Prepare abort: its producer was fenced")
    newer = BEGUN._replace(state=S.PREPARE_ABORT, producer_epoch=1, last_update_ms=120)
    assert reported(BEGUN, newer)[-1] == ("prepare", "Prepare abort")  # a client of KIP-890 bumps with each end


def test_the_timeline_shows_fencing_and_the_removal_of_an_id() -> None:
    assert reported(FIRST, FIRST._replace(producer_epoch=1), FIRST._replace(producer_id=9), None) == [
        ("begin", "Producer initialized"),
        ("fence", "Producer initialized"),
        ("fence", "Producer initialized with a new producer id"),
        ("end", "Forgotten"),
    ]


# --- the chart


def batch(start: int, count: int, outcome: RecordOutcome, producer_id: int = 1) -> DecidedBatch:
    control = {RecordOutcome.COMMIT_MARKER: ControlType.COMMIT, RecordOutcome.ABORT_MARKER: ControlType.ABORT}.get(
        outcome
    )
    header = BatchHeader(base_offset=start, last_offset_delta=count - 1, producer_id=producer_id, records_count=count)
    return DecidedBatch(StoredBatch(header, (), control), outcome)


def test_adjacent_batches_of_one_transaction_are_one_segment() -> None:
    found = segments([
        batch(0, 5, RecordOutcome.COMMITTED), batch(5, 5, RecordOutcome.COMMITTED),
        batch(10, 1, RecordOutcome.COMMIT_MARKER),
        batch(11, 2, RecordOutcome.COMMITTED, 2), batch(15, 2, RecordOutcome.COMMITTED, 2),
    ])  # fmt: skip
    assert [(one.start, one.end) for one in found] == [(0, 10), (10, 11), (11, 13), (15, 17)]


OUTCOMES = st.sampled_from(
    [
        RecordOutcome.COMMITTED,
        RecordOutcome.ABORTED,
        RecordOutcome.OPEN,
        RecordOutcome.NOT_TRANSACTIONAL,
        RecordOutcome.COMMIT_MARKER,
    ]
)


@given(st.lists(st.tuples(st.integers(1, 50), OUTCOMES, st.integers(0, 5)), max_size=60), st.integers(0, 500))
def test_bars_lie_within_the_drawing_in_order(runs: list[tuple[int, RecordOutcome, int]], start: int) -> None:
    batches, offset = [], 0
    for count, outcome, producer in runs:
        batches.append(batch(offset, 1 if outcome is RecordOutcome.COMMIT_MARKER else count, outcome, producer))
        offset = batches[-1].batch.header.next_offset
    end = max(start + 1, offset)
    chart = draw(segments(batches), start, end, {"g": start, "h": end, "i": 0})
    assert all(0 <= bar.x <= WIDTH and bar.x + bar.width <= WIDTH + 1 for bar in chart.bars)
    assert [bar.x for bar in chart.bars] == sorted(bar.x for bar in chart.bars)
    assert len(chart.pins) == 3


def test_a_chart_of_very_many_segments_stays_small_and_loses_no_outcome() -> None:
    many = [
        ChartSegment(n, n + 1, RecordOutcome.ABORTED if n % 1000 == 7 else RecordOutcome.COMMITTED, n, 0)
        for n in range(100_000)
    ]
    chart = draw(many, 0, 100_000, {})
    assert len(chart.bars) <= 4 * MAX_SEGMENTS
    assert {bar.segment.outcome for bar in chart.bars} == {RecordOutcome.COMMITTED, RecordOutcome.ABORTED}


def test_labels_of_groups_at_one_offset_do_not_overlap() -> None:
    chart = draw([], 0, 100, {f"group-{n}": 50 for n in range(10)})
    assert sorted(pin.row for pin in chart.pins) == list(range(10))


# --- markers


def test_markers_of_our_sinks_are_distinguished_from_other_metadata() -> None:
    marker = Marker("q", 8, 500, "abc", 17, "[]")
    where = TopicPartition("t", 0)
    assert SinkMarker.of("g", where, marker.encode()) == SinkMarker("g", where, "q", 8, 500, 17)
    for other in ("", "x", "{", "{}", '{"queryId": 5, "batchId": 1}', '{"queryId": "q", "batchId": "1"}', "[]"):
        assert SinkMarker.of("g", where, other) is None
