"""Writes the records of a batch from the driver, which holds them encoded.

Called by ``spark.sink.writers``, and by ``spark.executors`` for batches that are small enough. The tasks of the other
carrier, :class:`oncelog.spark.executors.carrier.ExecutorsCarrier`, use the same counter and observer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from oncelog.errors import OncelogError
from oncelog.spark.kafka.interface import PartitionBatch
from oncelog.spark.sink.engine import BatchStep, CarriedRecords, Reached
from oncelog.spark.sink.topic_transaction import TopicTransaction


class DriverCarrier:
    """Writes encoded batches that this process holds; implements :class:`oncelog.spark.sink.engine.Carrier`.

    :param batches: in task order; read once.
    :param count: their number.
    """

    exact = True
    failures: tuple[type[Exception], ...] = (OncelogError,)

    def __init__(self, batches: Iterable[PartitionBatch], rows: int, count: int) -> None:
        self._batches = batches
        self._count = count
        self.rows = rows

    def carry(self, transaction: TopicTransaction, reached: Reached) -> CarriedRecords:
        counter = BatchCounter()
        transaction.produce(observed(counter.count(self._batches), self._count, reached))
        reached(BatchStep.PRODUCED)
        return CarriedRecords(self.rows, counter.batches, counter.size_bytes)


def observed(batches: Iterable[PartitionBatch], count: int, reached: Reached) -> Iterator[PartitionBatch]:
    """Yields the batches, and calls the observer once half of them were yielded. By then that half was sent, except for
    batches that a lane's window still holds back.
    """
    for number, batch in enumerate(batches, start=1):
        yield batch
        if number == (count + 1) // 2:
            reached(BatchStep.HALF_PRODUCED)


class BatchCounter:
    """Counts encoded batches, their rows and their bytes while a carrier writes them."""

    def __init__(self) -> None:
        self.rows = self.batches = self.size_bytes = 0

    def count(self, batches: Iterable[PartitionBatch]) -> Iterator[PartitionBatch]:
        for batch in batches:
            self.rows += batch.records
            self.batches += 1
            self.size_bytes += len(batch.data)
            yield batch
