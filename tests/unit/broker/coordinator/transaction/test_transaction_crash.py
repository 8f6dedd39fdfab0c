"""Loss of power at every point of a transaction's life: what was confirmed holds, and nothing stays half done.

A script of requests, syncs and marker deliveries is stopped after each of its steps, with every length of the log
between what was synced and what was written. A new coordinator must bring every partition to the same outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from oncelog.broker.coordinator.transaction.states import PREPARED, TransactionState
from oncelog.broker.coordinator.transaction.transaction_coordinator import ProducerResult, TransactionCoordinator
from oncelog.errors import Error
from oncelog.runtime.deferred import Deferred
from oncelog.types import NO_PRODUCER, ProducerIdAndEpoch, TopicPartition
from tests.support.transaction_host import MemoryTransactionHost

P0, P1, P2 = (TopicPartition("t", partition) for partition in range(3))
S = TransactionState


class Life:
    """Two transactions of one producer, one step at a time; ``version`` is the client's transaction version."""

    def __init__(self, commit: bool, version: int) -> None:
        self.host = MemoryTransactionHost({"t": 3})
        self.host.sync_at_once = self.host.answer_at_once = False
        self.coordinator: TransactionCoordinator = self.host.coordinator()
        self.commit = commit
        self.version = version
        self.producer = NO_PRODUCER
        self.begun: dict[ProducerIdAndEpoch, frozenset[TopicPartition]] = {}
        """Partitions that the client was told are in the transaction, by the producer id and epoch that it began
        with."""
        self.confirmed: dict[ProducerIdAndEpoch, bool] = {}

    def steps(self) -> Iterator[Callable[[], None]]:
        for partitions in ((P0, P1), (P2,)):
            yield self.init
            yield self.host.sync
            for partition in partitions:
                yield partial(self.add, partition)
                yield self.host.sync
            yield self.end
            yield self.host.sync
            yield self.host.answer_markers
            yield self.host.sync

    def init(self) -> None:
        def started(result: ProducerResult) -> None:
            assert result.error is Error.NONE
            self.producer = result.producer

        self.coordinator.init_producer_id("id", 60_000, NO_PRODUCER, 0, node_id=None).then(started)

    def add(self, partition: TopicPartition) -> None:
        producer = self.producer

        def added(error: Error) -> None:
            assert error is Error.NONE
            self.begun[producer] = self.begun.get(producer, frozenset()) | {partition}

        self.coordinator.add_partitions("id", producer, [partition], 0, self.version, node_id=None).then(added)

    def end(self) -> None:
        producer = self.producer

        def ended(result: ProducerResult) -> None:
            assert result.error is Error.NONE
            self.confirmed[producer] = self.commit

        answer: Deferred[ProducerResult] = self.coordinator.end_txn(
            "id", producer, self.commit, 0, self.version, node_id=None
        )
        answer.then(ended)


def lives(commit: bool, version: int) -> Iterator[tuple[Life, int]]:
    """Every step at which the process may end, as a new run up to there, and how much of its log is left."""
    total = sum(1 for _ in Life(commit, version).steps())
    for stop in range(total + 1):
        length = None
        kept = 0
        while length is None or kept <= length:
            life = Life(commit, version)
            for number, step in enumerate(life.steps()):
                if number == stop:
                    break
                step()
            if length is None:
                kept = life.host.durable
            length = len(life.host.log)
            yield life, kept
            kept += 1


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("commit", [True, False])
def test_a_power_failure_at_any_point_leaves_one_outcome_in_all_partitions(commit: bool, version: int) -> None:
    count = 0
    for life, kept in lives(commit, version):
        count += 1
        after = life.host.after_crash(kept)
        coordinator = after.coordinator(epoch=1, now_ms=0)
        state = coordinator.describe("id", node_id=None).state
        assert state not in PREPARED
        after.timers.fire(100_000)  # whoever was left open times out
        assert coordinator.describe("id", node_id=None).state in {None, S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT}
        check(life, after)
    assert count > sum(1 for _ in Life(commit, version).steps())


def check(life: Life, after: MemoryTransactionHost) -> None:
    for producer, partitions in life.begun.items():
        # a bumping coordinator marks with the epoch after that of the transaction, the fence of a timeout too
        epochs = {producer.producer_epoch, producer.producer_epoch + 1}
        outcomes: dict[TopicPartition, set[bool]] = {}
        for partition, marker in after.marked:
            if marker.producer.producer_id == producer.producer_id and marker.producer.producer_epoch in epochs:
                outcomes.setdefault(partition, set()).add(marker.commit)
        seen = [outcomes.get(partition, set()) for partition in sorted(partitions)]
        assert all(len(one) == 1 for one in seen), (producer, outcomes)
        assert len(set.union(*seen)) == 1
        if producer in life.confirmed:
            assert seen[0] == {life.confirmed[producer]}
