"""Records of ``__transaction_state``: a key for each transactional id, a value for each change, in Kafka's format.

Called by ``shard`` and by tools that show the topic. Version 0 is written while transaction.version is 0, version 1
(flexible, with the fields of KIP-890 and KIP-939 as tags) from 1 on; both can be read. ``Txn.last_producer_epoch`` is
not stored. Source: Kafka's ``TransactionLog``.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from oncelog.broker.coordinator.transaction.states import TransactionState, Txn
from oncelog.errors import CorruptLogError
from oncelog.protocol.coordinator_fast import NO_TOPICS, transaction_topics, transaction_value
from oncelog.protocol.generated.transaction_log_value import PartitionsSchema, TransactionLogValue
from oncelog.protocol.internal_records import (
    Unknown,
    decode_transaction_key,
    decode_transaction_value,
    encode_transaction_key,
    encode_transaction_value,
)
from oncelog.types import TopicPartition

_EMPTY = TransactionState.EMPTY
_NONE_LEFT = transaction_topics([])
_SHORT_ID = 128
"""Record keys of ids up to this many characters are cached, because the same ids are written repeatedly."""
_short_key = lru_cache(maxsize=4096)(encode_transaction_key)
NEVER_LOGGED = frozenset({TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE})


def value_version(transaction_version: int) -> int:
    """The version of record values that a broker with this transaction.version writes."""
    return 1 if transaction_version >= 1 else 0


def encode_key(transactional_id: str) -> bytes:
    if len(transactional_id) <= _SHORT_ID:
        return _short_key(transactional_id)
    return encode_transaction_key(transactional_id)


def decode_key(data: bytes) -> str | None:
    """The transactional id in a record's key; None for a record of an unknown kind, which callers ignore."""
    key = decode_transaction_key(data)
    return None if isinstance(key, Unknown) else key.transactional_id


def encode_value(txn: Txn, version: int) -> bytes:
    """The value in version 0 or 1; only version 1 stores which producer may end a transaction that was kept (KIP-939).

    The partitions are null in state Empty and sorted in all others.
    """
    if version >= 1 or txn.kept:
        return transaction_value(
            txn.producer_id,
            txn.producer_epoch,
            txn.timeout_ms,
            txn.state,
            NO_TOPICS if txn.state is _EMPTY else _topics(txn.partitions),
            txn.last_update_ms,
            txn.start_ms,
            txn.previous_producer_id,
            txn.next_producer_id,
            txn.client_transaction_version,
            txn.next_producer_epoch,
        )
    partitions = [PartitionsSchema(topic, indexes) for topic, indexes in _by_topic(txn.partitions)]
    value = TransactionLogValue(
        producer_id=txn.producer_id,
        producer_epoch=txn.producer_epoch,
        transaction_timeout_ms=txn.timeout_ms,
        transaction_status=txn.state,
        transaction_partitions=None if txn.state is TransactionState.EMPTY else partitions,
        transaction_last_update_timestamp_ms=txn.last_update_ms,
        transaction_start_timestamp_ms=txn.start_ms,
    )
    return encode_transaction_value(value, 0)


def decode_value(transactional_id: str, data: bytes) -> Txn:
    """Decode a value of either version; raises ``CorruptLogError`` for a state that is unknown or never logged."""
    value = decode_transaction_value(data)
    try:
        state = TransactionState(value.transaction_status)
    except ValueError:
        state = TransactionState.DEAD
    if state in NEVER_LOGGED:
        raise CorruptLogError(
            f"transactional.id {transactional_id!r} is in state {value.transaction_status} in its log record;"
            " 0 to 5 are known"
        )
    return Txn(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        partitions=frozenset(
            TopicPartition(entry.topic, partition)
            for entry in value.transaction_partitions or ()
            for partition in entry.partition_ids
        ),
        start_ms=value.transaction_start_timestamp_ms,
        last_update_ms=value.transaction_last_update_timestamp_ms,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        client_transaction_version=value.client_transaction_version,
        next_producer_epoch=value.next_producer_epoch,
    )


def _topics(partitions: Collection[TopicPartition]) -> bytes:
    """Topics and partitions, encoded as in values of version 1."""
    if len(partitions) == 1:
        (partition,) = partitions
        return _one_partition(partition)
    if not partitions:
        return _NONE_LEFT
    return transaction_topics(_by_topic(partitions))


@lru_cache(maxsize=4096)
def _one_partition(partition: TopicPartition) -> bytes:
    """One partition, encoded; cached, because most transactions write to few partitions, which three records of each
    transaction name."""
    return transaction_topics([(partition.topic, [partition.partition])])


def _by_topic(partitions: Collection[TopicPartition]) -> list[tuple[str, list[int]]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return list(topics.items())
