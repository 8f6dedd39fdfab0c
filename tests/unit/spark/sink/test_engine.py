"""One micro-batch, exactly once: crashed at each step, repeated, raced by a zombie, against a naive model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.errors import Error, KafkaError
from oncelog.spark.kafka.interface import PartitionBatch
from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.engine import BatchOutcome, BatchResult, BatchStep, Observer, SinkRefused, WriteEngine, ignore
from oncelog.spark.sink.marker import (
    BatchPlan,
    LastWrite,
    Marker,
    MarkerTopic,
    NamedWrite,
    OffsetLogEntry,
    PreviousBatch,
)
from oncelog.spark.sink.topic_transaction import newest_marker
from oncelog.types import ProducerIdAndEpoch, TopicPartition
from tests.support.sink_writes import BatchWrite, commit_batch, keep_proof

NOW = 1_800_000_000_000


@pytest.fixture(params=[False, True], ids=["in turn", "ahead"], autouse=True)
def _begun_ahead(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test holds too if the transaction is begun, and the marker read, while the rows are computed."""
    write = WriteEngine.write

    def begun_ahead(engine: WriteEngine[Any], carrier: Any) -> BatchResult:
        engine.begin()
        return write(engine, carrier)

    if request.param:
        monkeypatch.setattr(WriteEngine, "write", begun_ahead)


class Crash(BaseException):
    """The process is gone: nothing of it runs any more."""


class ModelBroker:
    """What readers of committed data see, the group's offsets, and one open transaction."""

    def __init__(self) -> None:
        self.visible: list[bytes] = []
        self.offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        self.epoch = 0
        self.open_records: list[bytes] = []
        self.open_offsets: dict[TopicPartition, OffsetAndMetadata] = {}

    def fence(self) -> int:
        self.open_records, self.open_offsets = [], {}
        self.epoch += 1
        return self.epoch


class ModelEngine:
    """One process's engine; ``fail`` names a call that the broker refuses, ``longest`` bounds an offset's metadata."""

    def __init__(self, broker: ModelBroker, fail: str = "", longest: int = 4096) -> None:
        self.longest = longest
        self.broker = broker
        self.epoch = -1
        self.fail = fail
        self.calls: list[str] = []

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name == self.fail:
            raise KafkaError(Error.TRANSACTION_ABORTABLE, name)
        if name not in ("look", "init", "offsets") and self.epoch != self.broker.epoch:
            raise KafkaError(Error.PRODUCER_FENCED, name)

    def init_producer_id(self) -> None:
        self._call("init")
        self.epoch = self.broker.fence()

    def committed_offsets(
        self, expected: TopicPartition, *, require_stable: bool = True
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        self._call("offsets" if require_stable else "look")
        return dict(self.broker.offsets)

    def producer(self) -> ProducerIdAndEpoch:
        return ProducerIdAndEpoch(1, self.epoch)

    def join(self, producer: ProducerIdAndEpoch) -> None:
        self.epoch = producer.producer_epoch

    def produce(self, batches: Iterable[PartitionBatch]) -> None:
        for batch in batches:
            self._call("produce")
            self.broker.open_records.append(bytes(batch.data))

    def add_offset(self, partition: TopicPartition, offset: int, metadata: str) -> None:
        self._call("add")
        if len(metadata) > self.longest:
            raise KafkaError(Error.OFFSET_METADATA_TOO_LARGE, "add")
        self.broker.open_offsets[partition] = OffsetAndMetadata(offset, metadata)

    def end(self, *, commit: bool) -> None:
        self._call("commit" if commit else "abort")
        if commit:
            self.broker.visible += self.broker.open_records
            self.broker.offsets |= self.broker.open_offsets
        self.broker.open_records, self.broker.open_offsets = [], {}


OUT = TopicPartition("out", 0)
MEMORY = LastWrite("cluster", "group", 0)


def plan_of(batch_id: int, text: str = "") -> BatchPlan:
    def planned(number: int) -> OffsetLogEntry:
        return OffsetLogEntry(number, f"print-{number}{text}", NOW - 1000, "")

    previous = PreviousBatch(planned(batch_id - 1), True) if batch_id else None
    return BatchPlan("group", "q", "/ck", planned(batch_id), previous, MEMORY, "cluster", 60_000, OnMissingMarker.FAIL)


def batch_write(batch_id: int | None, *, count: int = 4) -> BatchWrite:
    batches = [
        PartitionBatch("out", n % 2, 1, b"%d/%d" % (-1 if batch_id is None else batch_id, n)) for n in range(count)
    ]
    plan = None if batch_id is None else plan_of(batch_id)
    return BatchWrite(plan, OUT, count, count, batches)


def commit(
    write: BatchWrite, engine: ModelEngine, observe: Observer = ignore, kept: list[LastWrite] | None = None
) -> BatchOutcome:
    memories = [] if kept is None else kept
    return commit_batch(write, engine, observe, lambda text: None, lambda: NOW, memories.append)


def run(
    broker: ModelBroker,
    write: BatchWrite,
    *,
    crash: BatchStep | None = None,
    fail: str = "",
    kept: list[LastWrite] | None = None,
) -> BatchOutcome:
    def observe(step: BatchStep, batch_id: int | None) -> None:
        if step is crash:
            raise Crash

    return commit(write, ModelEngine(broker, fail), observe, kept)


EXPECTED = [b"0/0", b"0/1", b"0/2", b"0/3"]


@pytest.mark.parametrize("step", list(BatchStep))
def test_a_replay_after_a_crash_at_any_step_leaves_each_record_once(step: BatchStep) -> None:
    broker = ModelBroker()
    with pytest.raises(Crash):
        run(broker, batch_write(0), crash=step)
    assert broker.visible == (EXPECTED if step is BatchStep.COMMITTED else [])
    outcome = run(broker, batch_write(0))
    assert outcome is (BatchOutcome.SKIPPED if step is BatchStep.COMMITTED else BatchOutcome.WRITTEN)
    assert broker.visible == EXPECTED


@pytest.mark.parametrize("call", ["produce", "add"])
def test_a_refusal_before_the_commit_aborts_the_transaction_and_is_raised(call: str) -> None:
    broker = ModelBroker()
    with pytest.raises(KafkaError, match=call):
        run(broker, batch_write(0), fail=call)
    assert (broker.visible, broker.open_records) == ([], [])


def test_a_failed_abort_is_reported_with_the_first_error() -> None:
    broker = ModelBroker()
    engine = ModelEngine(broker, fail="add")

    def observe(step: BatchStep, batch_id: int | None) -> None:
        if step is BatchStep.PRODUCED:
            broker.epoch += 1

    with pytest.raises(KafkaError, match="add") as caught:
        commit(batch_write(0), engine, observe)
    assert "could not be aborted" in caught.value.__notes__[0]


def test_an_unknown_outcome_of_the_commit_is_raised_without_an_abort() -> None:
    engine = ModelEngine(ModelBroker(), fail="commit")
    with pytest.raises(KafkaError, match="commit"):
        commit(batch_write(0), engine)
    assert "abort" not in engine.calls


@pytest.mark.parametrize(
    "step", [BatchStep.MARKER_READ, BatchStep.HALF_PRODUCED, BatchStep.PRODUCED, BatchStep.MARKER_ADDED]
)
def test_a_zombie_that_is_overtaken_by_a_new_run_writes_no_record(step: BatchStep) -> None:
    broker = ModelBroker()

    def observe(reached: BatchStep, batch_id: int | None) -> None:
        if reached is step:
            assert run(broker, batch_write(0)) is BatchOutcome.WRITTEN

    with pytest.raises(KafkaError, match="PRODUCER_FENCED"):
        commit(batch_write(0), ModelEngine(broker), observe)
    assert broker.visible == EXPECTED


def test_a_zombie_that_is_overtaken_before_it_reads_the_marker_skips_the_batch() -> None:
    broker = ModelBroker()

    def observe(reached: BatchStep, batch_id: int | None) -> None:
        if reached is BatchStep.FENCED:
            assert run(broker, batch_write(0)) is BatchOutcome.WRITTEN

    outcome = commit(batch_write(0), ModelEngine(broker), observe)
    assert outcome is BatchOutcome.SKIPPED
    assert broker.visible == EXPECTED


def test_a_missing_marker_is_trusted_only_after_fencing() -> None:
    engine = ModelEngine(ModelBroker())
    commit(batch_write(0), engine)
    assert engine.calls == ["look", "init", "offsets", *["produce"] * 4, "add", "commit"]


@pytest.mark.parametrize("text", ["", "another plan"])
@pytest.mark.parametrize("batch_id", [0, 1])
def test_a_run_that_starts_late_fences_no_other_run(batch_id: int, text: str) -> None:
    """A second run of a query, or a copy of its checkpoint: it may not write, and the first is in its next batch."""
    broker = ModelBroker()
    run(broker, batch_write(0))
    run(broker, batch_write(1))

    def late(reached: BatchStep, number: int | None) -> None:
        if reached is BatchStep.MARKER_ADDED:
            engine = ModelEngine(broker)
            write = replace(batch_write(batch_id), plan=plan_of(batch_id, text))
            if batch_id == 1 and not text:
                assert commit(write, engine) is BatchOutcome.SKIPPED
            else:
                with pytest.raises(SinkRefused, match="another run of the query has gone on with it"):
                    commit(write, engine)
            assert engine.calls == ["look"]

    assert commit(batch_write(2), ModelEngine(broker), late) is BatchOutcome.WRITTEN
    assert len(broker.visible) == 12


def test_an_empty_batch_also_leaves_its_marker() -> None:
    broker = ModelBroker()
    run(broker, batch_write(0, count=0))
    assert Marker.decode(broker.offsets[OUT].metadata) == Marker.of(plan_of(0), 0)
    assert run(broker, batch_write(1)) is BatchOutcome.WRITTEN


LATER = NOW + 600_000
"""When a slow batch is ready: its plan is too old by then to prove anything, if the retention is not known."""


def slow(batch_id: int, last_age_ms: int = 600_000) -> BatchWrite:
    """A batch on a cluster that does not tell its retention, planned long after the one before."""
    write = batch_write(batch_id)
    assert isinstance(write.plan, BatchPlan)
    plan = replace(write.plan, retention_ms=None)
    if plan.previous is not None and plan.previous.batch is not None:
        last = replace(plan.previous.batch, planned_at_ms=NOW - last_age_ms)
        plan = replace(plan, previous=PreviousBatch(last, True))
    return replace(write, plan=plan)


def end_later(write: BatchWrite, engine: ModelEngine) -> BatchOutcome:
    return commit_batch(write, engine, ignore, lambda text: None, lambda: LATER, lambda memory: None)


@pytest.mark.parametrize("batch_id", [0, 5])
def test_a_slow_batch_is_written_once_if_the_retention_is_unknown(batch_id: int) -> None:
    broker = ModelBroker()
    with pytest.raises(SinkRefused, match="option offsetsRetentionMinutes"):
        end_later(slow(batch_id), ModelEngine(broker))
    keep_proof(slow(batch_id), ModelEngine(broker), lambda: NOW, lambda memory: None)
    assert broker.visible == []
    left = newest_marker(broker.offsets)
    assert left is not None
    assert (left.query_id, left.batch_id, left.rows) == ("q", batch_id - 1, 0)
    for outcome in (BatchOutcome.WRITTEN, BatchOutcome.SKIPPED):
        keep_proof(slow(batch_id), ModelEngine(broker), lambda: LATER, lambda memory: None)
        assert end_later(slow(batch_id), ModelEngine(broker)) is outcome
        assert len(broker.visible) == 4
    assert end_later(batch_write(batch_id + 1), ModelEngine(broker)) is BatchOutcome.WRITTEN


def test_the_proof_that_a_batch_was_not_written_is_stored_only_if_it_is_needed_and_valid() -> None:
    """Not when that is too old, nor over a marker, nor by the user's word; and not where it is not needed."""
    plan = slow(5).plan
    assert isinstance(plan, BatchPlan)
    cases: list[tuple[BatchPlan, int, list[str]]] = [
        (plan, LATER, ["look", "init", "offsets"]),
        (replace(plan, remembered=None, on_missing=OnMissingMarker.WRITE), NOW, ["look", "init", "offsets"]),
        (replace(plan, retention_ms=60_000), NOW, []),
        (slow(5, last_age_ms=1000).plan, NOW, []),  # type: ignore[list-item]
        (plan, NOW, ["look", "init", "offsets", "add", "commit"]),
        (plan, NOW, ["look"]),
    ]
    broker = ModelBroker()
    for one, now_ms, calls in cases:
        engine = ModelEngine(broker)
        keep_proof(replace(slow(5), plan=one), engine, lambda now_ms=now_ms: now_ms, lambda memory: None)  # type: ignore[misc]
        assert engine.calls == calls
    broker.offsets.clear()
    refusing = ModelEngine(broker, fail="add")
    with pytest.raises(KafkaError):
        keep_proof(slow(5), refusing, lambda: NOW, lambda memory: None)
    assert refusing.calls[-1] == "abort"


def test_a_fenced_run_stores_no_proof_that_its_batch_was_not_written() -> None:
    """Its successor has written the batch before the proof is committed."""
    broker = ModelBroker()
    first = replace(slow(0), plan=replace(slow(0).plan, remembered=None))  # type: ignore[type-var]
    kept: list[LastWrite] = []

    def overtaken(memory: LastWrite) -> None:
        kept.append(memory)
        assert run(broker, batch_write(0)) is BatchOutcome.WRITTEN

    with pytest.raises(KafkaError, match="PRODUCER_FENCED"):
        keep_proof(first, ModelEngine(broker), lambda: NOW, overtaken)
    assert kept == [LastWrite("cluster", "group", 0)]
    assert newest_marker(broker.offsets) == Marker.of(plan_of(0), 4)


def test_a_write_without_an_id_needs_no_marker() -> None:
    broker = ModelBroker()
    assert run(broker, batch_write(None)) is BatchOutcome.WRITTEN
    assert broker.offsets == {}
    assert run(broker, batch_write(None, count=0)) is BatchOutcome.WRITTEN


def test_a_write_with_an_id_is_written_once() -> None:
    broker = ModelBroker()
    write = replace(batch_write(0), plan=NamedWrite("group", "daily", 7))
    assert [run(broker, write), run(broker, write)] == [BatchOutcome.WRITTEN, BatchOutcome.SKIPPED]
    assert broker.visible == EXPECTED


def test_a_broker_with_little_offset_metadata_gets_a_marker_without_offsets_or_is_reported() -> None:
    """``offset.metadata.max.bytes`` is below what offsets of many partitions need."""
    plan = plan_of(0)
    long = replace(batch_write(0), plan=replace(plan, batch=replace(plan.batch, offsets="x" * 2000)))
    broker = ModelBroker()
    commit(long, ModelEngine(broker, longest=300))
    marker = newest_marker(broker.offsets)
    assert marker is not None
    assert (marker.fingerprint, marker.offsets) == (plan.batch.fingerprint, "")
    assert commit(long, ModelEngine(broker)) is BatchOutcome.SKIPPED
    small = ModelBroker()
    engine = ModelEngine(small, longest=50)
    with pytest.raises(SinkRefused, match=r"has \d+ bytes, more than the broker's offset\.metadata\.max\.bytes"):
        commit(long, engine)
    assert (small.visible, engine.calls[-1]) == ([], "abort")


def test_a_refused_batch_writes_no_record_and_stores_nothing_in_the_checkpoint() -> None:
    broker = ModelBroker()
    run(broker, batch_write(0))
    kept: list[LastWrite] = []
    write = batch_write(0)
    other = replace(plan_of(0, "other"), remembered=LastWrite("old", "group", 0))
    engine = ModelEngine(broker)
    with pytest.raises(SinkRefused, match="another plan of it"):
        commit(replace(write, plan=other), engine, kept=kept)
    assert engine.calls == ["look"]
    assert (broker.visible, kept) == (EXPECTED, [])


def test_the_checkpoint_stores_the_last_write_before_the_transaction_can_commit() -> None:
    broker, kept = ModelBroker(), list[LastWrite]()
    write = replace(batch_write(0), plan=replace(plan_of(0), remembered=None))
    with pytest.raises(Crash):
        run(broker, write, crash=BatchStep.MARKER_ADDED, kept=kept)
    assert kept == [MEMORY]
    assert broker.visible == []
    run(broker, batch_write(0), kept=kept)
    assert kept == [MEMORY]


def test_a_batch_declared_written_leaves_a_marker_and_no_record() -> None:
    broker = ModelBroker()
    unknown = replace(plan_of(3), remembered=None, on_missing=OnMissingMarker.SKIP)
    assert run(broker, replace(batch_write(3), plan=unknown)) is BatchOutcome.SKIPPED
    assert broker.visible == []
    assert run(broker, batch_write(3)) is BatchOutcome.SKIPPED
    assert run(broker, batch_write(4)) is BatchOutcome.WRITTEN


@pytest.mark.parametrize("known", [None, MEMORY, LastWrite("cluster", "group", 0, MarkerTopic("markers", "old"))])
@pytest.mark.parametrize("before", [False, True], ids=["no-marker", "marker-of-batch-before"])
def test_a_batch_declared_written_is_not_written_after_a_kill(known: LastWrite | None, before: bool) -> None:
    """What the checkpoint remembers by then must not tell the next run that the batch cannot be in."""
    broker, kept = ModelBroker(), list[LastWrite]()
    plan = replace(plan_of(3), remembered=known, on_missing=OnMissingMarker.SKIP)
    if before:
        broker.offsets = {OUT: OffsetAndMetadata(2, Marker.of(plan_of(2), 4).encode())}
        plan = replace(plan, deleted_topic="markers")
    with pytest.raises(Crash):
        run(broker, replace(batch_write(3), plan=plan), crash=BatchStep.MARKER_ADDED, kept=kept)
    again = replace(plan, remembered=kept[-1], deleted_topic="")
    with pytest.raises(SinkRefused, match="an earlier run was to take it as written"):
        run(broker, replace(batch_write(3), plan=replace(again, on_missing=OnMissingMarker.FAIL)), kept=kept)
    assert run(broker, replace(batch_write(3), plan=again), kept=kept) is BatchOutcome.SKIPPED
    assert broker.visible == []
    following = replace(plan_of(4), remembered=kept[-1], on_missing=OnMissingMarker.SKIP)
    assert run(broker, replace(batch_write(4), plan=following), kept=kept) is BatchOutcome.WRITTEN
    assert kept[-1].skipping == ""


def test_the_clock_is_read_after_the_marker_was_read() -> None:
    """A process that was stopped while it fenced must not take an old reading for the present."""
    engine = ModelEngine(ModelBroker())

    def clock() -> int:
        assert engine.calls == ["look", "init", "offsets"]
        return NOW + 60_000

    with pytest.raises(SinkRefused, match="cannot be known"):
        commit_batch(batch_write(1), engine, ignore, lambda text: None, clock, lambda memory: None)


def test_the_newest_marker_counts_after_the_marker_topic_has_changed() -> None:
    broker = ModelBroker()
    broker.offsets = {
        TopicPartition("a-new", 0): OffsetAndMetadata(2, Marker.of(plan_of(2), 4).encode()),
        TopicPartition("old", 0): OffsetAndMetadata(3, Marker.of(plan_of(3), 4).encode()),
        TopicPartition("zz", 0): OffsetAndMetadata(7, "a consumer's"),
    }
    assert run(broker, batch_write(3)) is BatchOutcome.SKIPPED
    assert run(broker, batch_write(4)) is BatchOutcome.WRITTEN


def test_a_committed_offset_of_another_client_in_the_marker_group_refuses_the_batch() -> None:
    broker = ModelBroker()
    broker.offsets = {OUT: OffsetAndMetadata(7, "a consumer's")}
    with pytest.raises(SinkRefused, match=r"holds offsets that are no markers .7 for out-0., so another client"):
        run(broker, batch_write(0))


@pytest.mark.parametrize("plan", [plan_of(0), plan_of(3), NamedWrite("daily:7:out", "daily", 7)])
@pytest.mark.parametrize("wanted", [OnMissingMarker.SKIP, OnMissingMarker.WRITE])
def test_the_remedy_that_the_refusal_of_a_foreign_offset_suggests_works(
    plan: BatchPlan | NamedWrite, wanted: OnMissingMarker
) -> None:
    """Also for a first batch and a batch write, which without any offset would be known to be missing."""
    broker = ModelBroker()
    broker.offsets = {TopicPartition("other", 1): OffsetAndMetadata(7, "a consumer's")}
    reported: list[str] = []
    write = replace(batch_write(0), plan=replace(plan, on_missing=wanted))

    def commit_once() -> BatchOutcome:
        return commit_batch(write, ModelEngine(broker), ignore, reported.append, lambda: NOW, lambda memory: None)

    skips = wanted is OnMissingMarker.SKIP
    assert commit_once() is (BatchOutcome.SKIPPED if skips else BatchOutcome.WRITTEN)
    assert f"as onMissingMarker is {wanted.value}" in reported[0]
    assert commit_once() is BatchOutcome.SKIPPED
    assert (broker.visible, len(reported)) == ([] if skips else EXPECTED, 1)
