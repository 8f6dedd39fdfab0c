"""Sequence numbers of an idempotent producer, counted separately for each partition.

Called by the transaction manager and the sender. A sequence is assigned when a batch is first drained, and every repeat
of the batch keeps it. Only a new epoch starts again at 0; batches still in flight are then renumbered in order.

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
"""A leader recognises duplicates of this many most recent batches of a producer."""


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
        """The sequence of the oldest batch in flight that was not refused for good; -1 if there is none."""
        return next((batch.sequence for batch in self.in_flight if not batch.refused), NO_SEQUENCE)

    @property
    def has_capacity(self) -> bool:
        """Whether one more batch may be sent: the oldest batch in flight is not being retried, and the leader would
        still recognise a retry of it after the new batch is stored."""
        if not self.in_flight:
            return True
        oldest = self.in_flight[0]
        return (
            oldest.attempts <= 1
            and len(self.in_flight) < REMEMBERED_BATCHES
            and not self.was_overtaken(oldest.sequence)
        )

    def follows(self, sequence: int) -> bool:
        """Whether ``sequence`` comes right after the last acknowledged batch."""
        expected = 0 if self.last_acked == NO_SEQUENCE else increment_sequence(self.last_acked, 1)
        return sequence == expected

    def was_overtaken(self, sequence: int) -> bool:
        """Whether a batch with a later sequence has already been acknowledged."""
        return self.last_acked != NO_SEQUENCE and not _after(sequence, self.last_acked)

    def assign(self, batch: ProducerBatch) -> None:
        """Give a drained batch the next sequences."""
        batch.assign(self.producer, self.next)
        self.next = increment_sequence(self.next, batch.count)
        self.in_flight.append(batch)

    def remove(self, batch: ProducerBatch) -> None:
        """Remove a batch that has its outcome from those in flight."""
        if batch in self.in_flight:
            self.in_flight.remove(batch)

    def acknowledged(self, batch: ProducerBatch, base_offset: int) -> None:
        """Record that the leader has stored the batch. Only the batch's current epoch counts."""
        self.remove(batch)
        if batch.producer != self.producer:
            return
        last = increment_sequence(batch.sequence, batch.count - 1)
        if self.last_acked == NO_SEQUENCE or _after(last, self.last_acked):
            self.last_acked = last
        if base_offset >= 0:
            self.last_acked_offset = max(self.last_acked_offset, base_offset + batch.count - 1)

    def replace(self, batch: ProducerBatch, halves: list[ProducerBatch]) -> None:
        """Let the halves of a split batch take over its sequences, in order."""
        if batch not in self.in_flight:
            raise InvariantError(f"a batch of {batch.partition} was split although it is not in flight")
        at = self.in_flight.index(batch)
        sequence = batch.sequence
        for half in halves:
            half.assign(batch.producer, sequence)
            sequence = increment_sequence(sequence, half.count)
        self.in_flight[at : at + 1] = halves

    def restart(self, producer: ProducerIdAndEpoch) -> None:
        """Restart at sequence 0 with a new producer id and epoch; batches in flight are renumbered in order."""
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
    """The sequences of all partitions under the producer's current producer id and epoch."""

    def __init__(self) -> None:
        self.producer: ProducerIdAndEpoch = NO_PRODUCER
        self._partitions: dict[TopicPartition, PartitionSequence] = {}
        self._known_as: dict[TopicPartition, int] = {}
        """The producer id with which the partition's leader has acknowledged a batch. From then on the leader accepts
        only the next sequence, in any epoch of this id."""
        self.unresolved: dict[TopicPartition, None] = {}
        """Partitions in which a batch expired after it was sent, so that nobody knows whether the leader has stored
        it."""

    def of(self, partition: TopicPartition) -> PartitionSequence:
        sequence = self._partitions.get(partition)
        if sequence is None:
            sequence = self._partitions[partition] = PartitionSequence(self.producer)
        return sequence

    def acknowledged(self, batch: ProducerBatch, base_offset: int) -> None:
        """Record that the leader has stored the batch."""
        self._known_as[batch.partition] = batch.producer.producer_id
        self.of(batch.partition).acknowledged(batch, base_offset)

    def has_capacity(self, partition: TopicPartition) -> bool:
        """Whether a new batch of the partition may be sent, given the batches in flight."""
        sequence = self.of(partition)
        if not sequence.in_flight:
            return True
        return self._known_as.get(partition) == self.producer.producer_id and sequence.has_capacity

    def restart(self, partition: TopicPartition) -> list[ProducerBatch]:
        """Restart the partition at sequence 0 with the current producer id and epoch, because its leader may have
        forgotten the producer; returns its batches in flight, renumbered."""
        self._known_as.pop(partition, None)
        self.unresolved.pop(partition, None)
        sequence = self.of(partition)
        sequence.restart(self.producer)
        return sequence.in_flight

    def adopt(self, producer: ProducerIdAndEpoch) -> None:
        """Take a new producer id and epoch; all partitions start at sequence 0. Used between transactions, when no
        batch is in flight."""
        self.producer = producer
        self.unresolved.clear()
        for partition in list(self._partitions):
            sequence = self._partitions[partition]
            if sequence.in_flight:
                raise InvariantError(f"the epoch changed while {partition} has batches in flight")
        self._partitions.clear()

    def follow_producer(self, sequence: PartitionSequence) -> bool:
        """Move a partition without batches in flight to the current producer id and epoch; returns False while batches
        under the old ones are in flight."""
        if sequence.producer == self.producer:
            return True
        if sequence.in_flight:
            return False
        sequence.restart(self.producer)
        return True

    def was_early(self, batch: ProducerBatch, error: Error, log_start_offset: int) -> bool:
        """Whether a batch that was refused for its sequence may simply be sent again: an earlier batch is not stored
        yet, or the broker has forgotten the producer because the producer's records are gone (then the partition
        restarts at sequence 0).

        The answer is no if a later batch was acknowledged first: the leader had forgotten the producer in between.
        """
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
