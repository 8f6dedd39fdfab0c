"""The transaction coordinator: handles requests about transactional ids.

The API handlers call its methods; the coordinator checks what does not depend on an id's state, finds the shard that
owns the id and translates the outcome. The broker calls ``runtime.load`` and ``runtime.unload`` when it gains and loses
partitions of ``__transaction_state``. Source: Kafka's ``TransactionCoordinator``; KIP-98, KIP-360, KIP-588, KIP-664,
KIP-890.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from typing import NamedTuple

from oncelog.broker.coordinator.regex import InvalidRegex, LinearRegex
from oncelog.broker.coordinator.runtime import CoordinatorRuntime
from oncelog.broker.coordinator.transaction.events import (
    EPOCH_BUMP_VERSION,
    AddPartitions,
    EndTxn,
    EndTxnAndBump,
    Event,
    ForgetProducer,
    InitProducerId,
    Timeout,
    VerifyPartitions,
)
from oncelog.broker.coordinator.transaction.host import TransactionHost, TxnMarker
from oncelog.broker.coordinator.transaction.orphans import PartitionProducer, find_orphans
from oncelog.broker.coordinator.transaction.shard import IDS_IN_A_CHUNK, DecisionOutcome, TransactionShard
from oncelog.broker.coordinator.transaction.states import NO_TIME_LIMIT, PREPARED, TransactionState, Txn
from oncelog.errors import NONE, Error
from oncelog.runtime.deferred import Deferred
from oncelog.settings.config import BrokerConfig
from oncelog.types import (
    NO_PRODUCER,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    TRANSACTION_STATE_TOPIC,
    ProducerIdAndEpoch,
    TopicPartition,
    new_tuple,
)

logger = logging.getLogger(__name__)


__all__ = [
    "DescribedTransaction",
    "ListedTransaction",
    "ProducerResult",
    "TransactionCoordinator",
    "TransactionHost",
    "TransactionList",
    "TxnMarker",
]


class ProducerResult(NamedTuple):
    """``producer`` is the id and epoch to use from now on, ``NO_PRODUCER`` with an error; ``ongoing`` are the id and
    epoch of an open transaction that was kept, for the producer to end."""

    error: Error
    producer: ProducerIdAndEpoch = NO_PRODUCER
    ongoing: ProducerIdAndEpoch = NO_PRODUCER


class ListedTransaction(NamedTuple):
    transactional_id: str
    producer_id: int
    state: TransactionState


class TransactionList(NamedTuple):
    """The result of :meth:`TransactionCoordinator.list`; ``unknown_states`` are filters that name no state and match
    nothing."""

    error: Error
    unknown_states: tuple[str, ...] = ()
    transactions: tuple[ListedTransaction, ...] = ()


class DescribedTransaction(NamedTuple):
    """The state of a transactional id; ``partitions`` of a transaction being completed are those without a marker so
    far."""

    error: Error
    transactional_id: str
    producer: ProducerIdAndEpoch = NO_PRODUCER
    state: TransactionState | None = None
    timeout_ms: int = 0
    start_ms: int = NO_TIMESTAMP
    partitions: tuple[TopicPartition, ...] = ()


class TransactionCoordinator:
    """The coordinator of all transactional ids whose partition of ``__transaction_state`` this broker leads."""

    def __init__(
        self, host: TransactionHost, settings: Callable[[], BrokerConfig], partitions: int | None = None
    ) -> None:
        """:param settings: returns the broker's current settings.
        :param partitions: the number of partitions of ``__transaction_state``; None if the topic does not exist, which
            means the configured number.
        """
        self._host = host
        self._settings = settings
        self._sweeping = False
        self.runtime: CoordinatorRuntime[TransactionShard] = CoordinatorRuntime(
            host,
            TRANSACTION_STATE_TOPIC,
            partitions or settings().transaction_state_log_num_partitions,
            self._new_shard,
        )

    def _new_shard(self, partition: TopicPartition, epoch: int) -> TransactionShard:
        return TransactionShard(self._host, self.runtime, partition, epoch, self._start_sweeps)

    # --- sweeps

    def _start_sweeps(self, now_ms: int) -> None:
        """Called when the first partition is loaded: from then on, check for timeouts and idle ids at the configured
        intervals."""
        if not self._sweeping:
            self._sweeping = True

            def timeouts_ms() -> int:
                return self._settings().transaction_abort_timed_out_transaction_cleanup_interval_ms

            def expiry_ms() -> int:
                return self._settings().transaction_remove_expired_transaction_cleanup_interval_ms

            def remove_expired(shard: TransactionShard, at_ms: int) -> Iterator[None]:
                return shard.remove_expired(self._settings().transactional_id_expiration_ms, at_ms)

            def has_expired(shard: TransactionShard, at_ms: int) -> bool:
                return shard.has_expired(self._settings().transactional_id_expiration_ms, at_ms)

            self._every(
                timeouts_ms,
                now_ms,
                lambda shard, at_ms: shard.abort_timed_out(at_ms),
                lambda shard, at_ms: shard.has_timed_out(at_ms),
            )
            self._every(expiry_ms, now_ms, remove_expired, has_expired)

    def _every(
        self,
        interval_ms: Callable[[], int],
        now_ms: int,
        sweep: Callable[[TransactionShard, int], Iterator[None]],
        has_work: Callable[[TransactionShard, int], bool],
    ) -> None:
        def sweep_all(at_ms: int) -> None:
            self._host.begin_task(swept(at_ms))

        def swept(at_ms: int) -> Generator[None, None, None]:
            for shard in list(self.runtime.shards()):
                yield from sweep(shard, at_ms)

        def idle(at_ms: int) -> bool:
            return not any(has_work(shard, at_ms) for shard in self.runtime.shards())

        self._host.timers.repeat(now_ms + interval_ms(), interval_ms, sweep_all, idle)

    # --- producers

    def init_producer_id(
        self,
        transactional_id: str | None,
        timeout_ms: int,
        expected: ProducerIdAndEpoch,
        now_ms: int,
        *,
        two_phase: bool = False,
        keep_prepared: bool = False,
        node_id: int | None,
    ) -> Deferred[ProducerResult]:
        """Return a producer id and epoch; with a transactional id, the former producer is fenced and its transaction
        aborted.

        CONCURRENT_TRANSACTIONS means that this abort is still under way: the client retries. ``expected`` is the
        producer id and epoch of a producer that continues after an error (KIP-360), or ``NO_PRODUCER``.

        :param two_phase: the producer's transactions have no timeout, because a database decides about them (KIP-939).
        :param keep_prepared: an open transaction is not aborted: it is returned in ``ongoing`` and stays open.
        :param node_id: here and below, the node to which the request was sent (``CoordinatorRuntime.shard_for``).
        """
        if transactional_id is None:
            allocated = self._host.allocate_producer_id()
            deferred = allocated if isinstance(allocated, Deferred) else Deferred.of(allocated)
            return deferred.map(_new_producer)
        if not transactional_id:
            return Deferred.of(ProducerResult(Error.INVALID_REQUEST))
        if two_phase and not self._settings().transaction_two_phase_commit_enable:
            return Deferred.of(ProducerResult(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
        if timeout_ms <= 0 or (timeout_ms > self._settings().transaction_max_timeout_ms and not two_phase):
            return Deferred.of(ProducerResult(Error.INVALID_TRANSACTION_TIMEOUT))
        if (two_phase or keep_prepared) and self._host.transaction_version < EPOCH_BUMP_VERSION:
            # otherwise two transactions would share an epoch
            return Deferred.of(ProducerResult(Error.UNSUPPORTED_VERSION))
        event = InitProducerId(
            transactional_id,
            NO_TIME_LIMIT if two_phase else timeout_ms,
            expected,
            self._host.transaction_version,
            keep_prepared=keep_prepared,
        )
        return self._submit(transactional_id, event, now_ms, node_id).map(_producer_result)

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Iterable[TopicPartition],
        now_ms: int,
        transaction_version: int,
        node_id: int | None,
    ) -> Deferred[Error]:
        """Add partitions to the producer's transaction, which begins when the first one is added.

        UNSUPPORTED_VERSION for version 2 while the feature ``transaction.version`` is 0.

        :param transaction_version: 2 if a partition's leader adds the partition for the client (KIP-890 part 2), else
            0.
        """
        event = AddPartitions(producer, frozenset(partitions), transaction_version)
        return self._submit(transactional_id, event, now_ms, node_id).map(_error_of)

    def verify_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Iterable[TopicPartition],
        now_ms: int,
        node_id: int | None,
    ) -> Deferred[dict[TopicPartition, Error]]:
        """For each partition NONE if it is in the producer's transaction, TRANSACTION_ABORTABLE if not, or the error of
        the whole request."""
        asked = frozenset(partitions)

        def verdicts(outcome: DecisionOutcome) -> dict[TopicPartition, Error]:
            return {
                partition: Error.TRANSACTION_ABORTABLE if partition in outcome.absent else outcome.error
                for partition in sorted(asked)
            }

        return self._submit(transactional_id, VerifyPartitions(producer, asked), now_ms, node_id).map(verdicts)

    def end_txn(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        commit: bool,
        now_ms: int,
        transaction_version: int,
        node_id: int | None,
    ) -> Deferred[ProducerResult]:
        """Commit or abort a transaction. Answered once the decision is committed; the markers follow later.

        UNSUPPORTED_VERSION for version 2 while the feature ``transaction.version`` is 0.

        :param transaction_version: 2 for EndTxn 5, whose answer contains the producer id and epoch of the next
            transaction; else 0.
        """
        bump = transaction_version >= EPOCH_BUMP_VERSION
        event: Event = EndTxnAndBump(producer, commit) if bump else EndTxn(producer, commit)
        return self._submit(transactional_id, event, now_ms, node_id).map(_producer_result)

    def _submit(
        self, transactional_id: str, event: Event, now_ms: int, node_id: int | None
    ) -> Deferred[DecisionOutcome]:
        if not transactional_id:
            return Deferred.of(DecisionOutcome(Error.INVALID_REQUEST))
        shard = self.runtime.shard_for(transactional_id, node_id)
        if isinstance(shard, Error):
            return Deferred.of(DecisionOutcome(shard))
        return shard.submit(transactional_id, event, now_ms)

    def abort_orphans(self, held: Iterable[PartitionProducer], now_ms: int) -> list[str]:
        """At a start after an unclean stop: abort open transactions that their coordinator does not know; returns
        transactional ids for :meth:`disown`.

        Called before any shard acts: the marker of a prepared transaction must not end another transaction.
        """
        txns = [entry.txn for shard in self.runtime.shards() for entry in shard.entries()]
        orphans = find_orphans(held, txns)
        for partition, producer, coordinator_epoch, _ in orphans.transactions:
            logger.warning(
                "the transaction of producer %d (epoch %d) in %s is aborted: its coordinator knows nothing of it",
                producer.producer_id,
                producer.producer_epoch,
                partition,
            )
            self._host.write_markers(TxnMarker(producer, False, max(coordinator_epoch, 0), 0, (partition,)), now_ms)
        return orphans.transactional_ids

    def disown(self, transactional_id: str, now_ms: int) -> None:
        """Fence a producer with newer data than the coordinator's state; the next producer gets a new producer id."""
        logger.warning(
            "%r gets a new producer id: its coordinator's state is older than what the producer wrote", transactional_id
        )
        self._submit(transactional_id, ForgetProducer(), now_ms, node_id=None)

    def expire(self, transactional_id: str, now_ms: int) -> bool:
        """Let an open transaction time out at once, for tests; returns False if no transaction with a timeout is
        open.
        """
        shard = self.runtime.shard(self.runtime.partition_for(transactional_id).partition)
        txn = shard.txn(transactional_id) if shard is not None else None
        if shard is None or txn is None or txn.state is not TransactionState.ONGOING or not txn.timed:
            return False
        shard.submit(transactional_id, Timeout(self._host.transaction_version), txn.start_ms + txn.timeout_ms + 1)
        return True

    # --- operators

    def describe(self, transactional_id: str, node_id: int | None) -> DescribedTransaction:
        """The state of one transactional id, or TRANSACTIONAL_ID_NOT_FOUND."""
        if not transactional_id:
            return DescribedTransaction(Error.INVALID_REQUEST, transactional_id)
        shard = self.runtime.shard_for(transactional_id, node_id)
        if isinstance(shard, Error):
            return DescribedTransaction(shard, transactional_id)
        entry = shard.entry(transactional_id)
        if entry is None:
            return DescribedTransaction(Error.TRANSACTIONAL_ID_NOT_FOUND, transactional_id)
        txn = entry.txn
        return DescribedTransaction(
            Error.NONE,
            transactional_id,
            txn.producer,
            txn.state,
            txn.timeout_ms,
            txn.start_ms,
            tuple(sorted(entry.unmarked if txn.state in PREPARED else txn.partitions)),
        )

    def count(self, node_id: int | None) -> int:
        """The number of transactional ids that :meth:`list` examines."""
        return sum(shard.count for shard in self.runtime.shards_of(node_id))

    def list(
        self,
        now_ms: int,
        *,
        states: Sequence[str] = (),
        producer_ids: Collection[int] = (),
        duration_ms: int = -1,
        pattern: str | None = None,
        node_id: int | None,
    ) -> Generator[None, None, TransactionList]:
        """The ids that pass every filter; an empty filter passes all. A generator that pauses between chunks.

        :param duration_ms: if it is not negative: only transactions that began more than this time ago.
        :param pattern: a regular expression for the whole id; INVALID_REGULAR_EXPRESSION if it is invalid.
        """
        try:
            matcher = LinearRegex(pattern) if pattern else None
        except InvalidRegex:
            return TransactionList(Error.INVALID_REGULAR_EXPRESSION)
        wanted = {TransactionState.from_label(label) for label in states}
        unknown = tuple(label for label in states if TransactionState.from_label(label) is None)
        of_producers = frozenset(producer_ids)

        def passes(txn: Txn) -> bool:
            return (
                (not of_producers or txn.producer_id in of_producers)
                and (not states or txn.state in wanted)
                and (duration_ms < 0 or now_ms - txn.start_ms > duration_ms)
            )

        found: list[ListedTransaction] = []
        looked_at = 0
        for shard in list(self.runtime.shards_of(node_id)):
            for entry in list(shard.entries()):
                looked_at += 1
                if not looked_at % IDS_IN_A_CHUNK:
                    yield
                txn = entry.txn
                try:
                    if passes(txn) and (matcher is None or (yield from matcher.matching(txn.transactional_id))):
                        found.append(ListedTransaction(txn.transactional_id, txn.producer_id, txn.state))
                except InvalidRegex:
                    return TransactionList(Error.INVALID_REGULAR_EXPRESSION)
        return TransactionList(Error.NONE, unknown, tuple(found))

    def undecided(self) -> tuple[str, ...]:
        """The transactional ids with an open transaction that has no timeout because a database decides about it
        (KIP-939), sorted."""
        found = (
            entry.txn.transactional_id
            for shard in self.runtime.shards()
            for entry in shard.entries()
            if entry.txn.state is TransactionState.ONGOING and not entry.txn.timed
        )
        return tuple(sorted(found))


def _new_producer(producer_id: int) -> ProducerResult:
    if producer_id == NO_PRODUCER_ID:
        return ProducerResult(Error.COORDINATOR_LOAD_IN_PROGRESS)
    return ProducerResult(Error.NONE, ProducerIdAndEpoch(producer_id, 0))


def _error_of(outcome: DecisionOutcome) -> Error:
    return outcome.error


def _producer_result(outcome: DecisionOutcome) -> ProducerResult:
    if outcome.error is not NONE:
        return ProducerResult(outcome.error)
    return new_tuple(ProducerResult, (NONE, outcome.producer, outcome.ongoing))
