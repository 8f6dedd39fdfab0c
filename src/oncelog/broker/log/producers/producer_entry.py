"""A partition's state of one producer: its epoch, its last batches, its open transaction.

Used by ``producer_state``, which keeps one entry for each producer, by ``producer_rules``, and by the snapshots
on disk. Source: Kafka's ``ProducerStateEntry`` and ``BatchMetadata``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from oncelog.records.batch import BatchHeader
from oncelog.records.record import decrement_sequence
from oncelog.types import NO_SEQUENCE

BATCHES_KEPT = 5
"""The number of batches of a producer that are cached to recognize duplicates: as many as a producer may have in
flight."""

NONE_OPEN = -1
"""The value of ``current_txn_first_offset`` for a producer without an open transaction."""


class BatchMetadata(NamedTuple):
    """The state of an appended batch that identifies duplicates; ``timestamp`` is the batch's largest, in ms."""

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
    """State of one producer in this partition. ``batches`` are at most :data:`BATCHES_KEPT` batches, the newest
    last."""

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
        """The last sequence of the newest batch; -1 if no batch of the current epoch is known."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else -1

    def duplicate_of(self, header: BatchHeader) -> BatchMetadata | None:
        """The cached batch with exactly the sequences of ``header``, if the epochs are equal."""
        if header.producer_epoch == self.producer_epoch:
            last_sequence, delta = header.last_sequence, header.last_offset_delta
            for batch in self.batches:
                if batch.last_sequence == last_sequence and batch.offset_delta == delta:
                    return batch
        return None
