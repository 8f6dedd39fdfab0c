"""A broker in memory for the transaction coordinator alone: a log that can be replayed, markers, a hand-driven disk.

Used by tests. Records become committed when ``sync`` is called (at once while ``sync_at_once`` holds), markers are
answered when ``answer_markers`` is called (at once while ``answer_at_once`` holds), so a test can stop, fail or crash
at any point in between and see what a new coordinator makes of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from oncelog.broker.coordinator.runtime import Appended, CoordinatorRecord, LoggedRecord
from oncelog.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator, TxnMarker
from oncelog.broker.log.producers.verification_state import VerificationGuard
from oncelog.errors import Error
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.timers import Timers
from oncelog.settings.config import BrokerConfig
from oncelog.types import NO_PRODUCER, ProducerIdAndEpoch, TopicPartition


class MemoryTransactionHost:
    """Implements ``TransactionHost``. ``log`` is every partition's log in one list, in the order of writing."""

    def __init__(self, topics: dict[str, int], first_producer_id: int = 1000) -> None:
        self.timers = Timers()
        self.transaction_version = 2
        self.topics = topics
        self.log: list[tuple[TopicPartition, LoggedRecord]] = []
        self.durable = 0
        """How many entries of ``log`` survive a loss of power."""
        self.markers: list[TxnMarker] = []
        """Every marker that was requested, answered or not."""
        self.marked: list[tuple[TopicPartition, TxnMarker]] = []
        """Markers that reached their partition."""
        self.sync_at_once = True
        self.answer_at_once = True
        self.append_error = Error.NONE
        """Why appends fail; NONE: they succeed."""
        self.marker_errors: dict[TopicPartition, Error] = {}
        self.between: Callable[[], None] = lambda: None
        """Called at each pause of work in chunks."""
        self.producer_ids_held: list[Deferred[int]] | None = None
        """A list: allocations wait in it for the test; None: they are answered at once."""
        self._next_producer_id = first_producer_id
        self._unsynced: list[Deferred[Error]] = []
        self._unanswered: list[tuple[TxnMarker, Deferred[dict[TopicPartition, Error]]]] = []

    def coordinator(
        self, config: BrokerConfig | None = None, transaction_version: int = 2, epoch: int = 0, now_ms: int = 0
    ) -> TransactionCoordinator:
        """A coordinator that leads every partition, after replaying the log."""
        self.transaction_version = transaction_version
        coordinator = TransactionCoordinator(self, lambda: config or BrokerConfig())
        for partition in range(coordinator.runtime.partitions):
            self.load(coordinator, partition, epoch, now_ms)
        return coordinator

    def load(self, coordinator: TransactionCoordinator, partition: int, epoch: int, now_ms: int) -> None:
        entries = [record for owner, record in self.log if owner.partition == partition]
        coordinator.runtime.load(partition, epoch, entries, now_ms)

    def after_crash(self, kept: int | None = None) -> MemoryTransactionHost:
        """A new process with the first ``kept`` records (all by default), in which nobody waits for an answer."""
        host = MemoryTransactionHost(dict(self.topics), self._next_producer_id)
        host.log = self.log[:kept]
        host.durable = len(host.log)
        host.marked = list(self.marked)
        return host

    # --- TransactionHost

    def begin_task(self, work: Generator[None, None, None]) -> None:
        for _ in work:
            self.between()

    def append_records(
        self,
        partition: TopicPartition,
        records: Sequence[CoordinatorRecord],
        now_ms: int,
        producer: ProducerIdAndEpoch = NO_PRODUCER,
        guard: VerificationGuard | None = None,
    ) -> Appended:
        if self.append_error is not Error.NONE:
            return Appended(self.append_error, -1, Deferred.of(self.append_error))
        base = len(self.log)
        for delta, (key, value) in enumerate(records):
            self.log.append((partition, LoggedRecord(base + delta, now_ms, producer, key, value)))
        committed: Deferred[Error] = Deferred()
        if self.sync_at_once:
            self.durable = len(self.log)
            committed.resolve(Error.NONE)
        else:
            self._unsynced.append(committed)
        return Appended(Error.NONE, base, committed)

    def allocate_producer_id(self) -> Deferred[int] | int:
        self._next_producer_id += 1
        if self.producer_ids_held is None:
            return self._next_producer_id - 1
        self.producer_ids_held.append(Deferred())
        return self.producer_ids_held[-1]

    def write_markers(self, marker: TxnMarker, now_ms: int) -> Deferred[dict[TopicPartition, Error]]:
        self.markers.append(marker)
        answer: Deferred[dict[TopicPartition, Error]] = Deferred()
        self._unanswered.append((marker, answer))
        if self.answer_at_once:
            self.answer_markers()
        return answer

    def topic_partitions(self, topic: str) -> int | None:
        return self.topics.get(topic)

    # --- what tests do

    def sync(self, error: Error = Error.NONE) -> None:
        """Everything appended so far is committed, or fails to be."""
        if error is Error.NONE:
            self.durable = len(self.log)
        waiting, self._unsynced = self._unsynced, []
        for committed in waiting:
            committed.resolve(error)

    def answer_markers(self, count: int | None = None) -> None:
        """Write the waiting markers, or the ``count`` oldest of them, with the errors of ``marker_errors``."""
        split = len(self._unanswered) if count is None else count
        waiting, self._unanswered = self._unanswered[:split], self._unanswered[split:]
        for marker, answer in waiting:
            errors = {partition: self.marker_errors.get(partition, Error.NONE) for partition in marker.partitions}
            self.marked += [(partition, marker) for partition, error in errors.items() if error is Error.NONE]
            answer.resolve(errors)
