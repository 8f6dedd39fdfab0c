"""Sequence numbers of an idempotent producer, counted separately for each partition.

Called by the transaction manager and the sender. A sequence is assigned when a batch is first drained, and every repeat
of the batch keeps it; only a new epoch starts again at 0, with all batches still in flight renumbered in order.

A leader that does not know the producer accepts any sequence as its first. To keep the leader from accepting a later
batch first, a partition has only one batch in flight until its leader has acknowledged one. Sources: Kafka's
``TxnPartitionMap``, ``TxnPartitionEntry`` (KIP-98, KIP-360).
"""

from __future__ import annotations

from oncelog.client.core.batches.accumulator import ProducerBatch
from oncelog.client.core.structs import TopicPartition
from oncelog.errors import Error, InvariantError
from oncelog.records.batch import increment_sequence
from oncelog.types import NO_PRODUCER, NO_SEQUENCE, ProducerIdAndEpoch

REMEMBERED_BATCHES = 5
"""A leader recognises duplicates of this many last batches of a producer."""


class PartitionSequence:
    """The producer's sequences in one partition."""

    __slots__ = ("in_flight", "last_acked", "last_acked_offset", "next", "producer")

    def __init__(self, producer: ProducerIdAndEpoch) -> None:
        self.producer = producer
        self.next = 0
        self.last_acked = NO_SEQUENCE
        self.last_acked_offset = -1
        self.in_flight: list[ProducerBatch] = []
        """Batches with a sequence but no outcome, by sequence, including those waiting to be repeated."""

    @property
    def first_in_flight(self) -> int:
        """Sequence of the oldest batch in flight that was not refused for good, or -1."""
        return next((batch.sequence for batch in self.in_flight if not batch.refused), NO_SEQUENCE)

    @property
    def has_capacity(self) -> bool:
        """Whether a new batch may follow those in flight: the oldest is not being retried, and a retry of it would
        still be recognised after the new one is stored."""
        if not self.in_flight:
            return True
        oldest = self.in_flight[0]
        return (
            oldest.attempts <= 1
            and len(self.in_flight) < REMEMBERED_BATCHES
            and not self.was_overtaken(oldest.sequence)
        )

    def follows(self, sequence: int) -> bool:
        """Whether a batch at ``sequence`` comes right after the last acknowledged one."""
        expected = 0 if self.last_acked == NO_SEQUENCE else increment_sequence(self.last_acked, 1)
        return sequence == expected

    def was_overtaken(self, sequence: int) -> bool:
        """Whether a batch after the one at ``sequence`` is acknowledged."""
        return self.last_acked != NO_SEQUENCE and not _after(sequence, self.last_acked)

    def assign(self, batch: ProducerBatch) -> None:
        """Give a drained batch the next sequences."""
        batch.assign(self.producer, self.next)
        self.next = increment_sequence(self.next, batch.count)
        self.in_flight.append(batch)

    def remove(self, batch: ProducerBatch) -> None:
        """Called when the batch has an outcome."""
        if batch in self.in_flight:
            self.in_flight.remove(batch)

    def acknowledged(self, batch: ProducerBatch, base_offset: int) -> None:
        """Called when the broker has the batch. An answer for an earlier epoch has no effect."""
        self.remove(batch)
        if batch.producer != self.producer:
            return
        last = increment_sequence(batch.sequence, batch.count - 1)
        if self.last_acked == NO_SEQUENCE or _after(last, self.last_acked):
            self.last_acked = last
        if base_offset >= 0:
            self.last_acked_offset = max(self.last_acked_offset, base_offset + batch.count - 1)

    def replace(self, batch: ProducerBatch, halves: list[ProducerBatch]) -> None:
        """A batch was split: its halves take over its sequences, in order."""
        if batch not in self.in_flight:
            raise InvariantError(f"a batch of {batch.partition} was split that is not in flight")
        at = self.in_flight.index(batch)
        sequence = batch.sequence
        for half in halves:
            half.assign(batch.producer, sequence)
            sequence = increment_sequence(sequence, half.count)
        self.in_flight[at : at + 1] = halves

    def restart(self, producer: ProducerIdAndEpoch) -> None:
        """Restart at 0 with a new identity; batches in flight are renumbered in order."""
        self.producer = producer
        self.next = 0
        self.last_acked = NO_SEQUENCE
        self.last_acked_offset = -1
        for batch in self.in_flight:
            batch.assign(producer, self.next, reset=True)
            self.next = increment_sequence(self.next, batch.count)


def _after(sequence: int, other: int) -> bool:
    """Whether ``sequence`` is later than ``other`` on the circle of 2^31 numbers."""
    return 0 < ((sequence - other) & 0x7FFFFFFF) < 0x40000000


class SequenceBook:
    """All partitions' sequences under the producer's current identity."""

    def __init__(self) -> None:
        self.producer: ProducerIdAndEpoch = NO_PRODUCER
        self._partitions: dict[TopicPartition, PartitionSequence] = {}
        self._known_as: dict[TopicPartition, int] = {}
        """Producer id with which a partition's leader has acknowledged a batch: from then on, in any epoch, it accepts
        only the next sequence."""
        self.unresolved: dict[TopicPartition, None] = {}
        """Partitions in which a batch expired after it was sent: whether the broker has it is unknown."""

    def of(self, partition: TopicPartition) -> PartitionSequence:
        sequence = self._partitions.get(partition)
        if sequence is None:
            sequence = self._partitions[partition] = PartitionSequence(self.producer)
        return sequence

    def acknowledged(self, batch: ProducerBatch, base_offset: int) -> None:
        """Called when the leader has the batch."""
        self._known_as[batch.partition] = batch.producer.producer_id
        self.of(batch.partition).acknowledged(batch, base_offset)

    def has_capacity(self, partition: TopicPartition) -> bool:
        """Whether a new batch of the partition may be sent, considering those in flight."""
        sequence = self.of(partition)
        if not sequence.in_flight:
            return True
        return self._known_as.get(partition) == self.producer.producer_id and sequence.has_capacity

    def restart(self, partition: TopicPartition) -> list[ProducerBatch]:
        """Restart the partition at 0 with the current identity, because its leader may have forgotten the producer;
        returns its batches in flight, renumbered."""
        self._known_as.pop(partition, None)
        self.unresolved.pop(partition, None)
        sequence = self.of(partition)
        sequence.restart(self.producer)
        return sequence.in_flight

    def adopt(self, producer: ProducerIdAndEpoch) -> None:
        """Take a new identity for every partition, each starting at sequence 0; used between transactions."""
        self.producer = producer
        self.unresolved.clear()
        for partition in list(self._partitions):
            sequence = self._partitions[partition]
            if sequence.in_flight:
                raise InvariantError(f"the epoch changed while {partition} has batches in flight")
        self._partitions.clear()

    def follow_producer(self, sequence: PartitionSequence) -> bool:
        """Move an idle partition to the current identity; returns False while batches of the old one are in flight."""
        if sequence.producer == self.producer:
            return True
        if sequence.in_flight:
            return False
        sequence.restart(self.producer)
        return True

    def was_early(self, batch: ProducerBatch, error: Error, log_start_offset: int) -> bool:
        """Whether a batch refused for its sequence may simply be sent again: an earlier batch is not stored yet, or the
        broker has forgotten the producer because its records are gone (its sequences start again).

        A batch overtaken by a later one is never accepted: the leader had forgotten the producer in between."""
        sequence = self.of(batch.partition)
        if error is not Error.UNKNOWN_PRODUCER_ID:
            if batch.partition in self.unresolved or sequence.was_overtaken(batch.sequence):
                return False
            return batch.sequence_reset or not sequence.follows(batch.sequence)
        if log_start_offset == -1 or batch.sequence_reset:
            return True
        if sequence.last_acked_offset < log_start_offset:
            self._known_as.pop(batch.partition, None)
            sequence.restart(sequence.producer)
            return True
        return False
