"""The transaction coordinator against a naive model, and under chaos against what must always hold.

The model is written from the protocol's description, one ``if`` after another, without tables, records or waiting: it
answers like a broker whose markers take no time. Under chaos, disk, markers, time and the process itself fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from oncelog.broker.coordinator.transaction.states import PREPARED, TransactionState
from oncelog.broker.coordinator.transaction.transaction_coordinator import ProducerResult, TransactionCoordinator
from oncelog.errors import Error
from oncelog.types import NO_PRODUCER, ProducerIdAndEpoch, TopicPartition
from tests.support.transaction_host import MemoryTransactionHost

PARTITIONS = [TopicPartition("t", number) for number in range(3)]
TIMEOUT_MS = 60_000
SWEEP_MS = 10_000
LAST = 32766


@dataclass
class Naive:
    """One id as the protocol's text describes it; the transaction is either open or not."""

    pid: int
    epoch: int
    before: int | None = None
    """The epoch that a repeated InitProducerId may name."""
    old_pid: int = -1
    open: bool = False
    partitions: set[TopicPartition] = field(default_factory=set)
    began: int = 0
    outcome: bool | None = None

    def bump(self, fresh: int) -> int:
        """The next epoch, or a fresh producer id after the last epoch; and how many ids that took."""
        self.old_pid = self.pid
        if self.epoch >= LAST:
            self.pid, self.epoch = fresh, 0
            return 1
        self.epoch += 1
        return 0


class Model:
    def __init__(self) -> None:
        self.ids: dict[str, Naive] = {}
        self.next_pid = 1000

    def init(self, name: str, expected: ProducerIdAndEpoch) -> tuple[Error, ProducerIdAndEpoch]:
        one = self.ids.get(name)
        if one is None:
            one = self.ids[name] = Naive(self.next_pid, 0)
            self.next_pid += 1
            return Error.NONE, ProducerIdAndEpoch(one.pid, 0)
        if expected != NO_PRODUCER:
            after_rotation = expected.producer_id == one.old_pid and expected.producer_epoch >= LAST
            if expected.producer_id != one.pid and not after_rotation:
                return Error.PRODUCER_FENCED, NO_PRODUCER
        if one.open:
            self.abort(one)
            return Error.CONCURRENT_TRANSACTIONS, NO_PRODUCER
        if expected != NO_PRODUCER and expected.producer_epoch not in (one.epoch, one.before):
            return Error.PRODUCER_FENCED, NO_PRODUCER
        one.outcome = None
        if expected != NO_PRODUCER and expected.producer_epoch != one.epoch:
            one.old_pid = one.pid
            return Error.NONE, ProducerIdAndEpoch(one.pid, one.epoch)
        one.before = None if expected == NO_PRODUCER else one.epoch
        self.next_pid += one.bump(self.next_pid)
        return Error.NONE, ProducerIdAndEpoch(one.pid, one.epoch)

    def abort(self, one: Naive) -> None:
        one.before = one.epoch
        self.next_pid += one.bump(self.next_pid)
        one.open, one.partitions, one.outcome = False, set(), False

    def owner(self, name: str, producer: ProducerIdAndEpoch) -> Error:
        one = self.ids.get(name)
        if one is None or one.pid != producer.producer_id:
            return Error.INVALID_PRODUCER_ID_MAPPING
        return Error.NONE if one.epoch == producer.producer_epoch else Error.PRODUCER_FENCED

    def add(self, name: str, producer: ProducerIdAndEpoch, partitions: set[TopicPartition], now: int) -> Error:
        error = self.owner(name, producer)
        if error is Error.NONE:
            one = self.ids[name]
            if not one.open:
                one.open, one.began, one.outcome = True, now, None
                one.old_pid = one.pid
            one.partitions |= partitions
        return error

    def end_old(self, name: str, producer: ProducerIdAndEpoch, commit: bool) -> Error:
        error = self.owner(name, producer)
        if error is not Error.NONE:
            return error
        one = self.ids[name]
        if one.open:
            one.open, one.partitions, one.outcome = False, set(), commit
            one.old_pid = one.pid
            return Error.NONE
        return Error.NONE if one.outcome is commit else Error.INVALID_TXN_STATE

    def end_new(self, name: str, producer: ProducerIdAndEpoch, commit: bool) -> tuple[Error, ProducerIdAndEpoch]:
        one = self.ids.get(name)
        if one is None:
            return Error.INVALID_PRODUCER_ID_MAPPING, NO_PRODUCER
        rotated = producer == (one.old_pid, LAST) and one.epoch == 0
        if producer.producer_id != one.pid and not rotated:
            return Error.INVALID_PRODUCER_ID_MAPPING, NO_PRODUCER
        repeated = rotated or producer.producer_epoch == one.epoch - 1
        if repeated and not one.open and one.outcome is not None:
            if one.outcome is commit:
                return Error.NONE, ProducerIdAndEpoch(one.pid, one.epoch)
            return Error.INVALID_TXN_STATE, NO_PRODUCER
        if producer.producer_epoch != one.epoch or rotated:
            return Error.PRODUCER_FENCED, NO_PRODUCER
        if not one.open and commit:
            return Error.INVALID_TXN_STATE, NO_PRODUCER
        self.abort(one)
        one.outcome = commit
        return Error.NONE, ProducerIdAndEpoch(one.pid, one.epoch)

    def expire(self, now: int) -> None:
        for _, one in sorted(self.ids.items()):
            if one.open and one.began + TIMEOUT_MS < now:
                self.abort(one)


names = st.sampled_from(["a", "b"])
some_partitions = st.sets(st.sampled_from(PARTITIONS), min_size=1)


class AgainstTheModel(RuleBasedStateMachine):
    """Disk and markers take no time, so every answer arrives at once and must be the model's."""

    @initialize(last_epochs=st.booleans())
    def start(self, last_epochs: bool) -> None:
        self.host = MemoryTransactionHost({"t": 3})
        self.coordinator: TransactionCoordinator = self.host.coordinator()
        self.model = Model()
        self.now = 0
        self.next_sweep = SWEEP_MS
        self.producers: list[ProducerIdAndEpoch] = [NO_PRODUCER]
        if last_epochs:
            self.use_up_epochs()

    def use_up_epochs(self) -> None:
        """Bring both close to the last epoch, with a log whose last record says so."""
        self.compare_init("a", NO_PRODUCER)
        owner, record = self.host.log[-1]
        assert record.value is not None
        value = record.value[:10] + (LAST - 2).to_bytes(2, "big") + record.value[12:]
        self.host.log[-1] = (owner, record._replace(value=value))
        self.host = self.host.after_crash()
        self.coordinator = self.host.coordinator()
        self.model.ids["a"].epoch = LAST - 2
        self.producers.append(ProducerIdAndEpoch(1000, LAST - 2))

    def compare_init(self, name: str, expected: ProducerIdAndEpoch) -> None:
        answer = self.coordinator.init_producer_id(name, TIMEOUT_MS, expected, self.now, node_id=None).value
        assert answer == (*self.model.init(name, expected), NO_PRODUCER)
        self.producers.append(answer.producer)

    def producer(self, choice: int, shift: int) -> ProducerIdAndEpoch:
        producer_id, epoch = self.producers[-1 - choice % len(self.producers)]
        return ProducerIdAndEpoch(producer_id, epoch + shift if epoch + shift >= 0 else epoch)

    choices = st.integers(0, 2) | st.integers(0, 30)
    shifts = st.sampled_from([0, 0, 0, 0, -1, 1])

    @rule(name=names)
    def init(self, name: str) -> None:
        self.compare_init(name, NO_PRODUCER)

    @rule(name=names, choice=choices, shift=shifts)
    def init_again(self, name: str, choice: int, shift: int) -> None:
        producer = self.producer(choice, shift)
        if producer.producer_id != -1:
            self.compare_init(name, producer)

    @rule(name=names, choice=choices, shift=shifts, partitions=some_partitions)
    def add(self, name: str, choice: int, shift: int, partitions: set[TopicPartition]) -> None:
        producer = self.producer(choice, shift)
        error = self.coordinator.add_partitions(name, producer, partitions, self.now, 2, node_id=None).value
        assert error is self.model.add(name, producer, partitions, self.now)

    @rule(name=names, choice=choices, shift=shifts, partitions=some_partitions)
    def verify(self, name: str, choice: int, shift: int, partitions: set[TopicPartition]) -> None:
        producer = self.producer(choice, shift)
        error = self.model.owner(name, producer)
        known = self.model.ids[name].partitions if error is Error.NONE else set()
        expected = {
            partition: error if error is not Error.NONE or partition in known else Error.TRANSACTION_ABORTABLE
            for partition in partitions
        }
        assert self.coordinator.verify_partitions(name, producer, partitions, self.now, node_id=None).value == expected

    @rule(name=names, choice=choices, shift=shifts, commit=st.booleans())
    def end_old(self, name: str, choice: int, shift: int, commit: bool) -> None:
        producer = self.producer(choice, shift)
        answer = self.coordinator.end_txn(name, producer, commit, self.now, 0, node_id=None).value
        assert answer.error is self.model.end_old(name, producer, commit)

    @rule(name=names, choice=choices, shift=shifts, commit=st.booleans())
    def end_new(self, name: str, choice: int, shift: int, commit: bool) -> None:
        producer = self.producer(choice, shift)
        answer = self.coordinator.end_txn(name, producer, commit, self.now, 2, node_id=None).value
        assert answer == (*self.model.end_new(name, producer, commit), NO_PRODUCER)
        self.producers.append(answer.producer)

    @rule(passed_ms=st.sampled_from([1, SWEEP_MS, 70_000]))
    def pass_time(self, passed_ms: int) -> None:
        for _ in range(passed_ms // SWEEP_MS or 1):
            self.now += min(passed_ms, SWEEP_MS)
            self.host.timers.fire(self.now)
            if self.host.timers.next_ms() is None:
                raise AssertionError("the sweeps have stopped")
            if self.now >= self.next_sweep:
                self.model.expire(self.now)
                self.next_sweep = self.now + SWEEP_MS

    @rule()
    def restart(self) -> None:
        """A new process knows everything but the epoch that a retry may name."""
        self.host = self.host.after_crash()
        self.coordinator = self.host.coordinator(now_ms=self.now)
        self.next_sweep = self.now + SWEEP_MS
        for one in self.model.ids.values():
            one.before = None

    @invariant()
    def partitions_are_those_of_the_model(self) -> None:
        for name, one in sorted(self.model.ids.items()):
            description = self.coordinator.describe(name, node_id=None)
            assert description.producer == (one.pid, one.epoch)
            assert set(description.partitions) == one.partitions
            assert (description.state is TransactionState.ONGOING) == one.open


class UnderChaos(RuleBasedStateMachine):
    """One producer whose requests meet a slow disk, lost markers, and a process that dies. Its client is honest."""

    def __init__(self) -> None:
        super().__init__()
        self.host = MemoryTransactionHost({"t": 3})
        self.coordinator: TransactionCoordinator = self.host.coordinator()
        self.epoch = 0
        self.now = 0
        self.producer = NO_PRODUCER
        self.waiting = False
        self.reported: dict[ProducerIdAndEpoch, set[TopicPartition]] = {}
        self.asked: dict[ProducerIdAndEpoch, bool] = {}
        self.confirmed: dict[ProducerIdAndEpoch, bool] = {}

    def answered(self) -> bool:
        return not self.waiting

    def started(self) -> bool:
        return self.answered() and self.producer != NO_PRODUCER

    @rule(at_once=st.booleans())
    def disk(self, at_once: bool) -> None:
        self.host.sync_at_once = at_once
        if at_once:
            self.host.sync()

    @rule()
    def sync(self) -> None:
        self.host.sync()

    @rule(at_once=st.booleans(), failing=st.sets(st.sampled_from(PARTITIONS)))
    def markers(self, at_once: bool, failing: set[TopicPartition]) -> None:
        self.host.answer_at_once = at_once
        self.host.marker_errors = dict.fromkeys(failing, Error.NOT_LEADER_OR_FOLLOWER)
        self.host.answer_markers()

    @rule(error=st.sampled_from([Error.NONE, Error.NOT_ENOUGH_REPLICAS]))
    def log_fails(self, error: Error) -> None:
        self.host.append_error = error

    @rule(passed_ms=st.sampled_from([50, 300, 20_000, 90_000]))
    def pass_time(self, passed_ms: int) -> None:
        self.now += passed_ms
        self.host.timers.fire(self.now)

    @precondition(answered)
    @rule(again=st.booleans())
    def init(self, again: bool) -> None:
        self.waiting = True

        def done(result: ProducerResult) -> None:
            self.waiting = False
            self.producer = result.producer if result.error is Error.NONE else NO_PRODUCER

        expected = self.producer if again else NO_PRODUCER
        self.coordinator.init_producer_id("id", TIMEOUT_MS, expected, self.now, node_id=None).then(done)

    @precondition(started)
    @rule(partition=st.sampled_from(PARTITIONS))
    def add(self, partition: TopicPartition) -> None:
        self.waiting = True
        producer = self.producer

        def done(error: Error) -> None:
            self.waiting = False
            if error is Error.NONE:
                assert producer not in self.confirmed, "a partition was added to a transaction that has ended"
                self.reported.setdefault(producer, set()).add(partition)

        self.coordinator.add_partitions("id", producer, [partition], self.now, 2, node_id=None).then(done)

    @precondition(started)
    @rule(commit=st.booleans())
    def end(self, commit: bool) -> None:
        self.waiting = True
        producer = self.producer
        commit = self.asked.setdefault(producer, commit)  # an honest client repeats the same decision

        def done(result: ProducerResult) -> None:
            self.waiting = False
            if result.error is Error.NONE:
                assert self.confirmed.setdefault(producer, commit) == commit
                self.producer = result.producer
            elif result.error in (Error.PRODUCER_FENCED, Error.INVALID_TXN_STATE):
                self.producer = NO_PRODUCER

        self.coordinator.end_txn("id", producer, commit, self.now, 2, node_id=None).then(done)

    @rule(lost=st.integers(0, 3))
    def crash(self, lost: int) -> None:
        kept = max(self.host.durable, len(self.host.log) - lost)
        self.take_over(self.host.after_crash(kept))

    def take_over(self, host: MemoryTransactionHost) -> None:
        self.host = host
        self.epoch += 1
        self.waiting = False
        self.coordinator = host.coordinator(epoch=self.epoch, now_ms=self.now)

    @invariant()
    def outcomes_agree(self) -> None:
        """All markers of a transaction agree with each other and with what was confirmed to the client."""
        outcomes: dict[ProducerIdAndEpoch, set[bool]] = {}
        for _, marker in self.host.marked:
            begun = ProducerIdAndEpoch(marker.producer.producer_id, marker.producer.producer_epoch - 1)
            outcomes.setdefault(begun, set()).add(marker.commit)
        for producer, seen in outcomes.items():
            assert len(seen) == 1, producer
            if producer in self.confirmed:
                assert seen == {self.confirmed[producer]}

    def teardown(self) -> None:
        """Once the faults and enough time are gone, every partition of every transaction has its one marker."""
        self.host.append_error = Error.NONE
        self.host.marker_errors = {}
        self.host.sync_at_once = self.host.answer_at_once = True
        for _ in range(3):
            self.host.sync()
            self.host.answer_markers()
            self.now += 100_000
            self.host.timers.fire(self.now)
        assert self.coordinator.describe("id", node_id=None).state not in {*PREPARED, TransactionState.ONGOING}
        self.outcomes_agree()
        marked = {(partition, marker.producer) for partition, marker in self.host.marked}
        for (producer_id, epoch), partitions in self.reported.items():
            for partition in partitions:
                assert (partition, (producer_id, epoch + 1)) in marked


TestAgainstTheModel = AgainstTheModel.TestCase
TestAgainstTheModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestUnderChaos = UnderChaos.TestCase
TestUnderChaos.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
