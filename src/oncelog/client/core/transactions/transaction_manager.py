"""The producer's side of idempotence and transactions: identity, epochs, and the requests to the coordinator.

Called by the producer (the user's calls) and the sender (which asks what may be sent and reports answers). Every change
of state goes through ``_become``, which checks it against the table ``MAY_FOLLOW``; requests are queued and repeated by
:class:`~oncelog.client.core.transactions.coordinator_requests.CoordinatorRequests`. With ``transaction.version`` 2
    (KIP-890) writing adds partitions and offsets to the transaction, and every end starts the next epoch; with older
    brokers a request adds them beforehand, and only a failed end starts a new epoch. Source: Kafka's
    ``TransactionManager`` (KIP-98, 890).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from oncelog.client.core.batches.accumulator import Accumulator, ProducerBatch
from oncelog.client.core.batches.sequences import SequenceBook
from oncelog.client.core.client_errors import (
    AbortableTransactionError,
    IllegalStateError,
    error_for,
)
from oncelog.client.core.connection.coordinator_lookup import CoordinatorType
from oncelog.client.core.connection.error_rules import ErrorAction, Step, action_for
from oncelog.client.core.connection.metadata import ClusterMetadata
from oncelog.client.core.connection.wire import Wire
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from oncelog.client.core.transactions.coordinator_requests import (
    AFTER_END,
    PRIORITY,
    CoordinatorRequest,
    CoordinatorRequests,
    Result,
)
from oncelog.client.core.transactions.offset_topics import OffsetTopics
from oncelog.client.core.transactions.transaction_contents import TransactionContents
from oncelog.client.core.transactions.transaction_errors import fatal_error, repeats_itself, text_of
from oncelog.client.core.transactions.transaction_requests import RequestOutcome, TxnRequests, replaced
from oncelog.client.core.transactions.transaction_states import (
    HINTS,
    MAY_FOLLOW,
    RULINGS,
    Call,
    CallRule,
    ClientTxnState,
)
from oncelog.errors import Error, InvariantError, KafkaError
from oncelog.runtime.deferred import Deferred
from oncelog.types import MAX_EPOCH, NO_PRODUCER, ProducerIdAndEpoch


class TransactionManager:
    """State of an idempotent producer, transactional if ``transactional_id`` is given.

    :param on_change: called when something may be sent that could not before.
    """

    two_phase_commit: ClassVar[bool] = False

    def __init__(
        self,
        wire: Wire,
        metadata: ClusterMetadata,
        accumulator: Accumulator,
        *,
        transactional_id: str | None,
        transaction_timeout_ms: int,
        retry_backoff_ms: int,
        retry_backoff_max_ms: int,
        on_change: Callable[[], None],
    ) -> None:
        self._wire = wire
        self._metadata = metadata
        self._accumulator = accumulator
        self.transactional_id = transactional_id
        self._on_change = on_change
        self.state = ClientTxnState.UNINITIALIZED
        self.may_send = not self.transactional
        """Whether :meth:`check_send` would pass; kept in an attribute because it is read for each record."""
        self.last_error: KafkaError | None = None
        self.book = SequenceBook()
        two_phase = self.two_phase_commit
        self._requests = TxnRequests(transactional_id, transaction_timeout_ms, two_phase, keeps=two_phase)
        self._pending: tuple[Call, Result] | None = None
        self.unheard: tuple[Call, Result] | None = None
        """The last call whose outcome the program may not have received; when the program repeats the call, it gets
        that outcome."""
        self._transaction_v2 = False
        self._contents = TransactionContents()
        self._bump_required = False
        self._restart: dict[TopicPartition, None] = {}
        self._restart_after: dict[TopicPartition, None] = {}
        self._queue = CoordinatorRequests(
            wire,
            transactional_id,
            retry_backoff_ms=retry_backoff_ms,
            retry_backoff_max_ms=retry_backoff_max_ms,
            on_answer=self._answered,
            on_ready=self.poll,
            on_refused=self._lookup_refused,
        )

    @property
    def transactional(self) -> bool:
        return self.transactional_id is not None

    @property
    def producer(self) -> ProducerIdAndEpoch:
        return self.book.producer

    @property
    def transaction_v2(self) -> bool:
        """Whether the open transaction uses transaction V2 (KIP-890)."""
        return self._transaction_v2

    # --- the user's calls

    def initialize(self) -> Result:
        """Get a producer id and epoch. A transactional producer also fences older instances and ends their open
        transaction."""
        if self._rule(Call.INIT) is CallRule.JOIN and self._pending is not None:
            return self._pending[1]
        self._transaction_v2 = self.transactional and self._wire.transaction_version() >= 2
        return self._begin_call(Call.INIT, self._request_init(NO_PRODUCER, PRIORITY[Step.INIT_PRODUCER_ID]))

    def begin(self) -> None:
        """Open a transaction locally; the coordinator only learns of it with the first record or offset."""
        self._need_transactional()
        self._rule(Call.BEGIN)
        self.unheard = None
        self._become(ClientTxnState.IN_TRANSACTION)

    def check_send(self) -> None:
        """Raise an error if no record may be sent now."""
        if self.transactional:
            self._rule(Call.SEND)
        elif self.state is ClientTxnState.FATAL_ERROR:
            raise self._stored_error()

    def add_partition(self, partition: TopicPartition) -> None:
        """Add the partition of a record that is about to be sent to the open transaction."""
        self._contents.add(partition, by_writing=self._transaction_v2)

    def send_offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata) -> Result:
        """Make consumed positions part of the open transaction (KIP-447)."""
        self._need_transactional()
        self._rule(Call.SEND_OFFSETS)
        if not offsets:
            return Deferred.of(None)
        result: Result = Deferred()

        def commit() -> None:
            self._contents.started = True
            read = {name.topic: topic_id for name, topic_id in group.topic_ids if name in offsets}
            topics = OffsetTopics(self._metadata, (partition.topic for partition in offsets), read)
            request = self._requests.offsets(self.producer, dict(offsets), group, topics)
            self._queue.add(
                Step.TXN_OFFSET_COMMIT,
                request,
                lambda outcome, now_ms: result.resolve(None),
                result,
                group=group.group_id,
                topics=topics if self._transaction_v2 else None,
            )

        if self._transaction_v2:
            commit()
        else:
            add = self._requests.add_offsets(self.producer, group.group_id)
            self._queue.add(Step.ADD_OFFSETS, add, lambda outcome, now_ms: commit(), result)
        self._on_change()
        return result

    def commit(self) -> Result:
        """Make the transaction's records and offsets visible, all or none."""
        return self._end(Call.COMMIT, ClientTxnState.COMMITTING)

    def abort(self) -> Result:
        """Abort the transaction; records that were not sent yet are dropped."""
        return self._end(Call.ABORT, ClientTxnState.ABORTING)

    @property
    def ending(self) -> Result | None:
        """The deferred outcome of a commit or abort under way, even if its caller has stopped waiting; None if there is
        none."""
        return self._pending[1] if self._pending and self._pending[0] in (Call.COMMIT, Call.ABORT) else None

    def close(self, error: KafkaError) -> None:
        """Fail all waiting calls with this error; nothing is sent from now on."""
        self._to_fatal(error)

    def _end(self, call: Call, target: ClientTxnState) -> Result:
        self._need_transactional()
        if self.unheard is not None and self.unheard[0] is call and self.state is not ClientTxnState.FATAL_ERROR:
            return self.unheard[1]
        if self._rule(call) is CallRule.JOIN:
            raise InvariantError(f"{call.name} is in progress, but no caller waits for it")
        failed = self.last_error
        self._finish_call(
            AbortableTransactionError(
                Error.OPERATION_NOT_ATTEMPTED, "the transaction ended before this call was answered"
            )
        )
        self._become(target)
        if call is Call.ABORT:
            self._contents.drop_new()
            dropped = AbortableTransactionError(
                Error.OPERATION_NOT_ATTEMPTED, "the record was not sent: its transaction was aborted first"
            )
            self._accumulator.abort_undrained(failed or dropped)
            self._queue.fail_all(failed or dropped)
        upgraded = not self._transaction_v2 and self._wire.transaction_version() >= 2
        self._bump_required = self._bump_required or upgraded
        return self._begin_call(call, self._request_end(call is Call.COMMIT))

    def _begin_call(self, call: Call, request: CoordinatorRequest) -> Result:
        result: Result = Deferred()
        self._pending = self.unheard = (call, result)
        request.result.then(self._call_failed)
        self._on_change()
        return result

    def _finish_call(self, error: KafkaError | None) -> None:
        pending, self._pending = self._pending, None
        if pending is not None and not pending[1].done:
            pending[1].resolve(error)

    def _call_failed(self, error: KafkaError | None) -> None:
        if error is not None:
            self._finish_call(error)

    def _need_transactional(self) -> None:
        if not self.transactional:
            raise IllegalStateError("the producer is not transactional; set transactional_id when you create it")

    def _rule(self, call: Call) -> CallRule:
        """The rule for this call in the current state.

        :raises KafkaError: the state does not allow the call.
        """
        ruling = RULINGS[call][self.state]
        if ruling is CallRule.MISUSE:
            raise IllegalStateError(f"{call.name.lower()} is not possible now: {HINTS[self.state]}")
        if ruling is CallRule.RAISE:
            raise self._stored_error()
        return ruling

    def _stored_error(self) -> KafkaError:
        if self.last_error is None:
            raise InvariantError(f"the producer is in {self.state.name} without an error")
        error: KafkaError = self.last_error
        return type(error)(error.error, f"{text_of(error)}; {HINTS[self.state]}") if repeats_itself(error) else error

    # --- called by the sender

    def may_drain(self, batch: ProducerBatch) -> bool:
        """Whether the first batch of a partition's queue may be sent now. If so, the batch has a sequence
        afterwards."""
        if self.book.producer == NO_PRODUCER or self.state in (
            ClientTxnState.FATAL_ERROR,
            ClientTxnState.INITIALIZING,
        ):
            return False
        partition = batch.partition
        if self.transactional:
            if self.state is ClientTxnState.ABORTABLE_ERROR and not batch.has_sequence:
                return False
            if partition not in self._contents:
                return False
        sequence = self.book.of(partition)
        if batch.has_sequence:
            return sequence.first_in_flight == batch.sequence
        if partition in self._restart or not self.book.follow_producer(sequence):
            return False
        if partition in self.book.unresolved or not self.book.has_capacity(partition):
            return False
        sequence.assign(batch)
        return True

    def produced(self, batch: ProducerBatch, base_offset: int) -> None:
        """Called when the broker has stored the batch."""
        self.book.acknowledged(batch, base_offset)

    def verdict_on_sequence(self, batch: ProducerBatch, error: Error, log_start_offset: int) -> ErrorAction:
        """The reaction to OUT_OF_ORDER_SEQUENCE_NUMBER and UNKNOWN_PRODUCER_ID: RETRY, FAIL or ABORTABLE.

        A batch that follows an unacknowledged batch only arrived too early. If the refused batch was next in sequence,
        or a later batch is already acknowledged, the broker has lost the producer's state: an idempotent producer
        starts a new epoch, a transactional one must abort (KIP-360). In a transaction that must be aborted, a batch
        behind a failed batch is never accepted.
        """
        if self.transactional and self.state in (
            ClientTxnState.ABORTABLE_ERROR,
            ClientTxnState.ABORTING,
        ):
            return ErrorAction.ABORTABLE
        if batch.partition not in self._restart and self.book.was_early(batch, error, log_start_offset):
            return ErrorAction.RETRY
        if self.transactional:
            return ErrorAction.ABORTABLE
        self._restart[batch.partition] = None
        batch.refused = True
        return ErrorAction.RETRY

    def failed(self, batch: ProducerBatch, action: ErrorAction, error: KafkaError, *, attempted: bool) -> None:
        """Called when a batch has failed for good.

        :param attempted: False if the broker has certainly not stored the batch, so that its sequence is missing in the
            log.
        """
        self.book.of(batch.partition).remove(batch)
        if action in (ErrorAction.FATAL, ErrorAction.FENCED):
            self._to_fatal(fatal_error(action, error, self.transactional_id))
        elif self.transactional:
            self._to_abortable(error)
        elif batch.has_sequence and attempted:
            self._restart[batch.partition] = None

    def expired(self, batch: ProducerBatch, error: KafkaError) -> None:
        """Called when a batch has passed ``delivery.timeout.ms``. If it was sent, nobody knows whether the broker has
        stored it."""
        if batch.has_sequence:
            self.book.unresolved[batch.partition] = None
            self.book.of(batch.partition).remove(batch)
        if self.transactional:
            self._to_abortable(error)

    # --- progress

    def poll(self, now_ms: int) -> None:
        """Send the next request to a coordinator; start a new epoch if one is due."""
        self._resolve()
        if not self.transactional:
            self._bump_locally()
        if self._contents.has_new and self.state in (
            ClientTxnState.IN_TRANSACTION,
            ClientTxnState.PREPARED,
            ClientTxnState.COMMITTING,
        ):
            self._request_add_partitions()
        request = self._queue.next()
        if request is None:
            self._all_sent()
            return
        if request.step is Step.END_TXN:
            if self._accumulator.incomplete:
                return
            if not self._contents.started:
                self._queue.take().done(RequestOutcome(Error.NONE, "", None), now_ms)
                return
        if request.topics is not None and not self._has_topics(request, request.topics, now_ms):
            return
        self._queue.send(request, self._requests.highest(request.step, self._transaction_v2, request.topics))

    def _has_topics(self, request: CoordinatorRequest, topics: OffsetTopics, now_ms: int) -> bool:
        """Whether the offsets may be committed now. If topic ids are not known yet, the request waits; if a topic was
        recreated since the first attempt, the offsets are refused."""
        if not topics.look_up(lambda: self.poll(self._wire.now_ms())):
            return False
        if topics.replaced is None:
            return True
        outcome = replaced(topics, request.group or "")
        self._answered(self._queue.take(), action_for(request.step, outcome.error), outcome, now_ms)
        return False

    def _all_sent(self) -> None:
        """Called when every coordinator request that may be sent now has been sent."""

    def _resolve(self) -> None:
        """Decide about partitions in which a sent batch expired, once none of their batches is in flight any more."""
        for partition in list(self.book.unresolved):
            sequence = self.book.of(partition)
            if sequence.in_flight:
                continue
            del self.book.unresolved[partition]
            if sequence.follows(sequence.next):
                continue
            if self.transactional:
                self._to_abortable(
                    AbortableTransactionError(
                        Error.REQUEST_TIMED_OUT,
                        f"records of {partition} were sent but never acknowledged within delivery.timeout.ms",
                    )
                )
            else:
                self._restart[partition] = None

    def _bump_locally(self) -> None:
        """Start a new epoch of an idempotent producer, which needs no request (KIP-360)."""
        if not self._restart or self.state is not ClientTxnState.READY:
            return
        for partition in self._restart:
            if not all(batch.refused for batch in self.book.of(partition).in_flight):
                # wait for this batch: it may be stored under its old sequence, and would be stored twice under a new
                # one
                return
        restart, self._restart = self._restart, {}
        producer_id, epoch = self.producer
        if epoch >= MAX_EPOCH - 1:
            self.book.producer = NO_PRODUCER
            self._restart_after = restart
            self._become(ClientTxnState.UNINITIALIZED)
            self.initialize()
            return
        self._start_epoch(ProducerIdAndEpoch(producer_id, epoch + 1), restart)

    def _start_epoch(self, producer: ProducerIdAndEpoch, restart: Mapping[TopicPartition, None]) -> None:
        self.book.producer = producer
        for partition in restart:
            self._accumulator.put_first(self.book.restart(partition))

    # --- requests

    def _request_init(self, current: ProducerIdAndEpoch, priority: int) -> CoordinatorRequest:
        self._become(ClientTxnState.INITIALIZING)
        return self._queue.add(
            Step.INIT_PRODUCER_ID, self._requests.init(current), self._initialized, Deferred(), priority=priority
        )

    def _initialized(self, outcome: RequestOutcome, now_ms: int) -> None:
        if outcome.producer is None:
            raise InvariantError("InitProducerId was answered without a producer id")
        restart, self._restart_after = self._restart_after, {}
        if self.transactional:
            self._transaction_v2 = self._wire.transaction_version() >= 2
            self._transaction_over(outcome.producer)
        else:
            self._start_epoch(outcome.producer, restart)
        self._become(self._found(outcome))
        self._finish_call(None)

    def _found(self, outcome: RequestOutcome) -> ClientTxnState:
        """The state in which a producer begins, after InitProducerId was answered."""
        return ClientTxnState.READY

    def _request_add_partitions(self) -> None:
        partitions = self._contents.take_new()

        def added(outcome: RequestOutcome, now_ms: int) -> None:
            self._contents.confirm(partitions)

        self._queue.add(
            Step.ADD_PARTITIONS, self._requests.add_partitions(lambda: self.producer, partitions), added, Deferred()
        )

    def _request_end(self, commit: bool) -> CoordinatorRequest:
        return self._queue.add(Step.END_TXN, self._requests.end(lambda: self.producer, commit), self._ended, Deferred())

    def _ended(self, outcome: RequestOutcome, now_ms: int) -> None:
        if self._bump_required:
            self._ended_then_bump(outcome, now_ms)
            return
        self._transaction_over(outcome.producer)
        self._become(ClientTxnState.READY)
        self._finish_call(None)

    def _ended_then_bump(self, outcome: RequestOutcome, now_ms: int) -> None:
        """Request the next epoch before the call is finished: after a failure with the older protocol, or at the first
        end after an upgrade (KIP-360)."""
        self._transaction_over(outcome.producer)
        self._request_init(self.producer, AFTER_END).result.then(self._call_failed)

    def _transaction_over(self, producer: ProducerIdAndEpoch | None) -> None:
        if producer is not None:
            self.book.adopt(producer)
        self._contents.clear()
        self._bump_required = False
        self.last_error = None

    # --- answers

    def _answered(self, request: CoordinatorRequest, action: ErrorAction, outcome: RequestOutcome, now_ms: int) -> None:
        if self.state is ClientTxnState.FATAL_ERROR:
            request.fail(self._stored_error())
            return
        self._carry_out(request, action, outcome, now_ms)
        self.poll(now_ms)
        self._on_change()

    def _carry_out(
        self, request: CoordinatorRequest, action: ErrorAction, outcome: RequestOutcome, now_ms: int
    ) -> None:
        match action:
            case ErrorAction.DONE:
                request.done(outcome, now_ms)
            case ErrorAction.ABORTABLE if self.state is ClientTxnState.ABORTING and request.step is not Step.END_TXN:
                request.fail(self._explain(request, outcome))
            case ErrorAction.RETRY | ErrorAction.FIND_COORDINATOR if self._overtaken(request):
                request.fail(self._explain(request, outcome))
            case ErrorAction.RETRY | ErrorAction.FIND_COORDINATOR:
                if action is ErrorAction.FIND_COORDINATOR:
                    self._queue.forget_coordinator(request)
                self._repeat(request, outcome.error, now_ms)
            case ErrorAction.ABORTABLE if self.state is not ClientTxnState.ABORTING:
                error = AbortableTransactionError(outcome.error, text_of(self._explain(request, outcome)))
                self._to_abortable(error)
                request.fail(error)
            case ErrorAction.FENCED | ErrorAction.FATAL | ErrorAction.ABORTABLE:
                fatal = fatal_error(action, self._explain(request, outcome), self.transactional_id)
                self._to_fatal(fatal)
                request.fail(fatal)
            case ErrorAction.FAIL | ErrorAction.SEQUENCE:
                if request.step is Step.INIT_PRODUCER_ID:
                    self._become(ClientTxnState.UNINITIALIZED)
                request.fail(self._explain(request, outcome))

    def _overtaken(self, request: CoordinatorRequest) -> bool:
        """Whether the request is obsolete, because it commits offsets in a transaction that is being aborted."""
        return self.state is ClientTxnState.ABORTING and request.step is Step.TXN_OFFSET_COMMIT

    def _repeat(self, request: CoordinatorRequest, error: Error, now_ms: int) -> None:
        if self.state is ClientTxnState.ABORTABLE_ERROR:
            request.fail(self._stored_error())
        else:
            self._queue.repeat(request, error, now_ms)

    def _explain(self, request: CoordinatorRequest, outcome: RequestOutcome) -> KafkaError:
        named = f" of transactional.id {self.transactional_id!r}" if self.transactional_id is not None else ""
        return error_for(outcome.error, f"{request.api.name}{named} was refused{outcome.where}")

    # --- states

    def _become(self, target: ClientTxnState) -> None:
        if self.state not in MAY_FOLLOW[target]:
            raise InvariantError(f"a producer cannot go from {self.state.name} to {target.name}")
        self.state = target
        self.may_send = (
            target is ClientTxnState.IN_TRANSACTION if self.transactional else target is not ClientTxnState.FATAL_ERROR
        )

    def _to_abortable(self, error: KafkaError) -> None:
        aborting = self.state is ClientTxnState.ABORTING
        if not self._transaction_v2 and (aborting or self.state in MAY_FOLLOW[ClientTxnState.ABORTABLE_ERROR]):
            self._bump_required = True  # the broker lacks the sequence of the failed batch
        if self.state not in MAY_FOLLOW[ClientTxnState.ABORTABLE_ERROR]:
            return
        if self.state is not ClientTxnState.ABORTABLE_ERROR:
            known = error if isinstance(error, AbortableTransactionError) else None
            self.last_error = known or AbortableTransactionError(error.error, text_of(error))
        self._become(ClientTxnState.ABORTABLE_ERROR)
        self._contents.drop_new()
        self._queue.fail_all(self.last_error or error)
        self._finish_call(self.last_error)
        self._accumulator.abort_undrained(self.last_error or error)

    def _to_fatal(self, error: KafkaError) -> None:
        if self.state is ClientTxnState.FATAL_ERROR:
            return
        self.last_error = error
        self._become(ClientTxnState.FATAL_ERROR)
        self._queue.fail_all(error)
        self._finish_call(error)
        self._accumulator.abort_all(error)

    def _lookup_refused(self, kind: CoordinatorType, error: KafkaError) -> None:
        if kind is CoordinatorType.GROUP:
            self._to_abortable(error)
        else:
            self._to_fatal(fatal_error(ErrorAction.FATAL, error, self.transactional_id))
