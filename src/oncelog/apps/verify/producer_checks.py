"""Checks what each producer wrote to one partition: sequences, epochs, transactions and their markers. Pure.

Called by :mod:`oncelog.apps.verify.partition_check` with every valid batch in the order of the log. Memory: one entry
for each producer of the partition. The rules are those by which a leader accepts batches (KIP-98, KIP-360, KIP-890;
:mod:`oncelog.broker.log.producers.producer_rules`): batches that a leader would have refused are findings, and unusual
ones are reported.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from oncelog.apps.verify.batch_checks import BatchChecks
from oncelog.apps.verify.expected import Expected
from oncelog.apps.verify.findings import Report
from oncelog.apps.verify.outcomes import Ended, Outcomes
from oncelog.records.batch import BatchHeader
from oncelog.records.control import EndTxnMarker
from oncelog.records.record import increment_sequence
from oncelog.types import MAX_SEQUENCE, NO_SEQUENCE, NO_TIMESTAMP, TopicPartition

_REMEMBERED = 5
"""The number of a producer's last batches that are kept, so that a repeated batch is reported with the offsets of the
first one; brokers keep as many."""
_WAITED_MS = 120_000
"""How long a record may have waited between its timestamp and its append, in milliseconds (``delivery.timeout.ms``)."""
_HALF = 2**30
"""Half of the range of sequences, which wrap: a difference below this is a gap; a larger one is a step back."""


class Open(NamedTuple):
    """A transaction that has no marker in the partition."""

    where: TopicPartition
    producer_id: int
    producer_epoch: int
    first_offset: int
    last_offset: int
    since_ms: int
    """When the transaction began, in milliseconds: not earlier than the largest timestamp before it in the
    partition."""
    leader_epoch: int


class Plain(NamedTuple):
    """The records that a producer wrote outside of transactions: their first and last offset."""

    where: TopicPartition
    producer_epoch: int
    first_offset: int
    last_offset: int


class _Producer:
    __slots__ = (
        "coordinator_epoch",
        "decided",
        "epoch",
        "first_ms",
        "last_ms",
        "last_offset",
        "last_sequence",
        "latest_ms",
        "leader_epoch",
        "open_epoch",
        "open_from",
        "plain_from",
        "plain_to",
        "recent",
        "since_ms",
        "transactional",
    )

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.last_sequence = NO_SEQUENCE
        self.last_offset = -1
        self.latest_ms = NO_TIMESTAMP
        self.leader_epoch = -1
        self.coordinator_epoch = -1
        self.recent: deque[tuple[int, int, int]] = deque(maxlen=_REMEMBERED)
        self.open_from = -1
        self.open_epoch = -1
        self.first_ms = self.last_ms = self.since_ms = NO_TIMESTAMP
        self.plain_from = self.plain_to = -1
        self.transactional = False
        self.decided = -1
        """The epoch of the producer's last marker if that marker committed a transaction with an epoch of its own; else
        -1."""

    def begin_epoch(self, epoch: int) -> None:
        self.epoch = epoch
        self.last_sequence = NO_SEQUENCE
        self.recent.clear()


class ProducerChecks:
    """Checks the batches of all producers of one partition.

    ``aborted_from``, ``aborted_to`` and ``aborted_by`` list the first offsets, marker offsets and producer ids of the
    aborted transactions, in the order of their markers.
    """

    def __init__(
        self, where: TopicPartition, expected: Expected, report: Report, batches: BatchChecks, outcomes: Outcomes
    ) -> None:
        self.aborted_from, self.aborted_to, self.aborted_by = array("q"), array("q"), array("q")
        self.committed = 0
        self._where = where
        self._expected = expected
        self._report = report
        self._batches = batches
        self._outcomes = outcomes
        self._producers: dict[int, _Producer] = {}
        self._has_sequences = not expected.is_internal(where)

    def __len__(self) -> int:
        return len(self._producers)

    @property
    def has_transactions(self) -> bool:
        return any(producer.transactional for producer in self._producers.values())

    def open(self) -> list[Open]:
        """The open transactions of the partition, oldest first."""
        found = [
            Open(
                self._where,
                producer_id,
                producer.open_epoch,
                producer.open_from,
                producer.last_offset,
                producer.since_ms,
                producer.leader_epoch,
            )
            for producer_id, producer in self._producers.items()
            if producer.open_from >= 0
        ]
        return sorted(found, key=lambda one: one.first_offset)

    def plain(self) -> Iterator[tuple[int, Plain]]:
        """The producers that wrote outside of transactions, by id."""
        for producer_id, producer in self._producers.items():
            if producer.plain_from >= 0:
                yield producer_id, Plain(self._where, producer.epoch, producer.plain_from, producer.plain_to)

    def transactional(self) -> Iterator[int]:
        """The ids of producers that wrote transactions."""
        return (producer_id for producer_id, producer in self._producers.items() if producer.transactional)

    # --- data

    def take_data(self, header: BatchHeader) -> None:
        """Take the next batch of data that has a producer id."""
        producer = self._producers.get(header.producer_id)
        if producer is None:
            producer = self._producers[header.producer_id] = _Producer(header.producer_epoch)
            self._check_first(header)
        elif self._may_be_forgotten(producer, header) and not self._continues(producer, header):
            self._add("producer-expired", header, f"the producer's last batch was at offset {producer.last_offset}")
            producer.begin_epoch(header.producer_epoch)
        else:
            self._check_epoch(producer, header)
            self._check_sequence(producer, header)
        self._note(producer, header)
        self._check_transaction(producer, header)
        producer.latest_ms = header.max_timestamp
        producer.leader_epoch = header.partition_leader_epoch
        producer.last_offset = header.last_offset

    def _add(self, kind: str, header: BatchHeader, detail: str) -> None:
        self._report.add(
            kind,
            self._where,
            detail,
            first=header.base_offset,
            last=header.last_offset,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
        )

    def _check_first(self, header: BatchHeader) -> None:
        begins_whole = self._expected.log_start == 0 and self._batches.gap_to < 0 and not self._expected.compacted
        if self._has_sequences and header.base_sequence > 0 and begins_whole:
            self._add(
                "producer-continues", header, f"the producer's first batch here has sequence {header.base_sequence}"
            )
        self._check_has_sequence(header)

    def _check_has_sequence(self, header: BatchHeader) -> None:
        if self._has_sequences and header.base_sequence < 0:
            self._add("sequence-missing", header, f"the batch has sequence {header.base_sequence}")

    def _may_be_forgotten(self, producer: _Producer, header: BatchHeader) -> bool:
        """Whether a broker may have expired the producer's state, judged by the timestamps of the producer and of the
        partition."""
        silent_ms = min(self._batches.latest_ms, header.max_timestamp) + _WAITED_MS - producer.latest_ms
        return producer.open_from < 0 and silent_ms >= self._expected.producer_expiration_ms

    @staticmethod
    def _continues(producer: _Producer, header: BatchHeader) -> bool:
        if header.producer_epoch != producer.epoch:
            return header.producer_epoch > producer.epoch and header.base_sequence <= 0
        return header.base_sequence in (NO_SEQUENCE, increment_sequence(producer.last_sequence, 1))

    def _check_epoch(self, producer: _Producer, header: BatchHeader) -> None:
        if header.producer_epoch < producer.epoch:
            self._add("epoch-back", header, f"epoch {header.producer_epoch} after {producer.epoch}")

    def _check_sequence(self, producer: _Producer, header: BatchHeader) -> None:
        if not self._has_sequences:  # in an internal topic brokers check no sequences of a coordinator's batches
            return
        if header.base_sequence < 0:
            self._check_has_sequence(header)
        elif header.producer_epoch > producer.epoch:
            if header.base_sequence:
                self._missing(
                    producer, header, "sequence-start", f"the new epoch begins with sequence {header.base_sequence}"
                )
        elif header.producer_epoch == producer.epoch:
            self._compare(producer, header)

    def _compare(self, producer: _Producer, header: BatchHeader) -> None:
        wanted = increment_sequence(producer.last_sequence, 1)
        ahead = (header.base_sequence - wanted) & MAX_SEQUENCE
        if not ahead:
            return
        if ahead < _HALF:
            kind = "sequence-gap" if producer.last_sequence >= 0 else "sequence-start"
            self._missing(producer, header, kind, f"sequence {header.base_sequence} after {wanted - 1}")
            return
        of = (header.base_sequence, header.last_sequence)
        first = next((offset for begin, end, offset in producer.recent if (begin, end) == of), None)
        where = f"as at offset {first}" if first is not None else f"after {producer.last_sequence}"
        self._add("sequence-repeat", header, f"sequences {of[0]} to {of[1]} {where}")

    def _missing(self, producer: _Producer, header: BatchHeader, kind: str, detail: str) -> None:
        if self._expected.compacted and self._batches.hole_to > producer.last_offset:
            kind = "sequence-hole-compacted"
        elif self._expected.unclean_elections and header.partition_leader_epoch > producer.leader_epoch:
            kind = "unclean-election"
        self._add(kind, header, detail)

    @staticmethod
    def _note(producer: _Producer, header: BatchHeader) -> None:
        if header.producer_epoch > producer.epoch:
            producer.begin_epoch(header.producer_epoch)
        if header.producer_epoch == producer.epoch and header.base_sequence >= 0:
            producer.last_sequence = header.last_sequence
            producer.recent.append((header.base_sequence, header.last_sequence, header.base_offset))

    def _check_transaction(self, producer: _Producer, header: BatchHeader) -> None:
        if not header.is_transactional:
            if producer.open_from >= 0:
                detail = f"its transaction is open since offset {producer.open_from}"
                self._add("plain-in-transaction", header, detail)
            if producer.plain_from < 0:
                producer.plain_from = header.base_offset
            producer.plain_to = header.last_offset
            return
        producer.transactional = True
        if producer.open_from >= 0 and header.producer_epoch > producer.open_epoch:
            detail = f"the one of epoch {producer.open_epoch} is open since offset {producer.open_from}"
            self._missing(producer, header, "marker-missing", detail)
        if producer.open_from < 0:
            producer.open_from = header.base_offset
            producer.since_ms = self._batches.latest_ms
            producer.first_ms, producer.last_ms = header.base_timestamp, header.max_timestamp
            if header.delete_horizon_ms is not None:
                producer.first_ms = header.max_timestamp
        producer.open_epoch = header.producer_epoch
        producer.last_ms = max(producer.last_ms, header.max_timestamp)

    # --- markers

    def take_marker(self, header: BatchHeader, marker: EndTxnMarker) -> None:
        """The next marker."""
        producer = self._producers.get(header.producer_id)
        if producer is None:
            producer = self._producers[header.producer_id] = _Producer(header.producer_epoch)
        elif not self._may_be_forgotten(producer, header):
            self._check_marker(producer, header, marker)
        if producer.open_from < 0 and not marker.commit and header.producer_epoch == producer.decided:
            self._add("marker-contradicts", header, "abort after the transaction was committed")
        elif producer.open_from < 0:
            self._add("marker-without-data", header, marker.type.name.lower())
        else:
            self._end(producer, header, marker)
        producer.coordinator_epoch = max(producer.coordinator_epoch, marker.coordinator_epoch)
        if header.producer_epoch > producer.epoch:
            producer.begin_epoch(header.producer_epoch)
        producer.latest_ms = header.max_timestamp
        producer.leader_epoch = header.partition_leader_epoch

    def _check_marker(self, producer: _Producer, header: BatchHeader, marker: EndTxnMarker) -> None:
        if header.producer_epoch < producer.epoch:
            self._add("marker-epoch-back", header, f"epoch {header.producer_epoch} after {producer.epoch}")
        elif producer.open_from >= 0 and header.producer_epoch > producer.open_epoch + 1:
            detail = f"epoch {header.producer_epoch} ends what epoch {producer.open_epoch} wrote"
            self._missing(producer, header, "marker-epoch-wrong", detail)
        if marker.coordinator_epoch < producer.coordinator_epoch:
            detail = f"coordinator epoch {marker.coordinator_epoch} after {producer.coordinator_epoch}"
            self._add("marker-coordinator-back", header, detail)

    def _end(self, producer: _Producer, header: BatchHeader, marker: EndTxnMarker) -> None:
        ended = Ended(
            self._where,
            header.producer_id,
            producer.open_epoch,
            header.producer_epoch,
            marker.commit,
            producer.open_from,
            header.base_offset,
            producer.first_ms,
            producer.last_ms,
            header.max_timestamp,
        )
        self._outcomes.add(ended)
        bumped = header.producer_epoch > producer.open_epoch
        producer.decided = header.producer_epoch if marker.commit and bumped else -1
        if marker.commit:
            self.committed += 1
        else:
            self.aborted_from.append(producer.open_from)
            self.aborted_to.append(header.base_offset)
            self.aborted_by.append(header.producer_id)
        producer.open_from = producer.open_epoch = -1
