"""Reads the coordinators' decisions about transactions from ``__transaction_state``, as far as compaction has left
them. Pure.

Called by :mod:`oncelog.apps.verify.log_topics` and :mod:`oncelog.apps.verify.log_folder`, for producers whose log alone
does not show which of their transactions belong together (:mod:`oncelog.apps.verify.outcomes`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from oncelog.broker.coordinator.transaction.states import TransactionState
from oncelog.protocol.internal_records import decode_transaction_value
from oncelog.records.record import Record
from oncelog.types import TopicPartition

_COMMITS: Mapping[int, bool] = {TransactionState.PREPARE_COMMIT: True, TransactionState.PREPARE_ABORT: False}


class TransactionOutcome(NamedTuple):
    """The outcome of a transaction in all its partitions; ``decided_ms`` is when it was decided, before its first
    marker."""

    producer_id: int
    committed: bool
    decided_ms: int
    partitions: tuple[TopicPartition, ...]


def decisions_in(records: Iterable[Record], producer_ids: Container[int]) -> Iterator[TransactionOutcome]:
    """The decisions about the transactions of some producers, found among records of ``__transaction_state``."""
    for record in records:
        if record.value is None:
            continue
        value = decode_transaction_value(record.value)
        committed = _COMMITS.get(value.transaction_status)
        if committed is None or value.producer_id not in producer_ids:
            continue
        partitions = tuple(
            TopicPartition(topic.topic, number)
            for topic in value.transaction_partitions or ()
            for number in topic.partition_ids
        )
        yield TransactionOutcome(value.producer_id, committed, value.transaction_last_update_timestamp_ms, partitions)
