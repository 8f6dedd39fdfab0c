"""The sink's commit against real brokers, without Spark: every step crashed, raced and repeated in milliseconds.

``test_killed_drivers.py`` kills real drivers at the same steps.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Protocol

import pytest
from confluent_kafka.admin import AdminClient

from oncelog.client.core.config import ClientConfig
from oncelog.errors import Error, KafkaError
from oncelog.records.batch import Record, encode_batch
from oncelog.spark.kafka.interface import PartitionBatch
from oncelog.spark.kafka.kafka_cluster import KafkaCluster
from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.engine import BatchOutcome, BatchStep, SinkRefused, ignore
from oncelog.spark.sink.marker import BatchPlan, LastWrite, OffsetLogEntry, PreviousBatch
from oncelog.spark.sink.planning import now_ms
from oncelog.types import TopicPartition
from tests.integration.conformance.features import node_of_transaction_version
from tests.integration.conformance.nodes import Node
from tests.integration.spark.kafka_records import committed, create_topic, eventually, values, wait_until_settled
from tests.support.sink_writes import BatchWrite, commit_batch


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


class Crash(BaseException):
    """The process is gone; its connection stays open, as a zombie's would."""


class Sink:
    """One query's commits, each by a client of its own."""

    def __init__(self, broker: RunningBroker, name: str) -> None:
        self.address = create_topic(broker.bootstrap_servers, name, 3) and broker.bootstrap_servers
        self.name = name
        self.warnings: list[str] = []

    def write_of(self, batch_id: int, rows: int = 30) -> BatchWrite:
        batches = [
            PartitionBatch(self.name, n % 3, 1, bytes(encode_batch([Record(0, now_ms(), None, value)])))
            for n, value in enumerate(batch(batch_id, rows))
        ]
        return BatchWrite(self.plan(batch_id), TopicPartition(self.name, 0), rows, rows, batches)

    def plan(self, batch_id: int) -> BatchPlan:
        """As in a checkpoint whose batches were all planned long ago, except this one, planned now."""
        group, now = f"{self.name}-id", now_ms()
        previous = PreviousBatch(OffsetLogEntry(batch_id - 1, f"{batch_id - 1}", 0, ""), True) if batch_id else None
        return BatchPlan(
            group=group,
            query_id=self.name,
            checkpoint="/ck",
            batch=OffsetLogEntry(batch_id, f"{batch_id}", now, ""),
            previous=previous,
            remembered=LastWrite("cluster", group, 0),
            cluster_id="cluster",
            retention_ms=None,
            on_missing=OnMissingMarker.FAIL,
        )

    def cluster(self) -> KafkaCluster:
        return KafkaCluster.connect(ClientConfig.from_properties({"bootstrap.servers": self.address}))

    def commit(self, batch_id: int, *, crash: BatchStep | None = None, rows: int = 30) -> BatchOutcome:
        def observe(step: BatchStep, reached: int | None) -> None:
            if step is crash:
                raise Crash

        engine = self.cluster().transaction(f"{self.name}-id", 60_000)
        return commit_batch(
            self.write_of(batch_id, rows), engine, observe, self.warnings.append, now_ms, lambda memory: None
        )

    def visible(self) -> list[bytes]:
        return sorted(values(committed(self.address, self.name)))


def batch(batch_id: int, rows: int = 30) -> list[bytes]:
    return [b"%d/%02d" % (batch_id, n) for n in range(rows)]


@pytest.fixture
def sink(broker: RunningBroker, unique_name: str, monkeypatch: pytest.MonkeyPatch) -> Sink:
    """The window is so small that half of a batch is with the broker when half of it has been handed over."""
    monkeypatch.setattr("oncelog.spark.kafka.lanes.WINDOW", 4)
    return Sink(broker, unique_name)


def test_a_recreated_topic_is_written_by_the_client_that_knew_the_deleted_topic(sink: Sink) -> None:
    """A driver keeps its client over queries. Each batch looks its topic up first, as :func:`destinations` does."""
    cluster = sink.cluster()

    def write(batch_id: int) -> BatchOutcome:
        assert cluster.partition_counts([sink.name]) == {sink.name: 3}
        engine = cluster.transaction(f"{sink.name}-id", 60_000)
        return commit_batch(sink.write_of(batch_id), engine, ignore, sink.warnings.append, now_ms, lambda memory: None)

    assert write(0) is BatchOutcome.WRITTEN
    admin = AdminClient({"bootstrap.servers": sink.address})
    admin.delete_topics([sink.name])[sink.name].result(120)
    eventually(lambda: sink.name in admin.list_topics(timeout=120).topics, False)
    create_topic(sink.address, sink.name, 3)
    assert write(1) is BatchOutcome.WRITTEN
    eventually(sink.visible, sorted(batch(1)))


def test_records_of_a_half_written_batch_are_in_the_log_but_invisible(sink: Sink) -> None:
    with pytest.raises(Crash):
        sink.commit(0, crash=BatchStep.HALF_PRODUCED)
    written = values(committed(sink.address, sink.name, isolation="read_uncommitted"))
    assert 0 < len(written) < 30
    assert sink.visible() == []


@pytest.mark.parametrize("step", list(BatchStep))
def test_crash_at_any_step_then_replay_shows_each_record_once(sink: Sink, step: BatchStep) -> None:
    sink.commit(0)
    with pytest.raises(Crash):
        sink.commit(1, crash=step)
    eventually(sink.visible, batch(0) + (batch(1) if step is BatchStep.COMMITTED else []))
    assert sink.commit(1) is (BatchOutcome.SKIPPED if step is BatchStep.COMMITTED else BatchOutcome.WRITTEN)
    assert sink.commit(2) is BatchOutcome.WRITTEN
    eventually(sink.visible, batch(0) + batch(1) + batch(2))


def test_a_zombie_that_is_overtaken_before_it_reads_the_marker_writes_no_record(sink: Sink) -> None:
    def overtake(reached: BatchStep, batch_id: int | None) -> None:
        if reached is BatchStep.FENCED:
            assert sink.commit(0) is BatchOutcome.WRITTEN

    outcome = None
    # It skips where it sees its successor's marker; Apache Kafka may not show that yet, and then fences it.
    zombie = sink.cluster().transaction(f"{sink.name}-id", 60_000)
    with contextlib.suppress(KafkaError):
        outcome = commit_batch(sink.write_of(0), zombie, overtake, sink.warnings.append, now_ms, lambda memory: None)
    assert outcome in (BatchOutcome.SKIPPED, None)
    eventually(sink.visible, batch(0))


@pytest.mark.parametrize(
    "step", [BatchStep.MARKER_READ, BatchStep.HALF_PRODUCED, BatchStep.PRODUCED, BatchStep.MARKER_ADDED]
)
def test_a_zombie_that_is_overtaken_after_it_reads_the_marker_is_fenced_and_writes_no_record(
    sink: Sink, step: BatchStep
) -> None:
    def overtake(reached: BatchStep, batch_id: int | None) -> None:
        if reached is step:
            assert sink.commit(0) is BatchOutcome.WRITTEN

    zombie = sink.cluster().transaction(f"{sink.name}-id", 60_000)
    with pytest.raises(KafkaError):
        commit_batch(sink.write_of(0), zombie, overtake, sink.warnings.append, now_ms, lambda memory: None)
    eventually(sink.visible, batch(0))


def test_a_run_that_starts_late_does_not_disturb_the_current_run(sink: Sink) -> None:
    """It begins with a batch that is in, or with one before it, while the first run is in its next batch."""
    sink.commit(0)
    sink.commit(1)

    def late(reached: BatchStep, batch_id: int | None) -> None:
        if reached is BatchStep.PRODUCED:
            assert sink.commit(1) is BatchOutcome.SKIPPED
            with pytest.raises(SinkRefused, match="another run of the query has gone on with it"):
                sink.commit(0)

    eventually(sink.visible, batch(0) + batch(1))
    first = sink.cluster().transaction(f"{sink.name}-id", 60_000)
    written = commit_batch(sink.write_of(2), first, late, sink.warnings.append, now_ms, lambda memory: None)
    assert written is BatchOutcome.WRITTEN
    eventually(sink.visible, batch(0) + batch(1) + batch(2))


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("oncelog", 2), id="oncelog-2"),
        pytest.param(("oncelog", 1), id="oncelog-1"),
        pytest.param(("kafka", 2), id="kafka-2", marks=[pytest.mark.kafka, pytest.mark.soak]),
        pytest.param(("kafka", 1), id="kafka-1", marks=[pytest.mark.kafka, pytest.mark.soak]),
    ],
)
def node_of_any_version(request: pytest.FixtureRequest) -> Iterator[Node]:
    """Brokers by kind and ``transaction.version``."""
    kind, level = request.param
    with node_of_transaction_version(kind, level) as node:
        yield node


@pytest.mark.parametrize("another_has_written", [False, True])
def test_executor_that_begins_to_write_after_the_abort_is_refused_and_leaves_nothing_open(
    node_of_any_version: Node, unique_name: str, another_has_written: bool
) -> None:
    """Below version 2 EndTxn leaves the epoch as it was."""
    sink = Sink(node_of_any_version, unique_name)
    cluster, transactional_id = sink.cluster(), f"{sink.name}-id"
    driver, other, late, end = (cluster.transaction(transactional_id, 60_000) for _ in range(4))
    driver.init_producer_id()
    for joined in (other, late, end):
        joined.join(driver.producer())
    of_other, of_late = ([one for one in sink.write_of(0).batches if one.partition == n] for n in (0, 1))
    if another_has_written:
        other.produce(of_other)
    end.end(commit=False)
    with pytest.raises(KafkaError) as refused:
        late.produce(of_late)
    assert refused.value.error in (Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH)
    wait_until_settled(sink.address, sink.name)
    assert sink.visible() == []
    assert sink.commit(0) is BatchOutcome.WRITTEN


def test_an_empty_batch_leaves_a_marker_and_the_error_lists_batches_missing_from_the_log(sink: Sink) -> None:
    assert sink.commit(0, rows=0) is BatchOutcome.WRITTEN
    assert sink.commit(1) is BatchOutcome.WRITTEN
    with pytest.raises(SinkRefused, match="batches 2 to 4 are not in this log, whose last is batch 1"):
        sink.commit(5)
    eventually(sink.visible, batch(1))


def test_a_replay_with_another_number_of_rows_is_skipped_and_a_warning_logged(sink: Sink) -> None:
    sink.commit(0)
    assert sink.commit(0, rows=10) is BatchOutcome.SKIPPED
    assert "written with 30 rows and has 10 now that it is repeated" in sink.warnings[0]
    eventually(sink.visible, batch(0))


def test_a_marker_is_found_although_its_partition_differs_from_the_requested_one(sink: Sink) -> None:
    sink.commit(0)
    engine = sink.cluster().transaction(f"{sink.name}-id", 60_000)
    here = TopicPartition(sink.name, 0)
    assert list(engine.committed_offsets(here)) == [here]
    assert list(engine.committed_offsets(TopicPartition(sink.name, 1))) == [here]


def test_cluster_reports_its_id_and_how_long_it_keeps_markers(sink: Sink) -> None:
    facts = sink.cluster().facts(f"{sink.name}-id")
    assert facts.cluster_id
    assert facts.retention_ms == 10_080 * 60_000
