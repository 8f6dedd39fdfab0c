"""What one partition knows of its producers: the rules of idempotence and transactions, and their state.

Called by ``log.partition_log`` (checks, live appends) and ``log.recovery`` (replay). :data:`CLIENT_RULES`,
:data:`COORDINATOR_RULES` and :data:`MARKER_RULES` are the only place that says when an append is refused for its
producer; they change nothing. ``apply_data`` and ``apply_marker`` are the only mutations, and the same functions when
the log is replayed, which never refuses.
Source: KIP-98, KIP-360, KIP-890, KIP-1228; Kafka's ``ProducerStateManager``, ``ProducerAppendInfo``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from oncelog.errors import Error, InvariantError
from oncelog.records.batch import BatchHeader
from oncelog.records.record import decrement_sequence
from oncelog.types import MAX_SEQUENCE, NO_SEQUENCE, TopicPartition

BATCHES_KEPT = 5
"""Batches of a producer that can be recognised when they come again: as many as it may have in flight."""

NONE_OPEN = -1
"""``current_txn_first_offset`` of a producer without an open transaction."""


class BatchMetadata(NamedTuple):
    """An appended batch, enough to recognise it; ``timestamp`` is its largest, in ms."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return decrement_sequence(self.last_sequence, self.offset_delta)

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerStateEntry:
    """State of one producer in this partition. ``batches`` holds the newest last, at most :data:`BATCHES_KEPT`."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_txn_first_offset",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int = -1,
        last_timestamp: int = -1,
        current_txn_first_offset: int = NONE_OPEN,
        batches: Iterable[BatchMetadata] = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.current_txn_first_offset = current_txn_first_offset
        self.batches = list(batches)

    def _fields(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProducerStateEntry) and self._fields() == other._fields()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ProducerStateEntry({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"

    @property
    def last_sequence(self) -> int:
        """-1 where no batch of the current epoch is known."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else -1

    def duplicate_of(self, header: BatchHeader) -> BatchMetadata | None:
        """The kept batch with exactly the sequences of ``header``, where epochs are the same."""
        if header.producer_epoch == self.producer_epoch:
            last_sequence, delta = header.last_sequence, header.last_offset_delta
            for batch in self.batches:
                if batch.last_sequence == last_sequence and batch.offset_delta == delta:
                    return batch
        return None


class VerificationGuard:
    """Proof that an append was verified with the transaction coordinator (KIP-890), while it is the current one."""

    __slots__ = ()


class VerificationEntry:
    """A producer whose transaction is being verified, and the lowest sequence it has tried to append meanwhile."""

    __slots__ = ("created_ms", "epoch", "guard", "lowest_sequence", "supports_epoch_bump")

    def __init__(self, created_ms: int, epoch: int, first_sequence: int, supports_epoch_bump: bool) -> None:
        self.created_ms = created_ms
        self.epoch = epoch
        self.lowest_sequence = first_sequence
        self.supports_epoch_bump = supports_epoch_bump
        self.guard = VerificationGuard()

    def seen(self, epoch: int, first_sequence: int) -> None:
        """Another append asks for verification: a lower sequence, or a newer epoch, which starts anew."""
        if epoch > self.epoch or (epoch == self.epoch and first_sequence < self.lowest_sequence):
            self.epoch = epoch
            self.lowest_sequence = first_sequence


class Attempt(NamedTuple):
    """A data batch that wants in, with what is known of its producer (None: nothing)."""

    header: BatchHeader
    entry: ProducerStateEntry | None
    verification: VerificationEntry | None
    guard: VerificationGuard | None
    verify: bool


class MarkerAttempt(NamedTuple):
    """The end of a transaction that wants in."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    transaction_version: int
    entry: ProducerStateEntry | None


class Rule(NamedTuple):
    """One reason to refuse: ``error`` is answered where ``broken`` holds and no rule before it did."""

    name: str
    error: Error
    broken: Callable[[Attempt], bool]


class MarkerRule(NamedTuple):
    """One reason to refuse a marker."""

    name: str
    error: Error
    broken: Callable[[MarkerAttempt], bool]


class Refusal(NamedTuple):
    """The rule that refused, and a sentence with the values it compared."""

    error: Error
    message: str


def _not_verified(a: Attempt) -> bool:
    if not a.verify or not a.header.is_transactional:
        return False
    entry = a.entry
    if (
        entry is not None
        and entry.current_txn_first_offset != NONE_OPEN
        and entry.producer_epoch == a.header.producer_epoch
    ):
        return False
    return a.guard is None or a.verification is None or a.verification.guard is not a.guard


def _older_epoch(a: Attempt) -> bool:
    return a.entry is not None and a.header.producer_epoch < a.entry.producer_epoch


def _not_first_of_lost_state(a: Attempt) -> bool:
    if a.verification is None or not a.header.base_sequence or (a.entry is not None and a.entry.batches):
        return False
    return a.verification.supports_epoch_bump


def _overtakes_verification(a: Attempt) -> bool:
    return a.verification is not None and a.header.base_sequence > a.verification.lowest_sequence


def _new_epoch_not_from_zero(a: Attempt) -> bool:
    return a.entry is not None and a.entry.producer_epoch != a.header.producer_epoch and a.header.base_sequence != 0


def _out_of_sequence(a: Attempt) -> bool:
    if a.entry is None or a.entry.producer_epoch != a.header.producer_epoch:
        return False
    last = a.entry.last_sequence
    return a.header.base_sequence != (0 if last == MAX_SEQUENCE else last + 1)


def _plain_write_in_transaction(a: Attempt) -> bool:
    return a.entry is not None and a.entry.current_txn_first_offset != NONE_OPEN and not a.header.is_transactional


_VERIFIED = Rule("transaction not verified with its coordinator", Error.INVALID_TXN_STATE, _not_verified)
_EPOCH = Rule("producer epoch older than the last one seen", Error.INVALID_PRODUCER_EPOCH, _older_epoch)
_PLAIN = Rule(
    "non-transactional write while a transaction is open", Error.INVALID_TXN_STATE, _plain_write_in_transaction
)

CLIENT_RULES: Final = (
    # A batch with exactly the sequences of one that is kept was answered as a duplicate before.
    _VERIFIED,
    _EPOCH,
    Rule(
        "sequence not from 0 where no sequence is known (transaction version 2)",
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
        _not_first_of_lost_state,
    ),
    Rule(
        "sequence after one that still waits for its verification",
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
        _overtakes_verification,
    ),
    Rule("sequence of a new epoch not from 0", Error.OUT_OF_ORDER_SEQUENCE_NUMBER, _new_epoch_not_from_zero),
    Rule("sequence does not follow the last one", Error.OUT_OF_ORDER_SEQUENCE_NUMBER, _out_of_sequence),
    # A producer that is not known may start with any sequence (KIP-360).
    _PLAIN,
)
"""Reasons to refuse a producer's batch, in the order in which they are looked at."""

COORDINATOR_RULES: Final = (_VERIFIED, _EPOCH, _PLAIN)
"""Reasons to refuse a batch of a coordinator of this broker (TxnOffsetCommit), which has no sequence."""


def _marker_epoch_older(m: MarkerAttempt) -> bool:
    return m.entry is not None and m.producer_epoch < m.entry.producer_epoch


def _marker_epoch_not_bumped(m: MarkerAttempt) -> bool:
    """Transaction version 2 bumps the epoch with each marker; the same epoch again is the retry of a marker."""
    if m.entry is None or m.transaction_version < 2 or m.entry.current_txn_first_offset == NONE_OPEN:
        return False
    return m.producer_epoch == m.entry.producer_epoch


def _marker_coordinator_older(m: MarkerAttempt) -> bool:
    return m.entry is not None and m.coordinator_epoch < m.entry.coordinator_epoch


MARKER_RULES: Final = (
    MarkerRule("producer epoch older than the last one seen", Error.INVALID_PRODUCER_EPOCH, _marker_epoch_older),
    MarkerRule(
        "producer epoch not bumped (transaction version 2)", Error.INVALID_PRODUCER_EPOCH, _marker_epoch_not_bumped
    ),
    MarkerRule(
        "coordinator epoch older than the last one seen",
        Error.TRANSACTION_COORDINATOR_FENCED,
        _marker_coordinator_older,
    ),
)
"""Reasons to refuse a transaction marker, in the order in which they are looked at."""


class CompletedTxn(NamedTuple):
    """A transaction whose marker, at ``last_offset``, was appended; ``last_stable_offset`` as in the index."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool
    last_stable_offset: int


class ProducerStateManager:
    """All producers of one partition, and the transactions that hold readers back.

    ``map_end_offset``: the state is that of all batches below it. A transaction holds the last stable offset from its
    first offset on until its marker lies below the high watermark, not only until the marker is written.
    """

    def __init__(
        self, topic_partition: TopicPartition, expiration_ms: int = 86_400_000, *, verify_transactions: bool = True
    ) -> None:
        """:param expiration_ms: ``producer.id.expiration.ms``.

        :param verify_transactions: ``transaction.partition.verification.enable``.
        """
        self.topic_partition = topic_partition
        self.expiration_ms = expiration_ms
        self.verify_transactions = verify_transactions
        self.entries: dict[int, ProducerStateEntry] = {}
        self.map_end_offset = 0
        self._verifications: dict[int, VerificationEntry] = {}
        # First offset to producer id, in the order of first offsets: transactions begin at the end of the log.
        self._ongoing: dict[int, int] = {}
        self._unstable: dict[int, None] = {}
        self._unreplicated: deque[tuple[int, int]] = deque()

    # --- checks: they change nothing -----------------------------------------------------------------------------

    def check_client(
        self, header: BatchHeader, guard: VerificationGuard | None, log_end_offset: int
    ) -> BatchMetadata | Refusal | None:
        """Whether a producer's batch may be appended: None, the kept batch that it repeats, or why not."""
        entry = self.entries.get(header.producer_id)
        if entry is not None:
            duplicate = entry.duplicate_of(header)
            if duplicate is not None:
                return duplicate
        return self._check(CLIENT_RULES, header, guard, log_end_offset)

    def admits_at_once(self, header: BatchHeader, before: BatchHeader | None) -> bool:
        """Whether a client's batch goes in without a guard, a verification, or anything to be told of it.

        :param before: the last batch of this producer that was admitted but is not in the state yet.

        False decides nothing: :meth:`check_client` and :meth:`begin_verification` do. True is what both would say,
        without going through the rules: the batch goes on exactly where the producer's last one ended, in its epoch
        and, if that is so, in its open transaction. A property test compares them.
        """
        producer_id = header.producer_id
        entry = self.entries.get(producer_id)
        if entry is None or entry.producer_epoch != header.producer_epoch or producer_id in self._verifications:
            return False
        if header.is_transactional != (entry.current_txn_first_offset != NONE_OPEN):
            return False
        last_sequence = entry.last_sequence if before is None else before.last_sequence
        return header.base_sequence == last_sequence + 1 and entry.duplicate_of(header) is None

    def check_coordinator(
        self, header: BatchHeader, guard: VerificationGuard | None, log_end_offset: int
    ) -> Refusal | None:
        """Whether a coordinator's transactional batch may be appended: None or why not."""
        return self._check(COORDINATOR_RULES, header, guard, log_end_offset)

    def _check(
        self,
        rules: tuple[Rule, ...],
        header: BatchHeader,
        guard: VerificationGuard | None,
        log_end_offset: int,
    ) -> Refusal | None:
        producer_id = header.producer_id
        entry = self.entries.get(producer_id)
        verification = self._verifications.get(producer_id)
        attempt = Attempt(header, entry, verification, guard, self.verify_transactions)
        for rule in rules:
            if rule.broken(attempt):
                return Refusal(rule.error, self._explain(rule.name, attempt, log_end_offset))
        return None

    def _explain(self, reason: str, attempt: Attempt, log_end_offset: int) -> str:
        header, entry = attempt.header, attempt.entry
        known = (
            "nothing is known of it"
            if entry is None
            else f"last seen: epoch {entry.producer_epoch}, sequence {entry.last_sequence}, offset {entry.last_offset}"
        )
        return (
            f"producer {header.producer_id} at offset {log_end_offset} of {self.topic_partition}: {reason} "
            f"(got epoch {header.producer_epoch}, sequence {header.base_sequence}; {known})"
        )

    def check_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, transaction_version: int
    ) -> Refusal | None:
        """Whether a transaction marker may be appended: None or why not."""
        entry = self.entries.get(producer_id)
        attempt = MarkerAttempt(producer_id, producer_epoch, coordinator_epoch, transaction_version, entry)
        for rule in MARKER_RULES:
            if entry is not None and rule.broken(attempt):
                return Refusal(
                    rule.error,
                    f"marker of producer {producer_id} in {self.topic_partition}: {rule.name} (got epoch "
                    f"{producer_epoch}, coordinator epoch {coordinator_epoch}; last seen: epoch "
                    f"{entry.producer_epoch}, coordinator epoch {entry.coordinator_epoch})",
                )
        return None

    # --- verification --------------------------------------------------------------------------------------------

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        entry = self.entries.get(producer_id)
        return (
            entry is not None and entry.current_txn_first_offset != NONE_OPEN and entry.producer_epoch == producer_epoch
        )

    def begin_verification(
        self, producer_id: int, producer_epoch: int, first_sequence: int, supports_epoch_bump: bool, now_ms: int
    ) -> VerificationGuard | None:
        """The guard that the append must carry, None where a transaction of this epoch is open already.

        Switched off, it still is for a producer that leaves it to the append to add the partition: nothing else would.
        """
        needed = self.verify_transactions or supports_epoch_bump
        if not needed or self.has_open_transaction(producer_id, producer_epoch):
            return None
        entry = self._verifications.get(producer_id)
        if entry is None:
            entry = VerificationEntry(now_ms, producer_epoch, first_sequence, supports_epoch_bump)
            self._verifications[producer_id] = entry
        else:
            entry.seen(producer_epoch, first_sequence)
        return entry.guard

    # --- the only mutations by records ---------------------------------------------------------------------------

    def apply_data(self, header: BatchHeader, base_offset: int) -> None:
        """A data batch is in the log at ``base_offset``."""
        producer_id, last_offset = header.producer_id, base_offset + header.last_offset_delta
        self.map_end_offset = last_offset + 1
        if producer_id < 0:
            return
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerStateEntry(producer_id, header.producer_epoch)
        elif entry.producer_epoch != header.producer_epoch:
            entry.batches.clear()
            entry.producer_epoch = header.producer_epoch
        timestamp = header.max_timestamp
        batches = entry.batches
        batches.append(BatchMetadata(header.last_sequence, last_offset, header.last_offset_delta, timestamp))
        if len(batches) > BATCHES_KEPT:
            del batches[0]
        entry.last_timestamp = timestamp
        if header.is_transactional:
            self._verifications.pop(producer_id, None)
            if entry.current_txn_first_offset == NONE_OPEN:
                entry.current_txn_first_offset = base_offset
                self._ongoing[base_offset] = producer_id
                self._unstable[base_offset] = None

    def apply_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        commit: bool,
        offset: int,
        timestamp: int,
    ) -> CompletedTxn | None:
        """A marker is in the log at ``offset``; answers the transaction that it ended, if one was open."""
        self.map_end_offset = offset + 1
        self._verifications.pop(producer_id, None)
        entry = self.entries.get(producer_id)
        if entry is None:
            entry = self.entries[producer_id] = ProducerStateEntry(producer_id, producer_epoch)
        elif entry.producer_epoch != producer_epoch:
            entry.batches.clear()
            entry.producer_epoch = producer_epoch
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = timestamp
        first_offset = entry.current_txn_first_offset
        if first_offset == NONE_OPEN:
            return None
        entry.current_txn_first_offset = NONE_OPEN
        if self._ongoing.pop(first_offset, None) is None:
            raise InvariantError(f"{self.topic_partition}: the transaction at offset {first_offset} was never begun")
        self._unreplicated.append((offset, first_offset))
        stable = next(iter(self._ongoing), offset + 1)
        return CompletedTxn(producer_id, first_offset, offset, not commit, stable)

    def skip_to(self, offset: int) -> None:
        """The log goes on at ``offset`` without batches of a producer in between."""
        self.map_end_offset = max(self.map_end_offset, offset)

    # --- what holds readers back ---------------------------------------------------------------------------------

    @property
    def first_unstable_offset(self) -> int | None:
        """First offset of the earliest transaction that is open, or whose marker is not replicated yet."""
        return next(iter(self._unstable), None)

    @property
    def first_undecided_offset(self) -> int | None:
        """First offset of the earliest transaction without a marker."""
        return next(iter(self._ongoing), None)

    def replicated_to(self, high_watermark: int) -> None:
        """Markers below ``high_watermark`` hold nobody back any more."""
        unreplicated = self._unreplicated
        while unreplicated and unreplicated[0][0] < high_watermark:
            del self._unstable[unreplicated.popleft()[1]]

    def unreplicated_before(self, offset: int) -> list[tuple[int, int]]:
        """Markers below ``offset`` that are not replicated, each with the first offset of its transaction."""
        return [entry for entry in self._unreplicated if entry[0] < offset]

    def restore_unreplicated(self, entries: Iterable[tuple[int, int]]) -> None:
        """Take back what :meth:`unreplicated_before` gave before a truncation; snapshots know nothing of it."""
        self._unreplicated = deque(sorted({*self._unreplicated, *entries}))
        self._unstable = dict.fromkeys(sorted({*self._ongoing, *(first for _, first in self._unreplicated)}))

    # --- expiry, loading -----------------------------------------------------------------------------------------

    def expire(self, now_ms: int) -> None:
        """Forget producers idle for the expiration time, but not one with an open transaction; also verifications."""
        for producer_id in [p for p, entry in self.entries.items() if self._expired(entry, now_ms)]:
            del self.entries[producer_id]
        cutoff = now_ms - self.expiration_ms
        for producer_id in [p for p, entry in self._verifications.items() if entry.created_ms <= cutoff]:
            del self._verifications[producer_id]

    def _expired(self, entry: ProducerStateEntry, now_ms: int) -> bool:
        return entry.current_txn_first_offset == NONE_OPEN and now_ms - entry.last_timestamp >= self.expiration_ms

    def clear(self, map_end_offset: int) -> None:
        """Forget everything; verifications stay, they are not about what is in the log."""
        self.entries.clear()
        self._ongoing.clear()
        self._unstable.clear()
        self._unreplicated.clear()
        self.map_end_offset = map_end_offset

    def load(self, entries: Iterable[ProducerStateEntry], map_end_offset: int, now_ms: int) -> None:
        """Start from a snapshot; producers that have expired are left out."""
        self.clear(map_end_offset)
        for entry in entries:
            if not self._expired(entry, now_ms):
                self.entries[entry.producer_id] = entry
        open_transactions = sorted(
            (entry.current_txn_first_offset, entry.producer_id)
            for entry in self.entries.values()
            if entry.current_txn_first_offset != NONE_OPEN
        )
        self._ongoing = dict(open_transactions)
        self._unstable = dict.fromkeys(self._ongoing)
