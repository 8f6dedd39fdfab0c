"""Reports the outcome of batches to the senders of their records, and to flushes.

Called by the asyncio producer.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import repeat
from typing import Any

from oncelog.client.core.batches.accumulator import Accumulator, ProducerBatch
from oncelog.client.core.client_errors import AbortableTransactionError, FatalProducerError
from oncelog.client.core.producer.producer_metrics import ProducerMetrics
from oncelog.client.core.structs import RecordMetadata
from oncelog.errors import KafkaError
from oncelog.runtime import real_asyncio as asyncio

_new_metadata = partial(tuple.__new__, RecordMetadata)


class Deliveries:
    """Resolves each record's handle, and wakes callers that wait for all batches up to some number."""

    def __init__(self, accumulator: Accumulator, metrics: ProducerMetrics, places: bool = True) -> None:
        self._accumulator = accumulator
        self._metrics = metrics
        self._places = places
        """Whether each record's delivery contains the partition and the offset of the record."""
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []

    async def wait(self, number: int) -> None:
        """Wait until all batches up to ``number`` have an outcome."""
        if self._flushed(number):
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append((number, future))
        await future

    def batch_done(
        self,
        batch: ProducerBatch,
        base_offset: int,
        log_append_time: int,
        log_start_offset: int,
        error: KafkaError | None,
    ) -> None:
        """Called when a batch has its outcome."""
        if error is not None:
            self._metrics.failed(batch)
        if error is None and not self._places:
            _resolve_to_none(batch)
        else:
            _resolve(batch, base_offset, log_append_time, log_start_offset, error)
        if not self._waiters:
            return
        waiting: list[tuple[int, asyncio.Future[None]]] = []
        for number, future in self._waiters:
            if not self._flushed(number):
                waiting.append((number, future))
            elif not future.done():
                future.set_result(None)
        self._waiters = waiting

    def _flushed(self, number: int) -> bool:
        oldest = next(iter(self._accumulator.incomplete), None)
        return oldest is None or oldest.number > number


def _resolve(
    batch: ProducerBatch,
    base_offset: int,
    log_append_time: int,
    log_start_offset: int,
    error: KafkaError | None,
) -> None:
    """Give each record's handle (``done``, ``set_result``, ``set_exception``) the metadata of the stored record, or the
    error."""
    futures: Iterable[Any] = batch.handles
    if error is not None:
        for future in futures:
            if not future.done():
                future.set_exception(error)
                if isinstance(error, FatalProducerError | AbortableTransactionError):
                    # retrieved here, so that asyncio does not warn for each record: the producer's next calls raise the
                    # error, too
                    future.exception()
        return
    topic, partition = name = batch.partition
    kind = 0 if log_append_time == -1 else 1
    start = None if log_start_offset == -1 else log_start_offset
    count = len(batch.handles)
    records = zip(
        repeat(topic),
        repeat(partition),
        repeat(name),
        range(base_offset, base_offset + count) if base_offset >= 0 else repeat(-1),
        repeat(log_append_time) if kind else batch.timestamps,
        repeat(kind),
        repeat(start),
        strict=False,
    )
    for future, outcome in zip(futures, map(_new_metadata, records), strict=False):
        try:
            future.set_result(outcome)
        except asyncio.InvalidStateError:
            continue  # the program has cancelled this future, and will not read the outcome


def _resolve_to_none(batch: ProducerBatch) -> None:
    handles: Iterable[Any] = batch.handles
    for handle in handles:
        if not handle.done():
            handle.set_result(None)


__all__ = ["Deliveries"]
