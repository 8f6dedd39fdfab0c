"""One micro-batch, exactly once: crashed at each step, repeated, raced by a zombie, against a naive model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from oncelog.errors import Error, KafkaError
from oncelog.spark.sink_protocol import (
    BatchWrite,
    CommittedOffset,
    Marker,
    Outcome,
    PartitionBatch,
    SinkRefused,
    Step,
    commit_batch,
    decide,
)
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TopicPartition


class Crash(BaseException):
    """The process is gone: nothing of it runs any more."""


class ModelBroker:
    """What readers of committed data see, the group's offsets, and one open transaction."""

    def __init__(self) -> None:
        self.visible: list[bytes] = []
        self.offsets: dict[TopicPartition, CommittedOffset] = {}
        self.epoch = 0
        self.open_records: list[bytes] = []
        self.open_offsets: dict[TopicPartition, CommittedOffset] = {}

    def fence(self) -> int:
        self.open_records, self.open_offsets = [], {}
        self.epoch += 1
        return self.epoch


class ModelEngine:
    """One process's engine; ``fail`` names a call that the broker refuses."""

    def __init__(self, broker: ModelBroker, fail: str = "") -> None:
        self.broker = broker
        self.epoch = -1
        self.fail = fail
        self.calls: list[str] = []

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name == self.fail:
            raise KafkaError(Error.TRANSACTION_ABORTABLE, name)
        if name not in ("init", "offsets") and self.epoch != self.broker.epoch:
            raise KafkaError(Error.PRODUCER_FENCED, name)

    def init_producer_id(self) -> None:
        self._call("init")
        self.epoch = self.broker.fence()

    def committed_offsets(self) -> Mapping[TopicPartition, CommittedOffset]:
        self._call("offsets")
        return dict(self.broker.offsets)

    def produce(self, batches: Iterable[PartitionBatch]) -> None:
        for batch in batches:
            self._call("produce")
            self.broker.open_records.append(batch.data)

    def add_offset(self, partition: TopicPartition, offset: int, metadata: str) -> None:
        self._call("add")
        self.broker.open_offsets[partition] = CommittedOffset(offset, metadata)

    def end(self, *, commit: bool) -> None:
        self._call("commit" if commit else "abort")
        if commit:
            self.broker.visible += self.broker.open_records
            self.broker.offsets |= self.broker.open_offsets
        self.broker.open_records, self.broker.open_offsets = [], {}


def batch_write(batch_id: int | None, *, rows: int | None = None, topic: str = "out", count: int = 4) -> BatchWrite:
    batches = [
        PartitionBatch("out", n % 2, 1, b"%d/%d" % (-1 if batch_id is None else batch_id, n)) for n in range(count)
    ]
    return BatchWrite("q", batch_id, True, topic, count if rows is None else rows, count, batches)


def run(broker: ModelBroker, write: BatchWrite, *, crash: Step | None = None, fail: str = "") -> Outcome:
    def observe(step: Step, batch_id: int | None) -> None:
        if step is crash:
            raise Crash

    return commit_batch(write, ModelEngine(broker, fail), observe, lambda text: None)


EXPECTED = [b"0/0", b"0/1", b"0/2", b"0/3"]


@pytest.mark.parametrize("step", list(Step))
def test_crash_at_any_step_then_replay_leaves_each_record_once(step: Step) -> None:
    broker = ModelBroker()
    with pytest.raises(Crash):
        run(broker, batch_write(0), crash=step)
    assert broker.visible == (EXPECTED if step is Step.COMMITTED else [])
    outcome = run(broker, batch_write(0))
    assert outcome is (Outcome.SKIPPED if step is Step.COMMITTED else Outcome.WRITTEN)
    assert broker.visible == EXPECTED


@pytest.mark.parametrize("call", ["produce", "add"])
def test_refusal_before_the_end_aborts_and_raises(call: str) -> None:
    broker = ModelBroker()
    with pytest.raises(KafkaError, match=call):
        run(broker, batch_write(0), fail=call)
    assert (broker.visible, broker.open_records) == ([], [])


def test_failed_abort_is_told_with_the_first_error() -> None:
    broker = ModelBroker()
    engine = ModelEngine(broker, fail="add")

    def observe(step: Step, batch_id: int | None) -> None:
        if step is Step.PRODUCED:
            broker.epoch += 1

    with pytest.raises(KafkaError, match="add") as caught:
        commit_batch(batch_write(0), engine, observe, lambda text: None)
    assert "could not be aborted" in caught.value.__notes__[0]


def test_unknown_outcome_of_the_commit_raises_without_an_abort() -> None:
    engine = ModelEngine(ModelBroker(), fail="commit")
    with pytest.raises(KafkaError, match="commit"):
        commit_batch(batch_write(0), engine, lambda step, batch_id: None, lambda text: None)
    assert "abort" not in engine.calls


@pytest.mark.parametrize("step", [Step.MARKER_READ, Step.HALF_PRODUCED, Step.PRODUCED, Step.MARKER_ADDED])
def test_zombie_overtaken_by_a_new_run_writes_nothing(step: Step) -> None:
    broker = ModelBroker()

    def observe(reached: Step, batch_id: int | None) -> None:
        if reached is step:
            assert run(broker, batch_write(0)) is Outcome.WRITTEN

    with pytest.raises(KafkaError, match="PRODUCER_FENCED"):
        commit_batch(batch_write(0), ModelEngine(broker), observe, lambda text: None)
    assert broker.visible == EXPECTED


def test_zombie_overtaken_before_it_reads_the_marker_skips() -> None:
    broker = ModelBroker()

    def observe(reached: Step, batch_id: int | None) -> None:
        if reached is Step.FENCED:
            assert run(broker, batch_write(0)) is Outcome.WRITTEN

    outcome = commit_batch(batch_write(0), ModelEngine(broker), observe, lambda text: None)
    assert outcome is Outcome.SKIPPED
    assert broker.visible == EXPECTED


def test_marker_is_read_only_under_the_fence() -> None:
    engine = ModelEngine(ModelBroker())
    commit_batch(batch_write(0), engine, lambda step, batch_id: None, lambda text: None)
    assert engine.calls == ["init", "offsets", *["produce"] * 4, "add", "commit"]


def test_empty_batch_still_leaves_its_marker() -> None:
    broker = ModelBroker()
    run(broker, batch_write(0, count=0))
    assert Marker.decode(next(iter(broker.offsets.values())).metadata) == Marker("q", 0, 0)
    assert run(broker, batch_write(1)) is Outcome.WRITTEN


def test_write_without_an_id_needs_no_marker() -> None:
    broker = ModelBroker()
    assert run(broker, batch_write(None)) is Outcome.WRITTEN
    assert broker.offsets == {}
    assert run(broker, batch_write(None, count=0)) is Outcome.WRITTEN


def committed(batch_id: int, rows: int = 4, query_id: str = "q") -> CommittedOffset:
    return CommittedOffset(batch_id, Marker(query_id, batch_id, rows).encode())


OUT = TopicPartition("out", 0)


def test_later_batch_without_any_marker_is_refused() -> None:
    with pytest.raises(SinkRefused, match="Query q is at batch 3, but its consumer group holds no marker"):
        decide(batch_write(3), {})


def test_marker_of_another_query_does_not_count() -> None:
    with pytest.raises(SinkRefused, match="no marker"):
        decide(
            batch_write(3), {OUT: committed(5, query_id="other"), TopicPartition("x", 0): CommittedOffset(7, "mine")}
        )


def test_newest_marker_decides_when_the_topic_option_has_changed() -> None:
    offsets = {OUT: committed(2), TopicPartition("old", 0): committed(3)}
    assert decide(batch_write(3), offsets).outcome is Outcome.SKIPPED
    assert decide(batch_write(4), offsets).outcome is Outcome.WRITTEN


@pytest.mark.parametrize(
    ("marker", "warns"),
    [
        (committed(3), ""),
        (committed(3, rows=5), "is already written with 5 rows"),
        (committed(9), "older than batch 9"),
    ],
)
def test_skip_warns_when_the_marker_tells_of_an_old_checkpoint(marker: CommittedOffset, warns: str) -> None:
    verdict = decide(batch_write(3), {OUT: marker})
    assert verdict.outcome is Outcome.SKIPPED
    assert warns in verdict.warning
    assert bool(verdict.warning) == bool(warns)


def test_marker_lives_in_the_option_s_topic_else_where_the_last_one_is_else_in_the_internal_topic() -> None:
    assert decide(batch_write(0), {}).marker_partition == OUT
    assert decide(batch_write(0, topic=""), {}).marker_partition == (CONSUMER_OFFSETS_TOPIC, 0)
    last = {TopicPartition("b", 0): committed(0)}
    assert decide(batch_write(1, topic=""), last).marker_partition == ("b", 0)


@pytest.mark.parametrize(
    "metadata", ["", "x", "[]", '{"queryId": "q"}', '{"queryId": "q", "batchId": null, "rows": 1}']
)
def test_foreign_metadata_is_no_marker(metadata: str) -> None:
    assert Marker.decode(metadata) is None
