"""Which producers partitions forget, and where in their logs.

A partition that has forgotten a producer takes a batch that it repeats for a new one, as Apache Kafka does
(``ProducerAppendInfo.checkSequence``), and stores it again. The time, ``producer.id.expiration.ms``, begins with the
timestamp of the producer's last record, not with its append (``ProducerStateManager.isProducerExpired``), so records
that waited to be sent have already used up a part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from oncelog.broker.log.producers.producer_entry import ProducerStateEntry
from oncelog.broker.log.producers.producer_state import ProducerStateManager
from tests.simulation.history import History


@contextmanager
def noted_expiry(history: History, expiration_ms: int) -> Iterator[None]:
    """Note producers that are forgotten in time, live and at a start; forgetting one too early is not excused."""
    decide = ProducerStateManager._expired

    def expired(state: ProducerStateManager, entry: ProducerStateEntry, now_ms: int) -> bool:
        goes = decide(state, entry, now_ms)
        if goes and now_ms - entry.last_timestamp >= expiration_ms:
            history.forgotten.append((state.topic_partition, entry.producer_id, state.map_end_offset))
        return goes

    ProducerStateManager._expired = expired  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        ProducerStateManager._expired = decide  # type: ignore[method-assign]


__all__ = ["noted_expiry"]
