"""A partition's state of all its producers.

Called by ``broker.log.partition_log`` (checks, live appends) and ``broker.log.recovery`` (replay). ``producer_rules``
decides whether an append is refused because of its producer. ``apply_data`` and ``apply_marker`` are the only
mutations, for new appends and during replay; replay never refuses a batch. Source: KIP-98, KIP-360, KIP-890; Kafka's
``ProducerStateManager``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from oncelog.broker.log.producers.producer_entry import BATCHES_KEPT, NONE_OPEN, BatchMetadata, ProducerStateEntry
from oncelog.broker.log.producers.producer_rules import (
    CLIENT_RULES,
    COORDINATOR_RULES,
    MARKER_RULES,
    Attempt,
    MarkerAttempt,
    ProducerRule,
    Refusal,
    refused_unasked,
)
from oncelog.broker.log.producers.verification_state import VerificationEntry, VerificationGuard
from oncelog.errors import Error, InvariantError
from oncelog.records.batch import BatchHeader
from oncelog.types import TopicPartition, new_tuple


class CompletedTxn(NamedTuple):
    """A transaction whose marker, at ``last_offset``, was appended; ``last_stable_offset`` is the value for the
    transaction index."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool
    last_stable_offset: int


class ProducerStateManager:
    """All producers of one partition, and the transactions that hold back the last stable offset.

    ``map_end_offset``: the state includes all batches below this offset. A transaction holds back the last stable
    offset from its first offset on until its marker is below the high watermark, not only until the marker is written.
    """

    def __init__(
        self, topic_partition: TopicPartition, expiration_ms: int = 86_400_000, *, verify_transactions: bool = True
    ) -> None:
        """:param expiration_ms: the value of ``producer.id.expiration.ms``.

        :param verify_transactions: the value of ``transaction.partition.verification.enable``.
        """
        self.topic_partition = topic_partition
        self.expiration_ms = expiration_ms
        self.verify_transactions = verify_transactions
        self.entries: dict[int, ProducerStateEntry] = {}
        self.map_end_offset = 0
        self._verifications: dict[int, VerificationEntry] = {}
        # producer ids by the first offset of their open transactions; the order is ascending, because a transaction
        # begins at the log's end
        self._ongoing: dict[int, int] = {}
        self.unstable: dict[int, None] = {}
        """The first offsets of the transactions that hold back the last stable offset; other classes only read this."""
        self.unreplicated: deque[tuple[int, int]] = deque()
        """Markers that the high watermark has not passed, each with the first offset of its transaction; for
        :meth:`replicated_to`."""

    # --- checks: they change nothing

    def check_client(
        self, header: BatchHeader, guard: VerificationGuard | None, log_end_offset: int
    ) -> BatchMetadata | Refusal | None:
        """Check a producer's batch: None if it may be appended, the cached batch of which it is a duplicate, or a
        refusal."""
        entry = self.entries.get(header.producer_id)
        if entry is not None:
            duplicate = entry.duplicate_of(header)
            if duplicate is not None:
                return duplicate
        return self._check(CLIENT_RULES, header, guard, log_end_offset)

    def admit_at_once(self, headers: Sequence[BatchHeader]) -> int:
        """The number of batches, from the first on, that are admitted without further checks of their producers."""
        last: dict[int, BatchHeader] | None = None
        count = 0
        for header in headers:
            producer_id = header.producer_id
            if producer_id >= 0:
                last = {} if last is None else last
                if not self.admits_at_once(header, last.get(producer_id)):
                    return count
                last[producer_id] = header
            count += 1
        return count

    def admits_at_once(self, header: BatchHeader, before: BatchHeader | None) -> bool:
        """Whether a client's batch is admitted without a guard, a verification or an evaluation of the rules.

        :param before: the last batch of this producer that was admitted but is not applied yet.

        True means that :meth:`check_client` and :meth:`begin_verification` would both admit the batch, because it
        continues exactly where the producer's last batch ended, in the same epoch and, if one is open, in the same
        transaction. False decides nothing: call those two methods. A property test compares the results.
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
        """Check a coordinator's transactional batch: None if it may be appended, or a refusal."""
        return self._check(COORDINATOR_RULES, header, guard, log_end_offset)

    def _check(
        self,
        rules: tuple[ProducerRule, ...],
        header: BatchHeader,
        guard: VerificationGuard | None,
        log_end_offset: int,
    ) -> Refusal | None:
        producer_id = header.producer_id
        entry = self.entries.get(producer_id)
        verification = self._verifications.get(producer_id)
        attempt = new_tuple(Attempt, (header, entry, verification, guard, self.verify_transactions))
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
        """Check a transaction marker: None if it may be appended, or a refusal."""
        if producer_id < 0:
            return Refusal(Error.UNKNOWN_SERVER_ERROR, f"a marker in {self.topic_partition} has no producer id")
        entry = self.entries.get(producer_id)
        fields = producer_id, producer_epoch, coordinator_epoch, transaction_version, entry
        attempt = new_tuple(MarkerAttempt, fields)
        for rule in MARKER_RULES:
            if entry is not None and rule.broken(attempt):
                return Refusal(
                    rule.error,
                    f"marker of producer {producer_id} in {self.topic_partition}: {rule.name} (got epoch "
                    f"{producer_epoch}, coordinator epoch {coordinator_epoch}; last seen: epoch "
                    f"{entry.producer_epoch}, coordinator epoch {entry.coordinator_epoch})",
                )
        return None

    # --- verification

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        entry = self.entries.get(producer_id)
        return (
            entry is not None and entry.current_txn_first_offset != NONE_OPEN and entry.producer_epoch == producer_epoch
        )

    def forget(self, producer_id: int | None = None) -> list[int]:
        """Remove the state of one producer, or of all, except of those with an open transaction; returns the ids of the
        producers removed."""
        forgotten = [
            known
            for known, entry in self.entries.items()
            if producer_id in (None, known) and entry.current_txn_first_offset == NONE_OPEN
        ]
        for known in forgotten:
            del self.entries[known]
        return forgotten

    def forget_verifications(self) -> None:
        """Discard all verifications: appends in progress must be verified again."""
        self._verifications.clear()

    def begin_verification(
        self, producer_id: int, producer_epoch: int, first_sequence: int, supports_epoch_bump: bool, now_ms: int
    ) -> VerificationGuard | Error | None:
        """The guard that the append must have, or the error if it is refused; None if there is nothing to verify.

        Nothing is verified while a transaction of this epoch is open, nor if verification is switched off and the
        producer has added the partition itself.
        """
        if not (self.verify_transactions or supports_epoch_bump):
            return None
        refused = refused_unasked(producer_epoch, self.entries.get(producer_id))
        if refused is not None:
            return refused
        if self.has_open_transaction(producer_id, producer_epoch):
            return None
        entry = self._verifications.get(producer_id)
        if entry is None:
            entry = VerificationEntry(now_ms, producer_epoch, first_sequence, supports_epoch_bump)
            self._verifications[producer_id] = entry
        else:
            entry.seen(producer_epoch, first_sequence)
        return entry.guard

    # --- the only mutations by records

    def apply_data(self, header: BatchHeader, base_offset: int) -> None:
        """Called when a data batch is in the log at ``base_offset``."""
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
        fields = header.last_sequence, last_offset, header.last_offset_delta, timestamp
        batches.append(new_tuple(BatchMetadata, fields))
        if len(batches) > BATCHES_KEPT:
            del batches[0]
        entry.last_timestamp = timestamp
        if header.is_transactional:
            self._verifications.pop(producer_id, None)
            if entry.current_txn_first_offset == NONE_OPEN:
                entry.current_txn_first_offset = base_offset
                self._ongoing[base_offset] = producer_id
                self.unstable[base_offset] = None

    def apply_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        commit: bool,
        offset: int,
        timestamp: int,
    ) -> CompletedTxn | None:
        """Called when a marker is in the log at ``offset``; returns the transaction that it ended, if one was open.

        The verification of a later transaction is kept: a marker of transaction version 2 has the epoch of the next
        transaction (KAFKA-18654; Apache Kafka keeps only the verification of that next one).
        """
        self.map_end_offset = offset + 1
        verification = self._verifications.get(producer_id)
        if verification is not None and not verification.is_of_later_transaction(producer_epoch):
            del self._verifications[producer_id]
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
        self.unreplicated.append((offset, first_offset))
        stable = next(iter(self._ongoing), offset + 1)
        return CompletedTxn(producer_id, first_offset, offset, not commit, stable)

    def apply_run(self, headers: Sequence[BatchHeader], offsets: Sequence[int], end: int) -> None:
        """Called when client batches with these headers were appended at ``offsets``, and the log continues at
        ``end``.
        """
        number = 0
        for header in headers:
            if header.producer_id >= 0:
                self.apply_data(header, offsets[number])
            number += 1  # noqa: SIM113 # enumerate would make a tuple for each item
        if end > self.map_end_offset:
            self.map_end_offset = end

    def skip_to(self, offset: int) -> None:
        """Called when the log continues at ``offset``, with no batches of producers in between."""
        if offset > self.map_end_offset:
            self.map_end_offset = offset

    # --- what limits readers

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the earliest transaction that is open, or whose marker is not below the high watermark
        yet."""
        return next(iter(self.unstable)) if self.unstable else None

    @property
    def first_undecided_offset(self) -> int | None:
        """The first offset of the earliest transaction that has no marker yet."""
        return next(iter(self._ongoing), None)

    def replicated_to(self, high_watermark: int) -> None:
        """Called when the high watermark has advanced: markers below it no longer hold back readers."""
        unreplicated = self.unreplicated
        while unreplicated and unreplicated[0][0] < high_watermark:
            del self.unstable[unreplicated.popleft()[1]]

    def unreplicated_before(self, offset: int) -> list[tuple[int, int]]:
        """Markers below ``offset`` that the high watermark has not passed, each with the first offset of its
        transaction."""
        return [entry for entry in self.unreplicated if entry[0] < offset]

    def restore_unreplicated(self, entries: Iterable[tuple[int, int]]) -> None:
        """Restore the result of :meth:`unreplicated_before` after a truncation, because snapshots do not contain it."""
        self.unreplicated = deque(sorted({*self.unreplicated, *entries}))
        self.unstable = dict.fromkeys(sorted({*self._ongoing, *(first for _, first in self.unreplicated)}))

    # --- expiry, loading

    def expire(self, now_ms: int) -> None:
        """Remove producers, and verifications, that were idle for the expiration time; producers with an open
        transaction stay."""
        for producer_id in [p for p, entry in self.entries.items() if self._expired(entry, now_ms)]:
            del self.entries[producer_id]
        cutoff = now_ms - self.expiration_ms
        for producer_id in [p for p, entry in self._verifications.items() if entry.created_ms <= cutoff]:
            del self._verifications[producer_id]

    def has_expired(self, now_ms: int) -> bool:
        """Whether :meth:`expire` would remove any producer or verification."""
        cutoff = now_ms - self.expiration_ms
        return any(self._expired(entry, now_ms) for entry in self.entries.values()) or any(
            entry.created_ms <= cutoff for entry in self._verifications.values()
        )

    def _expired(self, entry: ProducerStateEntry, now_ms: int) -> bool:
        return entry.current_txn_first_offset == NONE_OPEN and now_ms - entry.last_timestamp >= self.expiration_ms

    def clear(self, map_end_offset: int) -> None:
        """Remove the whole state except verifications, which do not depend on the log's contents."""
        self.entries.clear()
        self._ongoing.clear()
        self.unstable.clear()
        self.unreplicated.clear()
        self.map_end_offset = map_end_offset

    def load(self, entries: Iterable[ProducerStateEntry], map_end_offset: int, now_ms: int) -> None:
        """Replace the state by that of a snapshot, without expired producers."""
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
        self.unstable = dict.fromkeys(self._ongoing)

    def recall(self, headers: Iterable[BatchHeader]) -> None:
        """Restore the cached batches of each producer, of which a snapshot has only the last.

        :param headers: data batches at the end of the log up to the snapshot's offset, in order; for each producer the
            last few are enough.
        """
        found: dict[int, deque[BatchMetadata]] = {}
        for header in headers:
            entry = self.entries.get(header.producer_id)
            if entry is not None and entry.producer_epoch == header.producer_epoch:
                fields = header.last_sequence, header.last_offset, header.last_offset_delta, header.max_timestamp
                batches = found.setdefault(header.producer_id, deque(maxlen=BATCHES_KEPT))
                batches.append(new_tuple(BatchMetadata, fields))
        for producer_id, batches in found.items():
            entry = self.entries[producer_id]
            if entry.batches and batches[-1].last_offset == entry.last_offset:
                entry.batches = list(batches)
