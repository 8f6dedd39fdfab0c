"""One partition of ``__transaction_state``: its transactional ids, and how decisions are carried out.

Created by ``transaction_coordinator`` through the runtime. The rules decide; this module writes and applies the value,
delays the answer until it is committed, and then takes the next steps:

    Prepare* committed -> answer EndTxn -> markers, retried until all are committed -> Complete* written

Invariants
- No marker is sent before its Prepare* is committed, and no Complete* is written before all markers are: a crash at any
  point leaves either an open transaction, which the producer or its timeout ends, or a prepared transaction, which
  ``loaded`` finishes with the new coordinator epoch.
- State is applied when it is appended. Decisions based on a value are logged after it, so their answers, which wait for
  their own commit, are never sent before that value is committed. An answer without a write waits for the last write of
  its id.
- A request that would get CONCURRENT_TRANSACTIONS because a transaction is being completed waits for that, at most
  ``PARK_LIMIT_MS``, instead of sending the client into its backoff: to the client this is a faster completion.

Source: Kafka's ``TransactionStateManager``, ``TransactionMarkerChannelManager`` and its completion handler.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from oncelog.broker.coordinator.runtime import (
    CoordinatorRecord,
    CoordinatorRuntime,
    LoggedMarker,
    LoggedRecord,
    client_error,
)
from oncelog.broker.coordinator.transaction import records
from oncelog.broker.coordinator.transaction.events import (
    AddPartitions,
    EndTxnAndBump,
    Event,
    Expire,
    InitProducerId,
    MarkersWritten,
    Timeout,
)
from oncelog.broker.coordinator.transaction.host import TransactionHost, TxnMarker
from oncelog.broker.coordinator.transaction.rule_parts import Decision
from oncelog.broker.coordinator.transaction.rules import decide
from oncelog.broker.coordinator.transaction.states import EXPIRABLE, PREPARED, TransactionState, Txn
from oncelog.errors import NONE, Error, InvariantError
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.timers import Timer
from oncelog.types import NO_PRODUCER, NO_PRODUCER_ID, ProducerIdAndEpoch, TopicPartition, new_tuple

logger = logging.getLogger(__name__)

PARK_LIMIT_MS: Final = 250
"""How long in ms a request waits for the markers of the previous transaction, before it is answered with
CONCURRENT_TRANSACTIONS."""
RETRY_MS: Final = 100
"""Pause in ms before markers or a record are written again."""
TOMBSTONE_BATCH_BYTES: Final = 16_384
"""Maximum bytes of keys in one batch of tombstones (the initial size of Kafka's buffer for them)."""
IDS_IN_A_CHUNK: Final = 200
ABORTED_IN_A_CHUNK: Final = 5
"""The number of transactional ids checked, and of transactions aborted, in one chunk."""

MARKER_DONE: Final = frozenset({NONE, Error.UNSUPPORTED_FOR_MESSAGE_FORMAT, Error.UNSUPPORTED_VERSION})
"""Outcomes after which a partition needs no marker: it has the marker, or cannot contain transactional records."""
MARKER_CANCELLED: Final = frozenset({Error.INVALID_PRODUCER_EPOCH, Error.TRANSACTION_COORDINATOR_FENCED})
"""Outcomes that say that another coordinator or another producer has taken over: this coordinator stops sending
markers. After every other error it sends them again."""


class DecisionOutcome(NamedTuple):
    """The answer to an event; ``absent`` are the partitions of VerifyPartitions that are not in the transaction."""

    error: Error
    producer: ProducerIdAndEpoch = NO_PRODUCER
    absent: tuple[TopicPartition, ...] = ()
    ongoing: ProducerIdAndEpoch = NO_PRODUCER


@dataclass(slots=True, eq=False)
class _Request:
    transactional_id: str
    event: Event
    now_ms: int
    outcome: Deferred[DecisionOutcome] = field(default_factory=Deferred)
    give_up: Timer | None = None
    since: Callable[[], int] | None = None
    """Set while the request is parked: returns the time of the request's arrival in ms, corrected if the clock has been
    set since then.
    """


_SETTLED: Final = Deferred.of(NONE)
_MARKERS_WRITTEN: Final = MarkersWritten()
_UNSUPPORTED: Final = Decision(Error.UNSUPPORTED_VERSION)


@dataclass(slots=True)
class TransactionEntry:
    """A transactional id: its state, the partitions whose markers are still to be written, and the requests that wait
    for these markers."""

    txn: Txn
    unmarked: frozenset[TopicPartition] = frozenset()
    parked: list[_Request] = field(default_factory=list)
    last_write: Deferred[Error] = _SETTLED
    delay_logged_for: Txn | None = None
    """The prepared transaction for which the log already says that it is delayed because the disk refuses writes."""


class TransactionShard:
    """The transactional ids of one partition, for as long as this broker leads it with ``coordinator_epoch``."""

    def __init__(
        self,
        host: TransactionHost,
        runtime: CoordinatorRuntime[TransactionShard],
        partition: TopicPartition,
        coordinator_epoch: int,
        on_loaded: Callable[[int], None],
    ) -> None:
        """:param on_loaded: called with the time in ms once the log has been replayed, before the shard acts."""
        self._on_loaded = on_loaded
        self._host = host
        self._runtime = runtime
        self._partition = partition
        self._coordinator_epoch = coordinator_epoch
        self._entries: dict[str, TransactionEntry] = {}
        self._leading = True
        self.outcomes: dict[tuple[str, Error], int] = {}
        """For metrics: how often events of a class got an error, by class name and error."""
        self.ended: dict[TransactionState, int] = {}
        """For metrics: the number of completed transactions, by their final state."""

    # --- Shard

    def replay(self, record: LoggedRecord) -> None:
        transactional_id = records.decode_key(record.key)
        if transactional_id is None:
            return
        if record.value is None:
            self._entries.pop(transactional_id, None)
        else:
            self._apply(records.decode_value(transactional_id, record.value))

    def _apply(self, txn: Txn) -> None:
        entry = self._entries.get(txn.transactional_id)
        if entry is None:
            self._entries[txn.transactional_id] = TransactionEntry(txn)
        else:
            entry.txn = txn

    def replay_marker(self, marker: LoggedMarker) -> None:
        """Ignore the marker: the coordinator writes no transactional records, so only a WriteTxnMarkers sent by mistake
        can have written it."""

    def loaded(self, now_ms: int) -> None:
        """Finish every prepared transaction; open ones continue until their producer or their timeout ends them."""
        self._on_loaded(now_ms)
        for entry in self._entries.values():
            if entry.txn.start_ms > now_ms:  # the wall clock was set back after the record was written
                entry.txn = entry.txn._replace(start_ms=now_ms)
        for entry in list(self._entries.values()):
            if entry.txn.state in PREPARED:
                self._send_markers(entry.txn, entry.txn.partitions, now_ms)

    def unloaded(self) -> None:
        self._leading = False
        for entry in self._entries.values():
            parked, entry.parked = entry.parked, []
            for request in parked:
                self._unpark(request)
                request.outcome.resolve(DecisionOutcome(Error.NOT_COORDINATOR))

    # --- requests

    def submit(self, transactional_id: str, event: Event, now_ms: int) -> Deferred[DecisionOutcome]:
        """Decide about an event and write the result; resolves once the result is committed."""
        request = _Request(transactional_id, event, now_ms)
        self._attempt(request)
        return request.outcome

    def txn(self, transactional_id: str) -> Txn | None:
        entry = self._entries.get(transactional_id)
        return None if entry is None else entry.txn

    def entries(self) -> Iterator[TransactionEntry]:
        """Every transactional id with its state; ``unmarked`` are the partitions of a prepared transaction that have no
        marker yet."""
        yield from self._entries.values()

    @property
    def count(self) -> int:
        return len(self._entries)

    def entry(self, transactional_id: str) -> TransactionEntry | None:
        return self._entries.get(transactional_id)

    def abort_timed_out(self, now_ms: int) -> Iterator[None]:
        """Abort transactions open for longer than their timeout, and fence their producers; an iterator that pauses
        between chunks."""
        for txns in self._in_chunks(IDS_IN_A_CHUNK):
            ongoing = [txn.transactional_id for txn in txns if txn.state is TransactionState.ONGOING]
            for number, transactional_id in enumerate(ongoing, 1):
                self.submit(transactional_id, Timeout(self._host.transaction_version), now_ms)
                if not number % ABORTED_IN_A_CHUNK:
                    yield
                    if not self._leading:
                        return
            yield

    def has_timed_out(self, now_ms: int) -> bool:
        """Whether :meth:`abort_timed_out` would abort any transaction."""
        timeout = Timeout(self._host.transaction_version)
        return any(
            entry.txn.state is TransactionState.ONGOING and decide(entry.txn, timeout, now_ms).value is not None
            for entry in self._entries.values()
        )

    def has_expired(self, idle_ms: int, now_ms: int) -> bool:
        """Whether :meth:`remove_expired` would remove any transactional id."""
        expire = Expire(idle_ms)
        return any(
            entry.txn.state in EXPIRABLE and decide(entry.txn, expire, now_ms).forget
            for entry in self._entries.values()
        )

    def clock_was_set(self, step_ms: int) -> None:
        """Shift the start times of open transactions when the clock is set, so that their remaining time stays the
        same."""
        for entry in self._entries.values():
            if entry.txn.state is TransactionState.ONGOING:
                entry.txn = entry.txn._replace(start_ms=entry.txn.start_ms + step_ms)

    def remove_expired(self, idle_ms: int, now_ms: int) -> Iterator[None]:
        """Write tombstones for transactional ids without a transaction that were idle for ``idle_ms``; an iterator that
        pauses between chunks."""
        expire = Expire(idle_ms)
        batch: list[CoordinatorRecord] = []
        size = 0
        for txns in self._in_chunks(IDS_IN_A_CHUNK):
            for txn in txns:
                if txn.state in EXPIRABLE and decide(txn, expire, now_ms).forget:
                    batch.append(CoordinatorRecord(records.encode_key(txn.transactional_id), None))
                    size += len(batch[-1].key)
                if size >= TOMBSTONE_BATCH_BYTES:
                    self._runtime.write(self._partition, batch, now_ms)
                    batch, size = [], 0
            # Written before the task yields, because another request may then use an expired id again.
            self._runtime.write(self._partition, batch, now_ms)
            batch, size = [], 0
            yield

    def _in_chunks(self, size: int) -> Iterator[list[Txn]]:
        """All current transactional ids in chunks, whose states are read when the chunk is reached; ends when the shard
        is unloaded."""
        entries = list(self._entries.values())
        for start in range(0, len(entries), size):
            if self._leading:
                part = entries[start : start + size]
                yield [entry.txn for entry in part if self._entries.get(entry.txn.transactional_id) is entry]

    def _attempt(self, request: _Request) -> None:
        entry = self._entries.get(request.transactional_id)
        decision = decide(None if entry is None else entry.txn, request.event, request.now_ms)
        if decision.needs_producer_id:
            self._with_producer_id(request)
        elif decision.value is not None:
            self._write(request, decision, decision.value)
        elif entry is not None and decision.error is Error.CONCURRENT_TRANSACTIONS:
            self._park(entry, request)
        elif entry is not None and decision.error is NONE:
            entry.last_write.then(lambda error: self._answer(request, decision, self._reported(error)))
        else:
            self._answer(request, decision, NONE)

    def _write(self, request: _Request, decision: Decision, value: Txn) -> None:
        version = self._value_version
        if not version and _beyond_feature(request.event):
            self._answer(request, _UNSUPPORTED, NONE)
            return
        self._persist(
            value, version, request.now_ms, lambda error: self._answer(request, decision, self._reported(error))
        )

    def _answer(self, request: _Request, decision: Decision, write_error: Error) -> None:
        reported = write_error if write_error is not NONE else decision.error
        key = type(request.event).__name__, Error.TRANSACTION_ABORTABLE if decision.absent else reported
        self.outcomes[key] = self.outcomes.get(key, 0) + 1
        if write_error is not NONE:
            request.outcome.resolve(DecisionOutcome(write_error))
        else:
            answered = decision.error, decision.producer, decision.absent, decision.ongoing
            request.outcome.resolve(new_tuple(DecisionOutcome, answered))

    def _with_producer_id(self, request: _Request) -> None:
        """Request a producer id, and decide again with the state that applies once it is allocated."""
        since = self._host.timers.since(request.now_ms)

        def allocated(producer_id: int) -> None:
            event = request.event
            if not self._leading:
                request.outcome.resolve(DecisionOutcome(Error.NOT_COORDINATOR))
            elif producer_id == NO_PRODUCER_ID:
                request.outcome.resolve(DecisionOutcome(Error.COORDINATOR_LOAD_IN_PROGRESS))
            elif isinstance(event, InitProducerId | EndTxnAndBump | Timeout):
                request.event, request.now_ms = replace(event, fresh_producer_id=producer_id), since()
                self._attempt(request)
            else:
                raise InvariantError(f"{type(event).__name__} asked for a producer id, which it cannot use")

        producer_id = self._host.allocate_producer_id()
        if isinstance(producer_id, Deferred):
            producer_id.then(allocated)
        else:
            allocated(producer_id)

    # --- waiting for a completion

    def _park(self, entry: TransactionEntry, request: _Request) -> None:
        request.since = self._host.timers.since(request.now_ms)

        def give_up(_: int) -> None:
            entry.parked.remove(request)
            request.outcome.resolve(DecisionOutcome(Error.CONCURRENT_TRANSACTIONS))

        request.give_up = self._host.timers.schedule(request.now_ms + PARK_LIMIT_MS, give_up)
        entry.parked.append(request)

    @staticmethod
    def _unpark(request: _Request) -> None:
        if request.give_up is not None:
            request.give_up.cancel()

    def _decide_parked(self, entry: TransactionEntry) -> None:
        """Decide the parked requests again, in the order of arrival, with the current state."""
        parked, entry.parked = entry.parked, []
        for request in parked:
            self._unpark(request)
            if request.since is not None:
                request.now_ms = request.since()
            self._attempt(request)

    # --- writing

    @property
    def _value_version(self) -> int:
        """The version of record values to be written now."""
        return records.value_version(self._host.transaction_version)

    def _persist(self, value: Txn, version: int, now_ms: int, answer: Callable[[Error], None]) -> bool:
        """Append and apply ``value``; returns False if nothing was appended. ``answer`` is called with the log's
        outcome.

        The value is applied as it is in memory, because the log does not store ``last_producer_epoch``. A value that
        was appended but not committed is applied nevertheless; it is written again until it is committed, so that an
        answer that needs no write never depends on a state that a crash may undo.
        """
        key = records.encode_key(value.transactional_id)
        record = new_tuple(CoordinatorRecord, (key, records.encode_value(value, version)))
        committed = self._runtime.write(self._partition, (record,), now_ms, apply=lambda _: self._apply(value))
        entry = self._entries.get(value.transactional_id)
        appended = entry is not None and entry.txn is value
        if entry is not None and appended:
            entry.last_write = committed
            if self._leading and committed.has_value(NONE):
                answer(NONE)
                if value.state in PREPARED and entry.txn is value:
                    self._send_markers(value, value.partitions, now_ms)
                return True

        since = self._host.timers.since(now_ms)

        def settled(error: Error) -> None:
            answer(error)
            reported = self._reported(error)
            if not self._is_current(value):
                return
            if reported is NONE:
                if value.state in PREPARED:
                    self._send_markers(value, value.partitions, since())
            elif reported is Error.COORDINATOR_NOT_AVAILABLE and appended:
                self._retry_later(
                    value, since(), lambda at_ms: self._persist(value, self._value_version, at_ms, _ignore)
                )

        committed.then(settled)
        return appended

    def _reported(self, error: Error) -> Error:
        """The error that clients get for an error of the log; NOT_COORDINATOR once leadership is lost."""
        return client_error(error) if self._leading else Error.NOT_COORDINATOR

    def _is_current(self, value: Txn) -> bool:
        """Whether this broker still coordinates the transactional id, and ``value`` is still its latest state."""
        return self._leading and self.txn(value.transactional_id) is value

    def _retry_later(self, value: Txn, now_ms: int, action: Callable[[int], object]) -> None:
        def retry(at_ms: int) -> None:
            if self._is_current(value):
                action(at_ms)

        self._host.timers.schedule(now_ms + RETRY_MS, retry)

    # --- completing a prepared transaction

    def _send_markers(self, txn: Txn, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        """Send markers to those of ``partitions`` that still exist; if none of them exists, the transaction is
        complete."""
        entry = self._entries[txn.transactional_id]
        unmarked = tuple(sorted([partition for partition in partitions if self._exists(partition)]))
        entry.unmarked = frozenset(unmarked)
        if not unmarked:
            self._complete(txn, now_ms)
            return
        marker = TxnMarker(
            producer=txn.producer,
            commit=txn.state is TransactionState.PREPARE_COMMIT,
            coordinator_epoch=self._coordinator_epoch,
            transaction_version=txn.client_transaction_version,
            partitions=unmarked,
        )
        written = self._host.write_markers(marker, now_ms)
        if written.succeeded:
            self._markers_written(txn, written.value, now_ms)
            return
        since = self._host.timers.since(now_ms)
        written.then(lambda errors: self._markers_written(txn, errors, since()))

    def _exists(self, partition: TopicPartition) -> bool:
        count = self._host.topic_partitions(partition.topic)
        return count is not None and partition.partition < count

    def _markers_written(self, txn: Txn, errors: Mapping[TopicPartition, Error], now_ms: int) -> None:
        if not self._is_current(txn):
            return
        entry = self._entries[txn.transactional_id]
        entry.unmarked = frozenset([partition for partition, error in errors.items() if error not in MARKER_DONE])
        if entry.unmarked and any(error in MARKER_CANCELLED for error in errors.values()):
            return
        if entry.unmarked:
            refusing = [partition for partition, error in errors.items() if error is Error.KAFKA_STORAGE_ERROR]
            if refusing:
                self._log_delay(refusing, entry, txn)
            self._retry_later(txn, now_ms, lambda at_ms: self._send_markers(txn, entry.unmarked, at_ms))
        else:
            self._complete(txn, now_ms)

    def _complete(self, txn: Txn, now_ms: int) -> None:
        """Write Complete*, and decide the parked requests, whose records then follow Complete* in the log."""
        value = decide(txn, _MARKERS_WRITTEN, now_ms).value
        if value is None:
            raise InvariantError(f"no value completes state {txn.state.label} of {txn.transactional_id!r}")

        since = self._host.timers.since(now_ms)

        def written(error: Error) -> None:
            if not self._is_current(txn):
                return
            if error is Error.KAFKA_STORAGE_ERROR:
                self._log_delay([self._partition], self._entries[txn.transactional_id], txn)
            elif client_error(error) is not Error.COORDINATOR_NOT_AVAILABLE:
                return
            self._retry_later(txn, since(), lambda at_ms: self._complete(txn, at_ms))

        if self._persist(value, self._value_version, now_ms, written):
            self.ended[value.state] = self.ended.get(value.state, 0) + 1
            self._decide_parked(self._entries[txn.transactional_id])

    @staticmethod
    def _log_delay(refusing: Sequence[TopicPartition], entry: TransactionEntry, txn: Txn) -> None:
        """Log once for each transaction why it is not completed: its producer learns only CONCURRENT_TRANSACTIONS."""
        if entry.delay_logged_for is txn:
            return
        entry.delay_logged_for = txn
        logger.error(
            "the transaction of %r cannot be completed while the disk refuses writes to %s: it is retried until the "
            "disk has free space; a partition that is offline needs a restart of the broker",
            txn.transactional_id,
            ", ".join(map(str, refusing)),
        )


def _beyond_feature(event: Event) -> bool:
    """Whether an event needs fields that version 0 of the values, written at transaction.version 0, does not have.

    An event that needs no write is answered nevertheless. After such a refusal Apache Kafka returns
    CONCURRENT_TRANSACTIONS for the id until its next start; here the id stays usable.
    """
    return isinstance(event, EndTxnAndBump) or (isinstance(event, AddPartitions) and event.transaction_version > 0)


def _ignore(error: Error) -> None:
    """Do nothing: the request was answered after the first attempt to write."""
