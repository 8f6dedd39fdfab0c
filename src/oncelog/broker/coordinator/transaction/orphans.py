"""Transactions damaged by a power failure: partitions have data of them that their coordinator does not know.

Called by the coordinator at a start after an unclean stop. Without ``oncelog.flush.policy=commit`` a power failure
loses the unsynced end of each file separately, so data may survive the record with which its transaction began. Such a
transaction would block ``read_committed`` readers forever, or become part of the producer's next one and be committed
with it. Apache Kafka leaves such transactions to an operator (KIP-664); here all partitions and the only coordinator
are in one process, so they can be detected with certainty. For producers before KIP-890 part 2, whose transactions
share an epoch, one case cannot be detected: a repeated marker of a decided transaction may end a later transaction in
the same partition.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from oncelog.broker.coordinator.transaction.events import EPOCH_BUMP_VERSION
from oncelog.broker.coordinator.transaction.states import PREPARED, TransactionState, Txn
from oncelog.types import ProducerIdAndEpoch, TopicPartition


class PartitionProducer(NamedTuple):
    """A producer's state in a partition: its last producer id and epoch, and whether a transaction is open."""

    partition: TopicPartition
    producer: ProducerIdAndEpoch
    coordinator_epoch: int
    open: bool


class Orphans(NamedTuple):
    """Open transactions that no coordinator will end, and transactional ids whose coordinator state is older than their
    producer's data."""

    transactions: list[PartitionProducer]
    transactional_ids: list[str]


def find_orphans(held: Iterable[PartitionProducer], txns: Iterable[Txn]) -> Orphans:
    known = {txn.producer_id: txn for txn in txns}
    transactions: list[PartitionProducer] = []
    outrun: dict[str, None] = {}
    for item in held:
        txn = known.get(item.producer.producer_id)
        orphan = item.open and (txn is None or not _owns(txn, item))
        if orphan:
            transactions.append(item)
        if txn is not None and (orphan or item.producer.producer_epoch > txn.producer_epoch):
            outrun[txn.transactional_id] = None
    return Orphans(transactions, list(outrun))


def _owns(txn: Txn, item: PartitionProducer) -> bool:
    """Whether the coordinator knows the partition's open transaction, and so will end it."""
    epoch = item.producer.producer_epoch
    if item.partition not in txn.partitions:
        return False
    if txn.state not in PREPARED:
        return txn.state is TransactionState.ONGOING and epoch == txn.producer_epoch
    bumped = epoch == txn.producer_epoch - 1
    return bumped or (epoch == txn.producer_epoch and txn.client_transaction_version < EPOCH_BUMP_VERSION)
